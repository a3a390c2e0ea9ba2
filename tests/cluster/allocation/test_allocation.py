"""Who uses the nodes of an allocation, how lost ones are told of, and what is kept of certificates; how many workers a node of Slurm's has."""

import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tidalign.cluster.address import address_of
from tidalign.cluster.allocation import nodes as allocations
from tidalign.cluster.allocation import systems
from tidalign.cluster.allocation.nodes import Nodes, Starter, address_of_node, started
from tidalign.cluster.allocation.processors import processors
from tidalign.cluster.allocation.systems import Allocation, allocation
from tidalign.cluster.errors import ClusterLost, NoWorkers
from tidalign.cluster.private import credentials, keep
from tidalign.cluster.task import cores
from tidalign.workflows.run import devices
from tidalign.workflows.run.devices import Resources, choose, placed

JOB = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "4"}


@pytest.mark.parametrize(
    ("environment", "nodes"),
    [
        ({}, None),
        (JOB, 4),
        (JOB | {"SLURM_JOB_NUM_NODES": "1"}, None),
        (JOB | {"SLURM_JOB_NUM_NODES": "x"}, None),
        (JOB | {"SLURM_STEP_ID": "0"}, None),
        (JOB | {"SLURM_STEP_ID": "4294967290"}, 4),
    ],
)
def test_an_allocation_of_several_nodes_is_used(environment: dict[str, str], nodes: int | None) -> None:
    assert allocation(environment) == (None if nodes is None else Allocation("Slurm", "7", nodes))


