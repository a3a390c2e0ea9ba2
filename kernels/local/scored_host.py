# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Groups of local pairs on one core, a lane a pair: their scores alone."""

import numpy as np

from tidalign.kernels.local.host import LOOK_ROWS, first_columns, first_row, letters_of, needed, rows_of, take_tracked
from tidalign.kernels.local.lookups import STRIP_ROWS
from tidalign.kernels.local.vectors import fill, lane_count, score_of_zero, sweep_scored
from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.runtime.vectors import apart


@jit
def score_groups(order, sides, targets, target_starts, n, m, span, costs, scores, bars, buffers, found, null):
    """Score the pairs order[0], order[1], ..., as many at a time as there are lanes; arguments as `walk.align_groups` has them. Fills found[0],
    of pairs that are given up (bars.py) with the best until then."""
    apart()
    top, letters, state, strip, words = buffers
    queries, query_starts, table = sides
    lanes = lane_count(null)
    pieces = len(costs) // 2
    held = 1 + STRIP_ROWS * (1 + pieces)
    pad = 255 if len(scores) == 2 else len(table) - 1
    query = strip.ctypes.data if len(scores) == 2 else words.ctypes.data
    for first in range(0, len(order), lanes):
        rows = order[first : first + lanes]
        count = len(rows)
        height, width = np.int64(0), np.int64(1)
        for lane in range(count):
            height = max(height, n[rows[lane]])
            width = max(width, m[rows[lane]] + 1)
        letters_of(targets, target_starts, m, rows, count, width - 1, letters, pad, null)
        first_row(top, width, np.int64(0), width, span, costs, null)
        places = (top.ctypes.data, width * lanes * top.itemsize, letters.ctypes.data, state.ctypes.data, query, np.uint64(0), np.uint64(0))
        fill(state.ctypes.data + held * lanes * state.itemsize, score_of_zero(null), null)
        start, stop = np.int64(1), width
        for row in range(0, height, STRIP_ROWS):
            if row and row % LOOK_ROWS == 0:
                take_tracked(state, held, rows, count, np.int64(0), 1, found, null)
                start, end = needed(top, width, start, stop, sides, n, rows, count, row, bars, costs, found, null)
                if start == end:
                    break
                first_row(top, width, stop, end, span, costs, null)
                stop = end
            rows_of(queries, query_starts, n, rows, count, row, strip, words, table, scores, null)
            first_columns(state, row, span, costs, null)
            sweep_scored(places, start, stop, np.int64(0), costs, scores, null)
        take_tracked(state, held, rows, count, np.int64(0), 1, found, null)
