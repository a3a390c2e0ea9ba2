"""Keep warm workers, and listen where their callers find them: one server a user and machine.

It is forked before it has a thread or a GPU, and every worker from it: what is loaded is loaded once. Workers take calls from the one socket themselves, so
that a call passes nobody on its way. Each has a pipe to the server, on which it says what it is at and whose end is its death, and an end of one
that ends with the server.
"""

import fcntl
import gc
import os
import select
import signal
import socket
import sys
import time
import traceback
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tidalign.cluster.errors import NoWorkers
from tidalign.pipeline.errors import CannotWrite
from tidalign.workflows.progress import duration, say
from tidalign.workflows.serve import address, worker

_FAILURES = 3
"""Workers that may die one after the other before any has taken a call."""


@dataclass
class _Worker:
    """Holds a worker: its process, its place among all, and what it said last."""

    process: int
    place: int
    """Which of the server's workers it is, and so which GPU it has."""
    said: bytes = b""
    """What it said last; nothing before it was ready."""


@dataclass
class Server:
    """Keeps so many workers; each begins with `warm(place)`, and settles the arguments of calls by `settle`."""

    count: int
    warm: Callable[[int], None]
    settle: Callable[[Namespace], None]
    idle_seconds: float | None = None
    quiet: bool = False
    _workers: dict[int, _Worker] = field(default_factory=dict)
    _failures: int = 0
    _asked: list[int] = field(default_factory=list)
    """Signals that came."""

    def run(self) -> None:
        """Serve until a signal comes, or nobody has called for `idle_seconds`. Calls that run are finished; a second signal leaves them to their callers."""
        place = _folder()
        with _held(place / address.LOCK) as lock, socket.socket(socket.AF_UNIX) as listener:
            path = Path(address.socket_of(os.getpid()))
            wake, woken = os.pipe()
            alive, closes = os.pipe()
            try:
                _listen(listener, path)
                os.set_blocking(woken, False)
                signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
                for stops in (signal.SIGINT, signal.SIGTERM):
                    signal.signal(stops, lambda number, frame: self._asked.append(number))
                own = [listener.fileno(), alive]
                for number in range(self.count):
                    self._hire(number, listener, own)
                self._wait(wake, lambda: bool(self._ready()), listener, own)
                if not self._asked:
                    _write_lock(lock, f"{os.getpid()}\n{address.identity()}")
                    if not self.quiet:
                        say(f"{self.count} workers of process {os.getpid()} take the calls of tidalign-lastz, at {path}; `tidalign serve --stop` ends them")
                    self._wait(wake, self._idle(), listener, own)
                _write_lock(lock, f"{os.getpid()}\n")
                path.unlink(missing_ok=True)
                worker.hand_back(listener)
                listener.close()
                os.close(closes)
                closes = -1
                self._kill(each for each in self._workers.values() if not each.said)
                asked = len(self._asked)
                self._wait(wake, lambda: not self._workers or len(self._asked) > max(1, asked), None, own)
                self._kill(self._workers.values())
            finally:
                signal.set_wakeup_fd(-1)
                path.unlink(missing_ok=True)
                for file in (wake, woken, alive, *([closes] if closes >= 0 else [])):
                    os.close(file)

    def _kill(self, some: Iterable[_Worker]) -> None:
        for each in some:
            os.kill(each.process, signal.SIGKILL)

    def _ready(self) -> list[_Worker]:
        return [each for each in self._workers.values() if each.said]

    def _idle(self) -> Callable[[], bool]:
        """Tell, again and again, whether the server is to end: a signal came, or all have been idle for long."""
        since = time.monotonic()

        def over() -> bool:
            nonlocal since
            if any(each.said == worker.BUSY for each in self._workers.values()):
                since = time.monotonic()
            return bool(self._asked) or (self.idle_seconds is not None and time.monotonic() - since > self.idle_seconds)

        return over

    def _wait(self, wake: int, over: Callable[[], bool], listener: socket.socket | None, own: Sequence[int]) -> None:
        """Wait for workers until it is over, and hire others for those that go while there is a listener. A signal ends the wait for the first to be ready."""
        while not over():
            if listener and self._asked and not self._ready():
                return
            ready, _, _ = select.select([wake, *self._workers], [], [], 1.0)
            for file in ready:
                if file == wake:
                    os.read(wake, 4096)
                elif said := os.read(file, 4096):
                    self._workers[file].said = said[-1:]
                    self._failures = 0
                else:
                    gone = self._bury(file)
                    if listener and not self._asked:
                        self._hire(gone.place, listener, own)

    def _bury(self, file: int) -> _Worker:
        gone = self._workers.pop(file)
        os.close(file)
        os.waitpid(gone.process, 0)
        self._failures += not gone.said
        if self._failures >= _FAILURES:
            raise NoWorkers(f"{_FAILURES} workers died before they were ready; the lines above may say why: `tidalign check` tries what they need")
        return gone

    def _hire(self, place: int, listener: socket.socket, own: Sequence[int]) -> None:
        """Fork a worker."""
        hears, tells = os.pipe()
        process = os.fork()
        if process:
            os.close(tells)
            self._workers[hears] = _Worker(process, place)
            return
        status = 1
        try:
            _alone({0, 1, 2, tells, *own})
            self.warm(place)
            gc.collect()
            gc.freeze()
            worker.serve(listener, own[1], lambda said: os.write(tells, said), self.settle)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)


