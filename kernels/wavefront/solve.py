# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""One pair by wavefronts: as far as it comes soon, then a narrow pass that bounds the penalty, then the rest between what the bound leaves."""

import numpy as np

from tidalign.kernels.letters.words_host import count_missing
from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.runtime.workspace import END, STATE, TRAIL, empty_ring, shrink
from tidalign.kernels.wavefront.host import NO, NO_BOUND, NO_PAUSE, sweep
from tidalign.kernels.wavefront.trace import trace_gaps, trace_single

COUNTED_CELLS = np.int64(64)
"""Words are counted where there are as many cells a letter, twice."""

NO_PENALTY = np.int64(-1)

PAUSE = np.int64(192)
"""A sweep that has not ended after so many steps stops for a narrow pass: its penalty bounds the pair's."""

BAND = np.int64(32)
"""Diagonals of the narrow pass on each side of those that join begin and end; one more for every 256 letters."""


@jit
def counted(q, n, t, m, model, free, left):
    """Count the missing words of a query where that pays, `left` units before the bound of its penalty: a half of the cells that are left at most is saved.

    None where letters may be left out or equal every other.
    """
    counts = np.empty(n + 1, np.int32)
    gap = min(model[3], model[5]) if model[0] == 5 else model[3]
    if left * left // gap < COUNTED_CELLS * (n + m) or free[0] + free[1] + free[2] + free[3] or not count_missing(q, n, t, m, counts):
        return counts[:0]
    return counts


@jit
def solve(work, spare, q, n, t, m, model, free, begin, end, bound, most, keep, null):
    """Find the exact penalty in units of a pair whose letters are followed by sentinels; with `keep` its operations are appended to the CIGAR.

    Arguments as in `sweep`. Returns the penalty, the diagonal of the begin (with `keep`; else 0) and that of the end. The penalty is -1 where it is above
    `most`, with `keep` and no `bound`: then there is no more.
    """
    counts = np.empty(0, np.int32)
    if bound != NO_BOUND:
        counts = counted(q, n, t, m, model, free, bound)
    s = sweep(work, q, n, t, m, model, free, begin, end, bound, NO_BOUND, PAUSE if bound == NO_BOUND else NO_PAUSE, counts, keep, null)
    # The narrow pass costs what about `PAUSE` further steps cost: it pays where more than three quarters of them are still to come.
    if s < 0 and 7 * work[STATE + 13] < 4 * (n + m):
        bound = sweep(spare, q, n, t, m, model, free, begin, end, NO_BOUND, BAND + max(n, m) // 256, NO_PAUSE, counts, NO, null)
        counts = counted(q, n, t, m, model, free, bound - PAUSE)
    if s < 0:
        s = sweep(work, q, n, t, m, model, free, begin, end, bound, NO_BOUND, most if keep else NO_PAUSE, counts, keep, null)
    if s < 0:
        work[STATE] = 0
        empty_ring(work, 0)
        shrink(work, TRAIL)
        return NO_PENALTY, NO_PENALTY, NO_PENALTY
    stop = work[END]
    start = np.int64(0)
    if keep:
        single = model[0] == 1
        start = trace_single(work, model, s, stop, min(m, n + stop), null) if single else trace_gaps(work, q, t, model, s, stop, end)
    return s, start, stop
