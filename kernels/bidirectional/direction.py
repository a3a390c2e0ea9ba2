# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Penalty-only wavefronts of one direction over long sequences, of which only the last few are kept: half of the bidirectional algorithm.

Rows are int32 offsets (letters of the target used) by diagonal k = target - query. As the largest penalty jump is `scope` - 1, a ring of `scope` rows
of M is enough, and for each gap state one row more than its extension penalty. Rows grow with the diagonals really reached, never with the lengths.
"""

from typing import NamedTuple

import numpy as np

from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import load_u64, zeros_below

NULL = np.int32(-(1 << 29))
"""An offset that nothing reaches: sums of two stay in 32 bits, and a gap chain can climb by one a step for 2^29 steps before it looks like a cell."""

FIRST_CAPACITY = 1024

# numba compiles a function once more for each plain constant that another compiled one passes to it, but not for these.
M, I1, D1, I2, D2 = (np.int64(state) for state in range(5))
ONE, NOTHING = np.int64(1), np.int64(0)
FAR = np.int64(1 << 40)


class Direction(NamedTuple):
    """Column k + centre of a row is diagonal k. A row is defined on [filled[0], filled[1]] only (`_define` widens that); low > high: an empty step."""

    rows: np.ndarray  # int32[slots, capacity]: the ring of M, then those of I1, D1, I2, D2
    filled: np.ndarray  # int64[2, slots], first and last defined diagonal of a row
    low: np.ndarray  # int64[scope], by penalty modulo scope: first diagonal with a live cell of any state
    high: np.ndarray  # int64[scope]
    reach: np.ndarray  # int64[scope]: an antidiagonal (query + target letters used) that no state is beyond
    reached: np.ndarray  # int64[steps, or more], by penalty: the same of all wavefronts so far
    centre: int


@inline
def scope_of(model):
    """Count the rows of M that a step may look back to, the new one included. `model`: (states, x, o1, e1, o2, e2) in units, states 1, 3 or 5."""
    return max(model[1], model[2] + model[3], model[4] + model[5]) + 1


@inline
def extension_of(model, state):
    """Price one more letter in gap state 1..4 (I1, D1, I2, D2)."""
    return model[3] if state <= 2 else model[5]


@inline
def opening_of(model, state):
    """Price the opening of gap state 1..4; 0 for M."""
    return 0 if state == 0 else (model[2] if state <= 2 else model[4])


@inline
def slot_of(model, state, s):
    """Find the row that holds a state (0 M, 1 I1, 2 D1, 3 I2, 4 D2) at penalty s."""
    scope = scope_of(model)
    if state == 0:
        return s % scope
    first = scope
    for earlier in range(1, state):
        first += extension_of(model, earlier) + 1
    return first + s % (extension_of(model, state) + 1)


def new_direction(model):
    """Make empty rings for a model; `start` readies them for a pair."""
    scope = scope_of(model)
    slots = scope + sum(extension_of(model, state) + 1 for state in range(1, model[0]))
    edges = np.empty((3, scope), np.int64)
    return Direction(
        np.empty((slots, FIRST_CAPACITY), np.int32), np.empty((2, slots), np.int64), edges[0], edges[1], edges[2], np.empty(0, np.int64), FIRST_CAPACITY // 2
    )


@jit
def _widen(side, low, high):
    """Copy a direction to rows that hold at least diagonals [low, high] and what its rows hold, half as many again on either side. Rows that are looked back to
    may lie beside those diagonals, where a window that is narrow has moved far."""
    for slot in range(side.rows.shape[0]):
        if side.filled[0, slot] <= side.filled[1, slot]:
            low, high = min(low, side.filled[0, slot]), max(high, side.filled[1, slot])
    spare = (high - low) // 2 + 1
    low, high = low - spare, high + spare
    rows = np.empty((side.rows.shape[0], high - low + 1), np.int32)
    for slot in range(rows.shape[0]):
        a, b = side.filled[0, slot], side.filled[1, slot]
        for k in range(a, b + 1):
            rows[slot, k - low] = side.rows[slot, k + side.centre]
    return Direction(rows, side.filled, side.low, side.high, side.reach, side.reached, -low)


@inline
def _note(side, s):
    """Keep how far wavefronts up to s, the newest, have come."""
    far = side.reach[s % len(side.reach)]
    if s >= len(side.reached):
        longer = np.empty(2 * s + FIRST_CAPACITY, np.int64)
        longer[:s] = side.reached
        side = Direction(side.rows, side.filled, side.low, side.high, side.reach, longer, side.centre)
    side.reached[s] = far if s == 0 else max(far, side.reached[s - 1])
    return side


@inline
def _define(side, slot, low, high):
    """Make a row readable on [low, high]: NULL where it held nothing."""
    a, b = side.filled[0, slot], side.filled[1, slot]
    if a > b:
        a, b = high + 1, high
    for k in range(low, a):
        side.rows[slot, k + side.centre] = NULL
    for k in range(b + 1, high + 1):
        side.rows[slot, k + side.centre] = NULL
    side.filled[0, slot], side.filled[1, slot] = min(low, a), max(high, b)


@jit
def start(side, model, q, n, t, m, state, first, last):
    """Clear the rings and make wavefront 0: M at diagonals [first, last], no letters used beyond the free ones; and a gap state that is open from the start."""
    side.low[:] = 1
    side.high[:] = 0
    side.filled[0, :] = 1
    side.filled[1, :] = 0
    side.reach[:] = -1
    if side.centre + first < 1 or side.centre + last + 1 >= side.rows.shape[1]:
        side = _widen(side, first - 1, last + 1)
    row = side.rows[0]
    for k in range(first, last + 1):
        row[k + side.centre] = max(k, 0)
    side.filled[0, 0], side.filled[1, 0] = first, last
    for gap in range(1, model[0]):
        slot = slot_of(model, gap, 0)
        _define(side, slot, first, last)
        if gap == state:
            side.rows[slot, side.centre] = 0
    side.low[0], side.high[0] = first, last
    side.reach[0] = _extend(row[first + side.centre : last + 1 + side.centre], first, q, n, t, m)
    return _note(side, NOTHING)


@inline
def _extend(row, low, q, n, t, m):
    """Drop the offsets of `row` that left the matrix and slide the others over matching letters; gives an antidiagonal that no state is beyond."""
    reach = -1
    for j in range(len(row)):
        h = np.int64(row[j])
        k = low + j
        limit = min(m, n + k)
        if 0 <= h <= limit:
            differ = load_u64(q + h - k) & load_u64(t + h)
            while differ == 0 and h < limit:
                h += 8
                differ = load_u64(q + h - k) & load_u64(t + h)
            h = min(h + (zeros_below(differ) >> 3), limit)
            row[j] = h
            reach = max(reach, 2 * h - k)
        else:
            if h > limit:  # a gap state may still hold a cell of the matrix
                reach = max(reach, 2 * limit - k)
            row[j] = NULL
    return reach


@inline
def _next_1(mismatch, gap, new):
    """Compute the next wavefront of one state. Here and below a source of gaps has a column more on each side, and cells outside the matrix are left to
    `_extend`."""
    for j in range(len(new)):
        new[j] = max(np.int32(max(mismatch[j], gap[j]) + 1), gap[j + 2])


@inline
def _next_3(mismatch, opening, insertion, deletion, new, new_i, new_d):
    """Compute the next wavefront of three states, M and the gaps of one piece."""
    for j in range(len(new)):
        i = max(opening[j + 2], insertion[j + 2])
        d = np.int32(max(opening[j], deletion[j]) + 1)
        new_i[j] = i
        new_d[j] = d
        new[j] = max(np.int32(mismatch[j] + 1), max(i, d))


@inline
def _add_piece(opening, insertion, deletion, new, new_i, new_d):
    """Compute the gap states of the second piece, and raise M to what they reach."""
    for j in range(len(new)):
        i = max(opening[j + 2], insertion[j + 2])
        d = np.int32(max(opening[j], deletion[j]) + 1)
        new_i[j] = i
        new_d[j] = d
        new[j] = max(new[j], max(i, d))


@inline
def _union(side, s, wider, low, high):
    """Widen [low, high] to hold the diagonals of wavefront s, and `wider` more on each side."""
    here = s % len(side.low)
    if side.low[here] > side.high[here]:
        return low, high
    return min(low, side.low[here] - wider), max(high, side.high[here] + wider)


@inline
def _source(side, slot, low, high):
    """Give the columns of a row for diagonals [low, high], to be read."""
    _define(side, slot, low, high)
    return side.rows[slot, low + side.centre : high + 1 + side.centre]


@inline
def _target(side, slot, low, high):
    """Give the columns of a row for diagonals [low, high], to be written."""
    side.filled[0, slot], side.filled[1, slot] = low, high
    return side.rows[slot, low + side.centre : high + 1 + side.centre]


@inline
def _alive(side, model, s, k, n, m, least):
    """Tell whether any state holds a cell of the matrix, on antidiagonal `least` or beyond, on diagonal k of wavefront s."""
    for state in range(model[0]):
        h = side.rows[slot_of(model, state, s), k + side.centre]
        if 0 <= h <= m and 0 <= h - k <= n and 2 * h - k >= least:
            return True
    return False


@jit
def step(side, model, s, q, n, t, m, least):
    """Make wavefront s from those before it, without the outermost diagonals whose cells are all before antidiagonal `least`."""
    states, x, o1, e1, o2, e2 = model
    here = slot_of(model, M, s)
    low, high = _union(side, s - x, NOTHING, FAR, -FAR)
    low, high = _union(side, s - o1 - e1, ONE, low, high)
    if states > 1:
        low, high = _union(side, s - e1, ONE, low, high)
    if states > 3:
        low, high = _union(side, s - o2 - e2, ONE, low, high)
        low, high = _union(side, s - e2, ONE, low, high)
    low, high = max(low, -n), min(high, m)
    if low > high:
        for state in range(states):
            slot = slot_of(model, state, s)
            side.filled[0, slot], side.filled[1, slot] = 1, 0
        side.low[here], side.high[here], side.reach[here] = 1, 0, -1
        return _note(side, s)
    if low - 1 + side.centre < 0 or high + 1 + side.centre >= side.rows.shape[1]:
        side = _widen(side, low - 1, high + 1)
    mismatch = _source(side, slot_of(model, M, s - x), low, high)
    opening = _source(side, slot_of(model, M, s - o1 - e1), low - 1, high + 1)
    new = _target(side, here, low, high)
    if states == 1:
        _next_1(mismatch, opening, new)
    else:
        insertion = _source(side, slot_of(model, I1, s - e1), low - 1, high + 1)
        deletion = _source(side, slot_of(model, D1, s - e1), low - 1, high + 1)
        new_i = _target(side, slot_of(model, I1, s), low, high)
        new_d = _target(side, slot_of(model, D1, s), low, high)
        _next_3(mismatch, opening, insertion, deletion, new, new_i, new_d)
    if states > 3:
        opening = _source(side, slot_of(model, M, s - o2 - e2), low - 1, high + 1)
        insertion = _source(side, slot_of(model, I2, s - e2), low - 1, high + 1)
        deletion = _source(side, slot_of(model, D2, s - e2), low - 1, high + 1)
        new_i = _target(side, slot_of(model, I2, s), low, high)
        new_d = _target(side, slot_of(model, D2, s), low, high)
        _add_piece(opening, insertion, deletion, new, new_i, new_d)
    side.reach[here] = _extend(new, low, q, n, t, m)
    while low <= high and not _alive(side, model, s, low, n, m, least):
        low += 1
    while low <= high and not _alive(side, model, s, high, n, m, least):
        high -= 1
    side.low[here], side.high[here] = (low, high) if low <= high else (1, 0)
    return _note(side, s)


@jit
def free_end(side, model, q, n, t, m, free):
    """Find where a pair with free ends (query begin and end, target begin and end) ends: penalty and cell (v, h), on the first diagonal from the lowest that
    can."""
    query_begin, query_end, target_begin, target_end = free
    side = start(side, model, q, n, t, m, M, -query_begin, target_begin)
    s = np.int64(0)
    while True:
        here = slot_of(model, M, s)
        for k in range(max(side.low[here], m - n - target_end), min(side.high[here], m - n + query_end) + 1):
            h = np.int64(side.rows[here, k + side.centre])
            if (h == m and n - (h - k) <= query_end) or (h >= 0 and h - k == n and m - h <= target_end):
                return s, h - k, h
        s += 1
        side = step(side, model, s, q, n, t, m, NOTHING)
