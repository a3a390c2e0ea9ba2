"""The command inside jobs of PBS and LSF with two nodes uses both, and leaves nothing behind however it ends; stand-ins start what runs on the nodes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from ending import survivors, wait_until
from stand_ins import NODES, install, objection
from work import PAIRS, alone, outside, program, write_lengths

pytestmark = pytest.mark.skipif(bool(why := objection()), reason=str(why))

STARTERS = ("pbs_tmrsh", "pbsdsh", "blaunch")

JOBS = {"pbs_tmrsh": "PBS's job 7.head", "pbsdsh": "PBS's job 7.head", "blaunch": "LSF's job 7"}

IMPATIENT = """
import sys
from tidalign.cluster.allocation import nodes
from tidalign.workflows.__main__ import main

nodes.DEATH_SECONDS = 2.0
sys.exit(main())
"""


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return alone(tmp_path_factory.mktemp("expected"), write_lengths)


Begin = Callable[..., "psutil.Popen"]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Give what begins the command in a job whose tasks a program starts; in the end nothing is left of it."""
    write_lengths(tmp_path)
    begun = list[psutil.Popen]()

    def run(starter: str, *words: str, slots: int = 1, **environment: str) -> "psutil.Popen":
        (own := tmp_path / "job").mkdir(exist_ok=True)
        given = outside() | install(starter, own, slots) | environment
        with (tmp_path / "log").open("w") as log:
            process = psutil.Popen([sys.executable, "-P", "-c", IMPATIENT, *words], cwd=tmp_path, env=given, stdout=log, stderr=log)
        begun.append(process)
        return process

    yield run
    for process in (*begun, *parts(tmp_path)):
        if process.is_running():
            process.kill()
            process.wait()


def said(folder: Path) -> str:
    """Read what the command said, and what its tasks said to their system."""
    return "".join(file.read_text() for file in (folder / "log", folder / "job" / "output") if file.exists())


def parts(folder: Path) -> list[psutil.Process]:
    """List all processes that were started for the run in a folder, but the command's own and those of its tests."""
    found = list[psutil.Process]()
    for process in psutil.process_iter():
        try:
            if any(f"{folder}/" in word and (".tidalign-cluster-" in word or "/job/" in word) for word in process.cmdline()):
                found += [process, *process.children(recursive=True)]
        except psutil.Error:
            continue
    return list(dict.fromkeys(found))


def nodes(folder: Path) -> list[psutil.Process]:
    """List what runs on the nodes."""
    return [process for process in parts(folder) if "tidalign.cluster.allocation.node" in process.cmdline()]


def died(folder: Path) -> list[object]:
    """List what a run lost workers at, and what may be blamed for that."""
    events = map(json.loads, (folder / "out.sam.run" / "journal.jsonl").read_text().splitlines())
    return [*(event for event in events if event["event"] == "died"), *folder.glob("out.sam.run/claims/*")]


def at_work(folder: Path, process: "psutil.Popen") -> None:
    """Wait until workers of both nodes have begun with something."""
    wait_until(lambda: all(any(" begins" in path.read_text() for path in folder.glob(f"out.sam.run/logs/{host}-*.log")) for host in NODES), process)


@pytest.mark.parametrize("starter", STARTERS)
def test_all_nodes_work_with_no_flag(starter: str, begin: Begin, tmp_path: Path, expected: bytes) -> None:
    process = begin(starter, *PAIRS, "-o", "out.sam", "--keep-run", slots=2)
    assert process.wait() == 0, said(tmp_path)
    assert (tmp_path / "out.sam").read_bytes() == expected
    report = json.loads((tmp_path / "out.sam.run" / "report.json").read_text())
    assert report["device_why"] == f"the processors of the 2 nodes of {JOBS[starter]}"
    each = min(2, len(os.sched_getaffinity(0)))
    assert report["hosts"] == dict.fromkeys(NODES, each)
    assert not list(tmp_path.glob(".tidalign-cluster-*")) and survivors(parts(tmp_path)) == []


def test_none_of_it_on_request(begin: Begin, tmp_path: Path, expected: bytes) -> None:
    assert begin("pbs_tmrsh", "--cluster", "none", *PAIRS, "-o", "out.sam", "--keep-run").wait() == 0
    assert "PBS" not in json.loads((tmp_path / "out.sam.run" / "report.json").read_text())["device_why"]
    assert (tmp_path / "out.sam").read_bytes() == expected


def test_workers_for_each_gpu_of_every_node(begin: Begin, tmp_path: Path) -> None:
    """With stand-ins for GPUs, two a node, which processes have by the command's environment; how the system orders them is heeded."""
    (tmp_path / "t.fa").write_text(f">t\n{'GATTACACCTGAGTCATTGCCA' * 20}\n")
    stand_in = str(Path(__file__).parents[2] / "workflows" / "stand_in")
    words = ("genome", "t.fa", "t.fa", "-o", "run", "--device=gpu")
    assert begin("pbs_tmrsh", *words, TIDALIGN_TEST_GPUS="2", PYTHONPATH=stand_in).wait() == 0, said(tmp_path)
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert (report["workers"], report["device"]) == (8, "stand-in, stand-in, stand-in, stand-in"), "two share each"


