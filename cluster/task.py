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
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, Protocol, TextIO, cast

from tidalign.cluster.errors import Hangs, Stopped
from tidalign.cluster.stop import Stop

TaskKind = Literal["work", "read", "here"]
"""Who may do a task: `work` whoever is there, workers before this process; `read`, which makes work for others, threads of this process too, beside them;
`here` this process alone."""


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
    """Count the processor cores this process may use: all, or as many as TIDALIGN_CORES says, which `--threads` sets for all processes of a command."""
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, int(os.environ.get("TIDALIGN_CORES") or 1 << 20))


_log: TextIO | None = None  # of this worker, in the folder that it works for now
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


KINDS: tuple[TaskKind, ...] = ("work", "read", "here")

PULSE_SECONDS = 1.0
"""Seconds between looks at the pulses of tasks that run in this process."""


def run_here(tasks: Iterable[Task], outcomes: Outcomes, stop: Stop, threads: int = 1, watch: Callable[[Iterable[Task]], object] = lambda _: None) -> None:
    """Run tasks of any kind in this process, in this thread, or so many at a time in others (`Threads`). Stopped where `stop` was set and tasks are left."""
    queue = Queue(tasks)
    if threads > 1:
        with Threads(lambda: dict.fromkeys(KINDS, threads), watch) as pool:
            pool.run(queue, outcomes, stop)
        return
    while task := queue.pop(KINDS):
        if stop.number is not None:
            raise Stopped(stop.number)
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
        while not over.wait(PULSE_SECONDS):
            pulse()

    looking = threading.Thread(target=look, name="pulse", daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()


THREAD = "tasks"
"""Name of threads that may be left behind: what they are at was given up, or they have nothing to do."""


class Threads:
    """Runs tasks in threads of this process; closing it waits for those that run, but after Hangs, an interrupt (of a pipe, say), or a stop whose time is over.

    room: tells how many tasks of each kind it may run at a time; asked whenever there is something to give out. watch: called now and then with the tasks that
    run; may raise Hangs. wake: called in any thread when a task has ended.
    """

    def __init__(self, room: Callable[[], Mapping[TaskKind, int]], watch: Callable[[Iterable[Task]], object] = lambda _: None) -> None:
        self._room, self.watch = room, watch
        self._given: SimpleQueue[tuple[Future[Any], Task] | None] = SimpleQueue()
        self._threads, self._running, self._stop = list[threading.Thread](), dict[Future[Any], Task](), cast("Stop | None", None)
        self.wake: Callable[[], object] = lambda: None

    def __enter__(self) -> "Threads":
        return self

    def __exit__(self, kind: type[BaseException] | None, *more: object) -> None:
        for _ in self._threads:
            self._given.put(None)
        for thread in self._threads if kind not in (KeyboardInterrupt, Hangs) else ():
            while thread.is_alive() and not (kind is Stopped and self._running and (self._stop is None or self._stop.over())):
                thread.join(PULSE_SECONDS)  # a script that ends while one lets go of a table ends it amid Arrow's code, which aborts the process

    def _serve(self) -> None:
        while given := self._given.get():
            future, task = given
            try:
                future.set_result(task.function(*task.arguments))
            except BaseException as error:
                future.set_exception(error)
            del given, future, task  # a table of some hundred megabytes may hang on it

    def __len__(self) -> int:
        """Count the tasks that run, or whose outcome was not told yet."""
        return len(self._running)

    def run(self, queue: Queue, outcomes: Outcomes, stop: Stop, others: Callable[[], Future[Any] | None] = lambda: None) -> None:
        """Run tasks until none is left, or until `others` gives a future that is done: then with tasks left that run. Stopped where `stop` was set."""
        self._stop = stop
        while queue or self._running:
            if stop.number is None:
                self.feed(queue)
            elif not self._running or stop.over():
                raise Stopped(stop.number)
            coming = others()
            wait([*self._running, *([coming] if coming else [])], PULSE_SECONDS, FIRST_COMPLETED)
            self.collect(queue, outcomes)
            if (coming := others()) and coming.done():
                return
            self.look()

    def feed(self, queue: Queue) -> None:
        """Begin as many tasks as there is room for."""
        for kind, room in self._room().items():
            for _ in range(room - sum(task.kind == kind for task in self._running.values())):
                if not (task := queue.pop((kind,))):
                    break
                if len(self._running) >= len(self._threads):
                    # What they hold of memory they use again. None keeps an interrupted process from its end.
                    self._threads.append(threading.Thread(target=self._serve, name=THREAD, daemon=True))
                    self._threads[-1].start()
                future: Future[Any] = Future()
                future.add_done_callback(lambda _: self.wake())
                self._running[future] = task
                self._given.put((future, task))

    def collect(self, queue: Queue, outcomes: Outcomes) -> None:
        """Tell what became of tasks that have ended."""
        for future in [future for future in self._running if future.done()]:
            task = self._running.pop(future)
            if error := future.exception():
                queue.push(outcomes.failed(task, error))
            else:
                queue.push(outcomes.done(task, future.result()) or ())

    def look(self) -> None:
        """Look at the pulses of what runs, and at what it runs on."""
        self.watch(self._running.values())
        for task in self._running.values():
            if task.pulse:
                task.pulse()


def inject(places: Callable[[], Iterable[str]], fault: Callable[[], None] = lambda: None) -> None:
    """Do at these places, for tests, what the environment says: TIDALIGN_TEST_POISON, _HANG and _FAULT name places (with commas between) at which the process
    kills itself, spins, or calls `fault` (a kernel that writes where nothing is); TIDALIGN_TEST_SLOW is a number of seconds to wait at each call."""
    if slow := os.environ.get("TIDALIGN_TEST_SLOW"):
        time.sleep(float(slow))
    for kind in ("POISON", "HANG", "FAULT"):
        named = os.environ.get(f"TIDALIGN_TEST_{kind}")
        if not named or set(named.split(",")).isdisjoint(places()):
            continue
        if kind == "POISON":
            os.kill(os.getpid(), signal.SIGKILL)
        while kind == "HANG":
            pass
        fault()
