"""Words of DNA that pairs share, on either strand."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.sequences import PackedSequences, Sequences

Integers = npt.NDArray[np.int64]


def of_both_strands(queries: Any, targets: Any) -> Integers:
    """Count, for pairs of Sequences or of PackedSequences, the words of the query and of its reverse complement that the target has -> int64[2, pairs]."""
    from tidalign.kernels.letters import words_host

    found = np.zeros((2, len(queries)), np.int64)
    longest = [max(1, int(side.lengths.max(initial=0))) for side in (queries, targets)]
    buffers = tuple(np.empty(length, np.uint8) for length in longest)
    if isinstance(queries, Sequences) and isinstance(targets, Sequences):
        words_host.count_plain((queries.letters, queries.offsets), (targets.letters, targets.offsets), buffers, found)
    elif isinstance(queries, PackedSequences) and isinstance(targets, PackedSequences):
        sides = ((side.codes, side.code_offsets, side.lengths) for side in (queries, targets))
        words_host.count_packed(*sides, buffers, found)
    return found
