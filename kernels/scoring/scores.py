"""Substitution scores and gap costs of genome alignment, as tables over the codes of letters/nucleotides.py (LASTZ's scoring; scores are maximised)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.nucleotides import ALPHABET, SEPARATOR

STRIDE = 64
"""Tables are STRIDE x STRIDE, so that a pair's place is (target << 6) | query."""

SEPARATED = -107_374_182
"""Score of a separator against anything: far below what any alignment can make up for."""

HOXD70 = ((91, -114, -31, -123), (-114, 100, -125, -31), (-31, -125, 100, -114), (-123, -31, -114, 91))
"""Chiaromonte, Yap, Miller 2002: rows are the target's A C G T, columns the query's."""

_EITHER_CASE = [[ALPHABET.index(letter.encode()), ALPHABET.index(letter.lower().encode())] for letter in "ACGTN"]
"""Codes of the letters that a matrix may have scores of, in its order."""

IUPAC = "BDHKMRSVWY"
"""Letters for several bases; allowed only where `ambiguous` says what they score."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """Hold substitution scores and gap costs.

    matrix: rows the target's A, C, G, T, columns the query's; it need not be symmetric. A fifth row or column is that of N.

    bad: X against anything. fill: N (and what else is not ACGT) against anything, itself too, where the matrix has no score of it.
    A gap of n bases costs gap_open + n * gap_extend.
    ambiguous: None; or ("n" | "iupac", reward, penalty): N (and with "iupac" the IUPAC letters) scores reward with itself and -penalty with others.
    small_x_fills: a small x scores fill against all but X, and masks nothing, as in LASTZ where there is a score file; else it is an X.
    """

    matrix: tuple[tuple[int, ...], ...] = HOXD70
    bad: int = -1000
    fill: int = -100
    gap_open: int = 400
    gap_extend: int = 30
    ambiguous: tuple[str, int, int] | None = None
    small_x_fills: bool = False

    def plain(self) -> npt.NDArray[np.int32]:
        """Make the table of the gapped stage, anchors and reported scores, int32[STRIDE, STRIDE]; case does not matter."""
        table = np.full((STRIDE, STRIDE), self.fill, np.int32)
        for row, scores in zip(_EITHER_CASE, self.matrix, strict=False):
            for column, score in zip(_EITHER_CASE, scores, strict=False):
                table[np.ix_(row, column)] = score
        self._ambiguous(table)
        if self.ambiguous is not None:  # LASTZ takes the small n of a matrix with N for another letter
            large, small = (ALPHABET.index(letter) for letter in b"Nn")
            if len(self.matrix) == 5:
                table[small, [large, small]] = -self.ambiguous[2]
            if len(self.matrix[0]) == 5:
                table[[large, small], small] = -self.ambiguous[2]
        every = range(len(ALPHABET))
        self._crossed(table, every, every)
        return table

    def masked(self) -> npt.NDArray[np.int32]:
        """Make the table of the gap-free stage and bare seeds, int32[STRIDE, STRIDE]: all is bad but upper-case letters of the matrix, and what `ambiguous`
        scores."""
        table = np.full((STRIDE, STRIDE), self.bad, np.int32)
        scored = np.array(self.matrix, np.int32)
        upper = [letters[0] for letters in _EITHER_CASE]
        table[np.ix_(upper[: scored.shape[0]], upper[: scored.shape[1]])] = scored
        self._ambiguous(table)
        others = [ALPHABET.index(letter) for letter in (IUPAC + IUPAC.lower()).encode()]
        self._crossed(table, [*upper[: scored.shape[0]], *others], [*upper[: scored.shape[1]], *others])
        return table

    def _crossed(self, table: npt.NDArray[np.int32], rows: Iterable[int], columns: Iterable[int]) -> None:
        """Set the scores of X and x, and of the separator. rows, columns: letters that a small x fills with."""
        large, small = (ALPHABET.index(letter) for letter in b"Xx")
        table[small, :] = table[:, small] = self.bad
        if self.small_x_fills:
            table[[*rows, small], small] = table[small, [*columns, small]] = self.fill
        table[large, :] = table[:, large] = self.bad
        table[SEPARATOR, :] = table[:, SEPARATOR] = SEPARATED

    def _ambiguous(self, table: npt.NDArray[np.int32]) -> None:
        if self.ambiguous is None:
            return
        which, reward, penalty = self.ambiguous
        upper = "N" + (IUPAC if which == "iupac" else "")
        both = [ALPHABET.index(letter) for letter in (upper + upper.lower()).encode()]
        table[both, : len(ALPHABET)] = table[: len(ALPHABET), both] = -penalty
        for letter in upper:
            same = [ALPHABET.index(letter.encode()), ALPHABET.index(letter.lower().encode())]
            table[np.ix_(same, same)] = reward
