"""Say what workers are given to do, and what the caller wants to hear of it. Needs no Dask: small jobs run in this process."""

import heapq
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, Protocol

TaskKind = Literal["work", "read", "here"]
"""Who may do a task: `work` whoever is there, workers before this process; `read`, which makes work for others, threads of this process too, beside them;
`here` this process alone."""

KINDS: tuple[TaskKind, ...] = ("work", "read", "here")

ROOT = Path("/")
"""Holds the files in which the system tells a process what it may use: the tests have others."""


@dataclass(frozen=True, eq=False)
class Task:
    """A call to make on some worker: `function(*arguments)`, an importable function and small picklable arguments, with a small result.

    key: names it in messages and on the scheduler's page.
    weight: predicted seconds; the longest tasks go first.
    pulse: called here; what it returns changes whenever the task gets on, and is None until it has begun.
    patience: seconds of CPU time of its worker without a change of `pulse` after which the task hangs and its worker is restarted.
    kind: who may do it.
    seconds: that it is predicted to take one core.
    on_core: arguments, and patience, for a worker that has no GPU where others have; None: the same.
    sort: of its work; what tasks of one sort take some worker is in proportion to their `seconds`, as far as is known.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    weight: float = 0.0
    pulse: Callable[[], object] | None = None
    patience: float = float("inf")
    kind: TaskKind = "work"
    seconds: float = 0.0
    on_core: tuple[tuple[Any, ...], float] | None = None
    sort: str = ""


class Outcomes(Protocol):
    """Hears what became of tasks, in the caller's thread. What they return is run as well; what any of them raises ends the run."""

    def done(self, task: Task, result: Any) -> Iterable[Task] | None:
        """Hear that the task returned `result`; give further tasks, or None."""

    def died(self, task: Task, killed: bool) -> Iterable[Task]:
        """Hear that the task was lost: its worker died with it, begun or not (`killed`), or the scheduler forgot it; give what to do then."""

    def failed(self, task: Task, error: BaseException) -> Iterable[Task]:
        """Hear that the task raised `error`; give what to do then."""

    def note(self, event: str, **details: Any) -> None:
        """Hear that something happened to the workers."""


Rank = Callable[[Task], float | None]


class Queue:
    """Holds tasks until somebody is free: the longest of a kind first, equals as they came."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        self._heaps: dict[TaskKind, list[tuple[float, int, Task]]] = {}
        self._pushed = 0
        self.seconds: defaultdict[str, float] = defaultdict(float)  # predicted for all of them, by sort
        self.push(tasks)

    def push(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            heapq.heappush(self._heaps.setdefault(task.kind, []), (-task.weight, self._pushed, task))
            self._pushed += 1
            self.seconds[task.sort] += task.seconds

    def pop(self, kinds: Iterable[TaskKind], rank: Rank = attrgetter("weight"), like: Callable[..., Any] | None = None) -> Task | None:
        """Take the task of these kinds that ranks highest, the longest if nobody says otherwise; None where none has a rank, or it is no call of `like`."""
        heaps = [heap for kind in kinds if (heap := self._heaps.get(kind))]
        # Who is slow looks at all of them where the longest does not fit.
        entries = (entry for heap in heaps for entry in (heap[:1] if rank(heap[0][2]) == heap[0][2].weight else heap))
        ranked = ((place, -entry[1], entry) for entry in entries if (place := rank(entry[2])) is not None)
        *_, first = max(ranked, default=(None,))
        if first is None or (like is not None and first[2].function is not like):
            return None
        heap = self._heaps[first[2].kind]
        if heap[0] is first:
            heapq.heappop(heap)
        else:
            heap.remove(first)
            heapq.heapify(heap)
        self.seconds[first[2].sort] -= first[2].seconds
        return first[2]

    def __len__(self) -> int:
        return sum(map(len, self._heaps.values()))


def cores() -> int:
    """Count the processor cores this process may use: those it is scheduled on, no more than its container has the time of, and than TIDALIGN_CORES says, which
    `--threads` sets for all processes of a command. ValueError where that is no number."""
    asked = os.environ.get("TIDALIGN_CORES") or str(1 << 20)
    if not (asked.isascii() and asked.isdigit() and int(asked)):
        raise ValueError(f"TIDALIGN_CORES={asked}: expected a whole number, 1 or more; set one, or unset it to use all cores")
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    times = [*_limits("cpu", "cpu.max"), *_limits("cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us")]
    return min([here, int(asked), *(-(-int(quota) // int(period)) for quota, period in times if quota.isdigit())])


def _limits(controller: str, *names: str) -> Iterator[list[str]]:
    """List what files of these names say in the cgroups of this process, its own and those around it, of either version: what a container, or a service, may
    use. Nothing where there are none."""
    try:
        groups = (ROOT / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # no Linux
        return
    for _, controllers, own in (group.split(":", 2) for group in groups):
        if controllers and controller not in controllers.split(","):
            continue
        for top in dict.fromkeys((controller, controllers) if controllers else ("", "unified")):
            for path in (Path(own), *Path(own).parents):  # a container may see its own as the uppermost, and still be told the whole path
                with suppress(OSError):
                    yield [word for name in names for word in Path(f"{ROOT}/sys/fs/cgroup/{top}{path}/{name}").read_text().split()]
