"""When two processes share a GPU: where it is worth their start, and where they can be started."""

import multiprocessing
import sys
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from tidalign.cluster.gpus import HIRE_SECONDS
from tidalign.cluster.guard import may_start
from tidalign.cluster.stop import Stop
from tidalign.pipeline.device import CPU, GPU
from tidalign.pipeline.genome.input.source import GenomeSource
from tidalign.pipeline.genome.manifest import GenomeManifest, Job
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import plan_tiles
from tidalign.workflows.run.devices import Gpus, Resources
from tidalign.workflows.run.genome.run import SHARED_LETTERS, SHARED_WORK, Genomes
from tidalign.workflows.run.genome.tiles import Tiles

LONG = 2.1 * SHARED_WORK


@pytest.fixture(autouse=True)
def dask_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("dask_cuda")
    module.__spec__ = mock.Mock()
    monkeypatch.setitem(sys.modules, "dask_cuda", module)


def processes(gpus: int, mode: str = "exact", *, work: float = LONG, letters: int = SHARED_LETTERS, cores: int = 0, **resources: Any) -> int:
    names = {str(place): "Z" for place in range(gpus)}
    tracker: Any = mock.Mock(gpu_seconds=lambda: work, letters=lambda: letters)
    return Genomes(GenomeSource(()), GenomeParameters(mode=mode)).processes(tracker, Gpus(names, "", GPU, cores), Resources(**resources))


@pytest.mark.parametrize(("gpus", "mode", "shared"), [(1, "exact", 2), (2, "exact", 2), (2, "independent", 2), (1, "independent", 1)])
def test_long_work_on_small_sides(gpus: int, mode: str, shared: int) -> None:
    assert processes(gpus, mode) == shared


def test_the_work_is_that_of_each_gpu() -> None:
    assert processes(3) == 1
    assert processes(1, work=LONG / 3) == 1


def test_the_index_of_a_large_side_is_not_on_a_gpu_twice() -> None:
    assert processes(2, letters=SHARED_LETTERS + 1) == 1


def test_not_where_somebody_says_who_works() -> None:
    assert Genomes(GenomeSource(()), GenomeParameters()).processes(mock.Mock(), Gpus({"0": "Z", "1": "Z"}, "", GPU, shareable=False), Resources()) == 1
    assert processes(1, workers=0) == processes(2, cores=1) == processes(2, scheduler="tls://z:1") == 1


def test_not_where_workers_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    with mock.patch("tidalign.workflows.run.genome.run.may_start", return_value=False):  # a script without a guard
        assert processes(1) == 1
    monkeypatch.setitem(sys.modules, "dask_cuda", None)
    assert processes(1) == 1


def test_a_daemon_may_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert may_start()
    monkeypatch.setattr(multiprocessing, "current_process", lambda: mock.Mock(daemon=True))
    assert not may_start() and processes(1) == 1


@pytest.mark.parametrize(("gpus", "compiles"), [(0, True), (1, False), (2, False)])
def test_gpus_do_not_wait_for_kernels_of_cores(gpus: int, compiles: bool) -> None:
    of = Gpus({str(place): "Z" for place in range(gpus)}, "", GPU if gpus else CPU)
    assert Genomes(GenomeSource(()), GenomeParameters()).compiles(of) is compiles


HUMAN_MOUSE = [int(2.9e9 / 30)] * 30, [int(2.6e9 / 30)] * 30


@pytest.mark.parametrize(
    ("targets", "queries", "gfextend", "measured"),
    [
        ([4_641_652], [4_857_450], True, 0.7),  # E. coli, Salmonella
        ([175_000_000], [50_000_000], True, 1.8),
        ([250_000_000], [230_000_000], True, 6.0),
        (*HUMAN_MOUSE, True, 2 * 310.0),
        ([4_641_652], [4_857_450], False, 31.0),  # E. coli, Salmonella, exact mode
        ([10_000_000], [11_000_000], False, 50.0),  # chromosomes 22 of human and gorilla, a third of them N
    ],
)
def test_the_seconds_of_a_gpu_are_about_what_was_measured(targets: list[int], queries: list[int], gfextend: bool, measured: float) -> None:
    """Whole genomes, and pieces of one, by the commands of docs/benchmarks.md, less their start: hired for, or not, as the work is."""
    parameters = GenomeParameters(gfextend=gfextend)
    sides = [{"id": number, "bases": sum(of), "sequences": len(of)} for number, of in enumerate((targets, queries))]
    tiles = plan_tiles(sum(targets), queries, parameters)
    job = Job("pair", 0, 1, None, 0, 0, False, 2 * len(queries), 0, 0, tiles)
    tracker = Tiles("nowhere", GenomeManifest("run", parameters, {}, {}, sides, [job], ["pair"]), Stop(), lambda *_: None, GPU)
    assert measured / 15 < tracker.gpu_seconds() < measured * 4
    assert (tracker.gpu_seconds() > HIRE_SECONDS) is (measured > HIRE_SECONDS)
