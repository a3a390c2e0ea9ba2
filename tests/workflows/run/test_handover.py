"""The memory of this process's GPU is given to a worker that has the same one: then alone, and while the GPU answers."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tidalign.cluster import start
from tidalign.cluster.dispatch import run as dispatch
from tidalign.cluster.stop import Stop
from tidalign.cluster.workers import Workers
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS
from tidalign.pipeline.genome.stages import gpu
from tidalign.workflows.run import handover
from tidalign.workflows.run.crew import Crew
from tidalign.workflows.run.genome import tasks as genomes
from tidalign.workflows.run.search import tasks as searches
from tidalign.workflows.run.trials import Trials


@pytest.fixture
def freed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """List when CuPy was asked to free what it keeps."""
    calls: list[str] = []
    cupy: Any = ModuleType("cupy")
    cupy.get_default_memory_pool = lambda: SimpleNamespace(free_all_blocks=lambda: calls.append("freed"))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    yield calls
    handover.end()


def test_memory_goes_while_it_is_a_workers(freed: list[str]) -> None:
    handover.give_back()
    assert freed == []
    handover.begin(idle=False)
    assert freed == [], "the task that runs gives back, when it has ended"
    handover.give_back()
    handover.begin(idle=True)
    assert freed == ["freed"] * 2
    handover.end()
    handover.give_back()
    assert freed == ["freed"] * 2


def test_what_is_kept_for_the_next_task_goes_first(freed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A genome's words and a database's slices, which are in use as long as they are kept."""
    monkeypatch.setattr(handover, "KEPT", [lambda: freed.append("words")])
    handover.give_back()
    assert freed == []
    handover.begin(idle=True)
    assert freed == ["words", "freed"]


def test_tasks_let_go_of_what_they_keep_on_the_gpu(freed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A genome's tasks of a target's words, a search's of slices of its database."""
    assert searches._loaded.cache_clear in handover.KEPT and genomes._forget_words in handover.KEPT
    monkeypatch.setattr(gpu, "_words", lru_cache(lambda *which: which))
    gpu._words("run", 0)
    handover.begin(idle=True)
    assert (gpu._words.cache_info().currsize, freed) == (0, ["freed"])


def test_a_gpu_that_was_lost_is_asked_for_nothing(freed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy's blocks meet their errors where they are taken apart, where Python prints them."""
    monkeypatch.setattr(GPU_OF_PROCESS, "lost", "an illegal memory access was encountered")
    handover.begin(idle=True)
    assert freed == []


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have workers hired at once, which do all."""

    class One(Workers):
        def live(self) -> dict[str, int]:
            return {"a": 1}

        def on(self, workers: Any, function: Any) -> dict[str, Any]:
            return {"a": function()}

        def everywhere(self, function: Any, *arguments: Any) -> dict[str, Any]:
            return {"a": function(*arguments)}

    @contextmanager
    def started(*_: Any) -> Iterator[One]:
        yield One(None, None, 1)

    def on_workers(workers: Any, queue: Any, outcomes: Any, *_: Any) -> None:
        while task := queue.pop(("work", "read")):
            outcomes.done(task, task.function(*task.arguments))

    monkeypatch.setattr(start, "start", started)
    monkeypatch.setattr(dispatch, "run_on", on_workers)
    monkeypatch.setattr(Trials, "gpus", lambda _, workers: dict.fromkeys(workers))


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize(("gpus", "times"), [((), 0), (("0",), 1)])
def test_workers_on_cores_take_no_gpu(freed: list[str], tmp_path: Path, gpus: tuple[str, ...], times: int) -> None:
    """Leave a script what it has in CuPy's pool."""
    crew = Crew(Stop(), str(tmp_path), __name__, 1, None)
    crew.replace(gpus, 2)
    crew.hire()
    assert crew.map(abs, [-1]) == [1]
    assert len(freed) == times
    crew.dismiss()


@pytest.mark.usefixtures("workers")
def test_it_is_this_processs_again_whoever_was_let_go(freed: list[str], tmp_path: Path) -> None:
    crew = Crew(Stop(), str(tmp_path), __name__, 1, None)
    crew.replace(["0"], 2)
    crew.hire()
    crew.map(abs, [-1])
    crew.replace(["0", "1"], 2)
    crew.dismiss()
    freed.clear()
    handover.give_back()
    assert freed == []
