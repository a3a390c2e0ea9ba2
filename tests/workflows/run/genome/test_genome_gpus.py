"""Genome runs on GPUs, with the host's kernels in their place: waves, faults, several workers; LASTZ's output and the same bytes as the host's own."""

import os
import sys
from collections.abc import Iterator
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import gpu_stand_in
import pytest
from genome_golden import RUNS

from tidalign.cluster import start
from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpus import HIRE_SECONDS
from tidalign.kernels.runtime.errors import DeviceLimit
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS
from tidalign.pipeline.genome import plan
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.genome.stages import gpu
from tidalign.pipeline.genome.walk import waves
from tidalign.pipeline.store import rundir
from tidalign.workflows.cli import main
from tidalign.workflows.run import devices
from tidalign.workflows.run.devices import Resources
from tidalign.workflows.run.genome import run as genome_run
from tidalign.workflows.run.genome.run import SHARED_LETTERS, SHARED_WORK, Genomes, run_genomes
from tidalign.workflows.status import Exit

WORKFLOWS = Path(__file__).parents[2]
from genome_chaos import drive  # noqa: E402
from genome_gpu_cases import OPTIONS, answer, as_lastz, check_replaced, drive_apart, journal  # noqa: E402


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Put the host's kernels in the place of one GPU, with waves so small that there are many."""
    stand_in = gpu_stand_in.installed(monkeypatch)
    monkeypatch.setattr(devices, "usable", lambda count=None: {"0": "stand-in"})
    monkeypatch.setattr(devices, "shareable", lambda count=None: True)
    for name, size in (("FIRST_WAVE", 4), ("EXTENDED_AT_ONCE", 2), ("SMALL_WAVE_AT_ONCE", 3), ("LEFT_TO_WALK", 1)):
        monkeypatch.setattr(waves, name, size)
    for name, size in (("ANCHORS", 50), ("GUARDED", 3)):
        monkeypatch.setattr(gpu, name, size)
    yield stand_in
    assert GPU_OF_PROCESS.lost is None


# ---- LASTZ's output


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["stages", "once"])
@pytest.mark.parametrize("name", sorted(RUNS))
def test_what_lastz_prints(tmp_path: Path, kernels: ModuleType, name: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "TILE_SECONDS", seconds)
    report = as_lastz(tmp_path, name)
    assert (report["device"], report["workers"]) == ("stand-in", 0)


# ---- the same answer as the host


@pytest.mark.parametrize("change", OPTIONS, ids=str)
@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["stages", "once"])
def test_the_hosts_bytes(tmp_path: Path, kernels: ModuleType, sides: Any, change: dict[str, Any], seconds: float) -> None:
    source, parameters = GenomeSource((Pair("pair", *sides),), keep=("hits", "hsps", "anchors")), GenomeParameters(**change)
    for device in ("cpu", "gpu"):
        with mock.patch.object(plan, "TILE_SECONDS", seconds):
            assert run_genomes(tmp_path / device, source, parameters, resources=Resources(device=device)).exit == Exit.COMPLETE
    assert answer(tmp_path / "cpu") == answer(tmp_path / "gpu")
    assert (len(GenomeResults(tmp_path / "cpu")) > 0) == (change != {"query_hsp_limit": 3})
    for stage in ("hits", "hsps"):
        assert GenomeResults(tmp_path / "cpu").stage(stage) == GenomeResults(tmp_path / "gpu").stage(stage)


def test_a_gpu_goes_on_where_cores_stopped(tmp_path: Path, kernels: ModuleType, sides: Any, answers: Any) -> None:
    for mode in ("exact", "independent"):
        run = tmp_path / mode
        drive(str(run), *sides, mode, device="cpu")
        for path in sorted((run / "parts").iterdir())[1:]:
            path.unlink()
        drive(str(run), *sides, mode, device="gpu")
        assert answer(run) == answers[mode]


@pytest.mark.parametrize("mode", ["exact", "independent"])
def test_a_guard_cuts_and_says_so(tmp_path: Path, kernels: ModuleType, sides: Any, answers: Any, mode: str) -> None:
    source, parameters = GenomeSource((Pair("pair", *sides),)), GenomeParameters(mode=mode, cells=4_000_000)
    report = run_genomes(tmp_path / "run", source, parameters, resources=Resources(device="gpu"))
    assert report.exit == Exit.PARTIAL and report.shortfalls
    rows, whole = GenomeResults(tmp_path / "run").to_table().to_pylist(), answers[mode][1].to_pylist()
    assert 0 < len(rows) < len(whole) and all(row in whole for row in rows)


