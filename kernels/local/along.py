# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""One long pair on one core, locally: lanes have strips of its rows, one under the other, each a column behind the one above it.

So many strips are a round. Cells before column 1 and behind the last one are made of letters that match nothing: no score of theirs is above 0 or the highest
so far. Gaps, scores and the way back are those of walk.py; a block of rows is some rounds.
"""

import numpy as np

from tidalign.kernels.local.host import at_borders, better, first_columns, rows_of
from tidalign.kernels.local.lookups import STRIP_ROWS
from tidalign.kernels.local.vectors import (
    along_keep,
    along_placed,
    along_placed_keep,
    along_scored,
    fill,
    lane_count,
    lowest_score,
    score_of_zero,
)
from tidalign.kernels.local.walk import begun, walked
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
def row_above(top, width, costs, null):
    """Write H and I above the first strip."""
    zero, low = score_of_zero(null), lowest_score(null)
    top[:width] = zero
    for piece in range(len(costs) // 2):
        top[(piece + 1) * width : (piece + 2) * width] = max(zero - costs[2 * piece], low)


@jit
def swept(places, stop, stride, costs, scores, track, keep, null):
    """Make a round."""
    apart()
    start = np.int64(1)
    if track and keep:
        along_placed_keep(places, start, stop, stride, costs, scores, null)
    elif keep:
        along_keep(places, start, stop, stride, costs, scores, null)
    elif track == 1:
        along_scored(places, start, stop, stride, costs, scores, null)
    else:
        along_placed(places, start, stop, stride, costs, scores, null)


@jit
def round_swept(buffers, sides, strips, i, row, reach, width, place, span, costs, scores, track, keep, found, null):
    """Make a round of strips from `row` on, columns up to `reach`, and take in the highest score. strips: where rows of each lane begin, less `row`, and how
    many there are from there on. place: of the first direction byte."""
    top, letters, zero, state, strip, words, directions = buffers
    queries, _, table = sides
    starts, left, numbers = strips
    lanes = lane_count(null)
    held = 1 + STRIP_ROWS * (1 + len(costs) // 2)
    rows_of(queries, starts, left, numbers, lanes, row, strip, words, table, scores, null)
    first_columns(state, row, span, costs, null)
    size = state.itemsize * lanes
    fill(state.ctypes.data + held * size, score_of_zero(null), null)
    fill(state.ctypes.data + (held + 1) * size, 0, null)
    fill(state.ctypes.data + (held + 2) * size, 0, null)
    query = strip.ctypes.data if len(scores) == 2 else words.ctypes.data
    above = top.ctypes.data + lanes * top.itemsize
    places = (above, width * top.itemsize, letters.ctypes.data + zero, state.ctypes.data, query, np.int64(0), directions.ctypes.data + place)
    swept(places, reach + lanes, width * lanes, costs, scores, track, keep, null)
    for lane in range(lanes if track else 0):
        score = np.int64(state[held * lanes + lane]) - score_of_zero(null)
        if track == 1:
            found[0, i] = max(found[0, i], score)
        elif score > 0:
            column = np.int64(state[(held + 1) * lanes + lane])
            if state.itemsize == 2:
                column &= 0xFFFF
            better(found, i, score, row + STRIP_ROWS * lane + np.int64(state[(held + 2) * lanes + lane]) + 1, column)


@jit
def align_along(order, sides, targets, target_starts, n, m, same, block_rows, span, costs, scores, keep, buffers, kept, cigar, ends, found, null):
    """Align the pairs order[0], order[1], .. one after the other; arguments and results as of `walk.align_groups`, of a pair each."""
    top, letters, state, strip, words, directions = buffers
    queries, query_starts, table = sides
    lanes = lane_count(null)
    pieces = len(costs) // 2
    pad = 255 if len(scores) == 2 else len(table) - 1
    cursor = np.zeros(4, np.int64)
    numbers = np.arange(lanes)
    for pair in range(len(order)):
        i, block = order[pair], block_rows[pair]
        at_borders(n[i], m[i], i, span, costs, found)
        width = m[i] + 1 + 2 * lanes
        target, above = targets[target_starts[i] : target_starts[i] + m[i]], top[: (1 + pieces) * width]
        zero = backwards(target, lanes, pad, letters[: m[i] + 2 * lanes])
        used = (above, letters, zero, state, strip, words, directions)
        strips = (query_starts[i] + STRIP_ROWS * numbers, n[i] - STRIP_ROWS * numbers, numbers)
        row_above(above, width, costs, null)
        blocks = max(np.int64(1), (n[i] + block - 1) // block)
        single = keep and blocks == 1
        for row in range(0, n[i], STRIP_ROWS * lanes):
            if keep and blocks > 1 and row % block == 0:
                kept[row // block * len(above) : (row // block + 1) * len(above)] = above
            place = row * width if single else 0
            round_swept(used, sides, strips, i, row, m[i], width, place, span, costs, scores, 1 if not keep else 2, single, found, null)
        if not keep:
            continue
        cursor[0], cursor[1], cursor[2], cursor[3] = found[2, i], found[4, i], FROM_X, found[0, i] == 0
        for turn in range(blocks):
            begin = (blocks - 1 - turn) * block
            if cursor[0] <= begin or cursor[3]:
                continue
            if blocks > 1:
                above[:] = kept[begin // block * len(above) : (begin // block + 1) * len(above)]
                for row in range(begin, min(n[i], begin + block), STRIP_ROWS * lanes):
                    round_swept(used, sides, strips, i, row, cursor[1], width, (row - begin) * width, span, costs, scores, 0, True, found, null)
            q = queries[query_starts[i] :]
            walked(directions, width * lanes, lanes, np.int64(-1), begin, q, target, same, cursor, cigar, ends[i])
        begun(i, cursor, cigar, ends[i], span, found)
