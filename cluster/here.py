"""Run tasks in this process: in the caller's thread, or in others, beside workers if there are some. Needs no Dask."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, cast

from tidalign.cluster.errors import Hangs, Stopped
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import KINDS, Outcomes, Queue, Task, TaskKind

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
