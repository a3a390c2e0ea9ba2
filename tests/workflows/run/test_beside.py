"""Workers on cores beside those with GPUs, with stand-ins for these: the bytes of cores, and each works."""

import os
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "cluster"))
from external import External
from genome_gpu_cases import answer, drive_apart, journal

from tidalign.cluster.allocation import node
from tidalign.cluster.allocation.systems import Allocation
from tidalign.pipeline.device import CPU, GPU
from tidalign.pipeline.store import rundir
from tidalign.workflows.cli import main
from tidalign.workflows.run import devices
from tidalign.workflows.run.devices import Resources
from tidalign.workflows.run.pairs.alignment import Alignment
from tidalign.workflows.run.pairs.tasks import RowRange
from tidalign.workflows.run.trials import Trials
from tidalign.workflows.status import Exit

PATH = os.pathsep.join([str(Path(__file__).parents[1] / "stand_in"), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.parametrize(("gpus", "mode"), [(1, "exact"), pytest.param(2, "independent", marks=pytest.mark.slow)])
def test_cores_work_beside_gpus(gpus: int, mode: str, tmp_path: Path, sides: Any, answers: Any) -> None:
    """A GPU that is as fast as a core, as the stand-in is, and small tasks; what a core has when all else is done, GPUs do again."""
    options = {"gpus": gpus, "cpu_workers": 1, "speed": 1.0}
    status, said = drive_apart(tmp_path / "run", sides, mode, options, PYTHONPATH=PATH, TIDALIGN_TEST_GPUS=str(gpus), TIDALIGN_TEST_SLOW="0.05")
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path / "run") == answers[mode]
    report = rundir.read_report(str(tmp_path / "run"))
    assert report["workers"] == gpus + 1 and report["faults"] == []
    done = journal(tmp_path / "run", "done")
    by_gpu = {each["gpu_held"] for each in done if "gpu_held" in each}
    assert by_gpu and (journal(tmp_path / "run", "recalled") or any("gpu_held" not in each for each in done))
    assert len(report["gpus"]) <= gpus and not [*Path(tmp_path, "run", "claims").iterdir()]


def test_cores_of_a_scheduler_are_used_as_far_as_asked(tmp_path: Path, sides: Any, answers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", PATH)
    monkeypatch.setenv("TIDALIGN_TEST_GPUS", "1")
    monkeypatch.setenv("DASK_DISTRIBUTED__DIAGNOSTICS__NVML", "False")  # the stand-in for it knows no more than the product asks
    monkeypatch.setenv("TIDALIGN_TEST_SLOW", "0.05")
    (tmp_path / "cluster").mkdir()
    external = External(tmp_path / "cluster")
    for visible in ("0", "", ""):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        external.worker()
    external.wait_for_workers(3)
    status, said = drive_apart(tmp_path / "run", sides, "exact", {"scheduler": external.address, "cpu_workers": 1, "speed": 1.0})
    external.close()
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path / "run") == answers["exact"]
    report = rundir.read_report(str(tmp_path / "run"))
    assert report["workers"] == 2
    assert ["is beyond --cpu-workers 1" in each["why"] for each in report["faults"]] == [True]
    done = journal(tmp_path / "run", "done")
    assert any("gpu_held" in each for each in done)
    # What the core has when all else is done, the GPU does again: on a busy machine that may be all it had.
    assert journal(tmp_path / "run", "recalled") or any("gpu_held" not in each for each in done)


def test_what_cores_are_to_do_is_not_put_together(tmp_path: Path) -> None:
    """A share of the small ranges, as large as that of the cores."""
    made = Alignment(str(tmp_path), "run", {}, mock.Mock(), lambda *_: None, GPU, 1, 2, beside=26)
    made._chunks = {f"c{n}": {"id": f"c{n}", "rows": 10, "work": 1e7, "longest": 1000 - n} for n in range(100)}  # type: ignore[misc,assignment]
    groups = list(made.grouped([RowRange(f"c{n}", 0, 10) for n in range(100)]))
    alone = [group for group in groups if len(group) == 1]
    assert sum(map(len, groups)) == 100 and {piece.chunk for group in groups for piece in group} == made._chunks.keys()
    assert len(alone) == 20, "26 cores of 126 cores' worth"
    assert {group[0].chunk for group in alone} == {f"c{n}" for n in range(80, 100)}
    assert all(len(group) >= 10 for group in groups if group not in alone)
    (tmp_path / "claims").mkdir()
    (task,) = made._made([RowRange("c99", 0, 10)])
    assert task.arguments[-1] == GPU.name and task.on_core and task.on_core[0][-1] == CPU.name
    assert task.on_core[0][:-1] == task.arguments[:-1] and task.on_core[1] >= task.patience


def test_speeds_of_gpus_are_those_of_the_estimate() -> None:
    workers = mock.Mock(pools={})
    trials = Trials(workers, "run", "module", None, 1, 100.0)
    trials._named = {"a": "H200", "b": "A100", "c": "unknown", "d": None}
    trials.pace({"H200": 300.0, "A100": 120.0})
    assert workers.pools == {"a": (300.0, False), "b": (120.0, False), "c": (100.0, False), "d": (1.0, True)}
    assert [trials.on_core(worker) for worker in "abcde"] == [False, False, False, True, False]


def test_where_there_is_no_gpu_beside_which_to_work(sides: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["genome", *sides, "-o", str(tmp_path / "out.maf"), "--device", "cpu", "--cpu-workers", "2"])
    assert "--cpu-workers counts processes beside GPUs" in capsys.readouterr().err
    with pytest.raises(ValueError, match="cpu_workers"):
        devices.choose(Resources(device="cpu", cpu_workers=1))


def test_an_allocation_has_them_on_each_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "allocation", lambda: Allocation("Slurm", "7", 4))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    placed = devices.placed(Resources(device="gpu", gpus=2, cpu_workers=3), lambda: 2)
    assert placed.scheduler == Allocation("Slurm", "7", 4, gpus=True, each=2, cores=3), "with cores beside them none is shared"
    assert devices.choose(placed).cores == 3
    monkeypatch.setattr(node, "usable", lambda each: dict.fromkeys("01"[:each], "H200"))
    monkeypatch.setattr(node, "shareable", lambda each: True)
    said = {"gpus": True, "each": 2, "shared": 1, "cores": 2}
    assert node.environments(said) == [{"CUDA_VISIBLE_DEVICES": name} for name in ("0", "1", "", "")]


