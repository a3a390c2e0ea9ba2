# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""One long pair on one core: lanes have strips of its rows, one under the other, each a column behind the one above it.

So many strips are a round. Lanes that are before column 1, or behind the last one, stay as they are; of a local alignment they need not, as letters there match
nothing: no score is above 0 or the highest so far. Gaps, scores and the way back are those of walk.py; a block of rows is some rounds.
"""

import numpy as np

from tidalign.kernels.local.host import BEGIN_QUERY, BEGIN_TARGET, END_CORNER, END_QUERY, END_TARGET, at_borders, better, boundary, rows_of
from tidalign.kernels.local.lookups import STRIP_ROWS
from tidalign.kernels.local.vectors import (
    along,
    along_keep,
    along_placed,
    along_placed_keep,
    along_scored,
    lane_count,
    lowest_score,
    masked,
    masked_keep,
    masked_placed,
    masked_placed_keep,
    masked_scored,
    score_of_zero,
)
from tidalign.kernels.local.walk import begun, copy, walked
from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.runtime.vectors import FROM_X, apart


@jit
def backwards(target, lanes, pad, letters):
    """Write a target's letters from the last to the first, with room for all lanes before and behind; returns where that of column 0 would be."""
    letters[:] = pad
    zero = len(target) + lanes
    for j in range(len(target)):
        letters[zero - 1 - j] = target[j]
    return zero


