"""Give many tasks to workers: how many a second, whether the memory of who gives them out grows, how long workers take to be ready and to be gone.

python tests/benchmarks/cluster.py [--tasks 100000] [--workers 8] [--result JSON]
python tests/benchmarks/cluster.py --hosts 4 [--result JSON]: seconds until a worker of each is there; hosts are network namespaces (root's), started as by srun
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil
import record

sys.path.insert(0, str(Path(__file__).parents[1] / "cluster"))

from tidalign.cluster.dispatch.run import run_on
from tidalign.cluster.start import start
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Task

LOOKS = 10


WAITING = 64
"""Tasks for each worker that wait, at most: a run has all of them in its queue."""


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


READY = """
import sys
from distributed import Client
with Client(sys.argv[1], timeout=600) as client:
    client.wait_for_workers(int(sys.argv[2]))
"""


def hosts(count: int) -> dict[str, Any]:
    """Start a worker on each of some hosts, and wait for all of them."""
    from hosts import Hosts

    with tempfile.TemporaryDirectory() as folder:
        made = Hosts(Path(folder), count)
        made.environment["SLURM_JOB_CPUS_PER_NODE"] = f"1(x{count})"
        try:
            made.scheduler()
            said = {"address": made.scheduler_address, "modules": [], "gpus": False, "each": None}
            (Path(folder) / "dask" / "scheduler.json").write_text(json.dumps(said))
            seen = made.run("host0", sys.executable, "-c", READY, made.scheduler_address, str(count), log="seen.log")
            time.sleep(3)  # it has loaded Dask and waits
            began = time.monotonic()
            for number, name in enumerate(made.names):
                words = ("-P", "-m", "tidalign.cluster.allocation.node", f"{folder}/dask")
                made.run(name, sys.executable, *words, log=f"{name}.log", pipe=True, SLURM_NODEID=str(number))
            seen.wait()
            return {"hosts": count, "seconds until all are ready": round(time.monotonic() - began, 2)}
        finally:
            made.close()


def tasks(count: int, processes: int) -> dict[str, Any]:
    """Give many tasks to worker processes of this machine."""
    counted, times = Counted(count), {"begin": time.monotonic()}
    with start(processes) as workers:
        times["ready"] = time.monotonic()
        cpu = time.process_time()
        run_on(workers, [task for _ in range(WAITING * processes) for task in counted.next()], counted, Stop())
        times["done"] = time.monotonic()
        cpu = time.process_time() - cpu
    times["closed"] = time.monotonic()
    seconds = {name: round(times[name] - times[before], 3) for before, name in zip(times, list(times)[1:], strict=False)}
    return {
        "tasks": counted.done_at,
        "workers": processes,
        "tasks a second": round(counted.done_at / seconds["done"], 1),
        "seconds": seconds,
        "CPU milliseconds of this process a task": round(1000 * cpu / counted.done_at, 3),
        "megabytes of this process": counted.megabytes,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--hosts", type=int)
    parser.add_argument("--result")
    arguments = parser.parse_args()
    found = hosts(arguments.hosts) if arguments.hosts else tasks(arguments.tasks, arguments.workers)
    found |= {"load of the machine": os.getloadavg()[0]}
    print(found)
    if arguments.result:
        record.write(arguments.result, found)


if __name__ == "__main__":
    main()
