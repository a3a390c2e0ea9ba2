"""Share tasks among workers of different speeds, so that all are done at about the same time, and none makes the others wait (EXECUTION.md 7).

What tasks are predicted to take a core may be off by a hundred times, and how much faster a GPU is by a few. So predictions are held against what tasks of the
same sort took in this run, and a task that a core has too long is given to a faster worker that has nothing else to do.
"""

from collections.abc import Iterable, Sequence

from tidalign.cluster.task import Queue, Rank, Task

Pool = tuple[float, bool]
"""Workers that are as fast as so many cores; and whether they are on cores, beside others with GPUs."""

_FORGET = 0.9
"""Share that counts, with each later task, of those before."""

AGAIN_SECONDS = 1.0
"""That a task must be done sooner elsewhere to be begun again there."""


def fastest_first(pools: Iterable[Pool]) -> list[Pool]:
    """Put pools in the order in which they choose: a GPU before a core."""
    return sorted(pools, key=lambda pool: (-pool[0], pool[1]))


class Share:
    """Knows which pools there are, and what tasks of each sort took them.

    pools: workers of each, and their threads.
    """

    def __init__(self) -> None:
        self.pools: dict[Pool, tuple[int, int]] = {}
        self._took: dict[tuple[Pool, str], tuple[float, float]] = {}

    def learn(self, pool: Pool, task: Task, seconds: float) -> None:
        """Note how long a worker of a pool had a task."""
        if (predicted := self._predicted(pool, task)) > 0:
            took, of = self._took.get((pool, task.sort), (0.0, 0.0))
            self._took[pool, task.sort] = _FORGET * took + seconds, _FORGET * of + predicted

    def _predicted(self, pool: Pool, task: Task) -> float:
        """Predict the seconds that a task takes one worker, which shares its GPU among its threads."""
        return task.seconds * self._threads(pool) / pool[0]

    def _threads(self, pool: Pool) -> float:
        workers, threads = self.pools.get(pool, (1, 1))
        return threads / workers

    def _off(self, pool: Pool, sort: str) -> float:
        """Tell how many times as long as predicted tasks of a sort take a pool: as they did; if it had none, as they did the fastest that had some."""
        known = (self._took[each, sort] for each in (pool, *fastest_first(self.pools)) if (each, sort) in self._took)
        took, of = next(known, (1.0, 1.0))
        return max(took / of, 1e-9)

    def seconds(self, pool: Pool, tasks: Sequence[Task]) -> float:
        """Estimate how long tasks take a worker of a pool, one after the other."""
        return sum(self._predicted(pool, task) * self._off(pool, task.sort) for task in tasks)

    def rank(self, pool: Pool, queue: Queue) -> Rank:
        """Rank tasks for a pool that others are faster than: those alone that it has done when all workers together have done what waits, the longest first;
        of a sort that it has not done yet, about which least is known, the shortest."""
        off = {sort: self._off(pool, sort) for sort in queue.seconds}
        left = sum(
            seconds / sum(workers * each[0] / self._off(each, sort) for each, (workers, _) in self.pools.items())
            for sort, seconds in queue.seconds.items()
            if seconds > 0
        )
        most = {sort: left * pool[0] / self._threads(pool) / off[sort] for sort in off}
        done = {sort for sort in off if (pool, sort) in self._took}

        def rank(task: Task) -> float | None:
            if task.seconds > most[task.sort]:
                return None
            return task.weight if task.sort in done else -task.seconds

        return rank

    def sooner(self, pool: Pool, tasks: Sequence[Task], other: Pool, since: float) -> bool:
        """Tell whether an idle worker of a pool, from the start, has tasks done sooner than one of another pool that began so many seconds ago: who is late
        is taken for as late again."""
        rest = self.seconds(other, tasks) - since
        return (rest if rest > 0 else since) > self.seconds(pool, tasks) + AGAIN_SECONDS
