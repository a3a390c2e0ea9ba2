# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""One side of an extension from its anchor to its best cell and back: the way back through the trail of a sweep, segment by segment where it paused."""

import numpy as np

from tidalign.kernels.extension.sweep import (
    BEST_COLUMN,
    BEST_ROW,
    END,
    FIRST,
    FIRST_ROW,
    FLIPPED,
    PAUSED,
    ROW,
    ROWS,
    SCORED,
    STATE,
    TRAIL,
    TRAIL_END,
    WINDOW_PAD,
    WINDOW_START,
    lane,
    start,
    sweep,
)
from tidalign.kernels.extension.vectors import ACROSS, GAP, OPENED_ACROSS, OPENED_DOWN
from tidalign.kernels.fences.kept import HEADER, MASKING, WAITING
from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.runtime.vectors import apart, lane_bytes, load_i64, load_lane, load_u8, store_i64, store_lane
from tidalign.kernels.runtime.workspace import reserve

# Slots of the second memory: what is saved of the rows at which a sweep paused; runs of operations on the way back.
SAVED, RUNS = 0, 2

PAIR, ALONG, DOWN = (np.int64(operation) for operation in range(3))
"""Operations: a pair of letters, a query letter against a gap, a target letter against a gap."""


@jit
def save(spare, work, state, fence, last, null):
    """Append the live row of a paused sweep to what is saved; `last`: place of the record before. Returns the place of the record's end."""
    size = lane_bytes(null)
    first, end = state[FIRST], state[END]
    fence_slots, waiting_slots = HEADER + 4 * fence[MASKING], 4 * fence[WAITING]
    place = last
    reserve(spare, SAVED, 8 * (last + STATE + 2 * (end - first) + fence_slots + waiting_slots + 1))
    saved = spare[SAVED]
    for i in range(STATE):
        store_i64(saved + 8 * (place + i), state[i])
    place += STATE
    for line in range(2):
        values = lane(work, state, 2 * state[FLIPPED] + line, 0, size)
        for column in range(first, end):
            store_i64(saved + 8 * place, load_lane(values + column * size, null))
            place += 1
    for i in range(fence_slots):
        store_i64(saved + 8 * (place + i), fence[i])
    place += fence_slots
    for i in range(waiting_slots):
        store_i64(saved + 8 * (place + i), fence[len(fence) - 1 - i])
    place += waiting_slots
    store_i64(saved + 8 * place, last)
    return place + 1


@jit
def restore(spare, work, state, fence, place, null):
    """Set a sweep back to a saved record."""
    size = lane_bytes(null)
    saved = spare[SAVED]
    for i in range(STATE):
        state[i] = load_i64(saved + 8 * (place + i))
    place += STATE
    state[WINDOW_START] = state[FIRST] - WINDOW_PAD
    state[SCORED] = state[FIRST]
    for line in range(2):
        values = lane(work, state, 2 * state[FLIPPED] + line, 0, size)
        for column in range(state[FIRST], state[END]):
            store_lane(values + column * size, load_i64(saved + 8 * place), null)
            place += 1
    for i in range(HEADER):
        fence[i] = load_i64(saved + 8 * (place + i))
    for i in range(HEADER, HEADER + 4 * fence[MASKING]):
        fence[i] = load_i64(saved + 8 * (place + i))
    place += HEADER + 4 * fence[MASKING]
    for i in range(4 * fence[WAITING]):
        fence[len(fence) - 1 - i] = load_i64(saved + 8 * (place + i))


@jit
def walk_back(spare, work, state, at, count):
    """Walk from `at` (row, column, operation before) back to the first row of the segment in the trail, or to the anchor, and write runs of operations; returns
    how many."""
    reserve(spare, RUNS, 8 * (count + at[0] + at[1] + 1))
    runs = spare[RUNS]
    r, column, before = at[0], at[1], at[2]
    first_row = state[FIRST_ROW]
    while (r > 0 or column > 0) and (r >= first_row or r == 0):
        if r == 0:
            operation, length = ALONG, column
            column = 0
        else:
            byte = -load_u8(work[TRAIL] + load_i64(work[ROWS] + 8 * (r - first_row)) + column)
            if before == ALONG and not byte & OPENED_ACROSS:
                operation = ALONG
            elif before == DOWN and not byte & OPENED_DOWN:
                operation = DOWN
            elif byte & GAP:
                operation = ALONG if byte & ACROSS else DOWN
            else:
                operation = PAIR
            length = np.int64(1)
            if operation != ALONG:
                r -= 1
            if operation != DOWN:
                column -= 1
        if operation == before:
            store_i64(runs + 8 * (count - 1), load_i64(runs + 8 * (count - 1)) + (length << 2))
        else:
            store_i64(runs + 8 * count, length << 2 | operation)
            count += 1
        before = operation
    at[0], at[1], at[2] = r, column, before
    return count


@jit
def one_side(work, spare, state, target, query, side, classes, scores, costs, kept, fence, holes, fenced, ranges, count, null):
    """Extend one side of an anchor and walk back; `fence` is set up for its first row.

    The runs of operations are appended to `count` of them in the slot RUNS, from the end back to the anchor. Returns how many there are, and leaves
    the result in `state`.
    """
    apart()
    if side[3] == 0 or side[4] == 0:
        state[:] = 0
        return count
    start(work, state, side[4], costs, scores.shape[0], null)
    begun = np.empty(HEADER, np.int64)
    for i in range(HEADER):  # slot by slot: numba takes two seconds to compile what assigns a slice
        begun[i] = fence[i]
    saved = np.int64(0)
    while sweep(work, state, target, query, side, classes, scores, costs, kept, fence, holes, fenced, ranges, null) == PAUSED:
        state[TRAIL_END] = 0
        state[FIRST_ROW] = state[ROW] + 1
        saved = save(spare, work, state, fence, saved, null)
    result = state.copy()
    at = np.zeros(3, np.int64)
    at[0], at[1], at[2] = state[BEST_ROW], state[BEST_COLUMN], -1
    swept = True
    while at[0] > 0 or at[1] > 0:
        if not swept:
            sweep(work, state, target, query, side, classes, scores, costs, kept, fence, holes, fenced, False, null)
        count = walk_back(spare, work, state, at, count)
        if at[0] == 0:
            break
        # Back to the segment before, until it has the row.
        while at[0] < state[FIRST_ROW]:
            saved = load_i64(spare[SAVED] + 8 * (saved - 1))
            if saved == 0:
                start(work, state, side[4], costs, scores.shape[0], null)
                for i in range(HEADER):
                    fence[i] = begun[i]
                fence[MASKING] = 0
            else:
                restore(spare, work, state, fence, load_i64(spare[SAVED] + 8 * (saved - 1)), null)
        swept = False
    for i in range(STATE):
        state[i] = result[i]
    return count
