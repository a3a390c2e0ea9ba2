# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Strips of rows of a group of pairs, a lane a pair: their letters, borders and cells, and what is kept of the highest scores.

Rows are the query's, STRIP_ROWS of them a strip; a strip passes over all columns before the next begins, and leaves H and I of its last row for it.
"""

import numpy as np

from tidalign.kernels.local.bars import NO_BAR
from tidalign.kernels.local.lookups import LETTERS, SHARED_BYTES, STRIP_ROWS
from tidalign.kernels.local.vectors import fill, lane_count, lowest_score, score_of_zero, sweep, sweep_keep, sweep_placed, sweep_placed_keep, sweep_scored
from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import apart

BEGIN_QUERY, BEGIN_TARGET, END_QUERY, END_TARGET, END_CORNER = 1, 2, 4, 8, 16
"""Of a span: letters of the query, or of the target, before the alignment cost nothing; it may end in the query's last row, in the target's last column, or
where both meet. A local alignment, with none of these ends, may end anywhere."""

LOOK_ROWS = 32
"""Rows after which a group of pairs that have bars is looked at again."""


@inline
def boundary(letters, free, costs):
    """Give H of a cell in row or column 0 that so many letters lie before."""
    if free or letters == 0:
        return np.int64(0)
    return -min(costs[0] + (letters - 1) * costs[1], costs[-2] + (letters - 1) * costs[-1])  # of one piece both are the same


@jit
def first_row(top, width, start, stop, span, costs, null):
    """Write H and I of row 0 to `top`, columns [start, stop)."""
    lanes = lane_count(null)
    size = top.itemsize * lanes
    zero, low = score_of_zero(null), lowest_score(null)
    address = top.ctypes.data
    for j in range(start, stop):
        score = boundary(j, span & BEGIN_TARGET, costs) + zero
        fill(address + j * size, score, null)
        for piece in range(len(costs) // 2):
            fill(address + ((piece + 1) * width + j) * size, max(score - costs[2 * piece], low), null)


@jit
def first_columns(state, row, span, costs, null):
    """Write the state of the strip below `row` before its first column."""
    lanes = lane_count(null)
    size = state.itemsize * lanes
    zero, low = score_of_zero(null), lowest_score(null)
    address = state.ctypes.data
    for r in range(STRIP_ROWS + 1):
        score = boundary(row + r, span & BEGIN_QUERY, costs) + zero
        fill(address + r * size, score, null)
        for piece in range(len(costs) // 2 if r else 0):
            fill(address + (STRIP_ROWS * (1 + piece) + r) * size, max(score - costs[2 * piece], low), null)


@jit
def letters_of(targets, starts, lengths, rows, count, width, letters, pad, null):
    """Write the letters of the targets of a group, a byte a lane, from column 1 on."""
    lanes = lane_count(null)
    for lane in range(lanes):
        length = 0
        if lane < count:
            length = lengths[rows[lane]]
            start = starts[rows[lane]]
            for j in range(length):
                letters[(j + 1) * lanes + lane] = targets[start + j]
        for j in range(length, width):
            letters[(j + 1) * lanes + lane] = pad


@jit
def rows_of(queries, starts, lengths, rows, count, row, strip, words, table, scores, null):
    """Write the letters of a strip's rows: as lanes hold them to `strip` where letters are compared, else the scores of all letters with them to `words`, a
    byte a row, or of one query that all lanes have SHARED_BYTES bytes a row. table: uint64, scores as bytes."""
    lanes = lane_count(null)
    pad = len(table) - 1
    if len(scores) == 3:
        of_rows = words.view(np.uint8)
        for r in range(STRIP_ROWS):
            inside = row + r < lengths[rows[0]]
            code = np.int64(queries[starts[rows[0]] + row + r]) if inside else np.int64(pad)
            for letter in range(len(table)):
                of_rows[SHARED_BYTES * r + letter] = table[code, letter]
        return
    for lane in range(lanes):
        for r in range(STRIP_ROWS):
            inside = lane < count and row + r < lengths[rows[lane]]
            code = np.int64(queries[starts[rows[lane]] + row + r]) if inside else np.int64(pad)
            if len(scores) == 2:
                strip[r * lanes + lane] = code
            elif r == 0:
                for letter in range(len(table)):
                    words[lane * LETTERS + letter] = table[code, letter]
            else:
                for letter in range(len(table)):
                    words[lane * LETTERS + letter] |= table[code, letter] << np.uint64(8 * r)


@jit
def limits_of(n, m, rows, count, row, limits, null):
    """Write limits that let through the last row of each query alone; returns whether one of them is in the strip."""
    lanes = lane_count(null)
    low = lowest_score(null)
    found = False
    for lane in range(lanes):
        for r in range(STRIP_ROWS):
            last = lane < count and n[rows[lane]] == row + r + 1 and m[rows[lane]] > 0
            limits[r * lanes + lane] = -(low + 1) if last else low
            found |= last
    return found


@jit
def swept(places, start, stop, stride, costs, scores, track, keep, null):
    """Make columns [start, stop) of a strip."""
    apart()
    if track and keep:
        sweep_placed_keep(places, start, stop, stride, costs, scores, null)
    elif keep:
        sweep_keep(places, start, stop, stride, costs, scores, null)
    elif track == 1:
        sweep_scored(places, start, stop, stride, costs, scores, null)
    elif track == 2:
        sweep_placed(places, start, stop, stride, costs, scores, null)
    else:
        sweep(places, start, stop, stride, costs, scores, null)


@inline
def better(found, i, score, row, column):
    """Keep a place of pair i: the highest score, then the smallest target end, then the smallest query end."""
    if score > found[0, i] or (score == found[0, i] and (column < found[4, i] or (column == found[4, i] and row < found[2, i]))):
        found[0, i], found[2, i], found[4, i] = score, row, column


@jit
def at_borders(n, m, i, span, costs, found):
    """Take in the places in row 0 and column 0 where pair i may end."""
    found[0, i] = np.int64(-(1 << 62))
    found[1, i] = found[2, i] = found[3, i] = found[4, i] = 0
    ends = span & (END_QUERY | END_TARGET | END_CORNER)
    if ends == 0:
        found[0, i] = 0
    if span & END_QUERY:
        better(found, i, boundary(n, span & BEGIN_QUERY, costs), n, 0)
    if span & END_TARGET:
        better(found, i, boundary(m, span & BEGIN_TARGET, costs), 0, m)
    if span & END_CORNER and n == 0:
        better(found, i, boundary(m, False, costs), 0, m)
    elif span & END_CORNER and m == 0:
        better(found, i, boundary(n, False, costs), n, 0)


@jit
def take_tracked(state, place, rows, count, row, track, found, null):
    """Take in the highest scores of a strip, which lie in its state from `place` on."""
    lanes = lane_count(null)
    zero, low = score_of_zero(null), lowest_score(null)
    for lane in range(count):
        score = np.int64(state[place * lanes + lane])
        if score > low:
            if track == 1:
                found[0, rows[lane]] = max(found[0, rows[lane]], score - zero)
            else:
                column = np.int64(state[(place + 1) * lanes + lane])
                if state.itemsize == 2:
                    column &= 0xFFFF
                better(found, rows[lane], score - zero, row + np.int64(state[(place + 2) * lanes + lane]) + 1, column)


@inline
def any_above(values, at, limits):
    """Tell whether a lane has more than its limit."""
    found = False
    for lane in range(len(limits)):
        found |= values[at + lane] > limits[lane]
    return found


@jit
def needed(above, width, start, stop, sides, n, rows, count, row, bars, costs, found, null):
    """Give the columns that the LOOK_ROWS rows from `row` on need of a group of local pairs whose rows above had [start, stop): none if no pair can come to its
    bar (bars.py) any more.

    A cell is of use if its score and what the rows below score at best come to the bar. Once these rows alone do not, a path that does comes from a cell of
    use above, and no more to the right of it than there are rows, and letters that its gaps can afford. All else may count as 0.
    """
    _, starts, _ = sides
    least, worth = bars
    lanes = lane_count(null)
    most = -2 * lowest_score(null) - 1
    limits = np.full(lanes, score_of_zero(null) + most, above.dtype)
    afford, all_columns = np.int64(-1), False
    for lane in range(count):
        i = rows[lane]
        if found[0, i] >= most:
            continue  # the highest score of 8 or 16 bits stands for any from it on, whatever follows
        if least[i] == NO_BAR:
            return start, stop
        below = worth[starts[i] + n[i]] - worth[starts[i] + min(row, n[i])]
        if found[0, i] + below >= least[i]:
            afford = max(afford, found[0, i] + below - least[i])
            all_columns |= below >= least[i]
            limits[lane] = max(np.int64(0), min(most, least[i] - below) - 1) + score_of_zero(null)
    if all_columns or afford < 0:
        return start, stop if all_columns else start
    first, last = start, stop
    while first < stop and not any_above(above, first * lanes, limits):
        first += 1
    while last > first and not any_above(above, (last - 1) * lanes, limits):
        last -= 1
    if last == first:
        return start, start
    return first, min(width, last + LOOK_ROWS + afford // min(costs[1], costs[-1]))


@jit
def take_columns(state, limits, n, m, rows, count, row, column, span, found, null):
    """Take in the cells of a strip in the last column of the pairs whose last column it is, and nothing of them from there on."""
    lanes = lane_count(null)
    for lane in range(count):
        i = rows[lane]
        if m[i] == column:
            for r in range(STRIP_ROWS):
                limits[r * lanes + lane] = lowest_score(null)
                last = row + r + 1 == n[i]
                if row + r < n[i] and (span & END_TARGET or (last and span & END_CORNER)):
                    better(found, i, np.int64(state[(1 + r) * lanes + lane]), row + r + 1, column)


@inline
def next_end(m, rows, count, column):
    """Find the nearest last column of a pair from `column` on."""
    nearest = np.int64(1 << 60)
    for lane in range(count):
        if m[rows[lane]] >= column:
            nearest = min(nearest, m[rows[lane]])
    return nearest


@jit
def strip_swept(buffers, sides, n, m, rows, count, row, start, stop, stride, place, span, costs, scores, track, keep, found, null):
    """Make one strip, columns [start, stop), with what is tracked of it. place: of its first direction byte."""
    top, letters, state, strip, words, limits, directions = buffers
    queries, query_starts, table = sides
    lanes = lane_count(null)
    pieces = len(costs) // 2
    held = 1 + STRIP_ROWS * (1 + pieces)
    rows_of(queries, query_starts, n, rows, count, row, strip, words, table, scores, null)
    first_columns(state, row, span, costs, null)
    ends = span & (END_QUERY | END_TARGET | END_CORNER)
    last = track != 0 and ends != 0 and limits_of(n, m, rows, count, row, limits, null)
    look = track if ends == 0 or (last and span & END_QUERY) else 0
    stops = track != 0 and (span & END_TARGET or (last and ends != 0))
    if look:
        low = lowest_score(null)
        size = state.itemsize * lanes
        fill(state.ctypes.data + held * size, score_of_zero(null) if ends == 0 else low, null)
        fill(state.ctypes.data + (held + 1) * size, 0, null)
        fill(state.ctypes.data + (held + 2) * size, 0, null)
    query = strip.ctypes.data if len(scores) == 2 else words.ctypes.data
    width = len(top) // (1 + pieces) * top.itemsize
    places = (top.ctypes.data, width, letters.ctypes.data, state.ctypes.data, query, limits.ctypes.data, directions.ctypes.data + place)
    column = start
    while column < stop:
        end = stop - 1
        if stops:
            end = min(end, next_end(m, rows, count, column))
        swept(places, column, end + 1, stride, costs, scores, look, keep, null)
        if stops:
            take_columns(state, limits, n, m, rows, count, row, end, span, found, null)
        column = end + 1
    if look:
        take_tracked(state, held, rows, count, row, look, found, null)