@pytest.mark.parametrize(
    ("said", "node", "count"), [("72(x2),36", "1", 72), ("72(x2),36", "2", 36), ("3", "0", 3), ("", "0", None), ("3", "5", None), ("1(x3),2", "3", 2)]
)
def test_a_node_has_as_many_workers_as_the_job_has_processors_there(said: str, node: str, count: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidalign.cluster.allocation.processors.cores", lambda: 1000)
    assert processors(0, {"SLURM_JOB_CPUS_PER_NODE": said, "SLURM_NODEID": node}) == (count or 1000)
    monkeypatch.setattr("tidalign.cluster.allocation.processors.cores", cores)
    assert processors(0, {"SLURM_JOB_CPUS_PER_NODE": "1000000"}) == cores()


def test_whoever_says_who_works_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(devices, "allocation", lambda: Allocation("Slurm", "7", 4))

    def no_gpu(count: int | None = None) -> dict[str, str]:
        raise NoWorkers("no usable GPU")

    monkeypatch.setattr(devices, "usable", no_gpu)
    for resources in (Resources(workers=2), Resources(scheduler="tcp://127.0.0.1:1"), Resources(allocated=False)):
        assert placed(resources) == resources
    assert placed(Resources()).scheduler == Allocation("Slurm", "7", 4)
    assert not choose(placed(Resources())).device.takes_gpu
    assert choose(placed(Resources(device="gpu"))).why == "the GPUs of the 4 nodes of Slurm's job 7"
    monkeypatch.setattr(devices, "usable", lambda count=None: {"0": "a GPU"})
    assert choose(placed(Resources())).device.takes_gpu
    assert not choose(placed(Resources(device="cpu"))).device.takes_gpu


def test_keys_are_in_a_folder_of_ones_own(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(PermissionError, match="others may look into it"):
        keep(credentials(), tmp_path)
    tmp_path.chmod(0o700)
    settings = keep(credentials(), tmp_path)
    assert settings["distributed.comm.require-encryption"] is True
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    with pytest.raises(FileExistsError):
        keep(credentials(), tmp_path)


def test_nodes_that_are_lost_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Once each time, and where none is left and none comes back the run ends."""
    names = ["gpu-1-0", "gpu-1-1", "gpu-2-0"]
    workers = {name: SimpleNamespace(name=name) for name in names}
    cluster = SimpleNamespace(scheduler=SimpleNamespace(workers=workers), scheduler_address="tls://127.0.0.1:1")
    srun, now = SimpleNamespace(status=None, poll=lambda: srun.status), [0.0]
    (tmp_path / "srun.log").write_text("srun: error: gpu-2: task 1: Killed\n\n")
    starter = Starter("srun", tmp_path, [cast("Any", srun)])
    monkeypatch.setattr(allocations.time, "monotonic", lambda: now[0])
    nodes = Nodes(Allocation("Slurm", "7", 2), cluster, starter)
    del workers["gpu-1-0"]
    for _ in range(3):
        nodes.look()
        now[0] += 20
    assert not caplog.messages
    away = workers.pop("gpu-2-0")
    for _ in range(4):
        nodes.look()
        now[0] += 20
    said = "node gpu-2 of job 7 has had no workers for 30 s; the run goes on with those of other nodes"
    assert caplog.messages == [said]
    workers["gpu-2-0"] = away
    nodes.look()
    workers.clear()
    now[0] += 40
    nodes.look()
    assert caplog.messages[1:] == [said.replace("gpu-2", "gpu-1"), said]
    now[0] += allocations.JOIN_SECONDS
    nodes.look()
    assert caplog.messages[3:] == []
    late = Nodes(Allocation("Slurm", "7", 4), cluster, starter)
    workers["gpu-1-0"] = away
    now[0] += allocations.JOIN_SECONDS + 1
    late.look()
    late.look()
    lacking = "3 of the 4 nodes of job 7 have had no workers so far (srun: error: gpu-2: task 1: Killed); the run goes on with those of other nodes"
    assert caplog.messages[3:] == [lacking]
    workers.clear()
    srun.status = 137
    with pytest.raises(ClusterLost, match=r"no node of job 7 has workers any more, and srun has ended: srun: error: gpu-2: task 1: Killed; run the same"):
        nodes.look()


def test_nodes_with_too_few_processors_are_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    workers = {name: SimpleNamespace(name=name) for name in ("gpu-1-0", "gpu-2-0", "gpu-3-0")}
    cluster = SimpleNamespace(scheduler=SimpleNamespace(workers=workers), scheduler_address="tls://127.0.0.1:1")
    nodes = Nodes(Allocation("Slurm", "7", 3), cluster, Starter("srun", tmp_path))
    for name in ("gpu-2", "gpu-3"):
        (tmp_path / f"{name}.crowded").write_text(f"too few on {name}")
    nodes.look()
    nodes.look()
    assert caplog.messages == ["too few on gpu-2 (so it is on 2 nodes)"]


def test_without_srun_one_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(systems.shutil, "which", lambda name: None)
    with (
        pytest.raises(NoWorkers, match=r"job 7 has 2 nodes, and srun is not found; .* --cluster none"),
        started(Allocation("Slurm", "7", 2), str(tmp_path), []),
    ):
        pass


def test_of_nodes_that_are_not_all_started_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell what was begun on the first node that it is over, and end it, where the next cannot be started."""
    lines = [["sleep", "600"], [str(tmp_path / "none")]]
    monkeypatch.setitem(systems.SYSTEMS, "PBS", replace(systems.SYSTEMS["PBS"], starters={"pbs_tmrsh": lambda *_: lines}))
    monkeypatch.setattr(allocations, "LEAVE_SECONDS", 0.1)
    called = list[Any]()
    cluster = SimpleNamespace(scheduler=SimpleNamespace(handlers={}), loop=SimpleNamespace(add_callback=called.append))
    starter = Starter("pbs_tmrsh", tmp_path)
    with pytest.raises(FileNotFoundError, match="none"), allocations._workers(Allocation("PBS", "7", 2), starter, cluster):
        pass
    assert [process.returncode for process in starter.processes] == [-signal.SIGKILL] and len(called) == 1


def test_a_folder_without_room_for_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems.shutil, "which", lambda name: name)
    none = tmp_path / "none"
    with (
        pytest.raises(NoWorkers, match=f"{none}: no folder for the keys of workers can be made there.* --cluster none"),
        started(Allocation("Slurm", "7", 2), str(none), []),
    ):
        pass


def test_an_address_is_one_of_numbers() -> None:
    assert address_of(f"tcp://{address_of_node({})}:1", insecure=True)
