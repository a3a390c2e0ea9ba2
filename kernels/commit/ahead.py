"""What several threads do for a walk before it comes there: tell what anchors meet of all that is kept, and extend some between fences.

Most extensions between fences find nothing, and so change nothing for the others.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tidalign.kernels.commit import host as commit_host
from tidalign.kernels.commit import paths_host
from tidalign.kernels.commit.host import Survey
from tidalign.kernels.commit.paths import TOUCHED, Paths
from tidalign.kernels.extension.costs import Integers
from tidalign.kernels.extension.fences import room
from tidalign.kernels.gapped.alignments import Extended
from tidalign.kernels.gapped.extender import Explored, Extender

T = TypeVar("T")

LEAST_OF_THREAD, MOST_OF_THREAD = 4, 64
"""Anchors for each thread that are extended at most before the walk goes on: more where most of what is made so stands."""

MOST_PAUSE = 15
"""Anchors that the walk extends alone, at most, where those that follow were not to be extended."""

SURVEYED, SLICE = 1 << 15, 1 << 11
"""Anchors that are surveyed before the walk goes on, and those of which a thread finds out at once what they meet."""


class Made(NamedTuple):
    """Hold an extension between fences: the pieces beside its anchor, and how many alignments were kept."""

    left: int
    right: int
    kept: int
    found: Extended | None
    looked: Explored


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
        self._made: dict[int, Made] = {}
        self._of_thread = LEAST_OF_THREAD
        self._listed = self._taken = self._pause = self._alone = 0
        self.stood = 0

    def start(self, t: Integers, q: Integers, known: Any, boxes: Integers, free: Any) -> None:
        """Begin with other anchors."""
        self._made.clear()
        self._flags, self._stop = np.zeros(len(t), np.bool_), 0
        survey = Survey(np.full(len(t), commit_host.UNSEEN), np.zeros(len(t), np.int64), self._cells)
        self.anchors: tuple[Any, ...] = t, q, known, boxes, free, survey

    def look_over(self, i: int) -> int:
        """Survey the i-th anchor and those after it by all threads, unless it was; returns before which one this ends. Then `anchors` are as `advance` takes
        them."""
        if i >= self._stop:
            self._stop = stop = min(len(self._flags), i + SURVEYED)
            if self._threads is not None and len(self._paths):
                kept = self._paths.kept
                each = iter(range(i, stop, SLICE))

                def some(k: int) -> None:
                    for j in each:
                        commit_host.look_over(kept, *self._room(k), *self.anchors, np.int64(j), np.int64(min(j + SLICE, stop)))

                self._by_all(some)
                self._cells[:] = False
        return self._stop

    def _by_all(self, do: Callable[[int], T], most: int | None = None) -> list[T]:
        """Have all threads, or so many, do something; each is given its number."""
        assert self._threads is not None
        return list(self._threads.map(do, range(len(self._extenders))[:most]))

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

    def extend(self, i: int, left: int, right: int) -> tuple[Extended | None, Explored]:
        """Extend the i-th anchor, with these pieces beside it."""
        kept, (t, q, *_) = self._paths.kept, self.anchors
        if self._threads is not None and not self._flags[i]:
            if self._alone:
                self._alone -= 1
            else:
                self._look_ahead(i)
        made = self._made.pop(i, None)
        if made is not None and (made.left, made.right) == (left, right) and self._still(i, made):
            self.stood += made.kept < len(self._paths)
            self._taken += 1
            return made.found, made.looked
        return self._extender.extend(i, t[i], q[i], fences=(kept, left, right, self._paths.fence, self._paths.holes))

    def _still(self, i: int, made: Made) -> bool:
        """Tell whether nothing that was kept since comes near what was looked at."""
        (t, q, *_), (above, before, below, after) = self.anchors, made.looked.box.tolist()
        return bool(commit_host.clear(self._paths.kept, t[i] - above, t[i] + below, q[i] - before, q[i] + after, np.int64(made.kept)))

    def _look_ahead(self, i: int) -> None:
        """Extend the i-th anchor and the next ones that are to be, by all threads."""
        t, q, known, boxes, _, survey = self.anchors
        factor = 2 if 4 * self._taken >= 3 * self._listed else 0.5
        self._of_thread = int(min(max(factor * self._of_thread, LEAST_OF_THREAD), MOST_OF_THREAD))
        where = np.int64(i), np.int64(self._stop), np.int64(self._of_thread * len(self._extenders))
        listed = commit_host.wanted(self._paths.kept, t, q, known, boxes, survey, self._flags, *where)
        self._listed, self._taken = len(listed), 0
        if len(listed) > 1:
            self._pause = self._alone = 0
            each = iter(listed.tolist())  # threads take one after the other: a few take a hundred times as long as most
            for makes in self._by_all(lambda k: self._extend(k, each), len(listed)):
                self._made.update(makes)
        else:
            self._pause = self._alone = min(2 * self._pause + 1, MOST_PAUSE)

    def _extend(self, k: int, each: Iterator[int]) -> list[tuple[int, Made]]:
        """Extend, by the k-th thread, anchors that no other has taken."""
        kept, (t, q, known, _, free, survey), number = self._paths.kept, self.anchors, len(self._paths)
        fence = self._room(k)
        makes = []
        for j in each:
            extend, left, right = commit_host.due(kept, *fence, t, q, known, free, survey.seen, np.int64(j))
            if extend:
                found, looked = self._extenders[k].extend(j, t[j], q[j], fences=(kept, left, right, *fence))
                makes.append((j, Made(left, right, number, found, looked)))
            else:
                survey.since[j] = number  # it stands beside all of these
        return makes
