"""Extensions between fences that several threads make ahead of a walk: most of them find nothing, and so change nothing for the others."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from tidalign.kernels.commit import host as commit_host
from tidalign.kernels.commit.paths import Paths
from tidalign.kernels.extension.costs import Integers
from tidalign.kernels.extension.fences import room
from tidalign.kernels.gapped.alignments import Extended
from tidalign.kernels.gapped.extender import Explored, Extender

OF_THREAD = np.int64(8)
"""Anchors that each thread extends at most before the walk goes on."""

LEAST_REACH, MOST_REACH = 1 << 6, 1 << 10
"""Anchors among which each thread seeks those to extend: more where many were found."""

MOST_PAUSE = 15
"""Anchors that the walk extends alone, at most, where those that follow were not to be extended."""

SLICE = 1 << 14
"""Anchors of which a thread finds out at once which are on alignments."""


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
        self._made: dict[int, Made] = {}
        self._reach, self._pause, self._alone = LEAST_REACH, 0, 0
        self.stood = 0

    def start(self, t: Integers, q: Integers, known: Any, boxes: Integers, free: Any) -> None:
        """Begin with other anchors, as `advance` takes them."""
        self._anchors = t, q, known, boxes, free
        self._made.clear()
        self._flags = np.zeros(len(t), np.bool_)
        if self._threads is not None and len(self._paths):
            list(self._threads.map(lambda i: commit_host.mark_those_on(self._paths.kept, t, q, known, i, min(i + SLICE, len(t))), range(0, len(t), SLICE)))

    def extend(self, i: int, left: int, right: int) -> tuple[Extended | None, Explored]:
        """Extend the i-th anchor, with these pieces beside it."""
        kept, (t, q, *_) = self._paths.kept, self._anchors
        if self._threads is not None and not self._flags[i]:
            if self._alone:
                self._alone -= 1
            else:
                self._look_ahead(i)
        made = self._made.pop(i, None)
        if made is not None and (made.left, made.right) == (left, right) and self._still(i, made):
            self.stood += made.kept < len(self._paths)
            return made.found, made.looked
        return self._extender.extend(i, t[i], q[i], fences=(kept, left, right, self._paths.fence, self._paths.holes))

    def _still(self, i: int, made: Made) -> bool:
        """Tell whether nothing that was kept since comes near what was looked at."""
        (t, q, *_), (above, before, below, after) = self._anchors, made.looked.box.tolist()
        return bool(commit_host.clear(self._paths.kept, t[i] - above, t[i] + below, q[i] - before, q[i] + after, np.int64(made.kept)))

    def _look_ahead(self, i: int) -> None:
        """Extend the i-th anchor and the next ones by all threads."""
        assert self._threads is not None
        count = len(self._extenders)
        made = [one for makes in self._threads.map(self._extend, range(count), range(i, i + count * self._reach, self._reach)) for one in makes]
        self._made.update(made)
        self._flags[[place for place, _ in made]] = True
        self._reach = min(2 * self._reach, MOST_REACH) if len(made) > count else max(self._reach // 2, LEAST_REACH)
        self._pause = self._alone = 0 if len(made) > 1 else min(2 * self._pause + 1, MOST_PAUSE)

    def _extend(self, k: int, i: int) -> list[tuple[int, Made]]:
        """Extend, by the k-th thread, those anchors from the i-th on that are to be extended between what is kept."""
        kept, (t, q, *_), number = self._paths.kept, self._anchors, len(self._paths)
        if len(self._rooms[k][0]) < len(self._paths.fence):
            self._rooms[k] = room(kept)
        where = self._flags, np.int64(i), np.int64(min(i + self._reach, len(t)))
        makes = []
        for j, left, right in commit_host.wanted(kept, *self._rooms[k], *self._anchors, *where, OF_THREAD).tolist():
            makes.append((j, Made(left, right, number, *self._extenders[k].extend(j, t[j], q[j], fences=(kept, left, right, *self._rooms[k])))))
        return makes
