"""Give many tasks to workers: how many a second, whether the memory of who gives them out grows, how long workers take to be ready and to be gone.

python tests/benchmarks/cluster.py [--tasks 100000] [--workers 8] [--result JSON]
"""

import argparse
import os
import time
from collections.abc import Iterable
from typing import Any

import psutil
import record

from tidalign.cluster.map import run_on
from tidalign.cluster.start import start
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Task

LOOKS = 10


class Counted:
    """Counts what is done, gives the next task for each that is, and looks now and then at the memory of this process."""

    def __init__(self, tasks: int) -> None:
        self.left, self.done_at, self.megabytes = tasks, 0, list[float]()
        self._each = max(1, tasks // LOOKS)

    def next(self) -> list[Task]:
        if not self.left:
            return []
        self.left -= 1
        return [Task(f"task-{self.left}", os.getpid, ())]

    def done(self, task: Task, result: Any) -> Iterable[Task]:
        self.done_at += 1
        if self.done_at % self._each == 0:
            self.megabytes.append(round(psutil.Process().memory_info().rss / 1e6, 1))
        return self.next()

    def died(self, task: Task, killed: bool) -> Iterable[Task]:
        return [task]

    def failed(self, task: Task, error: BaseException) -> Iterable[Task]:
        raise error

    def note(self, event: str, **details: Any) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--result")
    arguments = parser.parse_args()
    counted, times = Counted(arguments.tasks), {"begin": time.monotonic()}
    with start(arguments.workers) as workers:
        times["ready"] = time.monotonic()
        cpu = time.process_time()
        run_on(workers, [task for _ in range(arguments.workers) for task in counted.next()], counted, Stop())
        times["done"] = time.monotonic()
        cpu = time.process_time() - cpu
    times["closed"] = time.monotonic()
    seconds = {name: round(times[name] - times[before], 3) for before, name in zip(times, list(times)[1:], strict=False)}
    found = {
        "tasks": counted.done_at,
        "workers": arguments.workers,
        "tasks a second": round(counted.done_at / seconds["done"], 1),
        "seconds": seconds,
        "CPU milliseconds of this process a task": round(1000 * cpu / counted.done_at, 3),
        "megabytes of this process": counted.megabytes,
        "load of the machine": os.getloadavg()[0],
    }
    print(found)
    if arguments.result:
        record.write(arguments.result, found)


if __name__ == "__main__":
    main()
