"""Give a worker several short tasks at a time: a scheduler takes milliseconds for each call, however little is to be done (EXECUTION.md 7)."""

import time
from collections.abc import Callable, Sequence
from typing import Any

TOGETHER_SECONDS = 0.1
"""That calls sent together take, by those that came before: a worker that dies loses little, and all are done at about the same time."""

MAX_CALLS = 32
"""Calls that are sent together."""

_FORGET = 0.9
"""Share that counts, with each later call, of the seconds that the longest of the last calls took."""

Call = tuple[Callable[..., Any], tuple[Any, ...]]
CallOutcome = tuple[Any, Exception | None, float]
"""A call's value, the error that it raised, and the seconds that it took."""


def together(calls: Sequence[Call]) -> list[CallOutcome]:
    """Make calls on a worker, one after the other."""
    said: list[CallOutcome] = []
    for function, arguments in calls:
        began = time.perf_counter()
        result, failed = None, None
        try:
            result = function(*arguments)
        except Exception as error:
            failed = error
        said.append((result, failed, time.perf_counter() - began))
    return said


class Pace:
    """Knows what calls of each function took lately on each kind of worker, and how many may go together."""

    def __init__(self) -> None:
        self._took: dict[tuple[Callable[..., Any], object], float] = {}

    def learn(self, function: Callable[..., Any], kind: object, seconds: float) -> None:
        """Note how long a call took, or that several went wrong together: infinity."""
        before = self._took.get((function, kind), 0.0)
        self._took[function, kind] = max(seconds, _FORGET * before) if before < float("inf") else seconds

    def room(self, function: Callable[..., Any], kind: object, waiting: int, threads: int) -> int:
        """Tell how many calls of a function go together, where so many tasks wait for so many threads: these are to share them to the end."""
        took = self._took.get((function, kind))
        if took is None:
            return 1
        return max(1, min(MAX_CALLS, int(TOGETHER_SECONDS / max(took, 1e-6)), 1 + waiting // (2 * threads)))
