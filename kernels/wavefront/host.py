# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""One pair by wavefronts, exactly: the sweep over penalties, in memory that grows with the square of the penalty.

WAVEFRONT.md 3 to 8 have the rules. Marco-Sola et al. 2021 (WFA, 10.1093/bioinformatics/btaa777, section 2.3) for the recurrences; for two-piece gaps
Marco-Sola et al. 2023 (BiWFA).
A cell (s, k) of a state holds the furthest target position h that a path of penalty s ending on diagonal k = h - v in that state reaches, v being
the query position. The exact cut by an upper bound of the penalty follows Castells-Rufas 2023 (10.1016/j.future.2022.09.010).

Offsets fit 16 bits where n + m < 32,768: an offset of M is at most m; a deletion's chain keeps v <= n and so reaches at most h = n + m; an
insertion's keeps h. NULL is -32,768, and a chain of gaps that starts from it climbs by one a diagonal over fewer than n + m + 1 of them: it stays
negative, and M takes no negative offset. A lane beyond the last diagonal that wraps becomes negative, which is NULL to every reader.

The way back takes a byte a cell (one state: an offset a cell), in all about half the square of the penalty in units. The worst pairs that come here
are unrelated ones of 32,768 letters: 0.7 GB for edit distance, 0.8 GB for affine 4,6,2, 2.4 GB for two-piece 4,6,2,24,1. Longer and dearer ones go by the
bidirectional algorithm, whose memory grows with the penalty only.
"""

import numpy as np

from tidalign.kernels.letters.words import PARTS, shares
from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import (
    VECTOR_LANES,
    apart,
    fill_null,
    lane_bytes,
    load_lane,
    store_i64,
    store_lane,
)
from tidalign.kernels.runtime.workspace import END, RING, STATE, STEPS, TRAIL, reserve, reserve_ring
from tidalign.kernels.wavefront.rows import extend, live, row1, row3, row5

# NumPy scalars, because numba compiles a function anew for every plain constant it is called with.
NO_BOUND = np.int64(1 << 60)
"""No upper bound of the penalty is known."""
NO_PAUSE = np.int64(-1)
NO = np.bool_(False)

M, GAP_I1, GAP_D1, GAP_I2, GAP_D2 = (np.int64(state) for state in range(5))
"""States a sweep may begin and end in."""

NULL_PAD = 4 * VECTOR_LANES
"""Lanes kept NULL beside the outermost diagonals: reads reach one beyond them, blocks VECTOR_LANES, guards a few times that."""

TRIM_STEPS = np.int64(16)
"""Steps from one trimming of the rows to the next."""

shares_of = inline(shares)


@inline
def slots(depth):
    """Count the rows of a ring that must reach `depth` steps back: a power of two, so that a step's row is found by a mask."""
    rows = 2
    while rows <= depth:
        rows *= 2
    return rows


@inline
def clear(address, lanes, size, null):
    for lane in range(0, lanes, VECTOR_LANES):
        fill_null(address + lane * size, null)


@inline
def shut(row, beyond, before, null):
    """Make a block of a row so many bytes behind its begin, and another so many before it, NULL."""
    fill_null(row - before, null)
    fill_null(row + beyond, null)


