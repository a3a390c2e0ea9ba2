"""What a run computes: everything that can change a row, and nothing that cannot."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from tidalign.kernels.scoring.penalties import Penalties

AMBIGUOUS = ("mismatch", "match", "error")


@dataclass(frozen=True, slots=True)
class PairParameters:
    """Parameters of a run over pairs.

    penalties: as `Penalties.parse` reads them, kept in that normal form.
    ends_free: letters that may stay unaligned at no cost at (query begin, query end, target begin, target end);
        a number above the length means all of it. None: global.
    penalty_only: no CIGAR.
    ambiguous: what a letter other than ACGT equals: nothing (`mismatch`), every letter (`match`), or it is refused (`error`).
    """

    penalties: str = "affine:4,6,2"
    ends_free: tuple[int, int, int, int] | None = None
    penalty_only: bool = False
    ambiguous: str = "mismatch"

    def __post_init__(self) -> None:
        object.__setattr__(self, "penalties", str(Penalties.parse(self.penalties)))
        if self.ends_free is not None:
            ends = tuple(self.ends_free)
            if len(ends) != 4 or not all(isinstance(end, int) and end >= 0 for end in ends):
                raise ValueError(f"ends-free takes four whole numbers >= 0 (QB,QE,TB,TE), not {self.ends_free!r}")
            object.__setattr__(self, "ends_free", ends if any(ends) else None)
        if self.ambiguous not in AMBIGUOUS:
            raise ValueError(f"ambiguous must be one of {', '.join(AMBIGUOUS)}, not {self.ambiguous!r}")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "PairParameters":
        ends = values.get("ends_free")
        return cls(**{**values, "ends_free": tuple(ends) if ends else None})

    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()
