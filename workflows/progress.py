"""How far a run is, on standard error: one line drawn again on a terminal, a plain line now and then elsewhere."""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Lock, Timer
from typing import TextIO

from tidalign.kernels.runtime.bases import bases
from tidalign.workflows.compiling import Kernels, kernels

SILENT_SECONDS = 2.0
"""A run that is over sooner says nothing on its way."""

MAX_GPUS = 8
"""Whose shares are each told."""

WIDEST = 500
"""Letters of a line on a terminal that does not say how wide it is."""

REDRAW_SECONDS = 0.2
PLAIN_SECONDS = 30.0
COMPILING_SECONDS = 1.0
"""After as many without another line a terminal is told how far compiling is."""

_WORDS = {
    "partition": "reading",
    "align": "aligning",
    "read": "reading",
    "genomes": "aligning",
    "compile": "compiling",
    "calibrate": "measuring",
    "database": "reading",
    "queries": "reading",
    "search": "searching",
}
_COUNTED = {"partition": "pairs", "align": "pairs", "read": "files", "database": "sequences", "queries": "queries"}
"""What is counted at each stage; others count estimated work, which is told in per cent."""

_WORKED = ("align", "genomes", "search")
"""Stages whose work is estimated, told as the stage `work`, and with it the time that is left."""


class _Left:
    """Estimates the seconds that are left from what was done in the recent past, the last half of the time, of the estimated work."""

    def __init__(self) -> None:
        self._told: deque[tuple[float, int]] = deque()
        self._began = 0.0
        self._total = 0

    def hear(self, now: float, done: int, total: int) -> None:
        """Note what was done by now, in thousandths of a nominal second; less than before: a run begins."""
        self._total = total
        if not self._told or done < self._told[-1][1]:
            self._told, self._began = deque([(now, done)]), now
        elif done > self._told[-1][1]:
            self._told.append((now, done))
        while len(self._told) > 2 and self._told[1][0] < (self._began + now) / 2:
            self._told.popleft()

    def seconds(self, now: float) -> float | None:
        """Tell how long it still takes; None where there is nothing to tell it by."""
        if not self._total:
            return None
        (first, before), (last, done) = self._told[0], self._told[-1]
        # Before anything is done, a second of work is taken for one.
        rate = (done - before) / 1000 / (last - first) if done > before else 1.0
        left, silent = (self._total - done) / 1000 / rate, now - last
        return max(left - silent, silent)  # what has said nothing for long will take as long again, for all that is known


