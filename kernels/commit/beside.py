# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""The pieces of kept alignments beside a place: its fences."""

import numpy as np

from tidalign.kernels.fences.kept import (
    BEFORE,
    BLOCK_BITS,
    BY_ROWS,
    CROSSING,
    LAST_OF_BLOCK,
    LEFTMOST,
    LOW_TARGET,
    MARKED,
    NO_PIECE,
    OWNER,
    RIGHTMOST,
    ROWS,
    WITHIN,
    column_at,
    key_of,
    newest,
    piece_at,
)
from tidalign.kernels.runtime.numba_cache import inline
from tidalign.kernels.runtime.uncounted import uncounted
from tidalign.kernels.runtime.vectors import apart

FAR_LEFT, FAR_RIGHT = np.int64(-1), np.int64(1) << 62
"""Query places beyond all that there are."""


@uncounted
def beside(kept, target, query):
    """Look along the row of a place: (whether the place is on a kept alignment, the nearest piece left of it, and right of it; -1: none)."""
    apart()
    key, row = key_of(BY_ROWS, target >> BLOCK_BITS, 0), target & LAST_OF_BLOCK
    # How near the nearest ones are at least: few others need to be looked at.
    low, high = FAR_LEFT, FAR_RIGHT
    mark = newest(kept, key)
    while mark >= 0:
        first = kept.marks[mark, MARKED]
        for i in range(first, first + kept.marks[mark, WITHIN]):
            if _has(kept, i, row):
                if kept.crossings[i, RIGHTMOST] < query:
                    low = max(low, kept.crossings[i, LEFTMOST])
                elif kept.crossings[i, LEFTMOST] > query:
                    high = min(high, kept.crossings[i, RIGHTMOST])
        mark = kept.marks[mark, BEFORE]
    on = False
    left = right = NO_PIECE
    left_gap = right_gap = np.int64(0)
    mark = newest(kept, key)
    while mark >= 0:
        first = kept.marks[mark, MARKED]
        for i in range(first, first + kept.marks[mark, WITHIN]):
            if kept.crossings[i, RIGHTMOST] < low or kept.crossings[i, LEFTMOST] > high or not _has(kept, i, row):
                continue
            piece = piece_at(kept, kept.crossings[i, CROSSING], target)
            gap = column_at(kept.pieces, piece, target) - query
            if gap == 0:
                on = True
            elif gap > 0:
                if right < 0 or gap < right_gap or (gap == right_gap and _first_of(kept, piece, right)):
                    right, right_gap = piece, gap
            elif left < 0 or gap > left_gap or (gap == left_gap and _first_of(kept, piece, left)):
                left, left_gap = piece, gap
        mark = kept.marks[mark, BEFORE]
    return on, left, right


@inline
def _has(kept, crossing, row):
    """Tell whether an alignment that crosses a block of rows has one of them."""
    rows = kept.crossings[crossing, ROWS]
    return row >= rows >> BLOCK_BITS and row <= rows & LAST_OF_BLOCK


@inline
def _first_of(kept, piece, other):
    """Tell whether LASTZ meets a piece's alignment before another's: by target start, of equal starts the newest first."""
    one, two = kept.pieces[piece, OWNER], kept.pieces[other, OWNER]
    start, other_start = kept.alignments[one, LOW_TARGET], kept.alignments[two, LOW_TARGET]
    return start < other_start or (start == other_start and one > two)
