"""Alignments of many anchors whose runs are held once where they are the same: anchors on one alignment differ in a few runs near them, if at all."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension.costs import Integers
from tidalign.kernels.gapped.alignments import Alignments, Extensions
from tidalign.kernels.gapped.folded_host import unfold

MAX_RUN = (1 << 30) - 1
"""Length that a word holds; longer runs are several words, which `take` joins again."""


@dataclass(frozen=True, eq=False)
class Folded(Alignments):
    """Holds alignments whose runs are held once where they are the same.

    words: uint32[.], runs (length << 2 | operation). pieces: int64[n, 2, 2, 2]: runs of row i are those of its left side, words [begin, stop) =
    pieces[i, 0, 0] then pieces[i, 0, 1], and after them those of its right side in the other direction, from its end to the anchor pieces[i, 1, 0] then
    pieces[i, 1, 1]."""

    words: npt.NDArray[np.uint32]
    pieces: Integers

    def take(self, rows: Any) -> Extensions:
        """Take the rows at these indices, in their order, each with its own runs."""
        rows = np.asarray(rows, np.int64)
        room = int((self.pieces[rows, :, :, 1] - self.pieces[rows, :, :, 0]).sum())
        offsets, operations, lengths = np.empty(len(rows) + 1, np.int64), np.empty(room, np.uint8), np.empty(room, np.int64)
        count = unfold(self.words, self.pieces, rows, offsets, operations, lengths)
        return Extensions(**self.columns(rows), run_offsets=offsets, run_ops=operations[:count], run_lengths=lengths[:count])

    def select(self, rows: Any) -> "Folded":
        """Select the rows at these indices, in their order, folded as they are."""
        return Folded(**self.columns(rows), words=self.words, pieces=self.pieces[rows])

    @classmethod
    def of(cls, found: Extensions) -> "Folded":
        """Hold alignments in this form, with all runs as they are."""
        parts = np.maximum(-(-found.run_lengths // MAX_RUN), 1)
        before = np.concatenate([[0], np.cumsum(parts)]).astype(np.int64)
        lengths = np.full(before[-1], MAX_RUN, np.int64)
        lengths[before[1:] - 1] = found.run_lengths - (parts - 1) * MAX_RUN
        words = (lengths << 2 | np.repeat(found.run_ops, parts)).astype(np.uint32)
        pieces = np.zeros((len(found), 2, 2, 2), np.int64)
        pieces[:, 0, 1, 0], pieces[:, 0, 1, 1] = before[found.run_offsets[:-1]], before[found.run_offsets[1:]]
        return cls(**found.columns(), words=words, pieces=pieces)

    @classmethod
    def concat(cls, parts: "list[Folded]") -> "Folded":
        """Join the rows of several, one after the other."""
        if len(parts) == 1:
            return parts[0]
        parts = parts or [cls.of(Extensions.empty())]
        before = np.cumsum([0, *(len(part.words) for part in parts)])
        pieces = np.concatenate([part.pieces + places for part, places in zip(parts, before[:-1], strict=True)])
        each = [part.columns() for part in parts]
        columns = {name: np.concatenate([one[name] for one in each]) for name in each[0]}
        return cls(**columns, words=np.concatenate([part.words for part in parts]), pieces=pieces)
