# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""One pair by wavefronts of which a heuristic keeps the promising diagonals: the sweep over penalties (WAVEFRONT.md 15).

Cells are those of host.py. What differs is which diagonals a step makes: those that its sources' *limits* lead to, and a heuristic moves limits. Cells beyond
them stay where they are and are read where another source's limits lead there, as WFA2-lib does; with edit penalties they are gone. Rows are as wide as what
was made, so each says on which diagonals its memory counts, and is made NULL beyond them when it is read there.
"""

import numpy as np

from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import VECTOR_LANES, apart, fill_null, lane_bytes, load_lane, store_i64, store_lane
from tidalign.kernels.runtime.workspace import END, RING, STEPS, TRAIL, reserve, reserve_ring
from tidalign.kernels.wavefront.cuts import ADAPTIVE_BAND, BAND, WAIT, reduced
from tidalign.kernels.wavefront.host import NULL_PAD, M, clear, slots
from tidalign.kernels.wavefront.rows import extend, row3, row5
from tidalign.kernels.wavefront.trace import trace_gaps

LOW, HIGH, FROM, TO = range(4)
"""Of a row: the limits of its cells that count for the next (1 and -1 where there is none), and the diagonals whose memory is its own."""

DROPPED = np.int64(-1)


@inline
def trimmed(row, low, high, n, m, size, null):
    """Make cells outside the matrix at both ends NULL; what is left."""
    while high >= low:
        h = load_lane(row + high * size, null)
        if 0 <= h <= m and 0 <= h - high <= n:
            break
        store_lane(row + high * size, np.int64(null), null)
        high -= 1
    while low <= high:
        h = load_lane(row + low * size, null)
        if 0 <= h <= m and 0 <= h - low <= n:
            break
        store_lane(row + low * size, np.int64(null), null)
        low += 1
    return low, high


@inline
def source(held, state, slot, ring, stride, nothing, low, high, size, null):
    """Give the address of diagonal 0 of a row that is NULL where it has no cell on diagonals low..high."""
    mine = held[state, slot]
    if mine[LOW] > mine[HIGH]:
        return nothing
    row = ring + slot * stride
    at = mine[TO] + 1
    while at <= high:
        fill_null(row + at * size, null)
        at += VECTOR_LANES
    mine[TO] = at - 1
    at = mine[FROM]
    while at > low:
        at -= VECTOR_LANES
        fill_null(row + at * size, null)
    mine[FROM] = at
    return row


@inline
def limit(mine, low, high):
    """Cut a row to no more than these diagonals."""
    mine[LOW] = max(mine[LOW], low)
    mine[HIGH] = min(mine[HIGH], high)
    if mine[LOW] > mine[HIGH]:
        mine[LOW] = 1
        mine[HIGH] = -1


@jit
def sweep(work, q, n, t, m, model, free, cut, edit, unit, keep, null):
    """Find the penalty, in units, of the path that a heuristic leaves; DROPPED where it leaves none. Arguments as of host.sweep; `cut`: of `Heuristic.cut`.

    Invariant: as in host.sweep, whose picture of a cell holds; but of a row, only what the heuristic left counts for the next ones, and `held` says of each row
    of the rings where that lies. A row is begun from the union of those it looks at, one diagonal wider for a gap, and then cut:

        -n      FROM          LOW               HIGH          TO      m      diagonals
         .........::::::::::::#####################::::::::::::.......
                  made, given up   counts for later   made, given up         the rest of the row is not its own: NULL before it is read

    edit: penalties are edit distance. unit: what a unit costs. Leaves the diagonal of the end in work[END], and with `keep` the trail for `trace_gaps`.
    """
    apart()
    states, x, o1, e1, o2, e2 = model
    qb, qe, tb, te = free
    kind, first, second, _ = cut
    size = lane_bytes(null)
    goal = m - n
    depth = max(x, o1 + e1)
    if states == 5:
        depth = max(depth, o2 + e2)
    rows = slots(depth)
    rows1 = slots(e1) if states > 1 else 1
    rows2 = slots(e2) if states == 5 else 0
    stride = (((n + m + 2 * NULL_PAD) * size + 63) >> 6 | 1) << 6
    total = rows + 2 * rows1 + 2 * rows2 + 1
    reserve_ring(work, stride * total)
    ring_m = work[RING] + (n + NULL_PAD) * size
    ring_i1 = ring_m + stride * rows
    ring_d1 = ring_i1 + stride * rows1
    ring_i2 = ring_d1 + stride * rows1
    ring_d2 = ring_i2 + stride * rows2
    nothing = ring_d2 + stride * rows2
    held = np.empty((states, max(rows, rows1, rows2), 4), np.int64)
    held[:, :, LOW] = 1
    held[:, :, HIGH] = -1
    known = np.zeros(3, np.int64)
    known[WAIT] = cut[3]

    s = 0
    for k in range(-qb, tb + 1):
        store_lane(ring_m + k * size, max(k, 0), null)
    start = held[0, 0]
    start[LOW], start[HIGH], start[FROM], start[TO] = -qb, tb, -qb, tb
    widest_low = -qb
    widest_high = tb
    position = 0
    idle = 0
    found = False
    while True:
        here = s & (rows - 1)
        mine = held[0, here]
        low = mine[LOW]
        high = mine[HIGH]
        if low <= high:
            row = ring_m + here * stride
            extend(row + low * size, low, high, q, t, null)
            for k in range(max(low, goal - te), min(high, goal + qe) + 1):
                if load_lane(row + k * size, null) >= min(m, n + k):
                    work[END] = k
                    found = True
                    break
            if found:
                break
            left, right, given_up = reduced(row, low, high, n, m, s * unit, cut, known, null)
            if given_up:
                break
            if left != low or right != high:
                limit(mine, left, right)
                if edit:
                    mine[FROM], mine[TO] = left, right
                elif s == 0:  # WFA2-lib keeps what lies between limits and the main diagonal
                    mine[FROM], mine[TO] = min(left, 0), max(right, 0)
                for state in range(1, states):
                    limit(held[state, s & ((rows1 if state < 3 else rows2) - 1)], left, right)

        s += 1
        new = s & (rows - 1)
        new1 = s & (rows1 - 1)
        new2 = s & (rows2 - 1)
        at_x = (s - x) & (rows - 1)
        at_o1 = (s - o1 - e1) & (rows - 1)
        at_o2 = (s - o2 - e2) & (rows - 1)
        old1 = (s - e1) & (rows1 - 1)
        old2 = (s - e2) & (rows2 - 1)
        # A row that is not there has the limits 1 and -1, which count (as in WFA2-lib) where another is.
        live = held[0, at_x, LOW] <= held[0, at_x, HIGH] or held[0, at_o1, LOW] <= held[0, at_o1, HIGH]
        low = min(held[0, at_x, LOW], held[0, at_o1, LOW] - 1)
        high = max(held[0, at_x, HIGH], held[0, at_o1, HIGH] + 1)
        if states > 1:
            live = live or held[1, old1, LOW] <= held[1, old1, HIGH] or held[2, old1, LOW] <= held[2, old1, HIGH]
            low = min(low, held[1, old1, LOW] - 1, held[2, old1, LOW] + 1)
            high = max(high, held[1, old1, HIGH] - 1, held[2, old1, HIGH] + 1)
        if states == 5:
            live = live or held[0, at_o2, LOW] <= held[0, at_o2, HIGH]
            live = live or held[3, old2, LOW] <= held[3, old2, HIGH] or held[4, old2, LOW] <= held[4, old2, HIGH]
            low = min(low, held[0, at_o2, LOW] - 1, held[3, old2, LOW] - 1, held[4, old2, LOW] + 1)
            high = max(high, held[0, at_o2, HIGH] + 1, held[3, old2, HIGH] - 1, held[4, old2, HIGH] + 1)
        if not edit and (kind in (BAND, ADAPTIVE_BAND)):
            low = max(low, first)
            high = min(high, second)
        low = max(low, -n)
        high = min(high, m)
        held[0, new, LOW], held[0, new, HIGH] = 1, -1
        if states > 1:
            held[1, new1, LOW], held[1, new1, HIGH] = 1, -1
            held[2, new1, LOW], held[2, new1, HIGH] = 1, -1
        if states == 5:
            held[3, new2, LOW], held[3, new2, HIGH] = 1, -1
            held[4, new2, LOW], held[4, new2, HIGH] = 1, -1
        idle += 1
        if not live or low > high:
            if idle > depth:
                break
            continue

        widest_low = min(widest_low, low)
        widest_high = max(widest_high, high)
        blocks = (high - low + VECTOR_LANES) // VECTOR_LANES
        trail = np.int64(0)
        if keep:
            reserve(work, TRAIL, position + blocks * VECTOR_LANES)
            reserve(work, STEPS, (s + 1) * 24)
            trail = work[TRAIL] + position
            store_i64(work[STEPS] + s * 24, position - low)
            position += blocks * VECTOR_LANES
        at = low * size
        from_x = source(held, 0, at_x, ring_m, stride, nothing, low - 1, high + 1, size, null) + at
        from_o1 = source(held, 0, at_o1, ring_m, stride, nothing, low - 1, high + 1, size, null) + at
        from_i1 = nothing + at
        from_d1 = nothing + at
        if states > 1:
            from_i1 = source(held, 1, old1, ring_i1, stride, nothing, low - 1, high + 1, size, null) + at
            from_d1 = source(held, 2, old1, ring_d1, stride, nothing, low - 1, high + 1, size, null) + at
        out_m = ring_m + new * stride + at
        out_i1 = ring_i1 + new1 * stride + at
        out_d1 = ring_d1 + new1 * stride + at
        out_i2 = ring_i2 + new2 * stride + at
        out_d2 = ring_d2 + new2 * stride + at
        if states < 5:
            row3((from_x, from_o1, from_i1, from_d1, out_m, out_i1, out_d1), blocks, low, n, m, keep, trail, null)
        else:
            from_o2 = source(held, 0, at_o2, ring_m, stride, nothing, low - 1, high + 1, size, null) + at
            from_i2 = source(held, 3, old2, ring_i2, stride, nothing, low - 1, high + 1, size, null) + at
            from_d2 = source(held, 4, old2, ring_d2, stride, nothing, low - 1, high + 1, size, null) + at
            sources = (from_x, from_o1, from_i1, from_d1, from_o2, from_i2, from_d2)
            row5((*sources, out_m, out_i1, out_d1, out_i2, out_d2), blocks, low, n, m, keep, trail, null)
        for state in range(states):
            out = out_m
            slot = new
            if state == 1 or state == 2:
                out = out_i1 if state == 1 else out_d1
                slot = new1
            elif state > 2:
                out = out_i2 if state == 3 else out_d2
                slot = new2
            fill_null(out + (high - low + 1) * size, null)
            left, right = trimmed(out - at, low, high, n, m, size, null)
            if left <= right:
                idle = 0
                mine = held[state, slot]
                mine[LOW], mine[HIGH], mine[FROM], mine[TO] = left, right, low, high + VECTOR_LANES

    at = (widest_low - 2 * VECTOR_LANES) * size
    lanes = widest_high - widest_low + 5 * VECTOR_LANES
    for r in range(total):
        clear(ring_m + r * stride + at, lanes, size, null)
    return s if found else DROPPED


@jit
def solve(work, q, n, t, m, model, free, cut, edit, unit, keep, null):
    """Find the penalty in units of a pair whose letters are followed by sentinels, and the diagonals of its begin (with `keep`; else 0) and end; three times
    DROPPED where the heuristic leaves no path. With `keep` its operations are appended to the CIGAR."""
    s = sweep(work, q, n, t, m, model, free, cut, edit, unit, keep, null)
    if s < 0:
        return DROPPED, DROPPED, DROPPED
    stop = work[END]
    start = np.int64(0)
    if keep:
        start = trace_gaps(work, q, t, model, s, stop, M)
    return s, start, stop
