"""Read a run's journal for a picture of it: what was done when, and what went wrong; in memory that does not grow with the journal."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAX_STEPS = 120
"""Most steps of time: where more would be needed, each becomes twice as long."""

SERIES = 8
"""Most kinds of tasks that are told apart."""

MARKS = 200
"""Most things that went wrong of which the time is kept."""

_TASK = re.compile(r"^(?:isolate-)?(?:.*?\.u\d+\.(?P<stage>[a-z]+)\.|.*\.)(?P<start>\d+)-(?P<stop>\d+)$")


@dataclass(slots=True)
class Series:
    """Holds what tasks of one kind did. amounts, seconds: by step of time, what they finished and how long they took; tasks: how many."""

    amounts: list[float] = field(default_factory=lambda: [0.0] * MAX_STEPS)
    seconds: list[float] = field(default_factory=lambda: [0.0] * MAX_STEPS)
    tasks: int = 0

    def widen(self) -> None:
        """Make each step of time twice as long."""
        for values in (self.amounts, self.seconds):
            values[:] = [values[i] + values[i + 1] for i in range(0, MAX_STEPS, 2)] + [0.0] * (MAX_STEPS // 2)


@dataclass(slots=True)
class History:
    """Holds what a journal tells. Times are seconds of running: what passed between two calls of the command is left out.

    step: seconds of a step of time. length: seconds of all calls. series: by kind of task. calls: when each began.
    marks: (time, word) of the first things that went wrong. exact: whether tasks say what they finished; else it follows from the ranges in their names.
    """

    step: float = 1 / 64
    length: float = 0.0
    series: dict[str, Series] = field(default_factory=dict)
    calls: list[float] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)
    exact: bool = False

    @property
    def steps(self) -> int:
        """Count the steps of time that the run lasted."""
        return min(MAX_STEPS, int(self.length / self.step) + 1)

    def add(self, kind: str, amount: float, seconds: float) -> None:
        """Add a task that is done now. Its amount is spread over the time that it took."""
        if kind not in self.series and len(self.series) >= SERIES:
            kind = "other"
        one = self.series.setdefault(kind, Series())
        one.tasks += 1
        end = self.length
        begin = max(0.0, end - seconds)
        first, last = int(begin / self.step), min(MAX_STEPS - 1, int(end / self.step))
        for place in range(min(first, last), last + 1):
            inside = min(end, (place + 1) * self.step) - max(begin, place * self.step)
            share = inside / (end - begin) if end > begin else 1.0
            one.amounts[place] += amount * share
            one.seconds[place] += seconds * share

    def until(self, time: float) -> None:
        """Lengthen the history to a time: steps become longer where there would be too many."""
        self.length = max(self.length, time)
        while self.length >= MAX_STEPS * self.step:
            for one in self.series.values():
                one.widen()
            self.step *= 2


def read(directory: str) -> History:
    """Read the journal of a run; without one, a history of nothing."""
    history = History()
    last, offset = 0.0, 0.0
    for when, event, said in _lines(Path(directory, "journal.jsonl")):
        if event == "start":
            offset = when - history.length
            if len(history.calls) < MARKS:
                history.calls.append(history.length)
            last = when
        last = max(last, when)
        history.until(last - offset)
        if event == "done":
            history.exact |= "amount" in said
            history.add(*_task(said))
        elif event in ("died", "lost", "failed", "isolated", "removed") and len(history.marks) < MARKS:
            history.marks.append((history.length, event))
    return history


def _lines(path: Path) -> Iterator[tuple[float, str, dict[str, Any]]]:
    """Give time, event and the rest of each line that is whole."""
    if not path.exists():
        return
    with path.open(errors="replace") as lines:
        for line in lines:
            try:
                said = json.loads(line)
                yield float(said["time"]), str(said["event"]), said
            except (ValueError, KeyError, TypeError):
                continue  # cut short by a kill


def _task(said: dict[str, Any]) -> tuple[str, float, float]:
    """Name the kind of a task: its stage, and the GPU that it was done on where the journal says one; what it finished, and in what time."""
    named = _TASK.match(str(said.get("task", "")))
    stage = (named["stage"] if named else None) or "align"
    amount = said.get("amount")
    if amount is None:  # journals of older versions name a range alone
        amount = int(named["stop"]) - int(named["start"]) if named and ".." not in said["task"] else 0
    place = said.get("gpu_held") or said.get("host")
    return (f"{stage}, {place}" if place else stage), float(amount), float(said.get("seconds") or 0.0)
