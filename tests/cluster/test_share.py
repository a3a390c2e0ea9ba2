"""Tasks shared among workers of different speeds, where nobody knows well how long they take."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from jobs import square
from test_dispatch import Recorded

from tidalign.cluster.dispatch.run import run_on
from tidalign.cluster.dispatch.share import Share, fastest_first
from tidalign.cluster.start import start
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Queue, Task
from tidalign.cluster.workers import Workers

GPU, CORE = (100.0, False), (1.0, True)


def task(seconds: float, sort: str = "extend", key: str = "t") -> Task:
    return Task(key, square, (1,), seconds, seconds=seconds, sort=sort)


def share(gpu_threads: int = 1, cores: int = 1) -> Share:
    found = Share()
    found.pools = {GPU: (1, gpu_threads), CORE: (cores, cores)}
    return found


def test_a_core_takes_what_it_has_done_when_all_is_done() -> None:
    """A hundredth of the work, by what is predicted; of a sort that it has not done yet the shortest."""
    rank = share().rank(CORE, Queue([task(100.0)] * 10))
    assert rank(task(1000 / 101 + 0.1)) is None and rank(task(5.0)) == -5.0 and rank(task(6.0)) == -6.0
    known = share()
    known.learn(CORE, task(3.0), 3.0)
    rank = known.rank(CORE, Queue([task(100.0)] * 10))
    assert rank(task(5.0)) == 5.0 and rank(task(9.0)) == 9.0


def test_the_last_task_is_for_the_fastest() -> None:
    for threads in (1, 2):
        for seconds in (0.01, 1.0, 1e6):
            assert share(threads).rank(CORE, Queue([task(seconds)]))(task(seconds)) is None


def test_what_tasks_took_is_held_against_what_was_predicted() -> None:
    """A core that takes five times as long as it was thought to gets a fifth; sorts that take nothing count for nothing."""
    slow = share()
    slow.learn(GPU, task(100.0), 1.0)
    slow.learn(CORE, task(1.0), 5.0)
    queue = Queue([task(100.0)] * 10)
    assert slow.rank(CORE, queue)(task(2.1)) is None and slow.rank(CORE, queue)(task(1.9)) == 1.9
    cheap = share()
    cheap.learn(GPU, task(100.0, "seed"), 0.001)
    queue = Queue([task(100.0, "seed")] * 1000 + [task(10.0)])
    assert share().rank(CORE, queue)(task(10.0)) is not None and cheap.rank(CORE, queue)(task(10.0)) is None
    cheap.learn(CORE, task(100.0, "seed"), 0.1)
    assert cheap.rank(CORE, queue)(task(10.0)) is None


def test_what_is_known_of_a_gpu_is_thought_of_a_core() -> None:
    """All predictions were a tenth of what it is: that changes nothing, as the speeds are what counts."""
    tenfold = share(gpu_threads=2)
    tenfold.learn(GPU, task(100.0), 20.0)
    queue = Queue([task(100.0)] * 10)
    assert tenfold.seconds(GPU, [task(100.0)]) == pytest.approx(20.0), "two at a time, each in twice the time"
    assert tenfold.seconds(CORE, [task(3.0)]) == pytest.approx(30.0)
    assert tenfold.rank(CORE, queue)(task(9.8)) is not None and tenfold.rank(CORE, queue)(task(10.0)) is None


def test_later_tasks_count_more() -> None:
    learns = share()
    learns.learn(GPU, task(100.0), 30.0)  # the first one compiles
    for _ in range(40):
        learns.learn(GPU, task(100.0), 1.0)
    assert learns.seconds(GPU, [task(100.0)]) == pytest.approx(1.0, rel=0.06)


def test_a_task_is_begun_again_where_it_is_done_sooner() -> None:
    both = share()
    of = [task(50.0)]
    assert not both.sooner(GPU, of, CORE, 49.0), "it is nearly done"
    assert both.sooner(GPU, of, CORE, 10.0)
    assert both.sooner(GPU, of, CORE, 51.0), "it is late, nobody knows how much"
    assert not both.sooner(GPU, [task(0.5)], CORE, 1.0) and both.sooner(GPU, [task(0.5)], CORE, 1.1)
    both.learn(GPU, task(50.0), 60.0)
    both.learn(CORE, task(50.0), 50.0)
    assert not both.sooner(GPU, of, CORE, 10.0), "GPUs are slower at this"


def test_a_gpu_chooses_before_a_core() -> None:
    assert fastest_first([(1.0, True), (1.0, False), (50.0, False), (100.0, False)]) == [(100.0, False), (50.0, False), (1.0, False), (1.0, True)]


@pytest.fixture
def two() -> Iterator[Workers]:
    with start(2) as workers:
        gpu, core = workers.live()
        workers.pools[gpu] = GPU
        workers.said.update({gpu: None, core: None})

        def joins(joined: Any) -> dict[str, str | None]:  # a worker that starts again is a core, too
            workers.pools.update(dict.fromkeys(joined, CORE))
            return dict.fromkeys(joined)

        joins([core])
        workers.trials.append(joins)
        yield Workers(**{**vars(workers), "tried": True})


def test_a_core_that_is_too_slow_makes_nobody_wait(two: Workers) -> None:
    """Its tasks take it hundreds of times what was thought: the worker with the GPU does them again, and the core's worker starts anew."""
    seen = Recorded()
    tasks = [Task(f"t{n}", square, (n, 0.02), 2.0, seconds=2.0, on_core=((n, 600.0), 1e4), sort="extend") for n in range(150)]
    began = time.monotonic()
    run_on(two, tasks, seen, Stop())
    assert time.monotonic() - began < 600
    assert seen.results == {f"t{n}": n * n for n in range(150)} and set(seen.times.values()) == {1}
    assert seen.events.count("recalled") == 1 and not seen.lost and not seen.deaths
    run_on(two, [Task(f"u{n}", square, (n, 0.05), 2.0, seconds=2.0, on_core=((n, 0.05), 600.0), sort="extend") for n in range(300)], seen, Stop())
    assert len(seen.results) == 450 and not seen.deaths
