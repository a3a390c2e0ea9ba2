"""Say what workers are given to do, and what the caller wants to hear of it. Needs no Dask: small jobs run in this process."""

import faulthandler
import heapq
import logging
import multiprocessing
import os
import platform
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

from tidalign.cluster.errors import Stopped
from tidalign.cluster.stop import Stop


@dataclass(frozen=True, eq=False)
class Task:
    """A call to make on some worker: `function(*arguments)`, an importable function and small picklable arguments, with a small result.

    key: names it in messages and on the scheduler's page.
    weight: predicted seconds; the longest tasks go first.
    pulse: called here; what it returns changes whenever the task gets on, and is None until it has begun.
    patience: seconds of CPU time of its worker without a change of `pulse` after which the task hangs and its worker is restarted.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    weight: float = 0.0
    pulse: Callable[[], object] | None = None
    patience: float = float("inf")


class Outcomes(Protocol):
    """What became of tasks, told in the caller's thread. What they return is run as well; what any of them raises ends the run."""

    def done(self, task: Task, result: Any) -> Iterable[Task] | None:
        """The task returned `result`."""

    def died(self, task: Task, killed: bool) -> Iterable[Task]:
        """The task was lost: its worker died while it was assigned there, begun or not (`killed`), or the scheduler forgot it."""

    def failed(self, task: Task, error: BaseException) -> Iterable[Task]:
        """The task raised `error`."""

    def note(self, event: str, **details: Any) -> None:
        """Something happened to the workers."""


class Queue:
    """Tasks to run, the heaviest first, equal ones in the order they came."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._heap: list[tuple[float, int, Task]] = []
        self._pushed = 0
        self.push(tasks)

    def push(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            heapq.heappush(self._heap, (-task.weight, self._pushed, task))
            self._pushed += 1

    def pop(self) -> Task:
        return heapq.heappop(self._heap)[2]

    def __len__(self) -> int:
        return len(self._heap)


def cores() -> int:
    """Processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_log: TextIO | None = None
"""Of this worker, in the folder that it works for now."""

_handler = logging.StreamHandler()


@contextmanager
def logged(folder: str, what: str) -> Iterator[None]:
    """Write down in a folder what this worker does: HOST-PROCESS.log has a line where something begins and one where it ends, what libraries warn of, and where
    each thread was when a fault of the machine's ended it. Nothing of a process that is no worker, or where nothing can be written."""
    global _log
    if multiprocessing.parent_process() is None:
        yield
        return
    with suppress(OSError):
        path = Path(folder, f"{re.sub(r'[^A-Za-z0-9-]', '-', platform.node())}-{os.getpid()}.log")
        if _log is None or _log.name != str(path):
            _log = path.open("a", buffering=1)  # for as long as the worker lives
            faulthandler.enable(_log)
            _handler.setStream(_log)
            logging.getLogger().addHandler(_handler)
    began = time.monotonic()
    _note(f"{what} begins")
    try:
        yield
    except BaseException as error:
        _note(f"{what} ends by {error!r}")
        raise
    _note(f"{what} ends, {time.monotonic() - began:.3f} s")


def _note(line: str) -> None:
    if _log is not None:
        with suppress(OSError):
            _log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {line}\n")


PULSE = 1.0
"""Seconds between looks at the pulses of tasks that run in this process."""


def run_here(tasks: Iterable[Task], outcomes: Outcomes, stop: Stop, threads: int = 1) -> None:
    """Run tasks in this process, in this thread, or so many at a time in others. Stopped where `stop` was set and tasks are left."""
    queue = Queue(tasks)
    if threads > 1:
        _run_in_threads(queue, outcomes, stop, threads)
        return
    while queue:
        if stop.number is not None:
            raise Stopped(stop.number)
        task = queue.pop()
        try:
            with _looked_at(task):
                result = task.function(*task.arguments)
        except Exception as error:
            queue.push(outcomes.failed(task, error))
        else:
            queue.push(outcomes.done(task, result) or ())


@contextmanager
def _looked_at(task: Task) -> Iterator[None]:
    """Have another thread look at the pulse of a task that runs in this one."""
    if not task.pulse:
        yield
        return
    pulse, over = task.pulse, threading.Event()

    def look() -> None:
        while not over.wait(PULSE):
            pulse()

    looking = threading.Thread(target=look, name="pulse", daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()


def _run_in_threads(queue: Queue, outcomes: Outcomes, stop: Stop, threads: int) -> None:
    running: dict[Future[Any], Task] = {}
    with ThreadPoolExecutor(threads) as pool:
        while queue or running:
            while queue and len(running) < threads and stop.number is None:
                task = queue.pop()
                running[pool.submit(task.function, *task.arguments)] = task
            if not running:
                raise Stopped(stop.number or 0)
            for future in wait(running, PULSE, FIRST_COMPLETED).done:
                task = running.pop(future)
                if error := future.exception():
                    queue.push(outcomes.failed(task, error))
                else:
                    queue.push(outcomes.done(task, future.result()) or ())
            for task in running.values():
                if task.pulse:
                    task.pulse()


# ---- faults, for tests of what kills processes

FAULTS = ("POISON", "HANG", "FAULT")


def inject(places: Callable[[], Iterable[str]], fault: Callable[[], None] = lambda: None) -> None:
    """Do at these places what the environment says: TIDALIGN_TEST_POISON, TIDALIGN_TEST_HANG and TIDALIGN_TEST_FAULT name places (with commas between) at which
    the process kills itself, spins, or calls `fault` (a kernel that writes where nothing is); TIDALIGN_TEST_SLOW is a number of seconds to wait at each call.

    places: asked for only where a variable is set.
    """
    if slow := os.environ.get("TIDALIGN_TEST_SLOW"):
        time.sleep(float(slow))
    for kind in FAULTS:
        named = os.environ.get(f"TIDALIGN_TEST_{kind}")
        if not named or set(named.split(",")).isdisjoint(places()):
            continue
        if kind == "POISON":
            os.kill(os.getpid(), signal.SIGKILL)
        while kind == "HANG":
            pass
        fault()
