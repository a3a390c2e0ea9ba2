"""Heuristics on wavefronts as data: which diagonals are given up, by WFA2-lib's rules and with its parameters (WAVEFRONT.md 15)."""

from dataclasses import dataclass

MAX_PARAMETER = 1 << 29
"""No parameter may be larger: sums with lengths stay inside 32 bits."""

_SHAPES = {
    "adaptive": ("LENGTH", "DISTANCE", "STEPS"),
    "band": ("LOW", "HIGH"),
    "adaptive-band": ("LOW", "HIGH", "STEPS"),
    "xdrop": ("X", "STEPS"),
    "zdrop": ("Z", "STEPS"),
}
_DEFAULTS = {"adaptive": (10, 50, 1), "band": (None, None), "adaptive-band": (None, None, 1), "xdrop": (None, 1), "zdrop": (None, 1)}
_LEAST = {"LENGTH": 1, "DISTANCE": 0, "STEPS": 1, "LOW": -MAX_PARAMETER, "HIGH": -MAX_PARAMETER, "X": 1, "Z": 0}

KINDS = {kind: number for number, kind in enumerate(_SHAPES, 1)}
"""Numbers of the kinds in the kernels; 0 is none."""


@dataclass(frozen=True, slots=True)
class Heuristic:
    """One way to give diagonals up, and its parameters, whole numbers.

    adaptive: of a wavefront of LENGTH diagonals or more, every STEPS of them, those at its ends whose furthest cell is more than DISTANCE letters behind the
    best. band: those outside LOW..HIGH (target position less query position). adaptive-band: as many, where cells are further. xdrop: those at the ends that
    score X or more below the best before. zdrop: the pair, where the best is more than Z below the best before.
    Raises ValueError for an unknown kind, and for numbers that are not in range.
    """

    kind: str
    numbers: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.kind not in _SHAPES or len(self.numbers) != len(_SHAPES[self.kind]):
            raise ValueError(f"heuristic {self.kind!r} with {len(self.numbers)} numbers: expected {_forms()}")
        for name, number in zip(_SHAPES[self.kind], self.numbers, strict=True):
            if not _LEAST[name] <= number <= MAX_PARAMETER:
                raise ValueError(f"heuristic {self}: {name} must lie in {_LEAST[name]}..{MAX_PARAMETER}, not {number}")
        if self.kind.endswith("band") and self.numbers[0] > self.numbers[1]:
            raise ValueError(f"heuristic {self}: the band begins behind its end; write the lower diagonal first")

    @classmethod
    def parse(cls, text: str) -> "Heuristic":
        """Read `adaptive`, `adaptive:10,50,1`, `band:-100,100`, `adaptive-band:-100,100,1`, `xdrop:100,1` or `zdrop:100,1`; STEPS may be left out."""
        kind, colon, given = text.strip().partition(":")
        short = text if len(text) <= 80 else f"{text[:40]}..."
        fields = given.split(",") if colon else []
        try:
            numbers: list[int | None] = [int(field) if len(field) <= 20 else None for field in fields]
        except ValueError:
            numbers = [None]
        defaults = _DEFAULTS.get(kind, ())
        numbers += defaults[len(numbers) :]
        if kind not in _SHAPES or len(fields) > len(defaults) or len(numbers) != len(defaults) or None in numbers:
            raise ValueError(f"heuristic {short!r}: expected one of {_forms()}, with whole numbers")
        return cls(kind, tuple(number for number in numbers if number is not None))

    def __str__(self) -> str:
        return f"{self.kind}:{','.join(map(str, self.numbers))}"

    def cut(self) -> tuple[int, int, int, int]:
        """Give (number of the kind, its first and second parameter, STEPS): what the kernels take."""
        first, second, steps = (*self.numbers, 0, 0)[:3]
        if self.kind in ("xdrop", "zdrop"):
            second, steps = 0, self.numbers[1]
        return KINDS[self.kind], first, second, max(steps, 1)


def _forms() -> str:
    return ", ".join(f"{kind}:{','.join(names)}" for kind, names in _SHAPES.items())
