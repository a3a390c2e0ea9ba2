"""Alignments of one target by where they run: what fences those that follow, and what anchors seem to lie on."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.commit import paths_host
from tidalign.kernels.extension.costs import Integers
from tidalign.kernels.fences.kept import empty, room
from tidalign.kernels.gapped.alignments import Extensions

NEAR_AT_ONCE = 1 << 14
"""Anchors of which a thread tells at once what they are about."""

TOUCHED = 1 << 20
"""Cells among which those of new alignments are few: of most anchors it is soon told that none is there."""

NEAR_DIAGONALS = 64
"""Diagonals from an alignment within which an anchor is expected to lie on it."""


class Paths:
    """Alignments as the compiled walk has them; arrays grow as they must."""

    def __init__(self) -> None:
        self.kept = empty()
        self.fence, self.holes = room(self.kept)

    def __len__(self) -> int:
        return int(self.kept.counts[1])

    def clear(self) -> None:
        """Forget all of them; the arrays stay."""
        paths_host.forget(self.kept)

    def double(self) -> None:
        """Make room for twice as many."""
        kept = self.kept
        self._make_room(*(len(array) + 1 for array in (kept.pieces, kept.alignments, kept.marks, kept.crossings)))

    def grow(self, ends: Integers, runs: int) -> None:
        """Make room for an alignment of so many runs."""
        pieces, marks, crossings = paths_host.most(ends, runs)
        more = np.array([pieces, 1, marks, crossings])
        self._make_room(*(self.kept.counts[:4] + more).tolist())

    def _make_room(self, pieces: int, alignments: int, marks: int, crossings: int) -> None:
        """Make room for so many in all."""
        before = self.kept
        wanted = {"pieces": pieces, "alignments": alignments, "marks": marks, "crossings": crossings, "keys": marks}
        self.kept = before._replace(**{name: _larger(getattr(before, name), count) for name, count in wanted.items()})
        if len(self.kept.alignments) > len(before.alignments):
            self.fence, self.holes = room(self.kept)
        if len(self.kept.keys) > len(self.kept.buckets):
            self.kept = self.kept._replace(buckets=np.full(1 << (len(self.kept.keys) - 1).bit_length(), -1, np.int64))
            paths_host.link(self.kept)

    def keep(self, ends: Integers, ops: npt.NDArray[np.uint8], lengths: Integers) -> None:
        """Add an alignment."""
        self.grow(ends, len(ops))
        paths_host.keep(self.kept, ends, ops, lengths)

    def near(self, t: Any, q: Any, since: int = 0, threads: ThreadPoolExecutor | None = None) -> npt.NDArray[np.bool_]:
        """Tell whether anchors, int64[n] places on target and query, are about where one of them runs. since: how many there were before those that matter.
        threads: tell of some each."""
        t, q = np.ascontiguousarray(t, np.int64), np.ascontiguousarray(q, np.int64)
        cells = np.zeros(TOUCHED if since else 1, np.bool_)
        if since:
            paths_host.touched(self.kept, np.int64(since), cells)
        else:
            cells[0] = True

        def tell(i: int) -> npt.NDArray[np.bool_]:
            some = slice(i, i + NEAR_AT_ONCE)
            found: npt.NDArray[np.bool_] = paths_host.near(self.kept, t[some], q[some], np.int64(NEAR_DIAGONALS), np.int64(since), cells)
            return found

        return np.concatenate([np.zeros(0, np.bool_), *(threads.map if threads else map)(tell, range(0, len(t), NEAR_AT_ONCE))])

    def keep_apart(self, t: Any, q: Any, found: Extensions) -> None:
        """Add the places of those alignments that are not about where an earlier one runs, for `near`; (t, q): the anchor of each."""
        t, q = np.ascontiguousarray(t, np.int64), np.ascontiguousarray(q, np.int64)
        ends, offsets, ops, lengths = (np.require(values, None, ["C", "W"]) for values in (found.ends(), *found.runs()))
        i = 0
        while (i := paths_host.keep_apart(self.kept, t, q, ends, offsets, ops, lengths, np.int64(i), np.int64(NEAR_DIAGONALS))) < len(found):
            self.grow(ends[i], int(offsets[i + 1] - offsets[i]))


def _larger(array: Integers, count: int) -> Integers:
    """Give the array, or a copy twice as long where it has not `count` rows."""
    if count <= len(array):
        return array
    longer = np.full((max(count, 2 * len(array)), *array.shape[1:]), -1, np.int64)
    longer[: len(array)] = array
    return longer
