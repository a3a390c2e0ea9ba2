# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Tell whether something kept comes near a box, or near a diagonal: what an anchor's free extension looked at, or what its rejection counts on."""

import numpy as np

from tidalign.kernels.commit.paths_host import columns, place_of
from tidalign.kernels.fences.kept import (
    BEFORE,
    BLOCK_BITS,
    BY_CELL,
    BY_ROWS,
    CROSSING,
    FIRST,
    LAST,
    LAST_OF_BLOCK,
    LEFTMOST,
    MARKED,
    QUERY_FIRST,
    QUERY_LAST,
    RIGHTMOST,
    ROWS,
    TARGET_FIRST,
    TARGET_LAST,
    WITHIN,
    key_of,
    newest,
    piece_at,
)
from tidalign.kernels.gapped.speculated import REJECTION_LETTERS
from tidalign.kernels.runtime.numba_cache import inline, jit

MARGIN = np.int64(2)
"""Fences and masks lie up to two rows and columns off their alignment."""

BESIDE = np.int64(8)
"""Diagonals within which an alignment is near one: its fences and masks are within four."""

MOST_CELLS = 16
"""Cells of a block of rows that are looked at one by one, at most; in a wider box all alignments that cross these rows are."""

MOST_TOUCHED = 64
"""Cells of a box that are looked up among those touched, at most."""


@jit
def clear(kept, low, high, first, last, since):
    """Tell whether no kept alignment comes near the box of target rows low..high and query columns first..last. since: of those alone kept after so many."""
    low, high, first, last = max(low - MARGIN, 0), high + MARGIN, max(first - MARGIN, 0), last + MARGIN
    left, right = first >> BLOCK_BITS, last >> BLOCK_BITS
    for block in range(low >> BLOCK_BITS, (high >> BLOCK_BITS) + 1):
        begin_of_block = block << BLOCK_BITS
        if right - left >= MOST_CELLS:
            mark = newest(kept, key_of(BY_ROWS, block, 0))
            while mark >= 0:
                chunk = kept.marks[mark, MARKED]
                for i in range(chunk, chunk + kept.marks[mark, WITHIN]):
                    passes = kept.crossings[i, CROSSING] >= since and kept.crossings[i, LEFTMOST] <= last and kept.crossings[i, RIGHTMOST] >= first
                    if passes and _meets(kept, kept.crossings[i, CROSSING], kept.crossings[i, ROWS], begin_of_block, low, high, first, last):
                        return False
                mark = kept.marks[mark, BEFORE]
            continue
        for column in range(left, right + 1):
            mark = newest(kept, key_of(BY_CELL, block, column))
            while mark >= 0 and kept.marks[mark, MARKED] >= since:
                if _meets(kept, kept.marks[mark, MARKED], kept.marks[mark, WITHIN], begin_of_block, low, high, first, last):
                    return False
                mark = kept.marks[mark, BEFORE]
    return True


@inline
def _meets(kept, alignment, rows, begin_of_block, low, high, first, last):
    """Tell whether an alignment meets a box by its rows of one block."""
    top, bottom = max(low, begin_of_block + (rows >> BLOCK_BITS)), min(high, begin_of_block + (rows & LAST_OF_BLOCK))
    if top > bottom:
        return False
    leftmost, rightmost = columns(kept, alignment, top, bottom)
    return leftmost <= last and rightmost >= first


@jit
def clear_diagonal(kept, target, query, since):
    """Tell whether no kept alignment comes near the diagonal of a place, by the letters that a rejection counts on. since: as `clear` has it.

    The others, beside it, take none of its cells: a fence that is on one side of a diagonal stays there.
    """
    low, high, diagonal = max(target - REJECTION_LETTERS - MARGIN, 0), target + REJECTION_LETTERS + MARGIN, query - target
    first, last = max(low + diagonal - BESIDE, 0) >> BLOCK_BITS, (high + diagonal + BESIDE) >> BLOCK_BITS
    for block in range(low >> BLOCK_BITS, (high >> BLOCK_BITS) + 1):
        begin_of_block = block << BLOCK_BITS
        for column in range(first, last + 1):
            mark = newest(kept, key_of(BY_CELL, block, column))
            while mark >= 0 and kept.marks[mark, MARKED] >= since:
                alignment, rows = kept.marks[mark, MARKED], kept.marks[mark, WITHIN]
                mark = kept.marks[mark, BEFORE]
                top, bottom = max(low, begin_of_block + (rows >> BLOCK_BITS)), min(high, begin_of_block + (rows & LAST_OF_BLOCK))
                if top <= bottom and _comes_near(kept, alignment, top, bottom, diagonal):
                    return False
    return True


@inline
def _comes_near(kept, alignment, top, bottom, diagonal):
    """Tell whether an alignment is near a diagonal, or changes its side, in rows top..bottom, both of which it has, or by the gaps at their borders."""
    pieces, last = kept.pieces, kept.alignments[alignment, LAST]
    at = max(piece_at(kept, alignment, top) - 1, kept.alignments[alignment, FIRST])
    least = most = pieces[at, QUERY_FIRST] - pieces[at, TARGET_FIRST]
    while True:
        for one in (pieces[at, QUERY_FIRST] - pieces[at, TARGET_FIRST], pieces[at, QUERY_LAST] - pieces[at, TARGET_LAST]):
            least, most = min(least, one), max(most, one)
        if at == last or pieces[at, TARGET_LAST] > bottom:
            return least <= diagonal + BESIDE and most >= diagonal - BESIDE
        at += 1


@inline
def none_touched(cells, low, high, first, last):
    """Tell whether a box is small and no cell about it is touched."""
    top, bottom = max(low - MARGIN, 0) >> BLOCK_BITS, (high + MARGIN) >> BLOCK_BITS
    left, right = max(first - MARGIN, 0) >> BLOCK_BITS, (last + MARGIN) >> BLOCK_BITS
    if (bottom - top + 1) * (right - left + 1) > MOST_TOUCHED:
        return False
    for block in range(top, bottom + 1):
        for column in range(left, right + 1):
            if cells[place_of(cells, block, column)]:
                return False
    return True
