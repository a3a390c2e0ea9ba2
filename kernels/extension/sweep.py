# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""One side of a gapped extension: LASTZ's y-drop sweep, row by row, and the way back.

Row r has consumed r target letters, column c as many query letters, both leading away from the anchor. A cell is alive where its value is at least the
best one met so far in row order less the y-drop; rows reach from the first to the last cell alive, one further, and as far as a gap lives (the rules in
full: LASTZ.md 10; vectors.py has a cell, `sweep` a row).

Values are relative to a base that is added to the total whenever the best one grows too large, so totals have 64 bits however narrow the lanes. Only
columns in reach are held: a window over them moves along, with their scores against each class of target letters (letters that score alike).

The way back takes a byte a cell. Where that is more than costs[SEGMENT], the sweep pauses and goes on with an empty trail, keeping the live row (a few
kB); on the way back earlier segments are swept again, each once. So memory is bounded by a segment and 20 kB for every segment.
"""

import numpy as np

from tidalign.kernels.extension.vectors import COLUMN_LANES, GAP, PROLONGED, row
from tidalign.kernels.fences.follow import step
from tidalign.kernels.fences.kept import END_COLUMN, FIRST_COLUMN, HIGH_PIECE, HOLES, LOW_PIECE
from tidalign.kernels.runtime.numba_cache import inline
from tidalign.kernels.runtime.uncounted import uncounted
from tidalign.kernels.runtime.vectors import apart, lane_bytes, load_i64, load_lane, load_u8, store_i64, store_lane, store_u8, zeros_below
from tidalign.kernels.runtime.workspace import reserve

# What `costs` holds. OPENED: of a gap's first letter, o + e. TRIM: ends are cut back to the best cell. ROOM: cells LASTZ's traceback buffer takes;
# SEGMENT: cells of the trail. HEADROOM: the base moves when the best value is above.
OPENED, EXTENDED, YDROP, TRIM, ROOM, SEGMENT, HEADROOM, COSTS = range(8)

# What `state` holds: the sweep's place, so that it can go on. TRAIL_END: cells in the trail; FIRST_ROW: of the segment.
ROW, FIRST, END, BEST, BASE, BEST_ROW, BEST_COLUMN, BORDER, AT_BORDER, CELLS, CUT, WINDOW_START, SCORED, FLIPPED, WIDEST, TRAIL_END, FIRST_ROW, STATE = range(
    18
)

# Slots of the memory (runtime/workspace.py): the window, the one it grows into, the trail, where rows begin in it, ranges of rows, two int64 for the vectors.
WINDOW, GROWN, TRAIL, ROWS, RANGES, CARRY = 0, 2, 4, 6, 8, 10
WIDTH = 12  # lanes of a line of the window

PAUSED, FINISHED = np.int64(0), np.int64(1)

WINDOW_PAD = np.int64(2 * COLUMN_LANES)
"""Lanes of the window kept beside the columns in reach: blocks are whole."""

SCORED_AHEAD = np.int64(32)
"""Columns whose scores are looked up before a row reaches them."""

MIN_SCORE = np.int64(-(1 << 62))


@inline
def lane(work, state, line, column, size):
    """Find the address of a column's lane in a line of the window: C and D of one row, C and D of the next, then scores of each class."""
    return work[WINDOW] + (line * work[WIDTH] + column - state[WINDOW_START]) * size


@inline
def dead(null):
    return -(np.int64(1) << (8 * lane_bytes(null) - 1))


@uncounted
def reach(work, state, lines, column, null):
    """Let the window hold the columns from the row's first to `column`."""
    size = lane_bytes(null)
    start = state[FIRST] - WINDOW_PAD
    width = work[WIDTH]
    target = WINDOW
    if 2 * (column + WINDOW_PAD - start) > width:
        width = 4 * (column + WINDOW_PAD - start)
        target = GROWN
        reserve(work, GROWN, lines * width * size)
    stop = min(max(state[SCORED], state[END] + 1), state[WINDOW_START] + work[WIDTH])
    for line in range(lines):
        source = work[WINDOW] + (line * work[WIDTH] - state[WINDOW_START]) * size
        place = work[target] + (line * width - start) * size
        for c in range(max(start, state[WINDOW_START]), stop):
            store_lane(place + c * size, load_lane(source + c * size, null), null)
    if target == GROWN:
        for slot in range(2):
            work[WINDOW + slot], work[GROWN + slot] = work[GROWN + slot], work[WINDOW + slot]
        work[WIDTH] = width
    state[WINDOW_START] = start


@uncounted
def score_columns(work, state, query, origin, onward, stop, scores, null):
    """Score the columns up to `stop` against every class of target letters."""
    size = lane_bytes(null)
    first = state[SCORED]
    for kind in range(scores.shape[0]):
        place = lane(work, state, 4 + kind, 0, size)
        if first == 0:  # no letter: what is dead to the left of it must stay dead
            store_lane(place, 0, null)
        for column in range(max(first, 1), stop):
            store_lane(place + column * size, scores[kind, query[origin + onward * (column - 1)]], null)
    state[SCORED] = stop


