"""Extensions between fences, by threads: those of a walk's next anchors are made with what is kept when the first of them is due.

One stands when its turn comes if the pieces beside its anchor are the same as then, and nothing that was kept meanwhile comes near what it looked at:
else it is made again. The walk waits while threads extend, so nothing is kept while they look; its result does not depend on them.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from tidalign.kernels import commit_host
from tidalign.kernels.fences_host import Kept, room
from tidalign.kernels.gapped import Extended, Extender, Integers, Looked

Outcome = tuple[Extended | None, Looked]

THREADS = 8
"""At most."""

MOST = 8 * THREADS
"""Anchors extended together."""

PIECE = 1 << 12
"""Next anchors that a thread looks through for them."""


@cache
def threads() -> ThreadPoolExecutor | None:
    """Of this process, for all its walks; None where there is one core only."""
    count = min(THREADS, len(os.sched_getaffinity(0)))
    return ThreadPoolExecutor(count, "fenced") if count > 1 else None


class Fenced:
    """Extensions made ahead of their turn in one call of a walk.

    new: an extender. free: t, q, known, boxes and free extensions of the call's anchors, as `commit_host.advance` takes them.
    made, used: how many were made ahead of their turn, and how many of these stood.
    """

    def __init__(self, pool: ThreadPoolExecutor, new: Callable[[], Extender], *free: Any) -> None:
        self._pool, self._new, self._free = pool, new, free
        self._outcomes: dict[int, tuple[int, list[int], Outcome]] = {}
        self._made = np.zeros(len(free[0]), np.bool_)
        self.made = self.used = 0

    def extend(self, kept: Kept, i: int, left: int, right: int) -> Outcome:
        """The extension of anchor i between pieces left and right of it."""
        t, q, *_ = self._free
        if (before := self._outcomes.pop(i, None)) is not None:
            since, pieces, outcome = before
            rows_left, columns_left, rows_right, columns_right = outcome[1].box
            if pieces == [left, right] and commit_host.clear(
                kept, np.int64(since), t[i] - rows_left, t[i] + rows_right, q[i] - columns_left, q[i] + columns_right
            ):
                self.used += 1
                return outcome
        anchor = int(i), int(left), int(right)
        others = [self._pool.submit(self._piece, kept, *piece) for piece in self._pieces(i + 1)]
        outcome = self._one(kept, anchor, room(kept))
        count = int(kept.counts[1])
        for other in others:
            for (j, *beside), made in other.result():
                self._outcomes[j] = (count, beside, made)
                self._made[j] = True
                self.made += 1
        return outcome

    def _pieces(self, first: int) -> Iterator[tuple[int, int, int]]:
        """(start, stop, how many) of the pieces of the next anchors in which threads extend some."""
        # More as more of them stand: few do among anchors that lie on one another's alignments.
        more = min(MOST, THREADS + 2 * self.used - self.made)
        stop = min(first + THREADS * PIECE, len(self._made))
        step = max(1, -(-(stop - first) // THREADS))
        for start in range(first, stop, step) if more > 0 else ():
            yield start, min(start + step, stop), -(-more // THREADS)

    def _piece(self, kept: Kept, start: int, stop: int, most: int) -> list[tuple[list[int], Outcome]]:
        """The first so many anchors [start, stop) that are not made and have to be extended, with the pieces beside each, and their extensions."""
        found, free = np.empty((most, 3), np.int64), room(kept)
        count = commit_host.waiting(kept, *free, *self._free, self._made, np.int64(start), np.int64(stop), found)
        return [(anchor, self._one(kept, (anchor[0], anchor[1], anchor[2]), free)) for anchor in found[:count].tolist()]

    def _one(self, kept: Kept, anchor: tuple[int, int, int], free: tuple[Integers, Integers]) -> Outcome:
        t, q, *_ = self._free
        i, left, right = anchor
        return self._new().extend(i, int(t[i]), int(q[i]), fences=(kept, left, right, *free))
