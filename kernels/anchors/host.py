# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Anchor points of segments, on one core."""

import numpy as np

from tidalign.kernels.runtime.numba_cache import jit

WINDOW = np.int64(31)


@jit
def choose_points(target, query, starts, query_starts, lengths, table, points):
    """Fill points[i] with the middle of segment i, or of its leftmost best window where it is longer than one; counted from its start."""
    for i in range(len(starts)):
        t, q, length = starts[i], query_starts[i], lengths[i]
        points[i] = length // 2
        if length <= WINDOW:
            continue
        total = np.int64(0)
        best, point = np.int64(0), np.int64(0)
        for place in range(length):
            total += table[np.int64(target[t + place]) << 6 | query[q + place]]
            if place >= WINDOW:
                total -= table[np.int64(target[t + place - WINDOW]) << 6 | query[q + place - WINDOW]]
            if place == WINDOW - 1 or (place >= WINDOW and total > best):
                best, point = total, place - WINDOW // 2
        points[i] = point