@uncounted
def start(work, state, columns, costs, classes, null):
    """Fill row 0 of a side, gaps along the query; `classes`: how many of target letters."""
    size = lane_bytes(null)
    lines = 4 + classes
    work[WIDTH] = max(work[WIDTH], 4096 + 352)  # lines do not begin at the same place of a page: loads would wait for stores to others
    reserve(work, WINDOW, lines * work[WIDTH] * size)
    reserve(work, CARRY, 16)
    state[:] = 0
    state[WINDOW_START] = -WINDOW_PAD
    state[BORDER] = MIN_SCORE
    opened, extended, ydrop = costs[OPENED], costs[EXTENDED], costs[YDROP]
    reached = min(columns, ydrop // extended + 2) if extended > 0 else columns
    if reached + WINDOW_PAD > state[WINDOW_START] + work[WIDTH]:
        reach(work, state, lines, reached, null)
    floor = dead(null)
    from_c, from_d = lane(work, state, 0, 0, size), lane(work, state, 1, 0, size)
    store_lane(from_c, 0, null)
    store_lane(from_d, max(-opened, floor), null)
    value, before, column = -opened, np.int64(0), np.int64(1)
    while column <= columns and before >= -ydrop:
        store_lane(from_c + column * size, max(value, floor), null)
        store_lane(from_d + column * size, max(value - opened, floor), null)
        before = value
        value -= extended
        column += 1
    state[END] = state[WIDEST] = state[CELLS] = column
    state[FIRST_ROW] = 1


@uncounted
def border(state, last_row, columns, low, limit, best, to_c, trail, null):
    """Let an alignment that is not trimmed end in the last row or column: at the best cell reached by a pair of letters there, the last of equals.

    `best`: as it was before the row; in the last row the order in which cells came counts.
    """
    size = lane_bytes(null)
    for column in range(low if last_row else max(low, columns), limit):
        value = load_lane(to_c + column * size, null)
        if value == dead(null) or -load_u8(trail + column) & GAP:
            continue
        if last_row and value >= best:
            best = value
            state[BEST_ROW], state[BEST_COLUMN], state[AT_BORDER] = state[ROW], column, 0
        if state[BASE] + value >= state[BORDER]:
            state[BORDER] = state[BASE] + value
            state[BEST_ROW], state[BEST_COLUMN], state[AT_BORDER] = state[ROW], column, 1


@uncounted
def rebase(work, state, null):
    """Move the base to the best value: the live row becomes relative to it."""
    size = lane_bytes(null)
    best = state[BEST]
    for line in range(2 * state[FLIPPED], 2 * state[FLIPPED] + 2):
        place = lane(work, state, line, 0, size)
        for column in range(state[FIRST], state[END]):
            value = load_lane(place + column * size, null)
            if value != dead(null):
                store_lane(place + column * size, max(value - best, dead(null)), null)
    state[BASE] += best
    state[BEST] = 0


@uncounted
def sweep(work, state, target, query, side, classes, scores, costs, kept, fence, holes, fenced, ranges, null):
    """Sweep rows of a side from where `state` is, until none is alive (FINISHED), or until the trail is full (PAUSED).

    Invariant: before row r, C and D of row r - 1 lie in their lines at columns [FIRST, END), relative to BASE; what is below BEST - y-drop is dead. BEST is
    that of all cells before, in LASTZ's order: row after row, column after column. A cell looks up and to its left:

        row r - 1    C[c-1]    C[c], D[c]        C[r, c] = max(C[r-1, c-1] + score, D[r, c], I[r, c])
        row r        C[c-1] -> C[c]              D[r, c], of the cells above: target letters alone; I[r, c], of those on the left: query letters alone.
                     I[c-1]                      Both open only at cells that a pair of letters led to, or go on.

    side: (first target place, first query place, 1 or -1 for the direction, rows, columns). classes: uint8[64], of target letters; scores: [classes, 64].
    fenced: rows keep to `fence`. ranges: with the columns looked at in every row, int32 pairs in the slot RANGES.
    """
    apart()
    size = lane_bytes(null)
    target_origin, query_origin, onward, rows, columns = side
    opened, extended, ydrop, trim = costs[OPENED], costs[EXTENDED], costs[YDROP], costs[TRIM]
    lines = 4 + scores.shape[0]
    # What LASTZ wants to be free in its buffer beyond the row itself.
    spare = ydrop // extended + 6 if extended > 0 else min(columns + 1, 500000)
    floor = dead(null)
    while state[ROW] < rows:
        r = state[ROW] + 1
        first, end = state[FIRST], state[END]
        beyond = min(end + ydrop // extended + 6, columns + 1) if extended > 0 else columns + 1
        if state[TRAIL_END] > 0 and state[TRAIL_END] + beyond - first + WINDOW_PAD > costs[SEGMENT]:
            return PAUSED
        last_column = columns
        if fenced:
            step(kept, fence, holes, r, first, end)
            if fence[LOW_PIECE] >= 0 and fence[FIRST_COLUMN] > first:
                first = fence[FIRST_COLUMN]
            if fence[HIGH_PIECE] >= 0:
                end = max(min(end, fence[END_COLUMN]), 0)
            if (fence[LOW_PIECE] if onward < 0 else fence[HIGH_PIECE]) >= 0 and fence[END_COLUMN] > 0:
                last_column = fence[END_COLUMN] - 1
            end = max(end, first)
        if state[CELLS] + (end - first + spare) >= costs[ROOM]:
            state[CUT] = 1
            break
        state[ROW] = r
        if beyond + WINDOW_PAD > state[WINDOW_START] + work[WIDTH]:
            reach(work, state, lines, beyond, null)
        limit = min(end, columns + 1)
        if limit > state[SCORED]:
            score_columns(work, state, query, query_origin, onward, min(limit + SCORED_AHEAD, beyond), scores, null)
        kind = classes[target[target_origin + onward * (r - 1)]]
        # The row before, the scores and the new row, at column 0.
        old = 2 * state[FLIPPED]
        from_c, from_d = lane(work, state, old, 0, size), lane(work, state, old + 1, 0, size)
        to_c, to_d = lane(work, state, 2 - old, 0, size), lane(work, state, 3 - old, 0, size)
        against = lane(work, state, 4 + kind, 0, size)
        reserve(work, TRAIL, state[TRAIL_END] + beyond - first + 2 * WINDOW_PAD)
        reserve(work, ROWS, 8 * (r - state[FIRST_ROW] + 1))
        store_i64(work[ROWS] + 8 * (r - state[FIRST_ROW]), state[TRAIL_END] - first)
        trail = work[TRAIL] + state[TRAIL_END] - first
        if ranges:
            reserve(work, RANGES, 8 * (r + 1))
        best_before = state[BEST]
        store_lane(from_c + (first - 1) * size, floor, null)
        store_i64(work[CARRY], floor)
        column = first
        hole = np.int64(0)
        while column < limit:
            stop = limit
            if fenced and hole < fence[HOLES]:
                if holes[hole, 1] < column:
                    hole += 1
                    continue
                stop = min(max(holes[hole, 0], column), limit)
            if stop > column:
                shift = column * size
                places = (from_c + shift, from_d + shift, against + shift, to_c + shift, to_d + shift, trail + column)
                bounds = (opened, extended, state[BEST] - ydrop, state[BEST])
                done = row(places, stop - column, bounds, work[CARRY], null)
                if done < stop - column:
                    # A new best: the columns beyond it are held to a higher line.
                    column += done + zeros_below(np.uint64(load_i64(work[CARRY] + 8)))
                    state[BEST] = load_lane(to_c + column * size, null)
                    state[BEST_ROW], state[BEST_COLUMN], state[AT_BORDER] = r, column, 0
                    store_i64(work[CARRY], state[BEST] - opened)
                    column += 1
                    continue
                column = stop
            if column < limit:  # masked: dead, and so is every gap through it
                upto = min(holes[hole, 1] + 1, limit)
                while column < upto:
                    store_lane(to_c + column * size, floor, null)
                    store_lane(to_d + column * size, floor, null)
                    column += 1
                store_i64(work[CARRY], floor)
        across = load_i64(work[CARRY])
        low = first
        while low < limit and load_lane(to_c + low * size, null) == floor:
            low += 1
        if not trim and low < limit:
            border(state, r == rows, columns, low, limit, best_before, to_c, trail, null)
        visited = max(limit - first, 0)
        if low < limit:
            last = limit - 1
            while load_lane(to_c + last * size, null) == floor:
                last -= 1
            new_end = last + 1
            if new_end == end:
                line = state[BEST] - ydrop
                while across >= line and new_end <= last_column:
                    store_lane(to_c + new_end * size, across, null)
                    store_lane(to_d + new_end * size, max(across - opened, floor), null)
                    store_u8(trail + new_end, PROLONGED)
                    across -= extended
                    new_end += 1
                visited = new_end - first
            if new_end <= last_column:
                store_lane(to_c + new_end * size, floor, null)
                store_lane(to_d + new_end * size, floor, null)
                new_end += 1
        else:
            new_end = end
        state[CELLS] += visited
        state[TRAIL_END] += visited
        state[WIDEST] = max(state[WIDEST], end, new_end)
        if ranges:
            place = work[RANGES] + 8 * r
            store_i64(place, first | max(end, new_end) << 32)
        if low >= limit:
            break
        state[FIRST], state[END] = low, new_end
        state[FLIPPED] = 1 - state[FLIPPED]
        if state[BEST] > costs[HEADROOM]:
            rebase(work, state, null)
    return FINISHED
