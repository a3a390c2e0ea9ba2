"""Try both strands of queries and keep the better: that of the lower penalty or the higher score, and the query as it is where they are equal.

The other strand has no likeness to the target as a rule: wavefronts would be as many and as wide as letters allow. So by penalties the strand that shares more
words with the target is aligned first, and the other one no further than to the penalty that the first has; words often say that it is above that.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters import shared_words, words
from tidalign.kernels.letters.sequences import PackedSequences, Sequences, reverse_complement
from tidalign.kernels.pairwise import wavefront
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments

Integers = npt.NDArray[np.int64]


def better_strand(form: Any, queries: Any, targets: Any, parameters: Any) -> Alignments:
    """Align queries or their reverse complements: places are of the query as it is, CIGARs along the target. form: of the aligner, on a device."""
    others, bare = reverse_complement(queries), replace(parameters, **({"report": "score"} if parameters.scored else {"penalty_only": True}))
    if form.within is None or parameters.heuristic:
        plus, minus = (form.align(side, targets, bare) for side in (queries, others))
        reverse = _paid(minus) < _paid(plus) if plus.score is None or minus.score is None else minus.score > plus.score
        by_host = plus.by_host + minus.by_host
    else:
        reverse, by_host = _other_is_cheaper(form, queries, others, targets, bare)
    found: Alignments = form.align(_chosen(queries, others, reverse), targets, parameters)
    start, end = found.query_start, found.query_end
    if found.placed:
        start, end = np.where(reverse, queries.lengths - end, start), np.where(reverse, queries.lengths - start, end)
    return replace(found, query_start=start, query_end=end, reverse=reverse, by_host=min(by_host + found.by_host, len(found)))


def _other_is_cheaper(form: Any, queries: Any, others: Any, targets: Any, bare: Any) -> tuple[npt.NDArray[np.bool_], int]:
    """Tell of which pairs the reverse complement has the lower penalty, and how many the host took."""
    shared = shared_words.of_both_strands(queries, targets)
    turned = shared[1] > shared[0]  # the likelier strand
    first = form.align(_chosen(queries, others, turned), targets, bare)
    limits = first.penalty - ~turned  # the query as it is where both are equal
    if bare.ambiguous != "match":
        penalties = Penalties.parse(bare.penalties)
        gap, more = (min(costs) for costs in zip(*((opening + extension, extension) for opening, extension in penalties.pieces), strict=True))
        aligned = np.maximum(queries.lengths - sum((bare.ends_free or (0, 0))[:2]), 0)
        least = words.least_penalty(aligned, np.where(turned, shared[0], shared[1]), penalties.mismatch, gap, more)
        limits = np.where(least > limits, -1, limits)
    above = form.within(_chosen(queries, others, ~turned), targets, bare, limits) < 0
    return turned == above, first.by_host


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


def within_on_core(queries: Any, targets: Any, parameters: Any, limits: Integers) -> Integers:
    """Give penalties that are no higher than limits, else -1."""
    return wavefront.penalties_within(queries, targets, Penalties.parse(parameters.penalties), limits, **_given(parameters))


def within_on_gpu(queries: Any, targets: Any, parameters: Any, limits: Integers) -> Integers:
    """Give the same from the current device."""
    from tidalign.kernels.pairwise import wavefront_device

    return wavefront_device.penalties_within(queries, targets, Penalties.parse(parameters.penalties), limits, **_given(parameters))


def _given(parameters: Any) -> dict[str, Any]:
    return {name: option for name, option in parameters.options().items() if name in ("ends_free", "ambiguous")}
