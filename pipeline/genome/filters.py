"""LASTZ's filters of finished alignments: identity, coverage, continuity, matches, mismatches, gaps. Bounds are inclusive."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.pipeline.genome import measures
from tidalign.pipeline.genome.block import Block, Numbers

Filter = tuple[str, float, float]

_SHARES: dict[str, Callable[[Block], measures.Fraction]] = {
    "identity": measures.identity,
    "coverage": measures.coverage,
    "continuity": measures.continuity,
}
_COUNTS: dict[str, Callable[[Block], Numbers]] = {
    "nmatch": lambda block: block.numbers("matches"),
    "nmismatch": lambda block: block.numbers("mismatches"),
    "ngap": measures.gap_runs,
    "cgap": measures.gap_columns,
}
MATCHES_OF_QUERY = "nmatch%"
"""Matches as a percentage of the query sequence's length."""

_OF_ALIGNMENTS = ("continuity", MATCHES_OF_QUERY)
"""What LASTZ does not ask of HSPs where these are the result."""

NAMES = (*_SHARES, *_COUNTS, MATCHES_OF_QUERY)
"""What `GenomeParameters.filters` may name: the first three and the last are in percent, the others are counts."""


def keep(rows: Any, filters: tuple[Filter, ...], *, gapped: bool = True) -> Any:
    """The rows of `schema.GENOME_ALIGNMENTS` (a record batch or table) that pass every filter (name, lowest, highest).

    gapped: whether they are alignments; LASTZ asks less of HSPs (_OF_ALIGNMENTS).

    A filtered alignment has played its part before: in exact mode it has fenced those that came after it.
    """
    filters = tuple(one for one in filters if gapped or one[0] not in _OF_ALIGNMENTS)
    if not filters or rows.num_rows == 0:
        return rows
    block = Block(rows, None, None, 0)  # type: ignore[arg-type]  # no letters are looked at
    passed = np.logical_and.reduce([_passes(block, *one) for one in filters])
    return rows.filter(pa.array(passed))


def _passes(block: Block, name: str, lowest: float, highest: float) -> npt.NDArray[np.bool_]:
    if name in _COUNTS:
        count = _COUNTS[name](block)
        return np.asarray((lowest <= count) & (count <= highest))
    if name == MATCHES_OF_QUERY:
        matches, length = block.numbers("matches"), block.numbers("query_length")
        return np.asarray((matches >= lowest / 100 * length) & (matches <= highest / 100 * length))
    # LASTZ compares in single precision, the part with the bound's share of the whole; where there is nothing to share out, it drops the alignment.
    part, whole = (numbers.astype(np.float32) for numbers in _SHARES[name](block))
    low, high = (whole * np.float32(np.float32(bound) / 100) for bound in (lowest, highest))
    return np.asarray((whole > 0) & (low <= part) & (part <= high))