@pytest.mark.parametrize("mode", ["exact", "independent"])
def test_what_does_not_fit_the_gpu_is_done_here(tmp_path: Path, kernels: Any, sides: Any, answers: Any, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> None:
        raise DeviceLimit("too long")

    monkeypatch.setattr(kernels, "build_index", none)
    monkeypatch.setattr(kernels, "DeviceExtender", none)
    report = drive(str(tmp_path / "run"), *sides, mode, device="gpu")
    assert answer(tmp_path / "run") == answers[mode]
    assert report.work["strands seeded by the host for lack of room"] == 4
    assert report.work[f"{'strands' if mode == 'exact' else 'tiles'} extended by the host for lack of room"] >= 4


def test_small_input_takes_one_gpu(tmp_path: Path, kernels: ModuleType, sides: Any, answers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "usable", lambda count=None: {"0": "stand-in", "1": "stand-in"})
    monkeypatch.setattr(devices, "installed", lambda name: True)
    report = drive(str(tmp_path / "run"), *sides, hire=HIRE_SECONDS)
    assert (report.device, report.device_why, report.workers) == ("stand-in", "there is little for others to do", 0)
    assert answer(tmp_path / "run") == answers["exact"]


# ---- processes of their own, whose GPU may be lost


STAND_IN = {"PYTHONPATH": os.pathsep.join([str(WORKFLOWS / "stand_in"), *filter(None, [os.environ.get("PYTHONPATH")])]), "TIDALIGN_TEST_GPUS": "2"}


@pytest.mark.parametrize(
    ("gpus", "mode", "share", "processes"),
    [
        (2, "exact", SHARED_WORK, 2),
        pytest.param(2, "independent", 0.0, 4, marks=pytest.mark.slow),
        (1, "exact", 0.0, 2),
        pytest.param(1, "independent", 0.0, 1, marks=pytest.mark.slow),
    ],
)
def test_several_processes(tmp_path: Path, sides: Any, answers: Any, gpus: int, mode: str, share: float, processes: int) -> None:
    """A worker for each GPU; two, where it is much work and the start of workers is worth it."""
    status, said = drive_apart(tmp_path / "run", sides, mode, {"gpus": gpus, "share": share}, **STAND_IN)
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path / "run") == answers[mode]
    assert [event["workers"] for event in journal(tmp_path / "run", "hired")] == [processes] * (processes > 1)
    held = {each["gpu_held"].partition(" in process ")[::2] for each in journal(tmp_path / "run", "done")}
    assert 1 <= len({process for _, process in held}) <= processes and len({gpu for gpu, _ in held}) == gpus


def test_this_process_works_until_workers_are_there(tmp_path: Path, sides: Any, answers: Any) -> None:
    status, said = drive_apart(tmp_path / "run", sides, "exact", {"gpus": 2, "works": True}, TIDALIGN_TEST_SLOW="0.05", **STAND_IN)
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path / "run") == answers["exact"]
    times = {name: [event["time"] for event in journal(tmp_path / "run", name)] for name in ("done", "hired")}
    assert min(times["done"]) < min(times["hired"], default=inf)


@pytest.mark.parametrize(
    ("names", "size", "processes"),
    [("t.fa q.fa", SHARED_LETTERS, 2), ("t.fa q.fa", SHARED_LETTERS + 1, 1), ("t.fa.gz q.fa", SHARED_LETTERS // 2, 1), ("t.fa -", -1, 1)],
)
def test_gpus_of_an_allocation_are_shared_by_small_genomes(sides: Any, monkeypatch: pytest.MonkeyPatch, names: str, size: int, processes: int) -> None:
    kind = Genomes(GenomeSource((Pair("pair", *sides),)), GenomeParameters())
    monkeypatch.setattr(
        GenomeSource, "files", lambda _: [{"path": name, "size": 1000 if at == 0 and size < 0 else size} for at, name in enumerate(names.split())]
    )
    assert kind.shared() == processes


@pytest.mark.parametrize(("letters", "works"), [(SHARED_LETTERS, True), (SHARED_LETTERS + 1, False)])
def test_no_large_genome_is_begun_on_a_gpu_that_a_worker_is_to_have(sides: Any, letters: int, works: bool) -> None:
    kind, tracker = Genomes(GenomeSource((Pair("pair", *sides),)), GenomeParameters()), mock.Mock(letters=lambda: letters)
    assert kind.works_until_hired(tracker) is works


def test_where_no_worker_can_be_started_this_process_works(
    tmp_path: Path, kernels: ModuleType, sides: Any, answers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that share a GPU are not needed."""

    def fails(*_: Any, **__: Any) -> None:
        raise NoWorkers("worker processes need 96 open files")

    monkeypatch.setattr(start, "start", fails)
    monkeypatch.setattr(genome_run, "installed", lambda name: name == "dask_cuda")
    report = drive(str(tmp_path / "run"), *sides, share=0.0, device="gpu")
    assert (report.exit, report.workers) == (Exit.COMPLETE, 0)
    assert answer(tmp_path / "run") == answers["exact"]
    assert ["96 open files" in event["why"] for event in journal(tmp_path / "run", "unhired")] == [True]


@pytest.mark.parametrize("tile", [pytest.param("j000000.u1.seed", marks=pytest.mark.slow), "j000000.u2.walk"])
def test_a_process_whose_gpu_fails_is_replaced(tmp_path: Path, sides: Any, answers: Any, tile: str) -> None:
    """The process of the run itself first, then workers; in the end the host does the tile that always brings it about."""
    status, said = drive_apart(tmp_path / "run", sides, "exact", {"gpus": 1}, **STAND_IN, TIDALIGN_TEST_FAULT=f"{tile}:0")
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path / "run") == answers["exact"]
    assert rundir.finished(str(tmp_path / "run")) == "SUCCESS"
    check_replaced(tmp_path / "run", tile)


@pytest.mark.slow
def test_a_worker_that_dies(tmp_path: Path, sides: Any, answers: Any) -> None:
    status, said = drive_apart(tmp_path / "run", sides, "independent", {"gpus": 2}, **STAND_IN, TIDALIGN_TEST_POISON="j000000.u1.extend:8")
    assert status == Exit.PARTIAL, said
    (shortfall,) = GenomeResults(tmp_path / "run").shortfalls()
    assert (shortfall["anchor"], shortfall["status"]) == (8, "rejected")
    rows = GenomeResults(tmp_path / "run").to_table().to_pylist()
    assert len(rows) > 0 and all(row in answers["independent"][1].to_pylist() for row in rows)


def test_gpus_wanted_and_not_there(sides: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert main(["genome", *sides, "-o", str(tmp_path / "out.maf"), "--gpus", "2"]) == Exit.UNAVAILABLE
    assert "no usable GPU" in capsys.readouterr().err
