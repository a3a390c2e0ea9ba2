# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Follow fences from row to row of an extension, and what masks its cells (LASTZ.md 12)."""

import numpy as np

from tidalign.kernels.fences.kept import (
    ANCHOR_QUERY,
    ANCHOR_TARGET,
    AT_PIECE,
    BEFORE,
    BEGINNING,
    BLOCK,
    BLOCK_BITS,
    BY_END,
    BY_START,
    COLUMN,
    DIAGONAL,
    END_COLUMN,
    ENDS,
    FIRST,
    FIRST_COLUMN,
    HEADER,
    HIGH_LEFT,
    HIGH_PIECE,
    HIGH_QUERY,
    HIGH_RIGHT,
    HOLES,
    HORIZONTAL,
    KIND,
    LAST,
    LEFTWARD,
    LOW_LEFT,
    LOW_PIECE,
    LOW_QUERY,
    LOW_RIGHT,
    MARKED,
    MASKING,
    NEAREST,
    NOTHING,
    NOWHERE,
    OWNER,
    QUERY_FIRST,
    QUERY_LAST,
    SINCE,
    STARTS,
    TARGET_FIRST,
    TARGET_LAST,
    UNTIL,
    WAITING,
    WITHIN,
    bit_of,
    key_of,
    newest,
)
from tidalign.kernels.runtime.numba_cache import inline
from tidalign.kernels.runtime.uncounted import uncounted
from tidalign.kernels.runtime.vectors import apart


@inline
def _followed(kept, fence, piece, column, row, right, shift):
    """Follow a fence to a row from the one before: its (piece, column) there; `shift`: by which a new piece's own column is passed."""
    pieces = kept.pieces
    target, query = fence[ANCHOR_TARGET], fence[ANCHOR_QUERY]
    current = pieces[piece, TARGET_LAST] >= target + row
    if fence[LEFTWARD]:
        # LASTZ's arithmetic is unsigned here: before the first letter every piece goes on.
        current = target - row < 0 or pieces[piece, TARGET_FIRST] <= target - row
    if current:
        if pieces[piece, KIND] == DIAGONAL:
            column += 1
        return piece, column
    owner = pieces[piece, OWNER]
    if fence[LEFTWARD]:
        if piece > kept.alignments[owner, FIRST]:
            piece -= 1
            if pieces[piece, KIND] == HORIZONTAL:
                piece -= 1
            return piece, query - pieces[piece, QUERY_LAST] + shift
        piece = kept.alignments[owner, LOW_RIGHT if right else LOW_LEFT]
        if piece < 0:
            return piece, column
        column = query - pieces[piece, QUERY_LAST] + shift
        if pieces[piece, KIND] == DIAGONAL:
            column += row - (target - pieces[piece, TARGET_LAST])
        return piece, column
    if piece < kept.alignments[owner, LAST]:
        piece += 1
        if pieces[piece, KIND] == HORIZONTAL:
            piece += 1
        return piece, pieces[piece, QUERY_FIRST] - query + shift
    piece = kept.alignments[owner, HIGH_RIGHT if right else HIGH_LEFT]
    if piece < 0:
        return piece, column
    column = pieces[piece, QUERY_FIRST] - query + shift
    if pieces[piece, KIND] == DIAGONAL:
        column += row - (pieces[piece, TARGET_FIRST] - target)
    return piece, column


@uncounted
def _hole(fence, holes, first, last, low, high):
    """Note masked columns first..last of this row if they meet [low, high), in their order."""
    if last < low or first >= high:
        return
    i = fence[HOLES]
    while i > 0 and holes[i - 1, 0] > first:
        holes[i, 0], holes[i, 1] = holes[i - 1, 0], holes[i - 1, 1]
        i -= 1
    holes[i, 0], holes[i, 1] = first, last
    fence[HOLES] += 1


@uncounted
def _start(kept, fence, holes, at, piece, row, low, high):
    """Let the alignment at slot `at` of a fence go on with a piece at this row."""
    pieces = kept.pieces
    target, query = fence[ANCHOR_TARGET], fence[ANCHOR_QUERY]
    if fence[LEFTWARD]:
        column, last, end = query - pieces[piece, QUERY_LAST], query - pieces[piece, QUERY_FIRST], target - pieces[piece, TARGET_FIRST]
    else:
        column, last, end = pieces[piece, QUERY_FIRST] - query, pieces[piece, QUERY_LAST] - query, pieces[piece, TARGET_LAST] - target
    if pieces[piece, KIND] != HORIZONTAL:
        _hole(fence, holes, column, column, low, high)
    elif column >= 0:  # one that starts left of the anchor masks nothing
        _hole(fence, holes, column, last, low, high)
    fence[at + AT_PIECE], fence[at + SINCE], fence[at + COLUMN], fence[at + UNTIL] = piece, row, column, end


