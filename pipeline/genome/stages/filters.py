"""LASTZ's filters of finished alignments: identity, coverage, continuity, matches, mismatches, gaps. Bounds are inclusive."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.pipeline.genome.formats import measures
from tidalign.pipeline.genome.formats.block import Columns
from tidalign.pipeline.genome.parameters import GenomeParameters

if TYPE_CHECKING:
    from tidalign.pipeline.genome.stages.unit import Unit

Filter = tuple[str, float, float]

_SHARES: dict[str, Callable[[Columns], measures.Fraction]] = {
    "identity": measures.identity,
    "coverage": measures.coverage,
    "continuity": measures.continuity,
}
_COUNTS = {"nmatch": "matches", "nmismatch": "mismatches", "ngap": "gap_openings", "cgap": "gap_letters"}
MATCHES_OF_QUERY = "nmatch%"
"""Matches as a percentage of the query sequence's length."""


def asked(parameters: GenomeParameters) -> tuple[Filter, ...]:
    """List the filters that LASTZ applies, all if there is gapped extension of what was collected before.

    Of anchors that are extended as they are found it does not ask the share of the query; of HSPs neither continuity, nor the share where it writes them out
    as they are found.
    """
    filters = parameters.filters
    if parameters.gapped:
        return filters if parameters.per_query is None else tuple(one for one in filters if one[0] != MATCHES_OF_QUERY)
    of_all = parameters.chain, parameters.query_hsp_best, parameters.query_hsp_limit, parameters.masking, parameters.per_query, parameters.hsp_cover
    collected = any(each is not None for each in of_all)
    collected |= any(name != MATCHES_OF_QUERY for name, *_ in filters)
    return tuple(one for one in filters if one[0] != "continuity" and (collected or one[0] != MATCHES_OF_QUERY))


def asked_of(unit: "Unit") -> tuple[Filter, ...]:
    """List those of a unit: of a query whose sequences are one ([multiple]) the share is of the letters of all. What passes has that share of its own, too."""
    letters = int(unit.query.full_lengths.sum())
    return tuple(
        ("nmatch", lowest / 100 * letters, highest / 100 * letters) if unit.joint and name == MATCHES_OF_QUERY else (name, lowest, highest)
        for name, lowest, highest in asked(unit.parameters)
    )


def asked_last(parameters: GenomeParameters) -> tuple[Filter, ...]:
    """List the filters of what comes out: what is found between alignments (`--inner`), and mirror images (`--self`), are not asked, and those were before."""
    before = parameters.inner is not None or (parameters.gapped and parameters.with_itself and parameters.mirror)
    return () if before else asked(parameters)


def keep(rows: Any, filters: tuple[Filter, ...]) -> Any:
    """Keep the rows of `schema.GENOME_ALIGNMENTS` (a record batch or table) that are `passed`.

    A filtered alignment has played its part before: in exact mode it has fenced those that came after it.
    """
    return rows.filter(pa.array(passed(rows, filters))) if filters else rows


def passed(rows: Any, filters: tuple[Filter, ...]) -> npt.NDArray[np.bool_]:
    """Tell which rows pass every filter (name, lowest, highest)."""
    if not rows.num_rows or not filters:
        return np.ones(rows.num_rows, np.bool_)
    block = Columns(rows)
    return np.asarray(np.logical_and.reduce([_passes(block, *one) for one in filters]))


def shown(strands: Iterable[Iterable[Any]], limit: int, *, gapped: bool) -> Iterator[Any]:
    """Show what LASTZ shows of the filtered rows of a query's strands, tables of each, where it may have `limit` HSPs (`--queryhsplimit`): of HSPs so many;
    of alignments all of a strand, but of no more strands than that."""
    room = limit
    for tables in strands:
        found = 0
        for rows in tables:
            yield rows if gapped and room else rows.slice(0, max(0, room - found))
            found += rows.num_rows
        room -= min(found, 1 if gapped else room)


def _passes(block: Columns, name: str, lowest: float, highest: float) -> npt.NDArray[np.bool_]:
    if name in _COUNTS:
        count = block.numbers(_COUNTS[name])
        return np.asarray((lowest <= count) & (count <= highest))
    if name == MATCHES_OF_QUERY:
        matches, length = block.numbers("matches"), block.numbers("query_length")
        return np.asarray((matches >= lowest / 100 * length) & (matches <= highest / 100 * length))
    # LASTZ compares in single precision, the part with the bound's share of the whole; where there is nothing to share out, it drops the alignment.
    part, whole = (numbers.astype(np.float32) for numbers in _SHARES[name](block))
    low, high = (whole * np.float32(np.float32(bound) / 100) for bound in (lowest, highest))
    return np.asarray((whole > 0) & (low <= part) & (part <= high))
