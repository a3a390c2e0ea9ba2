"""Alignments of many anchors whose runs are held once where they are the same: anchors on one alignment differ in a few runs near them, if at all."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.folded_host import unfold
from tidalign.kernels.gapped import Extensions, Integers


@dataclass(frozen=True, eq=False)
class Folded:
    """As `gapped.Extensions`, an element of each array for an alignment, but for its runs.

    words: uint32[.], runs (length << 2 | operation). pieces: int64[n, 2, 2, 2]: runs of row i are those of its left side, words [begin, stop) = pieces[i, 0, 0]
    then pieces[i, 0, 1], and after them those of its right side in the other direction, from its end to the anchor pieces[i, 1, 0] then pieces[i, 1, 1].
    """

    anchor: Integers
    score: Integers
    target_start: Integers
    target_end: Integers
    query_start: Integers
    query_end: Integers
    capped: npt.NDArray[np.bool_]
    words: npt.NDArray[np.uint32]
    pieces: Integers

    def __len__(self) -> int:
        return len(self.anchor)

    def take(self, rows: Any) -> Extensions:
        """The rows at these indices, in their order, each with its own runs."""
        rows = np.asarray(rows, np.int64)
        room = int((self.pieces[rows, :, :, 1] - self.pieces[rows, :, :, 0]).sum())
        offsets, operations, lengths = np.empty(len(rows) + 1, np.int64), np.empty(room, np.uint8), np.empty(room, np.int64)
        count = unfold(self.words, self.pieces, rows, offsets, operations, lengths)
        columns = {name: getattr(self, name)[rows] for name in _COLUMNS}
        return Extensions(**columns, run_offsets=offsets, run_ops=operations[:count], run_lengths=lengths[:count])

    def select(self, rows: Any) -> "Folded":
        """The rows at these indices, in their order, as they are."""
        return replace(self, **{name: getattr(self, name)[rows] for name in (*_COLUMNS, "pieces")})

    @classmethod
    def of(cls, found: Extensions) -> "Folded":
        """With all runs as they are."""
        pieces = np.zeros((len(found), 2, 2, 2), np.int64)
        pieces[:, 0, 1, 0], pieces[:, 0, 1, 1] = found.run_offsets[:-1], found.run_offsets[1:]
        words = (found.run_lengths << 2 | found.run_ops).astype(np.uint32)
        return cls(**{name: getattr(found, name) for name in _COLUMNS}, words=words, pieces=pieces)

    @classmethod
    def concat(cls, parts: "list[Folded]") -> "Folded":
        """Rows of several, one after the other."""
        if len(parts) == 1:
            return parts[0]
        parts = parts or [cls.of(Extensions.empty())]
        before = np.cumsum([0, *(len(part.words) for part in parts)])
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in (*_COLUMNS, "words")}
        return cls(**joined, pieces=np.concatenate([part.pieces + places for part, places in zip(parts, before[:-1], strict=True)]))


_COLUMNS = [field.name for field in fields(Folded) if field.name not in ("words", "pieces")]
