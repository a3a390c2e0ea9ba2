"""Two hosts with a network between them that fails: runs end with the rows of one that nothing befell, and say what was lost where."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ending import wait_until
from hosts import Hosts, objection

sys.path.insert(0, str(Path(__file__).parent / "slurm"))
from work import program, write_pairs

SMALL = str(Path(__file__).parents[1] / "workflows" / "kill_series.py")
"""The command with small blocks, so that few pairs make many tasks."""

PAIRS = 150

RUN = "out.sam.run"

pytestmark = pytest.mark.skipif(bool(why := objection()), reason=str(why))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Run in one process, and give what that writes."""
    folder = tmp_path_factory.mktemp("expected")
    write_pairs(folder, PAIRS)
    program(folder, "pairs", "queries.fa", "targets.fa", "--device=cpu", "-o", "out.sam")
    return (folder / "out.sam").read_bytes()


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    """Make two hosts, pairs to align, a scheduler on the first and a worker on each. Dask takes a connection for lost after 12 s, where it would after 30."""
    write_pairs(tmp_path, PAIRS)
    made = Hosts(tmp_path)
    made.environment["DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP"] = "12s"
    made.first = made.scheduler()
    for name in made.names:
        made.worker(name, TIDALIGN_TEST_SLOW="1", COPIES=str(tmp_path / "scratch"))
    yield made
    made.close()


def command(hosts: Hosts) -> Any:
    words = ("--drive", "pairs", "queries.fa", "targets.fa", "--device=cpu", "-o", "out.sam", "--keep-run", "--scheduler", hosts.scheduler_address)
    return hosts.run("host0", sys.executable, SMALL, *words, log="command.log")


def at_work(hosts: Hosts, process: Any, host: str) -> None:
    """Wait until the worker of a host has begun with a pair."""
    wait_until(lambda: any(" begins" in path.read_text() for path in hosts.folder.glob(f"{RUN}/logs/{host}-*.log")), process)


def report(hosts: Hosts) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((hosts.folder / RUN / "report.json").read_text())
    return read


def ended(hosts: Hosts, process: Any, expected: bytes) -> dict[str, Any]:
    """Wait for a run that goes well to its end, and give its report."""
    assert process.wait() == 0, (hosts.folder / "command.log").read_text()
    assert (hosts.folder / "out.sam").read_bytes() == expected
    return report(hosts)


@pytest.mark.slow
def test_a_network_that_is_back_soon_costs_nothing(hosts: Hosts, expected: bytes) -> None:
    process = command(hosts)
    at_work(hosts, process, "host1")
    hosts.cut("host1")
    time.sleep(2)
    hosts.join("host1")
    found = ended(hosts, process, expected)
    assert (found["faults"], found["deaths"], set(found["hosts"])) == ([], 0, {"host0", "host1"})


@pytest.mark.slow
def test_a_host_that_is_cut_off_is_done_without_and_told(hosts: Hosts, expected: bytes) -> None:
    process = command(hosts)
    at_work(hosts, process, "host1")
    hosts.cut("host1")
    found = ended(hosts, process, expected)
    assert set(found["hosts"]) == {"host0", "host1"}
    for fault in found["faults"]:  # none where it had written all it was at
        assert fault["host"] == "host1" and fault["seconds"] > 3 and fault["retries"] == 0 and "cut off" in fault["why"], fault


def test_a_host_that_is_gone_is_done_without_and_told(hosts: Hosts, expected: bytes) -> None:
    process = command(hosts)
    at_work(hosts, process, "host1")
    hosts.lose("host1")
    found = ended(hosts, process, expected)
    (fault,) = found["faults"]
    assert (fault["host"], fault["retries"]) == ("host1", 0)
    assert fault["task"].startswith("b0") and fault["pid"] > 0 and fault["seconds"] > 3 and "died, or was cut off" in fault["why"]


@pytest.mark.slow
def test_a_host_that_is_back_is_used(hosts: Hosts, expected: bytes) -> None:
    process = command(hosts)
    at_work(hosts, process, "host1")
    hosts.lose("host1")
    hosts.join("host1")
    before = set(hosts.folder.glob(f"{RUN}/logs/host1-*.log"))
    hosts.worker("host1", TIDALIGN_TEST_SLOW="1")
    ended(hosts, process, expected)
    assert set(hosts.folder.glob(f"{RUN}/logs/host1-*.log")) > before


