"""Notices targets that have letters to spare, as windows of a genome around reads have, in a run that aligned both sides from end to end."""

import pyarrow.compute as pc

from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.results import Results

ROWS = 1_000
"""Bounds how many rows are looked at, from the begin of the input on."""

LEAST = 10
"""Says of how many pairs at least something can be said."""

_SPARE = r"^([3-9]|\d{2,})D|\D([3-9]|\d{2,})D$"
"""A CIGAR that begins or ends with the deletion of three letters or more: errors of reads are seldom there."""


def advice(results: Results) -> str | None:
    """Say of a run with rows that targets seem to have letters to spare, and how to leave them out; None unless most of the first rows begin or end so."""
    parameters = results.parameters
    if not isinstance(parameters, PairParameters) or parameters.ends_free or not results.cigars:
        return None
    rows = next(results.to_batches(["cigar"]))["cigar"][:ROWS]
    found = pc.sum(pc.match_substring_regex(rows, _SPARE)).as_py() or 0
    if 2 * found <= len(rows):
        return None
    least = f"{found:,} of the first {len(rows):,} alignments begin or end with a deletion of three letters or more"
    return f"{least}; if targets have letters to spare, as windows around reads do, --ends-free QB,QE,TB,TE leaves these out at no cost"