@inline
def _go_on(kept, fence, holes, at, row, low, high):
    """Bring the alignment at slot `at` of a fence to this row, from an earlier one, and note what it masks there. Returns whether it may mask this row or later
    ones."""
    pieces, leftward = kept.pieces, fence[LEFTWARD] != 0
    onward = np.int64(-1 if leftward else 1)
    while True:
        piece = fence[at + AT_PIECE]
        # A piece lasts a row at least, even where it is empty.
        next_row = max(fence[at + SINCE], fence[at + UNTIL]) + 1
        if next_row > row:
            if pieces[piece, KIND] == DIAGONAL:
                fence[at + COLUMN] += row - fence[at + SINCE]
                fence[at + SINCE] = row
            _hole(fence, holes, fence[at + COLUMN], fence[at + COLUMN], low, high)
            return True
        ends = kept.alignments[pieces[piece, OWNER]]
        if piece == ends[FIRST if leftward else LAST] or _on_left(fence, ends, low):
            return False
        piece += onward
        first = low if next_row == row else NOWHERE
        _start(kept, fence, holes, at, piece, next_row, first, high)
        if pieces[piece, KIND] == HORIZONTAL:
            _start(kept, fence, holes, at, piece + onward, next_row, first, high)
        if next_row == row:
            return True


@inline
def _on_left(fence, ends, low):
    """Tell whether all of an alignment is left of a column. Columns only rise along it, and so does the first one of a row: what is left of it stays there."""
    return (fence[ANCHOR_QUERY] - ends[LOW_QUERY] if fence[LEFTWARD] else ends[HIGH_QUERY] - fence[ANCHOR_QUERY]) + 2 < low


@inline
def _copy(fence, at, to):
    """Copy the four slots of an alignment."""
    for slot in range(4):
        fence[to + slot] = fence[at + slot]


@inline
def _wait(fence, at):
    """Let the alignment at slot `at` wait until a row is so wide."""
    fence[WAITING] += 1
    _copy(fence, at, len(fence) - 4 * fence[WAITING])
    fence[NEAREST] = min(fence[NEAREST], fence[at + COLUMN])


@uncounted
def step(kept, fence, holes, row, low, high):
    """Move a fence on to the next row of the extension.

    Then the slots LOW_PIECE and HIGH_PIECE are the pieces that limit the row (-1: none), FIRST_COLUMN its first column, END_COLUMN one past its last one; and
    `holes` has HOLES masked stretches that meet columns [low, high), by first column, ends included.
    """
    apart()
    leftward = fence[LEFTWARD] != 0
    if fence[LOW_PIECE] >= 0:
        fence[LOW_PIECE], fence[FIRST_COLUMN] = _followed(kept, fence, fence[LOW_PIECE], fence[FIRST_COLUMN], row, leftward, 1)
    if fence[HIGH_PIECE] >= 0:
        fence[HIGH_PIECE], fence[END_COLUMN] = _followed(kept, fence, fence[HIGH_PIECE], fence[END_COLUMN], row, not leftward, -1)
        if fence[HIGH_PIECE] < 0:
            fence[END_COLUMN] = -1
    fence[HOLES] = 0
    onward = np.int64(-1 if leftward else 1)
    still = np.int64(HEADER)
    for i in range(fence[MASKING]):
        at = HEADER + 4 * i
        if still != at:
            _copy(fence, at, still)
        if _go_on(kept, fence, holes, still, row, low, high):
            still += 4
    if high > fence[NEAREST]:
        count = fence[WAITING]
        fence[WAITING], fence[NEAREST] = 0, NOWHERE
        for i in range(count):
            at = len(fence) - 4 * (i + 1)
            if fence[at + COLUMN] < high and not _go_on(kept, fence, holes, at, row, low, high):
                continue
            if fence[at + COLUMN] < high:
                _copy(fence, at, still)
                still += 4
            else:
                _wait(fence, at)
    place = fence[ANCHOR_TARGET] + onward * row
    if place >> BLOCK_BITS != fence[BLOCK]:
        fence[BLOCK] = place >> BLOCK_BITS
        mark = newest(kept, key_of(ENDS if leftward else STARTS, fence[BLOCK], 0))
        fence[BEGINNING] = kept.marks[mark, WITHIN] if mark >= 0 else 0
    mark = NOTHING
    if fence[BEGINNING] & bit_of(place):
        mark = newest(kept, key_of(BY_END if leftward else BY_START, place, 0))
    while mark >= 0:
        alignment = kept.marks[mark, MARKED]
        mark = kept.marks[mark, BEFORE]
        ends = kept.alignments[alignment]
        if _on_left(fence, ends, low):
            continue
        _start(kept, fence, holes, still, ends[LAST if leftward else FIRST], row, low, high)
        if fence[still + COLUMN] < high:
            still += 4
        else:
            _wait(fence, still)
    fence[MASKING] = (still - HEADER) >> 2