def _alone(kept: set[int]) -> None:
    """Make this process, just forked, one of its own: no terminal sends it signals, and of the server's files it has those alone."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 numbers, not paths
        if int(name) not in kept:
            with suppress(OSError):
                os.close(int(name))
    if not sys.stdout:
        sys.stdout = os.fdopen(1, "w", closefd=False)


def _folder() -> Path:
    """Make the folder of the socket. Raises CannotWrite where it is not this user's alone."""
    place = Path(address.folder())
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"{place}: cannot be made: {error.strerror}; set XDG_RUNTIME_DIR to a folder of yours") from error
    if not address.is_private(str(place)):
        raise CannotWrite(f"{place}: expected a folder that is yours alone, found another; remove it, or set XDG_RUNTIME_DIR to a folder of yours")
    return place


def _listen(listener: socket.socket, path: Path) -> None:
    try:
        path.unlink(missing_ok=True)  # of a dead process of this number
        mask = os.umask(0o177)
        try:
            listener.bind(str(path))
        finally:
            os.umask(mask)
    except OSError as error:
        raise CannotWrite(f"{path}: no socket can be made there: {error}; set XDG_RUNTIME_DIR to another folder") from error
    listener.listen(4096)
    listener.setblocking(False)


@contextmanager
def _held(path: Path) -> Iterator[int]:
    """Hold the lock of the user's one server. Raises CannotWrite where another has it."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process = os.read(lock, 100).partition(b"\n")[0].decode()
            raise CannotWrite(f"{path}: process {process} serves already; `tidalign serve --stop` ends it") from None
        for left in path.parent.glob("*.socket"):  # of servers that were killed
            left.unlink(missing_ok=True)
        _write_lock(lock, f"{os.getpid()}\n")
        yield lock
        _write_lock(lock, "")
    finally:
        os.close(lock)


def _write_lock(lock: int, text: str) -> None:
    os.ftruncate(lock, 0)
    os.pwrite(lock, text.encode(), 0)


def stop(patience: float = 600.0) -> bool:
    """Stop this user's server, and wait for its end; False where there is none. Raises NoWorkers where it does not come."""
    path = Path(address.folder(), address.LOCK)
    if not address.is_private(str(path.parent)):
        return False
    try:
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        asked, until = False, time.monotonic() + patience
        while time.monotonic() < until:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                process = os.pread(lock, 100, 0).partition(b"\n")[0]
                if process.isdigit() and not asked:
                    os.kill(int(process), signal.SIGTERM)
                    asked = True
                time.sleep(0.05)
            else:
                return asked
    finally:
        os.close(lock)
    raise NoWorkers(f"the server has not finished its calls in {duration(patience)}; give the command again, and their callers do them by themselves")
