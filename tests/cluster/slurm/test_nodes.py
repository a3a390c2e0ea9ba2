"""The command inside an allocation of Slurm's uses all of its nodes, and leaves nothing behind however it ends."""

import json
import sys
import time
from pathlib import Path

import psutil
import pytest
from ending import survivors
from slurm_site import Site
from work import PAIRS, alone, program, script, submit, write_pairs

from tidalign.cluster.dispatch.run import DESERTED_SECONDS


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return alone(tmp_path_factory.mktemp("expected"), write_pairs)


def test_all_nodes_work_with_no_flag(slurm: Site, tmp_path: Path, expected: bytes) -> None:
    write_pairs(tmp_path)
    number = submit(slurm, tmp_path, script(*PAIRS, "-o", "out.sam", "--keep-run"), "--nodes=2", "--ntasks-per-node=1", "--cpus-per-task=2")
    state = slurm.wait_for(number)["JobState"]
    assert state == "COMPLETED", (tmp_path / "log").read_text()
    assert (tmp_path / "out.sam").read_bytes() == expected
    report = json.loads((tmp_path / "out.sam.run" / "report.json").read_text())
    assert (report["workers"], report["device_why"]) == (4, f"the processors of the 2 nodes of Slurm's job {number}")
    assert not list(tmp_path.glob(".tidalign-cluster-*"))


def test_none_of_it_on_request(slurm: Site, tmp_path: Path, expected: bytes) -> None:
    write_pairs(tmp_path)
    words = ("--cluster", "none", *PAIRS, "-o", "out.sam", "--keep-run")
    number = submit(slurm, tmp_path, script(*words), "--nodes=2", "--ntasks-per-node=1")
    assert slurm.wait_for(number)["JobState"] == "COMPLETED", (tmp_path / "log").read_text()
    assert "Slurm" not in json.loads((tmp_path / "out.sam.run" / "report.json").read_text())["device_why"]
    assert (tmp_path / "out.sam").read_bytes() == expected


def test_workers_end_with_a_command_that_is_killed(slurm: Site, tmp_path: Path) -> None:
    """They hold on to their standard input; keys stay until somebody removes them, in a folder that nobody else can enter."""
    write_pairs(tmp_path)
    slow = f"export TIDALIGN_TEST_SLOW=600\n{script(*PAIRS, '-o', 'run').removeprefix('exec ')} & echo $! > pid; sleep 600"
    number = submit(slurm, tmp_path, slow, "--nodes=2", "--ntasks-per-node=1")
    slurm.wait(lambda: list(tmp_path.glob("run/claims/*")), "a claim", 600)
    (own,) = tmp_path.glob(".tidalign-cluster-*")
    assert own.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in own.iterdir() if path.suffix == ".pem"} == {0}
    nodes = [process for process in psutil.process_iter() if str(own) in _command(process)]
    driver = psutil.Process(int((tmp_path / "pid").read_text()))
    workers = [*nodes, *(child for node in nodes for child in node.children(recursive=True))]
    assert len(workers) > 4 and _plain(workers) == []
    driver.kill()
    assert survivors(workers) == []
    slurm.ask("scancel", number)
    slurm.wait_for(number)


def test_a_node_that_is_lost_is_done_without(slurm: Site, tmp_path: Path, expected: bytes) -> None:
    number, nodes = _begun(slurm, tmp_path, 5, "--keep-run")
    (lost,) = [process for process in nodes if process.environ()["SLURM_NODEID"] == "1"]
    lost.kill()
    assert slurm.wait_for(number)["JobState"] == "COMPLETED", (tmp_path / "log").read_text()
    assert (tmp_path / "out.sam").read_bytes() == expected
    assert not list(tmp_path.glob(".tidalign-cluster-*"))


def test_a_run_that_has_lost_all_nodes_ends_and_can_be_resumed(slurm: Site, tmp_path: Path, expected: bytes) -> None:
    """At once, as nothing brings workers back where srun has ended."""
    number, nodes = _begun(slurm, tmp_path, 600)
    for process in nodes:
        process.kill()
    began = time.monotonic()
    job = slurm.wait_for(number)
    said = (tmp_path / "log").read_text()
    assert (job["JobState"], job["ExitCode"]) == ("FAILED", "75:0"), said
    assert f"no node of job {number} has workers any more, and srun has ended" in said and time.monotonic() - began < DESERTED_SECONDS
    program(tmp_path, *PAIRS, "-o", "out.sam")
    assert (tmp_path / "out.sam").read_bytes() == expected


def test_workers_for_each_gpu_of_every_node(slurm: Site, tmp_path: Path) -> None:
    """With stand-ins for GPUs, two a node."""
    (tmp_path / "t.fa").write_text(f">t\n{'GATTACACCTGAGTCATTGCCA' * 20}\n")
    words = ("genome", "t.fa", "t.fa", "-o", "run", "--device=gpu")
    stand_in = Path(__file__).parents[2] / "workflows" / "stand_in"
    text = f"export TIDALIGN_TEST_GPUS=2 PYTHONPATH={stand_in}\n{script(*words)}"
    number = submit(slurm, tmp_path, text, "--nodes=2", "--ntasks-per-node=1")
    assert slurm.wait_for(number)["JobState"] == "COMPLETED", (tmp_path / "log").read_text()
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert (report["workers"], report["device"]) == (8, "stand-in, stand-in, stand-in, stand-in"), "two share each"


def _begun(slurm: Site, folder: Path, seconds: int, *more: str) -> tuple[str, list[psutil.Process]]:
    """Submit a run on two nodes whose tasks take so long; gives its job's number, and the processes of its nodes once they have begun."""
    write_pairs(folder)
    slow = f"export TIDALIGN_TEST_SLOW={seconds}\n{script(*PAIRS, '-o', 'out.sam', *more)}"
    number = submit(slurm, folder, slow, "--nodes=2", "--ntasks-per-node=1")
    slurm.wait(lambda: list(folder.glob("out.sam.run/claims/*")), "a claim", 600)
    (own,) = folder.glob(".tidalign-cluster-*")
    return number, [process for process in psutil.process_iter() if str(own) in _command(process) and process.name() != "srun"]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _plain(processes: list[psutil.Process]) -> list[str]:
    """List addresses other than that of the node at which Dask's processes listen; srun has ports of its own, which Slurm authenticates."""
    found = []
    for process in processes:
        try:
            if process.name() == "srun":
                continue
            found += [each.laddr.ip for each in process.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
        except psutil.Error:
            continue
    return [ip for ip in found if ip != "127.0.0.1"]


def test_the_program_is_the_one_that_is_tested() -> None:
    assert script("pairs").split()[1] == sys.executable
