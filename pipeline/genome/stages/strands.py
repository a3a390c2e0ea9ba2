"""Say what the extension of anchors needs of a unit: its two strands, their costs, and where to count what was done."""

from collections import Counter
from typing import Any, Protocol

from tidalign.kernels.extension.costs import Costs, Integers
from tidalign.kernels.letters.nucleotides import Codes
from tidalign.pipeline.genome.parameters import GenomeParameters


class Strands(Protocol):
    """The target and one strand of a query sequence; `unit.Unit` is one.

    target_codes, query_codes: uint8[n]. bounds: the target's pieces, int64[m, 2]. query_bounds: the query's. counts: what was done, in numbers.
    """

    target_codes: Codes
    bounds: Integers
    parameters: GenomeParameters
    counts: Counter[str]

    @property
    def query_codes(self) -> Codes: ...

    @property
    def query_bounds(self) -> Integers: ...

    @property
    def costs(self) -> Costs: ...

    def where(self) -> dict[str, Any]:
        """Name the unit in a report."""
