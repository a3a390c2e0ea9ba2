# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""One row of the wavefront at a time: functions of their own, so that each loop has the registers to itself."""

import numpy as np

from tidalign.kernels.numba_cache import jit
from tidalign.kernels.vectors_host import (
    LANES,
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
    """Blocks from diagonal `low` on of a single state; `places` as `cells1` takes them, `trail`: where the kept row goes."""
    apart()
    width = LANES * lane_bytes(null)
    shift = 0
    if keep:
        for _ in range(blocks):
            cells1_keep(places, shift, low, n, m, null, trail + shift)
            shift += width
            low += LANES
    else:
        for _ in range(blocks):
            cells1(places, shift, low, n, m, null, trail)
            shift += width
            low += LANES


@jit
def row3(places, blocks, low, n, m, keep, trail, null):
    """Blocks from diagonal `low` on of three states; `places` as `cells3` takes them, `trail`: where the directions go."""
    apart()
    width = LANES * lane_bytes(null)
    shift = 0
    if keep:
        for _ in range(blocks):
            cells3_keep(places, shift, low, n, m, null, trail)
            trail += LANES
            shift += width
            low += LANES
    else:
        for _ in range(blocks):
            cells3(places, shift, low, n, m, null, trail)
            shift += width
            low += LANES


@jit
def row5(places, blocks, low, n, m, keep, trail, null):
    """As `row3`, of five states."""
    apart()
    width = LANES * lane_bytes(null)
    shift = 0
    if keep:
        for _ in range(blocks):
            cells5_keep(places, shift, low, n, m, null, trail)
            trail += LANES
            shift += width
            low += LANES
    else:
        for _ in range(blocks):
            cells5(places, shift, low, n, m, null, trail)
            shift += width
            low += LANES


@jit
def extend(row, low, high, q, t, null):
    """Follow the matches from every offset of M on diagonals low..high; `row`: address of the lane of `low`."""
    apart()
    size = lane_bytes(null)
    q -= low
    stop = row + (high - low + 1) * size
    while row < stop:
        h = load_lane(row, null)
        if h >= 0:
            x = load_u64(q + h) & load_u64(t + h)
            if x == np.uint64(0):
                while True:
                    h += 8
                    x = load_u64(q + h) & load_u64(t + h)
                    if x != np.uint64(0):
                        break
            store_lane(row, h + (zeros_below(x) >> 3), null)
        row += size
        q -= 1
