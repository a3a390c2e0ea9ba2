"""SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP and a clock ask a run to stop; it ends between two tasks, with nothing lost."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

GRACE_SECONDS = 10.0
"""Seconds that running tasks get to finish after SIGTERM; batch systems send SIGKILL some 30 s after it."""

LEAVING_SECONDS = 10.0
"""Seconds more that threads of this process get which heed that their time is over, as tiles of a genome run do, to write down how far they are."""

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGALRM)
"""Signals that ask for a stop. Slurm sends SIGUSR1 a while before the time of a job is over (`sbatch --signal`), LSF SIGUSR2 when it is, and kills ten minutes
later; a terminal that is closed sends SIGHUP; SIGALRM is our own, of `stop_after`."""


def heeded() -> list[signal.Signals]:
    """List those of `STOPPING` that this process is to heed: SIGHUP is ignored below nohup."""
    return [number for number in STOPPING if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]


class Stop:
    """Holds whether a run is to stop, and why. `number`: the signal that asked, or None. SIGINT lets running tasks finish if we are `patient`, else gives
    them `GRACE_SECONDS`, as the others do."""

    def __init__(self, *, patient: bool = True) -> None:
        self.number: int | None = None
        self._patient = patient
        self._deadline, self._abandoned = float("inf"), False

    def ask(self, number: int) -> None:
        """Ask to stop, as after the signal `number`."""
        self.number = number
        if number != signal.SIGINT or not self._patient:
            self._deadline = time.monotonic() + GRACE_SECONDS

    def abandon(self) -> None:
        """Leave running tasks behind, as something has failed, or nobody waits any more."""
        self._abandoned = True

    def go_on(self) -> None:
        """Have tasks run again that others do after a failure, as where this process has lost its GPU: a signal lets them finish."""
        self._abandoned = False

    def at_once(self) -> bool:
        """Tell whether tasks that still run are to be left behind."""
        return self._abandoned or time.monotonic() >= self._deadline

    def over(self) -> bool:
        """Tell whether those that run in threads of this process have had time to heed that."""
        return time.monotonic() >= self._deadline + LEAVING_SECONDS


@contextmanager
def on_signals(*, patient: bool = True) -> Iterator[Stop]:
    """Give a Stop that the first of the signals sets; the second raises KeyboardInterrupt, later ones are ignored until the run has closed.

    Signals reach Python's main thread only: elsewhere they keep the handlers they have.
    """
    stop = Stop(patient=patient)

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.number is None:
            stop.ask(number)
            return
        for each in STOPPING:
            signal.signal(each, signal.SIG_IGN)
        stop.abandon()
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, handle) for number in heeded()}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Set a clock that stops this process after so many seconds, by SIGALRM; None: it has its time."""
    if seconds is None:
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
