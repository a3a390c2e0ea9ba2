"""Chaining: the best set of segments that follow each other in both sequences (LASTZ's `--chain`)."""

import numpy as np
import numpy.typing as npt

from tidalign.kernels.ungapped import Segments

SCALE = 100
"""Chains count scores by this much, so that penalties can be fractions of them."""


def best_chain(segments: Segments, match: int, diagonal: int = 0, anti: int = 0) -> npt.NDArray[np.int64]:
    """The members of the best chain, places in `segments`, by target start.

    A segment may follow one that starts before it in both sequences. It costs `diagonal` for each diagonal between them and `anti` for each base
    between them on the nearer sequence; a base of overlap costs SCALE times `match` (the score of A with A). The chain with the highest sum of SCALE
    times the scores less these costs is found exactly (LASTZ's search may miss it where there are penalties). Time: n log n, more where segments
    overlap much.
    """
    from tidalign.kernels.chain_host import best_chain as kernel

    if min(match, diagonal, anti) < 0:
        raise ValueError(f"a chain's penalties and its match score must not be negative, not {diagonal}, {anti} and {match}")
    if not len(segments):
        return np.empty(0, np.int64)
    order = np.lexsort((segments.query, segments.length, segments.target))
    t, q, length, score = (values[order] for values in (segments.target, segments.query, segments.length, segments.score))
    at_rank = np.argsort(q, kind="stable")
    rank = np.empty(len(t), np.int64)
    rank[at_rank] = np.arange(len(t))
    best, before = np.empty(len(t), np.int64), np.empty(len(t), np.int64)
    highest = np.zeros(2 << max(0, len(t) - 1).bit_length(), np.int64)
    kernel(t, q, length, score * SCALE, rank, at_rank, diagonal, anti, SCALE * match, best, before, highest)
    members: list[int] = []
    last = int(best.argmax())
    if best[last] <= 0:
        return order[:0]
    while last >= 0:
        members.append(last)
        last = int(before[last])
    return order[members[::-1]]
