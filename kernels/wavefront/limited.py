# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Pairs of which only penalties up to a limit are of interest: wavefronts no wider than a path of that penalty needs, and no more of them."""

import numpy as np

from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.runtime.workspace import LETTERS, STATE, empty_ring
from tidalign.kernels.wavefront.host import NO, NO_BOUND, M, sweep


@jit
def penalties_within(work, rows, first, stop, places, n, m, model, free, limits, null, out):
    """Find the penalties of pairs rows[first:stop], encoded as `batch.align_encoded` has them -> out[i], in units; -1 where it is above limits[i]."""
    states, _, o1, e1, o2, e2 = model
    for r in range(first, stop):
        i = rows[r]
        ends = (min(free[0], n[i]), min(free[1], n[i]), min(free[2], m[i]), min(free[3], m[i]))
        goal = m[i] - n[i]
        # Letters of the gap that lengths alone make necessary.
        apart = max(goal - ends[3] - ends[2], -goal - ends[1] - ends[0])
        least = np.int64(0)
        if apart > 0:
            least = o1 + e1 * apart
            if states == 5:
                least = min(least, o2 + e2 * apart)
        out[i] = -1
        if least <= limits[i]:
            q, t = work[LETTERS] + places[r - first, 0], work[LETTERS] + places[r - first, 1]
            out[i] = sweep(work, q, n[i], t, m[i], model, ends, M, M, limits[i], NO_BOUND, limits[i], NO, null)
            if out[i] < 0:
                work[STATE] = 0
                empty_ring(work, 0)
