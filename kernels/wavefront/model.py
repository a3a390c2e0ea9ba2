"""Say what a gap model means for the shape of a launch: rows, widths and memory."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidalign.kernels.scoring.penalties import Penalties

NARROW_DIAGONALS = 128
"""Diagonals of the first, narrow pass."""

WIDTHS = tuple(1 << bits for bits in range(8, 17))
"""Diagonals a row may have in the passes after it: a launch takes the pairs whose wavefronts need no more."""


@dataclass(frozen=True, slots=True)
class Model:
    """Penalties divided by their greatest common divisor, and what follows from them (wavefront.cuh has the same formulas).

    most: the largest penalty of a pair that is walked back without being cut (`Penalties.whole`): dearer ones are the host's.
    edit: whether penalties are edit distance.
    """

    pieces: int
    mismatch: int
    extend: tuple[int, int]
    open_extend: tuple[int, int]
    unit: int
    most: int
    edit: bool

    @classmethod
    def of(cls, penalties: Penalties) -> "Model":
        unit = penalties.unit()
        scaled = [(opening // unit, extension // unit) for opening, extension in penalties.pieces]
        first, second = scaled[0], scaled[-1]
        pieces = {"edit": 0, "linear": 0, "affine": 1, "affine2p": 2}[penalties.model]
        return cls(pieces, penalties.mismatch // unit, (first[1], second[1]), (sum(first), sum(second)), unit, penalties.whole(), penalties.model == "edit")

    @property
    def deepest(self) -> int:
        """Steps back that a step reads."""
        return max(self.mismatch, *self.open_extend[: max(self.pieces, 1)])

    @property
    def margin(self) -> int:
        """Places beside the outermost diagonals that a step writes, since later ones read them."""
        least = min(self.extend[: max(self.pieces, 1)])
        return -(-self.deepest // least) + 1

    @property
    def rows(self) -> int:
        """Rows of all states that a pair keeps."""
        return self.deepest + 1 + 2 * sum(extension + 1 for extension in self.extend[: self.pieces])

    def reach(self, s: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Count the diagonals on either side at penalty s."""
        if self.pieces == 0:
            return s // self.extend[0]
        reached = np.zeros_like(s)
        for piece in range(self.pieces):
            reached = np.maximum(reached, np.where(s < self.open_extend[piece], 0, (s - self.open_extend[piece]) // self.extend[piece] + 1))
        return reached

    def width(self, bound: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Count the diagonals that the rows of a global pair need at most, its penalty being at most `bound`: a gap there and back."""
        return 2 * (bound // (2 * min(self.extend[: max(self.pieces, 1)])) + 2) + 1 + 2 * self.margin

    def budget(self, width: int) -> tuple[int, int]:
        """Compute the (largest penalty, direction bytes up to it) whose rows fit a width, for a global pair without a bound."""
        s = np.arange(1, min(width * max(self.extend) + self.deepest + 1, self.most) + 1, dtype=np.int64)
        widths = 2 * self.reach(s) + 1
        steps = int(np.searchsorted(widths + 2 * self.margin, width, side="right"))
        # Places in the directions are 32-bit; a pair that needs more is outgrown.
        return steps, min(int(widths[:steps].sum()), 2**31 - 1)

    def narrow_budget(self) -> tuple[int, int]:
        """Compute (largest penalty, direction bytes) that a narrow pass can prove exact: out of its diagonals and back costs as much. Capped for dear gaps."""
        half = NARROW_DIAGONALS // 2 - 1
        there = min(start + half * extension for start, extension in zip(self.open_extend, self.extend, strict=True))
        steps = min(2 * there, 4 * NARROW_DIAGONALS)
        return steps, steps * NARROW_DIAGONALS

    def bounded_budget(self, bound: int, free: int) -> tuple[int, int]:
        """Compute (largest penalty, direction bytes) of a pair of a penalty of at most `bound`, `free` letters in all at free ends: rows half full on
        average."""
        return bound, (bound + 2) * (int(self.width(np.array(bound))) // 2 + 2 + free)
