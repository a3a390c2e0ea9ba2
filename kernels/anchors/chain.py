"""Chaining: the best set of segments that follow each other in both sequences (LASTZ's `--chain`, LASTZ.md 9)."""

import numpy as np
import numpy.typing as npt

from tidalign.kernels.ungapped.hsps import Segments

SCALE = 100
"""Chains count scores by this much, so that penalties can be fractions of them."""


def best_chain(segments: Segments, match: int, diagonal: int = 0, anti: int = 0, *, lastz: bool = False) -> npt.NDArray[np.int64]:
    """Find the chain of segments with the highest score; gives its members, int64[k], places in `segments`, by target start.

    A segment may follow one that starts before it in both sequences. It costs `diagonal` for each diagonal between them and `anti` for each base
    between them on the nearer sequence; a base of overlap costs SCALE times `match` (the score of A with A, as a rule). The chain with the highest sum of
    SCALE times the scores less these costs is found exactly; without penalties it is LASTZ's also among equal ones.

    lastz: find LASTZ's chain, which with penalties may be another (LASTZ.md 28); segments are then at the places that LASTZ has in memory.
    Time: n log n as a rule, more where segments overlap much or most have one query place.
    """
    from tidalign.kernels.anchors import chain_host as host

    if min(diagonal, anti) < 0 or (match < 0 and not lastz):
        raise ValueError(f"a chain's penalties and its match score must not be negative, not {diagonal}, {anti} and {match}")
    n = len(segments)
    if not n:
        return np.empty(0, np.int64)
    sorted_by = np.lexsort((segments.score, segments.query, segments.length, segments.target))
    t, q, length, score = (values[sorted_by] for values in (segments.target, segments.query, segments.length, segments.score))
    order, nodes, leaf = np.arange(n), np.empty((2 * n, host.FIELDS), np.int64), np.empty(n, np.int64)
    levels = host.plant(t, q, order, nodes, leaf)
    best, before, highest = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(2 * n, np.int64)
    host.best_chain(t, q, length, score * SCALE, diagonal, anti, SCALE * match, order, nodes, leaf, levels, highest, best, before, lastz)
    members: list[int] = []
    last = int(best.argmax())
    if best[last] <= 0:
        return sorted_by[:0]
    while last >= 0:
        members.append(last)
        last = int(before[last])
    return sorted_by[members[::-1]]
