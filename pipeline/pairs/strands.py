"""Try both strands of queries and keep the better: that of the lower penalty or the higher score, and the query as it is where they are equal.

Which it is is told without CIGARs: the other strand has no likeness to the target as a rule, and its way back would be long. So a pair costs two alignments
without a CIGAR, and one with it where it is asked for.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tidalign.kernels.letters.sequences import PackedSequences, Sequences, reverse_complement
from tidalign.kernels.wavefront.alignments import Alignments

STRANDS = ("plus", "both")


def better_strand(align: Callable[[Any, Any, Any], Alignments], queries: Any, targets: Any, parameters: Any) -> Alignments:
    """Align queries or their reverse complements: places are of the query as it is, CIGARs along the target. align: as of a `Form`."""
    others, bare = reverse_complement(queries), replace(parameters, **({"report": "score"} if parameters.scored else {"penalty_only": True}))
    plus, minus = (align(side, targets, bare) for side in (queries, others))
    reverse = _paid(minus) < _paid(plus) if plus.score is None or minus.score is None else minus.score > plus.score
    if parameters == bare:
        more = (*(("score",) if parameters.scored else ()), *(("dropped",) if plus.dropped is not None else ()))
        names = ("penalty", "query_start", "query_end", "target_start", "target_end", *more)
        found = replace(plus, **{name: np.where(reverse, getattr(minus, name), getattr(plus, name)) for name in names})
    else:
        found = align(_chosen(queries, others, reverse), targets, parameters)
    start, end = found.query_start, found.query_end
    if found.placed:
        start, end = np.where(reverse, queries.lengths - end, start), np.where(reverse, queries.lengths - start, end)
    by_host = plus.by_host + minus.by_host + (0 if parameters == bare else found.by_host)
    return replace(found, query_start=start, query_end=end, reverse=reverse, by_host=min(by_host, len(found)))


def _paid(found: Alignments) -> Any:
    """Give the penalties; of what a heuristic gave up the highest number there is."""
    return found.penalty if found.dropped is None else np.where(found.dropped, np.iinfo(np.int64).max, found.penalty)


def _chosen(queries: Any, others: Any, reverse: Any) -> Any:
    """Take the others where `reverse` holds, else the queries. A sequence and its complement take the same places."""

    def bytes_of(name: str, offsets: str) -> Any:
        return np.where(np.repeat(reverse, np.diff(getattr(queries, offsets))), getattr(others, name), getattr(queries, name))

    if isinstance(queries, Sequences):
        return replace(queries, letters=bytes_of("letters", "offsets"))
    packed: PackedSequences = replace(queries, codes=bytes_of("codes", "code_offsets"), ambiguous=bytes_of("ambiguous", "ambiguous_offsets"))
    return packed