@jit
def row_above(top, width, span, costs, null):
    """Write H and I of row 0 from column 0 on, behind as many elements as there are lanes."""
    zero, low, first = score_of_zero(null), lowest_score(null), lane_count(null)
    for j in range(width - first):
        score = boundary(j, span & BEGIN_TARGET, costs) + zero
        top[first + j] = max(score, low)
        for piece in range(len(costs) // 2):
            top[(piece + 1) * width + first + j] = max(score - costs[2 * piece], low)


@jit
def columns_before(state, row, span, costs, null):
    """Write the state of the strips below `row` before their first columns."""
    lanes, zero, low = lane_count(null), score_of_zero(null), lowest_score(null)
    state[:] = low  # I of the strips' last rows, of which no lane takes anything before it is there
    for lane in range(lanes):
        for r in range(STRIP_ROWS + 1):
            score = boundary(row + STRIP_ROWS * lane + r, span & BEGIN_QUERY, costs) + zero
            state[r * lanes + lane] = max(score, low)
            for piece in range(len(costs) // 2 if r else 0):
                state[(STRIP_ROWS * (1 + piece) + r) * lanes + lane] = max(score - costs[2 * piece], low)


@jit
def swept(places, start, stop, stride, costs, scores, track, keep, null):
    """Make steps [start, stop) of a round."""
    apart()
    if track and keep:
        along_placed_keep(places, start, stop, stride, costs, scores, null)
    elif keep:
        along_keep(places, start, stop, stride, costs, scores, null)
    elif track == 1:
        along_scored(places, start, stop, stride, costs, scores, null)
    elif track == 2:
        along_placed(places, start, stop, stride, costs, scores, null)
    else:
        along(places, start, stop, stride, costs, scores, null)


@jit
def swept_masked(places, start, stop, stride, costs, scores, track, keep, null):
    """Make the same where some lanes are before column 1, or behind the last one."""
    apart()
    if track and keep:
        masked_placed_keep(places, start, stop, stride, costs, scores, null)
    elif keep:
        masked_keep(places, start, stop, stride, costs, scores, null)
    elif track == 1:
        masked_scored(places, start, stop, stride, costs, scores, null)
    elif track == 2:
        masked_placed(places, start, stop, stride, costs, scores, null)
    else:
        masked(places, start, stop, stride, costs, scores, null)


@jit
def round_swept(buffers, sides, strips, i, row, reach, width, place, span, costs, scores, track, keep, found, null):
    """Make a round of strips from `row` on, columns up to `reach`, and take in the ends. strips: where each lane's rows begin, less `row`, and how many there
    are from there on. place: of the first direction byte."""
    top, letters, zero, state, strip, words, limits, directions = buffers
    queries, _, table = sides
    starts, left, numbers = strips
    lanes, low = lane_count(null), lowest_score(null)
    pieces = len(costs) // 2
    held = 1 + STRIP_ROWS * (1 + pieces)
    rows_of(queries, starts, left, numbers, lanes, row, strip, words, table, scores, null)
    columns_before(state, row, span, costs, null)
    ends = span & (END_QUERY | END_TARGET | END_CORNER)
    last = left[0] - 1 - row  # row of the query's last letter in this round
    here = 0 <= last < STRIP_ROWS * lanes
    look = track if ends == 0 or (here and span & END_QUERY) else 0
    if look:
        limits[:] = low
        if ends:
            limits[last % STRIP_ROWS * lanes + last // STRIP_ROWS] = -(low + 1)
        state[held * lanes : (held + 1) * lanes] = score_of_zero(null) if ends == 0 else low
        state[(held + 1) * lanes : (held + 3) * lanes] = 0
    if look != 2:  # what else is in the state follows what is tracked
        state[(held + (look > 0)) * lanes : (held + (look > 0) + pieces) * lanes] = low
    query = strip.ctypes.data if len(scores) == 2 else words.ctypes.data
    above = top.ctypes.data + lanes * top.itemsize
    addresses = (above, width * top.itemsize, letters.ctypes.data + zero, state.ctypes.data, query, limits.ctypes.data, directions.ctypes.data + place)
    places = (*addresses, np.int64(reach))
    stride = width * lanes
    if ends == 0:
        swept(places, np.int64(1), reach + lanes, stride, costs, scores, look, keep, null)
    else:
        begun, over = min(lanes, reach + lanes), max(lanes, reach + 1)
        swept_masked(places, np.int64(1), begun, stride, costs, scores, look, keep, null)
        swept(places, lanes, reach + 1, stride, costs, scores, look, keep, null)
        swept_masked(places, over, reach + lanes, stride, costs, scores, look, keep, null)
    for lane in range(lanes if look else 0):
        score = np.int64(state[held * lanes + lane])
        if score > low and (ends or score > score_of_zero(null)):
            if look == 1:
                found[0, i] = max(found[0, i], score - score_of_zero(null))
            else:
                column = np.int64(state[(held + 1) * lanes + lane])
                if state.itemsize == 2:
                    column &= 0xFFFF
                better(found, i, score - score_of_zero(null), row + STRIP_ROWS * lane + np.int64(state[(held + 2) * lanes + lane]) + 1, column)
    if track and reach > 0:
        for r in range(min(last + 1, STRIP_ROWS * lanes)):
            if span & END_TARGET or (span & END_CORNER and r == last):
                better(found, i, np.int64(state[(1 + r % STRIP_ROWS) * lanes + r // STRIP_ROWS]), row + r + 1, reach)


@jit
def down(buffers, sides, i, n, target, block, span, costs, scores, track, keep, kept, found, null):
    """Make all rounds of a pair, with `keep` for the way back: the rows above its blocks, or the directions of one block. Returns the parts of the buffers that
    it uses, and the lanes' strips."""
    top, letters, state, strip, words, limits, directions = buffers
    lanes, m = lane_count(null), np.int64(len(target))
    width = m + 1 + 2 * lanes
    above = top[: (1 + len(costs) // 2) * width]
    pad = 255 if len(scores) == 2 else len(sides[2]) - 1
    zero = backwards(target, lanes, pad, letters[: m + 2 * lanes])
    used = (above, letters, zero, state, strip, words, limits, directions)
    numbers = np.arange(lanes)
    strips = (sides[1][i] + STRIP_ROWS * numbers, n - STRIP_ROWS * numbers, numbers)
    row_above(above, width, span, costs, null)
    for row in range(0, n, STRIP_ROWS * lanes):
        if keep and block < n and row % block == 0:
            copy(kept, row // block * len(above), above, np.int64(0), len(above))
        round_swept(used, sides, strips, i, row, m, width, row * width, span, costs, scores, track, keep and block >= n, found, null)
    return used, strips


@jit
def align_along(order, sides, targets, target_starts, n, m, same, block_rows, windows, span, costs, scores, keep, buffers, kept, cigar, ends, found, null):
    """Align the pairs order[0], order[1], .. one after the other; arguments and results as of `walk.align_groups`, of a pair each.

    windows: letters of a target that an alignment of each pair spans at most. Where they are not all, its end is found first, and the way back among so many
    before that: its cells, and which of equal ways comes first there, are the same with less of the target before them.
    """
    queries, query_starts, _ = sides
    lanes = lane_count(null)
    local = span & (END_QUERY | END_TARGET | END_CORNER) == 0
    cursor = np.zeros(4, np.int64)
    for pair in range(len(order)):
        i, block, height = order[pair], block_rows[pair], n[order[pair]]
        at_borders(n[i], m[i], i, span, costs, found)
        target, track, cut = targets[target_starts[i] : target_starts[i] + m[i]], 2 if keep else 1, np.int64(0)
        if keep and windows[pair] < m[i]:
            down(buffers, sides, i, n[i], target, block, span, costs, scores, 2, False, kept, found, null)
            cut = max(np.int64(0), found[4, i] - windows[pair])
            target, height, track = target[cut : found[4, i]], found[2, i], 0
        used, strips = down(buffers, sides, i, height, target, block, span, costs, scores, track, keep, kept, found, null)
        if not keep:
            continue
        above, width = used[0], len(target) + 1 + 2 * lanes
        cursor[0], cursor[1], cursor[2], cursor[3] = found[2, i], found[4, i] - cut, FROM_X, local and found[0, i] == 0
        blocks = max(np.int64(1), (height + block - 1) // block)
        for turn in range(blocks):
            begin = (blocks - 1 - turn) * block
            if cursor[0] <= begin or cursor[3]:
                continue
            if blocks > 1:
                copy(above, np.int64(0), kept, begin // block * len(above), len(above))
                for row in range(begin, min(height, begin + block), STRIP_ROWS * lanes):
                    round_swept(used, sides, strips, i, row, cursor[1], width, (row - begin) * width, span, costs, scores, 0, True, found, null)
            q = queries[query_starts[i] :]
            walked(used[7], width * lanes, lanes, np.int64(-1), begin, q, target, same, cursor, cigar, ends[i])
        begun(i, cursor, cigar, ends[i], span, found)
        found[3, i] += cut
