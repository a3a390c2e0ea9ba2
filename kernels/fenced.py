"""Extensions between fences, by threads: those of a walk's next anchors are made with what is kept when the first of them is due.

One stands when its turn comes if the pieces beside its anchor are the same as then, and nothing that was kept meanwhile comes near what it looked at:
else it is made again. The walk waits while threads extend, so nothing is kept while they look; its result does not depend on them.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from tidalign.kernels import commit_host
from tidalign.kernels.fences_host import Kept, room
from tidalign.kernels.gapped import Extended, Extender, Looked

Outcome = tuple[Extended | None, Looked]

THREADS = 8
"""At most."""

MOST = 8 * THREADS
"""Anchors extended together: some take many times as long as others."""

PIECES, PIECE = 4 * THREADS, 1 << 12
"""Next anchors among which they are looked for, a piece at a time."""


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
        self._outcomes: dict[int, tuple[int, int, int, Outcome]] = {}
        self._made = np.zeros(len(free[0]), np.bool_)
        self.made = self.used = 0

    def extend(self, kept: Kept, i: int, left: int, right: int) -> Outcome:
        """The extension of anchor i between pieces left and right of it."""
        t, q, *_ = self._free
        if (before := self._outcomes.pop(i, None)) is not None:
            since, *pieces, outcome = before
            rows_left, columns_left, rows_right, columns_right = outcome[1].box
            if pieces == [left, right] and commit_host.clear(
                kept, np.int64(since), t[i] - rows_left, t[i] + rows_right, q[i] - columns_left, q[i] + columns_right
            ):
                self.used += 1
                return outcome
        # More as more of them stand: few do among anchors that lie on one another's alignments.
        more = min(MOST, THREADS + 2 * self.used - self.made)
        anchors = [(i, left, right)]
        if more > 0:
            anchors = self._apart(anchors + self._next(kept, i + 1))[: 1 + more]
        count = int(kept.counts[1])
        for anchor, outcome in zip(anchors, self._pool.map(lambda anchor: self._one(kept, *anchor), anchors), strict=True):
            self._outcomes[anchor[0]] = (count, *anchor[1:], outcome)
            self._made[anchor[0]] = True
        self.made += len(anchors) - 1
        return self._outcomes.pop(i)[3]

    def _next(self, kept: Kept, first: int) -> list[tuple[int, int, int]]:
        """Those of the next anchors that are not made and have to be extended, with the pieces beside them."""
        stop = min(first + PIECES * PIECE, len(self._made))
        step = min(PIECE, max(1, -(-(stop - first) // PIECES)))
        return [one for part in self._pool.map(lambda at: self._find(kept, at, min(at + step, stop)), range(first, stop, step)) for one in part]

    def _apart(self, anchors: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """Up to MOST of them: the first, and those that do not lie where the free extension of one before them goes."""
        t, q, known, _, free = self._free
        apart: list[tuple[int, int, int]] = []
        ends = np.empty((MOST, 4), np.int64)
        for anchor in anchors:
            i = anchor[0]
            taken = ends[: len(apart)]
            if not ((taken[:, 0] <= t[i]) & (t[i] < taken[:, 1]) & (taken[:, 2] <= q[i]) & (q[i] < taken[:, 3])).any():
                ends[len(apart)] = free.ends[free.row[i]] if known[i] == commit_host.ABOVE else (t[i], t[i] + 1, q[i], q[i] + 1)
                apart.append(anchor)
            if len(apart) == MOST:
                break
        return apart

    def _find(self, kept: Kept, first: int, stop: int) -> list[tuple[int, int, int]]:
        found = np.empty((MOST, 3), np.int64)
        count = commit_host.waiting(kept, *room(kept), *self._free, self._made, np.int64(first), np.int64(stop), found)
        return [(i, left, right) for i, left, right in found[:count].tolist()]

    def _one(self, kept: Kept, i: int, left: int, right: int) -> Outcome:
        t, q, *_ = self._free
        return self._new().extend(i, int(t[i]), int(q[i]), fences=(kept, left, right, *room(kept)))
