"""Letters as the kernels of alignment by scores take them: a code each, and what two codes score."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.sequences import PackedSequences, Sequences
from tidalign.kernels.local.columns import Spelled
from tidalign.kernels.scoring.substitution import BASES, DNA, PROTEIN, Substitution

Batch = Sequences | PackedSequences


@dataclass(frozen=True, slots=True)
class Coded:
    """Hold the codes of all letters, where each sequence begins, and their lengths. letters: ASCII that the codes were made of; None if packed."""

    codes: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    letters: npt.NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def one(self) -> bool:
        """Whether all are the same sequence."""
        return bool((self.starts == self.starts[:1]).all() and (self.lengths == self.lengths[:1]).all())

    def at(self, rows: npt.NDArray[np.int64]) -> "Coded":
        """Take the sequences at these places, in this order, any of them any number of times; letters stay where they are."""
        return Coded(self.codes, self.starts[rows], self.lengths[rows], self.letters)


class Coding:
    """Say what letters score, as kernels take it: codes of both sides, and either two scores or a table."""

    def __init__(self, scoring: Substitution, ambiguous: str = "mismatch") -> None:
        matrix, size = scoring.matrix(ambiguous), len(scoring.letters) + 1
        self.scoring, self.matrix = scoring, matrix
        codes = scoring.codes()
        other = np.uint8(codes[ord("N")])
        self._ascii = [codes, codes]
        self._packed = [np.append(codes[np.frombuffer(BASES.encode(), np.uint8)], other)] * 2
        self.lacking: npt.NDArray[np.bool_] | None = None
        if scoring.alphabet == PROTEIN:
            self.lacking = np.isin(np.arange(256), np.frombuffer((scoring.letters + scoring.letters.lower()).encode(), np.uint8), invert=True)
        self.same = np.eye(size, dtype=np.uint8)
        if scoring.alphabet == DNA:
            self.same[other] = self.same[:, other] = ambiguous == "match"
        off, match = matrix[~np.eye(size, dtype=bool)], np.diag(matrix)[:4]
        alike = len(set(off.tolist())) == 1 and len(set(match.tolist())) == 1 and matrix[-1, -1] == off[0]
        self._plain = self._ascii[0], self._packed[0]
        self.size = size
        self.costs = tuple(np.int64(cost) for opening, extension in scoring.pieces for cost in (opening + extension, extension))
        self.scores: tuple[np.int64, ...] = (np.int64(0),)
        self.table = np.zeros((size + 1, size + 1), np.uint64)
        if len(scoring.letters) == 4 and alike and off[0] <= 0:
            # Letters are compared; another letter is one code in queries and another in targets, and padding two more, which would earn what mismatches do.
            self.scores = (np.int64(matrix[0, 0]), np.int64(off[0]))
            self._ascii[1] = np.where(codes == other, np.uint8(other + 2), codes)
            self._packed[1] = self._ascii[1][np.frombuffer(BASES.encode() + b"N", np.uint8)]
            self.same = np.pad(self.same, (0, 2))
        else:
            self.table[:] = 0x80  # padding scores the lowest that there is
            self.table[:size, :size] = matrix.view(np.uint8)

    def plain_codes(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        """Give the codes of `matrix` for queries and targets alike: by ASCII letter, and by packed base and then of any other letter."""
        return self._plain

    def spelled(self, side: Coded) -> Spelled | None:
        """Give the letters of proteins, and which have letters that the matrix lacks: those have the code of X. None of DNA."""
        from tidalign.kernels.local import letters

        if self.lacking is None or side.letters is None:
            return None
        shared = np.empty(len(side), np.bool_)
        letters.among(side.letters, side.starts, side.lengths, self.lacking, shared)
        return Spelled(side.letters, side.starts, shared)

    def coded(self, batch: Batch, place: int) -> Coded:
        """Give the codes of queries (0) or targets (1)."""
        from tidalign.kernels.local import letters

        if isinstance(batch, Sequences):
            return Coded(self._ascii[place][batch.letters], batch.offsets[:-1], batch.lengths, batch.letters)
        starts = np.cumsum(batch.lengths) - batch.lengths
        codes = np.empty(int(batch.lengths.sum()), np.uint8)
        letters.unpacked(*(batch.codes, batch.code_offsets, batch.lengths, batch.ambiguous, batch.ambiguous_offsets), self._packed[place], starts, codes)
        return Coded(codes, starts, batch.lengths)
