# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""One row of the wavefront at a time: functions of their own, so that each loop has the registers to itself."""

import numpy as np

from tidalign.kernels.letters.words import PARTS
from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import (
    VECTOR_LANES,
    apart,
    cells1,
    cells1_keep,
    cells3,
    cells3_keep,
    cells5,
    cells5_keep,
    lane_bytes,
    load_lane,
    load_u64,
    store_lane,
    zeros_below,
)


@jit
def row1(places, blocks, low, n, m, keep, trail, null):
    """Compute blocks of a single state from diagonal `low` on; `places` as `cells1` takes them, `trail`: where the kept row goes."""
    apart()
    width = VECTOR_LANES * lane_bytes(null)
    shift = 0
    if keep:
        for _ in range(blocks):
            cells1_keep(places, shift, low, n, m, null, trail + shift)
            shift += width
            low += VECTOR_LANES
    else:
        for _ in range(blocks):
            cells1(places, shift, low, n, m, null, trail)
            shift += width
            low += VECTOR_LANES


@jit
def row3(places, blocks, low, n, m, keep, trail, null):
    """Compute blocks of three states from diagonal `low` on; `places` as `cells3` takes them, `trail`: where the directions go."""
    apart()
    width = VECTOR_LANES * lane_bytes(null)
    shift = 0
    if keep:
        for _ in range(blocks):
            cells3_keep(places, shift, low, n, m, null, trail)
            trail += VECTOR_LANES
            shift += width
            low += VECTOR_LANES
    else:
        for _ in range(blocks):
            cells3(places, shift, low, n, m, null, trail)
            shift += width
            low += VECTOR_LANES


@jit
def row5(places, blocks, low, n, m, keep, trail, null):
    """Compute blocks of five states, otherwise as `row3`."""
    apart()
    width = VECTOR_LANES * lane_bytes(null)
    shift = 0
    if keep:
        for _ in range(blocks):
            cells5_keep(places, shift, low, n, m, null, trail)
            trail += VECTOR_LANES
            shift += width
            low += VECTOR_LANES
    else:
        for _ in range(blocks):
            cells5(places, shift, low, n, m, null, trail)
            shift += width
            low += VECTOR_LANES


@inline
def follow(place, q, t, null):
    """Follow the matches from the offset at an address; `q`: address of the query letter on its diagonal where the target's is 0."""
    h = load_lane(place, null)
    if h >= 0:
        x = load_u64(q + h) & load_u64(t + h)
        while x == np.uint64(0):
            h += 8
            x = load_u64(q + h) & load_u64(t + h)
        store_lane(place, h + (zeros_below(x) >> 3), null)


@jit
def extend(row, low, high, q, t, null):
    """Follow the matches from every offset of M on diagonals low..high; `row`: address of the lane of `low`."""
    apart()
    size = lane_bytes(null)
    q -= low
    stop = row + (high - low + 1) * size
    while row + 3 * size < stop:
        follow(row, q, t, null)
        follow(row + size, q - 1, t, null)
        follow(row + 2 * size, q - 2, t, null)
        follow(row + 3 * size, q - 3, t, null)
        row += 4 * size
        q -= 4
    while row < stop:
        follow(row, q, t, null)
        row += size
        q -= 1


@jit
def live(ring, rows, stride, k, way, stop, n, goal, counts, prices, spare, null):
    """Find the first diagonal from `k` on, in steps of `way` up to `stop` (and if none, the one behind it), on which any row has a cell that can still lie on a
    path within the bound: one from which what is missing in the query and the letters of gaps to the goal cost `spare` parts of a unit at most.

    ring: address of diagonal 0 of the first of so many rows, `stride` bytes apart. counts, prices: as `count_missing` and `shares` have them.
    """
    apart()
    size = lane_bytes(null)
    word, inserted, deleted = prices
    while (stop - k) * way >= 0:
        h = np.int64(-1)
        place = ring + k * size
        for _ in range(rows):
            h = max(h, load_lane(place, null))
            place += stride
        if h >= 0:
            letters = (goal - k) * deleted if k < goal else (k - goal) * inserted
            if PARTS * word * counts[max(min(h - k, n), 0)] + letters <= spare:
                break
        k += way
    return k