@jit
def sweep(work, q, n, t, m, model, free, begin, end, bound, band, pause, counts, keep, null):
    """Find the smallest penalty, in units, of a path through the matrix of query [q, q + n) and target [t, t + m); -1 where it is above `pause`.

    Invariant: of each diagonal k = h - v of [low, high], row M[s] holds the furthest target position h that a path of penalty s comes to, its matches followed,
    and I[s] and D[s] that of paths that end in a gap; NULL where there is none. A cell looks at earlier rows only, as far back as rings keep them:

        diagonal        k - 1           k             k + 1
        s - x                           M: h + 1                   a mismatch
        s - o - e       M: h + 1 (D)                  M: h (I)     a gap opens
        s - e           D: h + 1                      I: h         a gap goes on
        s                               M[s, k] = the largest of these, then along its matches

    `model`: states, x, o1, e1, o2, e2 in units. `free`: letters that cost nothing at the query's begin and end and the target's (only with `begin` and
    `end` M). With another `end` than M no cell beyond the last one on its diagonal may be reached in that state at the same penalty: where two
    wavefronts met it is so. `bound`: an upper bound of the penalty, or NO_BOUND. `band`: only that many diagonals beside those that join begin and end (the
    result is then an upper bound), or NO_BOUND. `counts`: with a bound, missing words of the query (`count_missing`), or none. A call with the same
    arguments but for `bound`, `counts` and `pause` goes on where one that returned -1 stopped.
    Leaves the diagonal of the end in work[END], and with `keep` the trail for `trace`.
    """
    apart()
    states, x, o1, e1, o2, e2 = model
    qb, qe, tb, te = free
    size = lane_bytes(null)
    goal = m - n
    gap = min(e1, e2) if states == 5 else e1
    depth = max(x, o1 + e1)
    if states == 5:
        depth = max(depth, o2 + e2)
    rows = slots(depth)
    rows1 = slots(e1) if states > 1 else 0
    rows2 = slots(e2) if states == 5 else 0
    stride = (((n + m + 2 * NULL_PAD) * size + 63) >> 6 | 1) << 6  # odd in lines of 64 bytes: rows do not fall on the same cache sets
    reserve_ring(work, stride * (rows + 2 * rows1 + 2 * rows2))
    # Addresses of diagonal 0 of the first row of each ring.
    ring_m = work[RING] + (n + NULL_PAD) * size
    ring_i1 = ring_m + stride * rows
    ring_d1 = ring_i1 + stride * rows1
    ring_i2 = ring_d1 + stride * rows1
    ring_d2 = ring_i2 + stride * rows2
    back = min(x, e1)  # a single state keeps the row so many steps back
    # Rows that were trimmed grow by a diagonal for every letter of a gap: what those they look at held before must not show there.
    guards = (rows // gap + 2 + VECTOR_LANES - 1) // VECTOR_LANES
    trim = len(counts) > 0 and guards < NULL_PAD // VECTOR_LANES
    if not trim:
        guards = np.int64(1)
    prices = shares_of(x, ((o1 + e1, e1), (o2 + e2, e2) if states == 5 else (o1 + e1, e1)))
    # Within the bound no path has a cell beside these diagonals at the penalties when they were found.
    low_live, high_live, low_at, high_at = -n - 1, m + 1, 0, 0

    floor = -n
    ceiling = m
    if band != NO_BOUND:
        floor = max(floor, min(-qb, goal - te) - band)
        ceiling = min(ceiling, max(tb, goal + qe) + band)

    if work[STATE] == 0:
        s = 0
        low = -qb
        high = tb
        # The steps at which a gap of each piece may be a letter longer.
        low1 = e1 if begin == GAP_I1 else o1 + e1
        high1 = e1 if begin == GAP_D1 else o1 + e1
        low2 = e2 if begin == GAP_I2 else o2 + e2
        high2 = e2 if begin == GAP_D2 else o2 + e2
        reach_low1 = reach_high1 = reach_low2 = reach_high2 = 0
        widest_low = low
        widest_high = high
        position = 0
        for k in range(low, high + 1):
            store_lane(ring_m + k * size, max(k, 0), null)
        extend(ring_m + low * size, low, high, q, t, null)
        if begin == GAP_I1:
            store_lane(ring_i1, 0, null)
        elif begin == GAP_D1:
            store_lane(ring_d1, 0, null)
        elif begin == GAP_I2:
            store_lane(ring_i2, 0, null)
        elif begin == GAP_D2:
            store_lane(ring_d2, 0, null)
    else:
        saved = work[STATE : STATE + 14]
        s, low, high, low1, high1, low2, high2 = saved[1], saved[2], saved[3], saved[4], saved[5], saved[6], saved[7]
        reach_low1, reach_high1, reach_low2, reach_high2 = saved[8], saved[9], saved[10], saved[11]
        position = saved[12]
        widest_low = low
        widest_high = high
        work[STATE] = 0

    found = False
    while True:
        # The goal on diagonal k: the end of the target where k >= goal, else of the query.
        if end == M:
            row = ring_m + (s & (rows - 1)) * stride
        elif end == GAP_I1:
            row = ring_i1 + (s & (rows1 - 1)) * stride
        elif end == GAP_D1:
            row = ring_d1 + (s & (rows1 - 1)) * stride
        elif end == GAP_I2:
            row = ring_i2 + (s & (rows2 - 1)) * stride
        else:
            row = ring_d2 + (s & (rows2 - 1)) * stride
        for k in range(max(low, goal - te), min(high, goal + qe) + 1):
            if load_lane(row + k * size, null) >= min(m, n + k):
                work[END] = k
                found = True
                break
        if found or s == pause:
            break
        if trim and s % TRIM_STEPS == 0:
            spare = PARTS * (bound - s + rows + prices[0])
            every = rows + 2 * rows1 + 2 * rows2
            edge = live(ring_m, every, stride, low - 1, 1, high + 1, n, goal, counts, prices, spare, null)
            if edge > low:
                low_live, low_at = edge, s
            edge = live(ring_m, every, stride, high + 1, -1, low - 1, n, goal, counts, prices, spare, null)
            if edge < high:
                high_live, high_at = edge, s

        s += 1
        if s == low1:
            reach_low1 += 1
            low1 += e1
        if s == high1:
            reach_high1 += 1
            high1 += e1
        if states == 5:
            if s == low2:
                reach_low2 += 1
                low2 += e2
            if s == high2:
                reach_high2 += 1
                high2 += e2
        low = max(floor, -qb - max(reach_low1, reach_low2))
        high = min(ceiling, tb + max(reach_high1, reach_high2))
        if bound != NO_BOUND:
            # Beyond these diagonals even an open gap is too dear to come back from. One more, for the way back reads beside its cells.
            left = (bound - s) // gap + 1
            low = max(low, goal - te - left)
            high = min(high, goal + qe + left)
            if trim:
                low = max(low, low_live - 1 - (s - low_at - 1) // gap)
                high = min(high, high_live + 1 + (s - high_at - 1) // gap)
                if low > high:
                    break
        widest_low = min(widest_low, low)
        widest_high = max(widest_high, high)
        blocks = (high - low + VECTOR_LANES) // VECTOR_LANES
        trail = np.int64(0)
        if keep:
            lane = 1 if states > 1 else size
            reserve(work, TRAIL, position + blocks * VECTOR_LANES * lane)
            reserve(work, STEPS, (s + 1) * 24)
            trail = work[TRAIL] + position
            step = work[STEPS] + s * 24
            store_i64(step, position - low * lane)
            store_i64(step + 8, low)
            store_i64(step + 16, high)
            position += blocks * VECTOR_LANES * lane
        at = low * size
        out_m = ring_m + (s & (rows - 1)) * stride + at
        from_x = ring_m + ((s - x) & (rows - 1)) * stride + at
        from_o1 = ring_m + ((s - o1 - e1) & (rows - 1)) * stride + at
        width = VECTOR_LANES * size
        if states == 1:
            kept = ring_m + ((s - back) & (rows - 1)) * stride + at
            row1((from_x, from_o1, kept, out_m), blocks, low, n, m, keep, trail, null)
        else:
            new1 = (s & (rows1 - 1)) * stride + at
            old1 = ((s - e1) & (rows1 - 1)) * stride + at
            out_i1 = ring_i1 + new1
            out_d1 = ring_d1 + new1
            if states == 3:
                row3((from_x, from_o1, ring_i1 + old1, ring_d1 + old1, out_m, out_i1, out_d1), blocks, low, n, m, keep, trail, null)
            else:
                from_o2 = ring_m + ((s - o2 - e2) & (rows - 1)) * stride + at
                new2 = (s & (rows2 - 1)) * stride + at
                old2 = ((s - e2) & (rows2 - 1)) * stride + at
                out_i2 = ring_i2 + new2
                out_d2 = ring_d2 + new2
                sources = (from_x, from_o1, ring_i1 + old1, ring_d1 + old1, from_o2, ring_i2 + old2, ring_d2 + old2)
                row5((*sources, out_m, out_i1, out_d1, out_i2, out_d2), blocks, low, n, m, keep, trail, null)
        extend(out_m, low, high, q, t, null)
        if bound != NO_BOUND or band != NO_BOUND:
            # Rows get narrower, or stop short of where a gap may lead: what a row held before must not show beside it.
            beyond = (high - low + 1) * size
            for _ in range(guards):
                shut(out_m, beyond, width, null)
                if states > 1:
                    shut(out_i1, beyond, width, null)
                    shut(out_d1, beyond, width, null)
                    if states == 5:
                        shut(out_i2, beyond, width, null)
                        shut(out_d2, beyond, width, null)
                beyond += size * VECTOR_LANES
                width += size * VECTOR_LANES

    if not found:
        saved = work[STATE : STATE + 14]
        saved[0] = 1
        saved[1], saved[2], saved[3], saved[4], saved[5], saved[6], saved[7] = s, low, high, low1, high1, low2, high2
        saved[8], saved[9], saved[10], saved[11] = reach_low1, reach_high1, reach_low2, reach_high2
        saved[12] = position
        furthest = np.int64(0)
        for k in range(low, high + 1):
            furthest = max(furthest, 2 * load_lane(row + k * size, null) - k)
        saved[13] = furthest
        return np.int64(-1)

    at = (widest_low - VECTOR_LANES) * size
    lanes = widest_high - widest_low + 3 * VECTOR_LANES
    for r in range(min(s + 1, rows)):
        clear(ring_m + r * stride + at, lanes, size, null)
    for r in range(min(s + 1, rows1)):
        clear(ring_i1 + r * stride + at, lanes, size, null)
        clear(ring_d1 + r * stride + at, lanes, size, null)
    for r in range(min(s + 1, rows2)):
        clear(ring_i2 + r * stride + at, lanes, size, null)
        clear(ring_d2 + r * stride + at, lanes, size, null)
    return s