@pytest.mark.slow
@pytest.mark.parametrize("starter", ["pbs_tmrsh", "blaunch"])
def test_what_runs_on_nodes_ends_with_a_command_that_is_killed(starter: str, begin: Begin, tmp_path: Path) -> None:
    """It reads no standard input that would end: the scheduler does not answer. Keys stay, in a folder that nobody else can enter."""
    process = begin(starter, *PAIRS, "-o", "out.sam", TIDALIGN_TEST_SLOW="600", MARK="a 'b'\nc")
    at_work(tmp_path, process)
    (own,) = tmp_path.glob(".tidalign-cluster-*")
    assert own.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in own.iterdir() if path.suffix in (".pem", ".sh")} == {0}
    assert [each.environ()["MARK"] for each in nodes(tmp_path)] == ["a 'b'\nc"] * 2
    left = parts(tmp_path)
    assert len(left) > 4
    process.kill()
    process.wait()
    assert survivors(left) == []


@pytest.mark.slow
def test_a_node_that_is_lost_is_done_without(begin: Begin, tmp_path: Path, expected: bytes) -> None:
    process = begin("pbs_tmrsh", *PAIRS, "-o", "out.sam", TIDALIGN_TEST_SLOW="2")
    at_work(tmp_path, process)
    nodes(tmp_path)[0].kill()
    assert process.wait() == 0, said(tmp_path)
    assert (tmp_path / "out.sam").read_bytes() == expected


def test_a_run_that_has_lost_all_nodes_ends_and_can_be_resumed(begin: Begin, tmp_path: Path, expected: bytes) -> None:
    process = begin("pbs_tmrsh", *PAIRS, "-o", "out.sam", TIDALIGN_TEST_SLOW="600")
    at_work(tmp_path, process)
    for node in nodes(tmp_path):
        node.kill()
    assert process.wait() == 75, said(tmp_path)
    assert "no node of job 7.head has workers any more, and pbs_tmrsh has ended" in said(tmp_path)
    program(tmp_path, *PAIRS, "-o", "out.sam")
    assert (tmp_path / "out.sam").read_bytes() == expected


@pytest.mark.parametrize(
    ("starter", "number", "why"),
    [
        ("pbs_tmrsh", signal.SIGTERM, "stopped by SIGTERM"),
        ("blaunch", signal.SIGUSR2, "stopped by SIGUSR2, by which LSF says that the time of a job is over"),
    ],
)
def test_a_signal_to_all_processes_of_a_job_stops_in_good_order(starter: str, number: int, why: str, begin: Begin, tmp_path: Path, expected: bytes) -> None:
    process = begin(starter, *PAIRS, "-o", "out.sam", TIDALIGN_TEST_SLOW="1")
    at_work(tmp_path, process)
    for each in (*(found := parts(tmp_path)), process):
        if "/task" not in " ".join(each.cmdline()):  # no batch system has a shell there
            each.send_signal(number)
    assert process.wait() == 143, said(tmp_path)
    assert said(tmp_path).splitlines()[-2:] == [
        f"tidalign: {why}; what is done is kept, and this goes on from here:",
        f"tidalign {' '.join(PAIRS)} -o out.sam",
    ]
    assert survivors(found) == [] and not list(tmp_path.glob(".tidalign-cluster-*")) and died(tmp_path) == []
    program(tmp_path, *PAIRS, "-o", "out.sam")
    assert (tmp_path / "out.sam").read_bytes() == expected


def test_a_signal_of_lsf_to_all_processes_of_one_node(tmp_path: Path, expected: bytes) -> None:
    """Workers of this machine leave it to the command."""
    write_lengths(tmp_path)
    words = [sys.executable, "-P", "-m", "tidalign.workflows", *PAIRS, "--workers=2", "-o", "out.sam"]
    process = psutil.Popen(
        words, cwd=tmp_path, env=os.environ | {"TIDALIGN_TEST_SLOW": "1"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    wait_until(lambda: list(tmp_path.glob("out.sam.run/claims/*")), process)
    os.killpg(process.pid, signal.SIGUSR2)
    out, _ = process.communicate()
    assert process.returncode == 143, out
    assert "stopped by SIGUSR2" in out.splitlines()[-2] and died(tmp_path) == []
    program(tmp_path, *PAIRS, "-o", "out.sam")
    assert (tmp_path / "out.sam").read_bytes() == expected


def test_where_nothing_starts_one_is_told(begin: Begin, tmp_path: Path) -> None:
    process = begin("pbs_tmrsh", *PAIRS, "-o", "out.sam", PBS_ENVIRONMENT="")
    assert process.wait() == 69
    what = "pbs_tmrsh started no workers on the 2 nodes of job 7.head: pbs_tmrsh: not executing under PBS; --cluster none uses this node alone"
    assert said(tmp_path).splitlines()[-1] == f"tidalign: {what}"
