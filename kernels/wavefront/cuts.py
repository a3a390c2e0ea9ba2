# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Which diagonals of a wavefront a heuristic gives up: the rules of WFA2-lib, with its arithmetic (WAVEFRONT.md 15)."""

import numpy as np

from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import apart, lane_bytes, load_lane

ADAPTIVE, BAND, ADAPTIVE_BAND, XDROP, ZDROP = (np.int64(kind) for kind in range(1, 6))
"""Kinds, as `Heuristic.cut` numbers them."""

WAIT, SEEN, TOP = range(3)
"""What a heuristic knows of earlier wavefronts: how many it lets pass still, whether it has seen one, and the highest score of a cell."""

FAR = np.int64(1 << 30)
"""How far from the end a cell is that is not there."""


@inline
def distance(row, k, n, m, size, null):
    """Count the letters of the longer side that are left behind a cell."""
    h = load_lane(row + k * size, null)
    return max(n + k, m) - h if h >= 0 else FAR


@inline
def score(h, k, paid):
    """Score a cell where a match counts 1, a mismatch and a gap half of what they cost; rounded towards 0."""
    twice = 2 * h - k - paid
    return twice // 2 if twice >= 0 else -(-twice // 2)


@jit
def reduced(row, low, high, n, m, paid, cut, known, null):
    """Cut diagonals low..high of M, whose matches have been followed: (low, high, whether the pair is given up).

    Invariant: only ends are cut off, so what is left is one stretch, and `known` alone is carried from one wavefront to the next.

        low -> low'                     high' <- high
         ....::::######################::::....       :: too far behind the best cell, or outside of the band

    row: address of diagonal 0. paid: the wavefront's penalty as it was asked for. known: int64[3] of this pair, changed in place.
    """
    apart()
    kind, first, second, steps = cut
    size = lane_bytes(null)
    if kind == BAND:
        return max(low, first), min(high, second), False
    known[WAIT] -= 1
    if known[WAIT] > 0:
        return low, high, False
    if kind == ADAPTIVE:
        if high - low + 1 < first:
            return low, high, False
        goal = m - n
        furthest = np.int64(-1)
        for k in range(low, min(goal - 1, high) + 1):
            furthest = max(furthest, load_lane(row + k * size, null))
        least = m - furthest if furthest >= 0 else max(n, m)
        for k in range(max(low, goal), high + 1):
            h = load_lane(row + k * size, null)
            if h >= 0:
                least = min(least, n + k - h)
        least += second
        stop = min(goal, high)
        while low < stop and distance(row, low, n, m, size, null) > least:
            low += 1
        stop = max(goal, low)
        while high > stop and distance(row, high, n, m, size, null) > least:
            high -= 1
    elif kind == ADAPTIVE_BAND:
        width = high - low + 1
        if width < 4:
            return low, high, False
        most = second - first + 1
        if width > most:
            leeway = (width - most) // 2
            quarter = width // 4
            start = low
            if distance(row, low, n, m, size, null) > distance(row, high, n, m, size, null):
                start += leeway
            if distance(row, low + quarter, n, m, size, null) > distance(row, low + 2 * quarter, n, m, size, null):
                start += leeway
            low = start
            high = min(high, start + most - 1)
    else:
        best = -2 * FAR
        for k in range(low, high + 1):
            h = load_lane(row + k * size, null)
            if h >= 0:
                best = max(best, score(h, k, paid))
        if known[SEEN] == 1 and kind == XDROP:
            floor = known[TOP] - first
            while low <= high:
                h = load_lane(row + low * size, null)
                if h >= 0 and score(h, low, paid) > floor:
                    break
                low += 1
            while high >= low:
                h = load_lane(row + high * size, null)
                if h >= 0 and score(h, high, paid) > floor:
                    break
                high -= 1
        elif known[SEEN] == 1 and known[TOP] - best > first:
            return low, high, True
        if known[SEEN] == 0 or best > known[TOP]:
            known[TOP] = best
        known[SEEN] = 1
    known[WAIT] = steps
    return low, high, False
