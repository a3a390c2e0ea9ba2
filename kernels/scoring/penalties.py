"""Gap models as data: a mismatch penalty and one (open, extend) pair for each piece of the gap function."""

from dataclasses import dataclass
from math import gcd, isqrt

MAX_PENALTY = 1_000_000
"""No single penalty may be larger: sums over the longest sequences stay far inside 64 bits."""

MAX_BACK = 1023
"""Steps of one unit that a wavefront may look back. The rows that five states then keep take 1.4 GB for the longest pair that is not cut (32,768 letters)."""

KEPT_CELLS = 2_300_000_000
"""Cells that the way back of a pair may have, about: every preset of penalties has fewer up to 32,768 letters. A byte each; with one state four."""

_SHAPES = {
    "edit": "",
    "linear": "X,G",
    "affine": "X,O,E",
    "affine2p": "X,O1,E1,O2,E2",
}


@dataclass(frozen=True, slots=True)
class Penalties:
    """A match costs nothing, a mismatch `mismatch`, a gap of n letters min(open + n * extend) over the pieces.

    The model's name tells how many states a cell has: `edit` and `linear` one (a gap costs its extension only), `affine` three, `affine2p` five.
    Raises ValueError for penalties that are not whole numbers in range.
    """

    model: str
    mismatch: int
    pieces: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if self.model not in _SHAPES:
            raise ValueError(f"unknown gap model {self.model!r}: use one of {', '.join(_SHAPES)}")
        if len(self.pieces) != (2 if self.model == "affine2p" else 1):
            raise ValueError(f"{self.model} takes {2 if self.model == 'affine2p' else 1} (open, extend) pairs, not {len(self.pieces)}")
        if not 1 <= self.mismatch <= MAX_PENALTY:
            raise ValueError(f"the mismatch penalty must lie in 1..{MAX_PENALTY}, not {self.mismatch}")
        for opening, extension in self.pieces:
            if not 0 <= opening <= MAX_PENALTY or not 1 <= extension <= MAX_PENALTY:
                raise ValueError(f"a gap must open at 0..{MAX_PENALTY} and extend at 1..{MAX_PENALTY}, not {opening} and {extension}")
        if self.model in ("edit", "linear") and self.pieces[0][0] != 0:
            raise ValueError(f"{self.model} gaps have no opening penalty; use affine")
        if self.model == "edit" and (self.mismatch, self.pieces) != (1, ((0, 1),)):
            raise ValueError("edit penalties are 1 for a mismatch and 1 for each gap letter; use linear:X,G for others")
        if self.back() > MAX_BACK:
            raise ValueError(
                f"penalties {self}: a mismatch, and the first letter of a gap, may cost at most {MAX_BACK:,} times the greatest common divisor of all"
                f" ({self.unit()}), not {self.back():,} times: round them to coarser numbers"
            )

    @classmethod
    def parse(cls, text: str) -> "Penalties":
        """Parse `edit`, `linear:X,G`, `affine:X,O,E` or `affine2p:X,O1,E1,O2,E2`, whole numbers throughout; ValueError for other text."""
        model, _, numbers = text.strip().partition(":")
        text = text if len(text) <= 80 else f"{text[:40]}..."
        shapes = ", ".join(f"{name}:{shape}" if shape else name for name, shape in _SHAPES.items())
        if model not in _SHAPES:
            raise ValueError(f"penalties {text!r}: expected one of {shapes}")
        wanted = len(_SHAPES[model].split(",")) if _SHAPES[model] else 0
        fields = numbers.split(",") if numbers else []
        try:
            values = [int(field) for field in fields if len(field) <= 20]
        except ValueError:
            values = []
        if len(values) != wanted or len(fields) != wanted:
            raise ValueError(f"penalties {text!r}: expected {model}{':' if wanted else ''}{_SHAPES[model]} with whole numbers")
        if model == "edit":
            return cls("edit", 1, ((0, 1),))
        if model == "linear":
            return cls("linear", values[0], ((0, values[1]),))
        return cls(model, values[0], tuple(zip(values[1::2], values[2::2], strict=True)))

    def __str__(self) -> str:
        if self.model == "edit":
            return "edit"
        if self.model == "linear":
            return f"linear:{self.mismatch},{self.pieces[0][1]}"
        return f"{self.model}:{self.mismatch}," + ",".join(f"{opening},{extension}" for opening, extension in self.pieces)

    def unit(self) -> int:
        """Compute the greatest common divisor of all penalties: a wavefront advances by it, and ties do not depend on it."""
        divisor = self.mismatch
        for opening, extension in self.pieces:
            divisor = gcd(divisor, opening, extension)
        return divisor

    def back(self) -> int:
        """Count the units that the dearest step costs, a mismatch or the first letter of a gap: so far back a wavefront looks."""
        return max(self.mismatch, *(opening + extension for opening, extension in self.pieces)) // self.unit()

    def whole(self) -> int:
        """Compute the largest penalty, in units, of a pair all of whose wavefronts are kept (WAVEFRONT.md 9).

        At penalty s, of cheapest extension e, these have up to s * s / 2e cells, and beside them some 64 bytes a step.
        """
        extension = min(extension for _, extension in self.pieces) // self.unit()
        cells = KEPT_CELLS // (4 if self.model in ("edit", "linear") else 1)
        return isqrt((64 * extension) ** 2 + 2 * extension * cells) - 64 * extension

    def gap(self, letters: int) -> int:
        """Price a gap of `letters` letters."""
        return min(opening + letters * extension for opening, extension in self.pieces) if letters else 0

    @classmethod
    def presets(cls) -> dict[str, "Penalties"]:
        """Give the four models with the field's usual numbers: what tests iterate over."""
        return {text.partition(":")[0]: cls.parse(text) for text in ("edit", "linear:4,2", "affine:4,6,2", "affine2p:4,6,2,24,1")}
