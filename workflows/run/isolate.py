"""Find what kills its process: halve a range in child processes until the items at fault stand alone, do all others, reject those."""

from collections.abc import Callable

HANG_SECONDS = 60.0
"""Least seconds of CPU time without progress after which a task of pairs or queries hangs."""

CHILD_HANG_SECONDS = 60.0
"""Likewise of a range tried in a process of its own: it may have to compile what few pairs need, 15 s of a core or more."""


class TooManyRejected(Exception):
    """So many items kill their process that the fault is not in them."""


def isolate(start: int, stop: int, attempt: Callable[[int, int], str | None], reject: Callable[[int, str], None], most: int, directory: str, items: str) -> int:
    """Run items [start, stop), halving each range whose attempt fails, and reject those that fail alone; returns how many.

    attempt: does items [a, b) in a child process; None, or what became of the child. reject: writes down that item a cannot be done, and why.
    TooManyRejected, naming `directory` and `items`, where there are more than `most`.
    """
    rejected = 0
    ranges = [(start, stop)]
    while ranges:
        a, b = ranges.pop()
        reason = attempt(a, b)
        if reason is None:
            continue
        if b - a > 1:
            middle = (a + b) // 2
            ranges += [(middle, b), (a, middle)]
            continue
        rejected += 1
        if rejected > most:
            raise TooManyRejected(f"{directory}: more than {most} {items} kill their worker, the last one because it {reason}; run `tidalign check`")
        reject(a, reason)
    return rejected
