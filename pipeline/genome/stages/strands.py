"""Hold query strands, one or many in one array, and say what the extension of anchors needs: two strands, their costs, and where to count what was done."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension.costs import Costs, Integers
from tidalign.kernels.letters.nucleotides import SEPARATOR, Codes
from tidalign.pipeline.genome.parameters import GenomeParameters


class Strands(Protocol):
    """The target and one strand of a query sequence; `unit.Unit` is one.

    target_codes, query_codes: uint8[n]. bounds: the target's pieces, int64[m, 2]. counts: what was done, in numbers.
    """

    target_codes: Codes
    bounds: Integers
    parameters: GenomeParameters
    counts: Counter[str]

    @property
    def query_codes(self) -> Codes: ...

    @property
    def costs(self) -> Costs: ...

    def where(self) -> dict[str, Any]:
        """Names the unit in a report."""


@dataclass(frozen=True, eq=False)
class Queries:
    """Strands of query sequences in one array, a separator between two, so that a stage takes many small ones at once.

    codes: uint8[n]. starts: int64[k], where each begins there. numbers: int64[k], which sequence each is of. minus: bool[k], whether it is turned around.
    """

    codes: Codes
    starts: Integers
    numbers: Integers
    minus: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, number: int, strand: str, codes: Codes) -> Self:
        """One strand alone."""
        return cls(codes, np.zeros(1, np.int64), np.array([number]), np.array([strand == "-"]))

    @classmethod
    def joined(cls, strands: Iterable[tuple[int, str, Codes]]) -> Self:
        """Many of them, each a sequence's number, strand and codes."""
        numbers, names, codes = zip(*strands, strict=True)
        ends = np.cumsum([len(one) + 1 for one in codes])
        separator = np.full(1, SEPARATOR, np.uint8)
        array = np.concatenate([piece for one in codes for piece in (one, separator)])[:-1]
        return cls(array, np.concatenate([[0], ends[:-1]]).astype(np.int64), np.array(numbers, np.int64), np.array(names) == "-")

    def __len__(self) -> int:
        """How many strands."""
        return len(self.starts)

    def at(self, places: Integers) -> Integers:
        """Which strand holds each place of the array, int64[n] -> int64[n]."""
        return np.asarray(np.searchsorted(self.starts, places, "right") - 1)

    @cached_property
    def ends(self) -> Integers:
        """Where each strand ends, int64[k]."""
        return np.append(self.starts[1:] - 1, len(self.codes))

    def one(self, i: int) -> Codes:
        """The codes of strand i."""
        return self.codes[self.starts[i] : self.ends[i]]