def test_an_allocation_has_several_processes_share_each_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """But not where the GPU is for one process at a time; a GPU is named once."""
    monkeypatch.setattr(devices, "allocation", lambda: Allocation("Slurm", "7", 2))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    placed = devices.placed(Resources(device="gpu"), lambda: 2)
    assert placed.scheduler == Allocation("Slurm", "7", 2, gpus=True, shared=2)
    monkeypatch.setattr(node, "usable", lambda each: dict.fromkeys("01"[:each], "H200"))
    for shareable, names in ((True, "0101"), (False, "01")):
        monkeypatch.setattr(node, "shareable", lambda each, answer=shareable: answer)
        assert [each["CUDA_VISIBLE_DEVICES"] for each in node.environments({"gpus": True, "each": None, "shared": 2, "cores": 0})] == [*names]
    found = {f"tls://10.0.0.{host}:{port}": {gpu: model} for host, model in ((1, "H200"), (2, "A100")) for port, gpu in ((1, "0"), (2, "1"), (3, "0"))}
    assert placed.scheduler
    names = devices.of_workers(devices.choose(placed), found, placed.scheduler).names
    assert names == {f"tls://10.0.0.{host}:{port}": model for host, model in ((1, "H200"), (2, "A100")) for port in (1, 2)}
    alone = {worker: names for worker, names in found.items() if not worker.endswith(":3")}
    assert len(devices.of_workers(devices.choose(placed), alone, placed.scheduler).names) == 4, "where GPUs are for one process each has one"