class Progress:
    """Call it with (stage, what is done, all or None), from any thread, as `workflows.run.runner` does; `close` it before anything else is written."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic, known: Callable[[], Kernels | None] = kernels) -> None:
        self._stream = stream or sys.stderr
        self._clock, self._known = clock, known
        self._terminal = self._stream.isatty()
        self._written = clock() + SILENT_SECONDS - (REDRAW_SECONDS if self._terminal else PLAIN_SECONDS)
        self._stage = ""
        self._since = (0.0, 0)
        self._left = _Left()
        self._busy: dict[str, int] = {}
        self._drawn = False
        self._lock = Lock()
        self._compiling = self._kernels = 0
        """That are compiled now, and that were."""
        self._compiled = (0.0, 0.0)
        """When it last began, or ended, and how long it took before."""
        self._expected: Kernels | None = None
        self._timer: Timer | None = None

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        with self._lock:
            now = self._clock()
            if stage == "work":
                self._left.hear(now, done, total or 0)
            elif stage.startswith("busy "):
                self._busy[stage] = done
            else:
                self._show(stage, now, done, total)

    def compiling(self, begins: bool) -> None:
        """Note that a kernel begins to be compiled, or is (`numba_cache.LISTENERS`): that is said after `SILENT_SECONDS` of it in all, on a terminal again and
        again, elsewhere once."""
        with self._lock:
            self._compiling += 1 if begins else -1
            self._kernels += not begins
            (began, spent), now = self._compiled, self._clock()
            if begins and self._compiling == 1:
                self._compiled = now, spent
                if spent < SILENT_SECONDS:
                    self._wait(SILENT_SECONDS - spent)
                elif self._terminal:
                    self._wait(max(0.0, self._written + COMPILING_SECONDS - now))
            elif not self._compiling:
                self._cancel()
                self._compiled = now, spent + now - began

    def _wait(self, seconds: float) -> None:
        """Say that kernels are compiled, if they are, in so many seconds."""
        self._timer = Timer(seconds, self._say_compiling)
        self._timer.daemon = True
        self._timer.start()

    def _say_compiling(self) -> None:
        expected = self._expected or self._known()  # loads what it counts, which nobody is to wait for
        with self._lock:
            self._expected = expected
            now = self._clock()
            if not self._compiling or not self._timer:  # it was closed meanwhile
                return
            if self._drawn and (rest := self._written + COMPILING_SECONDS - now) > 0:
                self._wait(rest)  # something else is told meanwhile
                return
            self._written = now if self._terminal else self._written
            lasting = "the next run finds it done" if bases().lasting else "no folder can be written to that keeps it: NUMBA_CACHE_DIR can name one"
            self._write(f"compiling for this machine{f': {expected.state(self._kernels)}' if expected else ''}; {lasting}")
            if self._terminal:
                self._wait(COMPILING_SECONDS)

    def _show(self, stage: str, now: float, done: int, total: int | None) -> None:
        if stage == "partition" and self._stage == "align":
            return  # what is read is aligned meanwhile
        if stage != self._stage:
            # What an earlier call of a run had done is no measure of speed.
            self._stage, self._since = stage, (now, done)
        if now - self._written < (REDRAW_SECONDS if self._terminal else PLAIN_SECONDS):
            return
        self._written = now
        self._write(f"{_WORDS.get(stage, stage)}: {self._state(now, done, total)}")

    def _write(self, line: str) -> None:
        with suppress(OSError):
            self._stream.write(f"\r{line[: self._columns()]}\033[K" if self._terminal else f"tidalign: {line}\n")
            self._stream.flush()
        self._drawn = self._terminal

    def _columns(self) -> int:
        """Count the letters that a line of the terminal has room for: of one that is broken only the end would be drawn again."""
        try:
            return max(1, os.get_terminal_size(self._stream.fileno()).columns - 1)
        except (OSError, ValueError):
            return WIDEST

    def _state(self, now: float, done: int, total: int | None) -> str:
        began, before = self._since
        rate = (done - before) / (now - began) if now > began else 0.0
        things = _COUNTED.get(self._stage)
        known = f"{done / (total or 1):.0%}" if things is None else f"{done:,} of {total:,} {things} ({done / total:.0%})" if total else f"{done:,} {things}"
        counted = (total - done) / rate if total and rate > 0 else None
        if self._stage in _WORKED and not done and self._kernels and (self._compiling or now - self._compiled[0] < COMPILING_SECONDS * bool(self._expected)):
            return f"{known}, compiling: {self._expected.state(self._kernels)}" if self._expected else f"{known}, kernels compiled: {self._kernels}"
        seconds = self._left.seconds(now) if self._stage in _WORKED else counted
        left = "" if seconds is None else f", {duration(seconds)} left"
        return f"{known}, {rate:,.0f} {things}/s{left}{self._gpus()}" if things == "pairs" and rate > 0 else f"{known}{left}{self._gpus()}"

    def _gpus(self) -> str:
        """Write what share of the last seconds each GPU was busy; of many, the least, the mean and the most."""
        shares = [round(share / 10) for share in self._busy.values()]
        if len(shares) > MAX_GPUS:
            return f", {len(shares)} GPUs {min(shares)} to {max(shares)}%, {sum(shares) // len(shares)}% busy"
        return f", GPU{'s' * (len(shares) > 1)} {' '.join(f'{share}%' for share in shares)} busy" if shares else ""

    def close(self) -> None:
        """Clear the drawn line."""
        with self._lock:
            self._cancel()
            if self._drawn:
                with suppress(OSError):  # the terminal may be gone
                    self._stream.write("\r\033[K")
                    self._stream.flush()
                self._drawn = False

    def _cancel(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None


def duration(seconds: float) -> str:
    """Write seconds as `9 s`, `3:07` (minutes) or `2:03:07` (hours)."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"


def by_status(statuses: Mapping[str, int], none: str = "no pairs") -> str:
    """Write counts of rows as `9,999 exact, 1 rejected`; `none` where there are no rows."""
    return ", ".join(f"{rows:,} {status}" for status, rows in statuses.items() if rows) or none


LONGEST_MESSAGE = 600
"""Letters of a message: room for two or three paths, a way out and a list of what is right; what is longer is read by nobody."""

_WORDS_LETTERS = 20, 200
"""Letters that are left of a word, at least, before all of a message is shortened; and at most, in a message of any length."""


LISTENERS: list[Callable[[str], object]] = []
"""Hear of each message, besides the user."""


def say(message: str) -> None:
    """Print one line for the user."""
    for hear in LISTENERS:
        hear(message)
    show(message)


def show(message: str) -> None:
    """Print one line for the user, of which nobody else is to hear."""
    line(brief(f"tidalign: {message}"))


def line(text: str) -> None:
    """Write a line to standard error at once: with PYTHONUNBUFFERED `print` writes its end apart, and what others write to the same file comes between."""
    with suppress(OSError):  # a full disk, or nobody who reads: there is nowhere else to say it
        print(f"{text}\n", end="", file=sys.stderr, flush=True)


def brief(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """Shorten a message to one line of so many letters: its longest words, paths and names, lose their middles, as little as it takes; then all of it."""
    least, most = _WORDS_LETTERS
    words = [_without_middle(word, most) for word in text.split()]
    while len(" ".join(words)) > longest and most > least:
        most -= 1
        words = [_without_middle(word, most) for word in words]
    return _without_middle(" ".join(words), longest)


def _without_middle(text: str, most: int) -> str:
    """Shorten a text to so many letters: its begin and its end."""
    return text if len(text) <= most else f"{text[: most // 2 - 3]}...{text[len(text) - most + most // 2 :]}"
