"""Have several threads tell, before a walk comes there, what anchors meet of all that is kept, and extend some between fences.

Most extensions between fences find nothing, and so change nothing for the others.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tidalign.kernels.commit import ahead_host, paths_host
from tidalign.kernels.commit import host as commit_host
from tidalign.kernels.commit.host import Made, Survey
from tidalign.kernels.commit.paths import TOUCHED, Paths
from tidalign.kernels.extension.costs import Integers
from tidalign.kernels.fences.kept import room
from tidalign.kernels.gapped.alignments import Extended
from tidalign.kernels.gapped.extender import Extender
from tidalign.kernels.runtime.numba_cache import elsewhere

LEAST_OF_THREAD, MOST_OF_THREAD = 4, 64
"""Anchors for each thread that are extended at most before the walk goes on: more where most of what is made so stands."""

MOST_PAUSE = 15
"""Anchors that the walk extends alone, at most, where those that follow were not to be extended."""

OF_CALL = 4
"""Anchors that a thread extends in one call: between two it needs the interpreter, which all threads share."""

ROWS = 1 << 12
"""Extensions made ahead that are held."""

SURVEYED, SLICE = 1 << 15, 1 << 11
"""Anchors that are surveyed before the walk goes on, and those of which a thread finds out at once what they meet."""


class Ahead:
    """Extends anchors of a walk between fences: an anchor that the walk has come to, and with it, by so many threads, those that it will probably come to.

    What was found then stands where the walk finds the same pieces beside the anchor, and nothing that was kept since comes near what was looked at; otherwise
    it is found again. extender: of the walk's thread.
    """

    def __init__(self, extender: Extender, paths: Paths, threads: int) -> None:
        self._extender, self._paths = extender, paths
        self._threads = ThreadPoolExecutor(threads, "walk") if threads > 1 else None
        self._extenders = [extender.another() for _ in range(threads if self._threads else 0)]
        self._rooms = [room(paths.kept) for _ in self._extenders]
        self._cells = np.zeros(TOUCHED if self._threads else 1, np.bool_)
        rows = ROWS if self._threads else 0
        pieces, kept, boxes, cells = (np.zeros((rows, *shape), np.int64) for shape in ((2,), (), (4,), ()))
        self._made = Made(np.zeros(0, np.int64), pieces, kept, boxes, cells, np.zeros(rows, np.bool_))
        self._found: dict[int, Extended] = {}
        self._of_thread, self._waits = LEAST_OF_THREAD, True

    def start(self, t: Integers, q: Integers, known: Any, boxes: Integers, free: Any) -> None:
        """Begin with other anchors."""
        self._found.clear()
        self._flags, self._stop, self._rows = np.zeros(len(t), np.bool_), 0, 0
        self._listed, self._pause, self._alone = np.zeros(0, np.int64), 0, 0
        self._made = self._made._replace(row=np.full(len(t), -1))
        survey = Survey(np.full(len(t), commit_host.UNSEEN), np.zeros(len(t), np.int64), self._cells)
        self.anchors = t, q, known, boxes, free, survey, self._made

    def look_over(self, i: int) -> int:
        """Survey the i-th anchor and those after it by all threads, unless it was; returns before which one this ends. Then `anchors` are as `advance` takes
        them."""
        if i >= self._stop:
            self._stop = stop = min(len(self._flags), i + SURVEYED)
            if self._threads is not None and len(self._paths):
                kept, anchors = self._paths.kept, self.anchors[:-1]
                each = iter(range(i, stop, SLICE))

                def some(k: int) -> None:
                    for j in each:
                        ahead_host.look_over(kept, *self._room(k), *anchors, np.int64(j), np.int64(min(j + SLICE, stop)))

                self._by_all(some)
                self._cells[:] = False
        return self._stop

    def _by_all(self, do: Callable[[int], None], most: int | None = None) -> None:
        """Have all threads, or so many, do something; each is given its number."""
        assert self._threads is not None
        list(self._threads.map(do, range(len(self._extenders))[:most]))

    def _room(self, k: int) -> tuple[Integers, Integers]:
        """Give the k-th thread its arrays for a fence."""
        if len(self._rooms[k][0]) < len(self._paths.fence):
            self._rooms[k] = room(self._paths.kept)
        return self._rooms[k]

    def keep(self, one: Extended) -> None:
        """Add an alignment to what is kept."""
        self._paths.keep(one.ends, one.ops, one.lengths)
        if self._threads is not None:
            paths_host.touched(self._paths.kept, np.int64(len(self._paths) - 1), self._cells)

    def extend(self, i: int, left: int, right: int) -> tuple[Extended | None, int, bool]:
        """Extend the i-th anchor, with these pieces beside it: its alignment, if it reaches the threshold, how many cells were looked at, and whether that was
        made ahead and something was kept since."""
        kept, (t, q, *_) = self._paths.kept, self.anchors
        if self._threads is not None and not self._flags[i] and self._ready():
            if self._alone:
                self._alone -= 1
            else:
                self._look_ahead(i)
        row, still = self._made.row[i], commit_host.still(kept, self._made, t, q, np.int64(i), left, right)
        self._made.row[i] = -1
        if still:
            return self._found.pop(i, None), int(self._made.cells[row]), bool(self._made.kept[row] < len(self._paths))
        found, looked = self._extender.extend(i, t[i], q[i], fences=(kept, left, right, self._paths.fence, self._paths.holes))
        return found, looked.cells, False

    def _ready(self) -> bool:
        """Tell whether threads can extend: not while another process is compiling what they do, for which the walk need not wait."""
        if self._waits:
            t, q, *_ = self.anchors
            nothing = self._arguments(0, self._extender.limits_of(t[:0], q[:0])), (np.int64(0),) * 3
            self._waits = elsewhere(ahead_host.extend_listed, (*nothing[0], *nothing[1]))
        return not self._waits

    def _look_ahead(self, i: int) -> None:
        """Extend the i-th anchor and the next ones that are to be, by all threads."""
        t, q, known, boxes, _, survey, made = self.anchors
        taken = np.count_nonzero(made.row[self._listed] < 0)
        factor = 2 if 4 * taken >= 3 * len(self._listed) else 0.5
        self._of_thread = int(min(max(factor * self._of_thread, LEAST_OF_THREAD), MOST_OF_THREAD))
        where = np.int64(i), np.int64(self._stop), np.int64(min(self._of_thread * len(self._extenders), ROWS))
        self._listed = ahead_host.wanted(self._paths.kept, t, q, known, boxes, survey, self._flags, *where)
        count = len(self._listed)
        if count > 1:
            self._pause = self._alone = 0
            if self._rows + count > ROWS:
                made.row[:] = -1
                self._found.clear()
                self._rows = 0
            limits = self._extender.limits_of(t[self._listed], q[self._listed])
            each = iter(range(0, count, OF_CALL))  # threads take one after the other: a few take a hundred times as long as most
            self._by_all(lambda k: self._extend(k, each, limits), -(-count // OF_CALL))
            self._rows += count
        else:
            self._pause = self._alone = min(2 * self._pause + 1, MOST_PAUSE)

    def _extend(self, k: int, each: Iterator[int], limits: Integers) -> None:
        """Extend, by the k-th thread, anchors that no other has taken."""
        extender, listed, arguments = self._extenders[k], self._listed, self._arguments(k, limits)
        for at in each:
            stop = min(at + OF_CALL, len(listed))
            while at < stop:
                at, found, ops, lengths = ahead_host.extend_listed(*arguments, np.int64(at), np.int64(stop), np.int64(extender.costs.threshold))
                if found:
                    anchor = int(listed[at - 1])
                    self._found[anchor] = extender.extended(anchor, ops, lengths)

    def _arguments(self, k: int, limits: Integers) -> tuple[Any, ...]:
        """Give the k-th thread what `extend_listed` takes, but for the last three."""
        t, q, known, _, free, survey, made = self.anchors
        return *self._extenders[k].parts(), self._paths.kept, *self._room(k), t, q, known, free, survey, made, self._listed, limits, np.int64(self._rows)
