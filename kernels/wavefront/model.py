"""Say what a gap model means for the shape of a launch: rows, widths and memory."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.words import PARTS, shares
from tidalign.kernels.runtime import compiler
from tidalign.kernels.scoring.penalties import Penalties

NARROW_DIAGONALS = 128
"""Diagonals of the first, narrow pass."""

WARPS = 24
"""Warps a multiprocessor needs to hide what each waits for (measured with two-piece penalties, whose rows are the deepest)."""

TRIM_STEPS = 8
"""Steps from one trimming of the rows to the next."""

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
    def macros(self) -> dict[str, int]:
        """Give what kernels are told of the model."""
        (e1, e2), (oe1, oe2) = self.extend, self.open_extend
        told = {"PIECES": self.pieces, "X": self.mismatch, "E1": e1, "OE1": oe1, "E2": e2, "OE2": oe2}
        return {f"WAVEFRONT_{name}": value for name, value in told.items()}

    @property
    def shares(self) -> tuple[int, int, int]:
        """Give what a missing word costs at least, and a letter of a gap beside that."""
        return shares(self.mismatch, tuple(zip(self.open_extend, self.extend, strict=True)))

    @property
    def deepest(self) -> int:
        """Count the steps back that a step reads."""
        return max(self.mismatch, *self.open_extend[: max(self.pieces, 1)])

    @property
    def rows(self) -> int:
        """Count the rows of all states that a pair keeps."""
        return self.deepest + 1 + 2 * sum(extension + 1 for extension in self.extend[: self.pieces])

    @property
    def near_rows(self) -> int:
        """Count the rows but for those of M that a gap of the second piece opens from."""
        return self.rows - self.deepest + max(self.mismatch, self.open_extend[0])

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
        return 2 * (bound // (2 * min(self.extend[: max(self.pieces, 1)])) + 2) + 3

    def likely_width(self, bound: npt.NDArray[np.int64], missing: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Estimate the same where rows are trimmed, from how many words are missing in all: as if they were so evenly, and a tenth more."""
        word, *letters = self.shares
        least = min(self.extend[: max(self.pieces, 1)])
        beside = np.maximum(bound - word * missing, 0) * sum(1 / (least + share / PARTS) for share in letters)
        likely = (1.1 * beside).astype(np.int64) + 2 * self.deepest // least + TRIM_STEPS + 8
        return np.asarray(np.minimum(likely, self.width(bound)))

    def budget(self, width: int) -> tuple[int, int]:
        """Compute the (largest penalty, direction bytes up to it) whose rows fit a width, for a global pair without a bound."""
        s = np.arange(1, min(width * max(self.extend) + self.deepest + 1, self.most) + 1, dtype=np.int64)
        widths = 2 * self.reach(s) + 1
        steps = int(np.searchsorted(widths + 2, width, side="right"))
        # Places in the directions are 32-bit; a pair that needs more is outgrown.
        return steps, min(int(widths[:steps].sum()), 2**31 - 1)

    def narrow_budget(self, width: int) -> tuple[int, int]:
        """Compute (largest penalty, direction bytes) that a narrow pass can prove exact, as a rule: out of its diagonals and back costs two thirds of it, and
        missing words may cost the rest. Capped for dear gaps."""
        half = width // 2 - 1
        there = min(start + half * extension for start, extension in zip(self.open_extend, self.extend, strict=True))
        steps = min(3 * there, 4 * NARROW_DIAGONALS)
        return steps, steps * width

    def bounded_budget(self, bound: int, free: int, width: int) -> tuple[int, int]:
        """Compute (largest penalty, direction bytes) of a pair of a penalty of at most `bound`, `free` letters in all at free ends: rows of a width, half full
        on average."""
        return bound, (bound + 2) * (min(int(self.width(np.array(bound))), width) // 2 + 2 + free)


def team(width: int, row_bytes: int, count: int) -> tuple[int, int]:
    """Choose (threads a pair, pairs a block): a warp a pair where rows are short, a block where they are long; more where the rows of few pairs, of `row_bytes`
    each, fit on chip, or there are few pairs, so that about WARPS warps take turns there."""
    if width <= NARROW_DIAGONALS:
        return 32, 4
    least = 32 if width <= 512 else min(1 << (width // 16).bit_length() - 1, 512)
    pairs = compiler.most_shared_bytes() // row_bytes
    while (pairs and pairs * least < 32 * WARPS or count * least < 32 * WARPS * compiler.multiprocessors() // 4) and least < min(width // 4, 512):
        least *= 2
    return least, 2 if least == 32 else 1
