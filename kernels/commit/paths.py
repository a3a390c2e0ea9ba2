"""Alignments of one target by where they run: what fences those that follow, and what anchors seem to lie on."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.commit import paths_host
from tidalign.kernels.extension.costs import Integers
from tidalign.kernels.extension.fences import BIN_BITS, empty, room
from tidalign.kernels.gapped.alignments import Extensions

NEAR_DIAGONALS = 64
"""Diagonals from an alignment within which an anchor is expected to lie on it."""


class Paths:
    """Alignments of one target (of so many letters) as the compiled walk has them; arrays grow as they must."""

    def __init__(self, target: int) -> None:
        self.kept = empty(target)
        self.fence, self.holes = room(self.kept)

    def __len__(self) -> int:
        return int(self.kept.counts[1])

    def clear(self) -> None:
        """Forget all of them; the arrays stay, of which one is as long as the target."""
        paths_host.forget(self.kept)

    def double(self) -> None:
        """Make room for twice as many."""
        larger = {name: _larger(array, len(array) + 1) for name, array in self.kept._asdict().items() if name not in ("heads", "counts")}
        self.kept = self.kept._replace(**larger)
        self.fence, self.holes = room(self.kept)

    def grow(self, ends: Integers, runs: int) -> None:
        """Make room for an alignment of so many runs."""
        pieces, alignments, entries = self.kept.counts
        blocks = int((ends[1] >> BIN_BITS) - (ends[0] >> BIN_BITS)) + 1
        self.kept = self.kept._replace(pieces=_larger(self.kept.pieces, pieces + 2 * runs + 1), entries=_larger(self.kept.entries, entries + blocks))
        if alignments == len(self.kept.alignments):
            self.kept = self.kept._replace(**{name: _larger(getattr(self.kept, name), alignments + 1) for name in ("alignments", "by_start", "by_end")})
            self.fence, self.holes = room(self.kept)

    def keep(self, ends: Integers, ops: npt.NDArray[np.uint8], lengths: Integers) -> None:
        """Add an alignment."""
        self.grow(ends, len(ops))
        paths_host.keep(self.kept, ends, ops, lengths)

    @property
    def entries(self) -> int:
        """Count the entries of blocks of the target that alignments have: `near` can leave out those that are there already."""
        return int(self.kept.counts[2])

    def near(self, t: Any, q: Any, since: int = 0) -> npt.NDArray[np.bool_]:
        """Tell whether anchors, int64[n] places on target and query, are about where one of them runs. since: `entries` of before those that matter."""
        t, q = np.ascontiguousarray(t, np.int64), np.ascontiguousarray(q, np.int64)
        found: npt.NDArray[np.bool_] = paths_host.near(self.kept, t, q, np.int64(NEAR_DIAGONALS), np.int64(since))
        return found

    def keep_apart(self, t: Any, q: Any, found: Extensions) -> None:
        """Add those alignments that are not about where an earlier one runs; (t, q): the anchor of each."""
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
