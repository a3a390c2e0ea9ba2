"""When two processes share a GPU: where it is worth their start, and where they can be started."""

import multiprocessing
import sys
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from tidalign.cluster.guard import may_start
from tidalign.pipeline.device import CPU, GPU
from tidalign.pipeline.genome.input.source import GenomeSource
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.workflows.run.devices import Gpus, Resources
from tidalign.workflows.run.genome.run import SHARED_LETTERS, SHARED_WORK, Genomes

LONG = 2.1 * SHARED_WORK * GPU.speed


@pytest.fixture(autouse=True)
def dask_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("dask_cuda")
    module.__spec__ = mock.Mock()
    monkeypatch.setitem(sys.modules, "dask_cuda", module)


def processes(gpus: int, mode: str = "exact", *, work: float = LONG, left: float = 1.0, letters: int = SHARED_LETTERS, cores: int = 0, **resources: Any) -> int:
    names = {str(place): "Z" for place in range(gpus)}
    tracker: Any = mock.Mock(total=lambda: work, left=lambda: left, letters=lambda: letters)
    return Genomes(GenomeSource(()), GenomeParameters(mode=mode)).processes(tracker, Gpus(names, "", GPU, cores), Resources(**resources))


@pytest.mark.parametrize(("gpus", "mode", "shared"), [(1, "exact", 2), (2, "exact", 2), (2, "independent", 2), (1, "independent", 1)])
def test_long_work_on_small_sides(gpus: int, mode: str, shared: int) -> None:
    assert processes(gpus, mode) == shared


def test_the_work_is_that_of_each_gpu_and_what_is_left() -> None:
    assert processes(3) == 1
    assert processes(1, work=LONG / 3) == 1
    assert processes(1, left=0.1) == 1


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