def test_a_scheduler_that_is_lost_and_found(hosts: Hosts, expected: bytes) -> None:
    """The command goes on with the next one on the same address; or says 75, and the same command goes on."""
    process = command(hosts)
    at_work(hosts, process, "host1")
    hosts.first.kill()
    hosts.first.wait()
    hosts.scheduler()
    for name in hosts.names:
        hosts.worker(name)
    found = ended(hosts, process, expected)
    assert found["deaths"] == 0
    for fault in found["faults"]:  # the last: of a task that was done just then
        assert fault["why"].startswith(("the scheduler went away", "the workers that it was for left", "its result did not arrive")), fault


@pytest.mark.slow
def test_a_scheduler_that_is_lost_for_good(hosts: Hosts, expected: bytes) -> None:
    hosts.environment["DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"] = "5s"
    process = command(hosts)
    at_work(hosts, process, "host1")
    hosts.first.kill()
    hosts.first.wait()
    assert process.wait() == 75
    assert "run the same command again to resume" in (hosts.folder / "command.log").read_text()
    hosts.scheduler()
    for name in hosts.names:
        hosts.worker(name)
    found = ended(hosts, command(hosts), expected)
    assert found["calls"] == 2 and found["aligned"] < PAIRS


WORKERS = """
import sys, time
from distributed import Client
with Client(sys.argv[1], timeout=60) as client:
    while {worker["name"] for worker in client.scheduler_info()["workers"].values()} != set(sys.argv[2:]):
        time.sleep(0.2)
"""


@pytest.mark.slow
@pytest.mark.parametrize("patience", [None, 30])
def test_workers_of_an_allocation_are_back_when_the_network_is(patience: int | None, tmp_path: Path) -> None:
    """They and their nannies end once they are cut off for long; what was started on the node starts them again. It ends with its input, or its scheduler."""
    hosts = Hosts(tmp_path)
    hosts.environment |= {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s", "SLURM_NODEID": "1", "SLURM_JOB_CPUS_PER_NODE": "1(x2)"}
    try:
        scheduler = hosts.scheduler()
        said = {"address": hosts.scheduler_address, "modules": [], "gpus": False, "each": None, "patience": patience}
        (tmp_path / "dask" / "scheduler.json").write_text(json.dumps(said))
        words = ("-P", "-m", "tidalign.cluster.allocation.node", str(tmp_path / "dask"))
        node = hosts.run("host1", sys.executable, *words, log="node.log", pipe=True)
        assert hosts.run("host0", sys.executable, "-c", WORKERS, hosts.scheduler_address, "1-0", log="seen.log").wait() == 0
        hosts.cut("host1")
        assert hosts.run("host0", sys.executable, "-c", WORKERS, hosts.scheduler_address, log="seen.log").wait() == 0
        hosts.join("host1")
        assert hosts.run("host0", sys.executable, "-c", WORKERS, hosts.scheduler_address, "1-0", log="seen.log").wait() == 0
        assert node.stdin is not None
        with node.stdin:
            if patience:
                scheduler.kill()
                assert node.wait() == 0
        assert node.wait() == 0
    finally:
        hosts.close()


def test_each_host_has_copies_of_its_own(hosts: Hosts, expected: bytes) -> None:
    """Of what its worker reads, in a folder that has the same name on both, and on this machine is the same."""
    (hosts.folder / "scratch").mkdir()
    words = ("--drive", "pairs", "queries.fa", "targets.fa", "--device=cpu", "-o", "out.sam", "--keep-run", "--scheduler", hosts.scheduler_address)
    process = hosts.run("host0", sys.executable, SMALL, *words, "--scratch=$COPIES", log="command.log", COPIES=str(hosts.folder / "scratch"))
    ended(hosts, process, expected)
    (staged,) = (line for line in map(json.loads, (hosts.folder / RUN / "journal.jsonl").read_text().splitlines()) if line["event"] == "staged")
    chunks = len(list((hosts.folder / RUN / "chunks").iterdir()))
    assert staged["hosts"] == ["host0", "host1"] and staged["copies"] == chunks
    assert list((hosts.folder / "scratch").iterdir()) == []


def test_the_benchmark_of_hosts_keeps_its_result(tmp_path: Path) -> None:
    script = Path(__file__).parents[1] / "benchmarks" / "cluster.py"
    subprocess.run([sys.executable, str(script), "--hosts", "2", "--result", "kept.json"], cwd=tmp_path, check=True, timeout=600)
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert kept["hosts"] == 2 and kept["seconds until all are ready"] > 0 and kept["machine"]["cores"]
