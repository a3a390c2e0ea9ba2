# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Fences: what the alignments kept so far leave of a row of a later extension (LASTZ.md 12, habits of one row or column included).

A kept alignment is a list of pieces: a diagonal run, or a gap along the row (horizontal) or down the rows (vertical), each with its first and last
place on target and query, ends included. Two gaps that touch have an empty diagonal between them. The nearest pieces left and right of an anchor on
its row are its fences; they are followed row by row along their alignments, and where one ends to the neighbour which that alignment had when it was
kept. Alignments that begin beyond the anchor's row (in the direction of the extension) mask their own cells instead.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tidalign.kernels.runtime.numba_cache import inline
from tidalign.kernels.runtime.uncounted import uncounted
from tidalign.kernels.runtime.vectors import apart

DIAGONAL, HORIZONTAL, VERTICAL = (np.int64(kind) for kind in range(3))

NO_PIECE = NOTHING = np.int64(-1)
"""No piece, and no mark."""

# Columns of a piece.
KIND, TARGET_FIRST, QUERY_FIRST, TARGET_LAST, QUERY_LAST, OWNER = range(6)
# Columns of a kept alignment: its ends (included), its first and last piece, and the pieces beside its low and high end when it was kept.
LOW_TARGET, LOW_QUERY, HIGH_TARGET, HIGH_QUERY, FIRST, LAST, LOW_LEFT, LOW_RIGHT, HIGH_LEFT, HIGH_RIGHT = range(10)

# What kept alignments are found by: a block of target rows that they touch, such a block and one of columns, their first target place, their last one. And
# where the rows of a block are at which some begin, and end.
BY_ROWS, BY_CELL, BY_START, BY_END, STARTS, ENDS = range(6)
# Columns of a key: itself, the key before in its bucket, its newest mark. Columns of a mark, by which an alignment is found: the alignment, the key's mark
# before, its first and last row of the block of rows. By rows a chunk of crossings is found, with how many there are in it; by STARTS and ENDS the rows
# alone, a bit for sixteen.
KEY, KEY_BEFORE, NEWEST = range(3)
MARKED, BEFORE, WITHIN = range(3)
# Columns of a crossing: an alignment, its first and last row of a block of rows, and its first and last query place there.
CROSSING, ROWS, LEFTMOST, RIGHTMOST = range(4)

BEFORE_ALL = np.int64(-1) << 62
"""No block."""

CHUNK = np.int64(8)
"""Crossings that lie side by side: in repeats thousands of alignments cross a row, and each that is looked for in memory by itself takes a tenth of a
microsecond."""

BLOCK_BITS = np.int64(10)
"""A block has 1,024 letters: even in repeats few alignments cross a block of rows and one of columns."""

LAST_OF_BLOCK = (np.int64(1) << BLOCK_BITS) - 1
"""Place of the last row in a block."""

Integers = npt.NDArray[np.int64]


class KeptAlignments(NamedTuple):
    """Alignments kept so far; arrays have room for more.

    pieces: int64[., 6]; alignments: int64[., 10]; marks, keys: int64[., 3]; crossings: int64[., 4]. buckets: int64[a power of two], of each bucket of keys the
    newest one, or -1. counts: pieces, alignments, marks, crossings (whole chunks), keys.
    """

    pieces: Integers
    alignments: Integers
    marks: Integers
    crossings: Integers
    keys: Integers
    buckets: Integers
    counts: Integers


# Slots of a fence: the pieces followed on the left and right, their columns, whether they limit this row; anchor, direction, alignments that mask now, and
# this row's masks; the row's block, and where in it alignments begin in this direction; alignments that may mask later rows, and the least of their columns.
# Then four slots for each that masks; and from the end backwards for each that may mask later, which is so far on the right that no row was as wide.
LOW_PIECE, HIGH_PIECE, FIRST_COLUMN, END_COLUMN, ANCHOR_TARGET, ANCHOR_QUERY, LEFTWARD, MASKING, HOLES, BLOCK, BEGINNING, WAITING, NEAREST = range(13)
HEADER = 16
AT_PIECE, SINCE, COLUMN, UNTIL = range(4)

NOWHERE = np.int64(1) << 62
"""A column beyond all that there are."""


def empty() -> KeptAlignments:
    """Make the arrays of kept alignments, none yet."""
    shapes = (1024, 6), (64, 10), (256, 3), (512, 4), (256, 3), (256,)
    pieces, alignments, marks, crossings, keys, buckets = (np.full(shape, -1, np.int64) for shape in shapes)
    return KeptAlignments(pieces, alignments, marks, crossings, keys, buckets, np.zeros(5, np.int64))


def room(kept: KeptAlignments) -> tuple[Integers, Integers]:
    """Make arrays for the fence of one extension and for the masks of a row, large enough for all alignments kept so far."""
    count = len(kept.alignments)
    return np.zeros(HEADER + 4 * (count + 1), np.int64), np.zeros((2 * count + 2, 2), np.int64)


@inline
def column_at(pieces, piece, target):
    """Give the query place of a piece at a target row."""
    column = pieces[piece, QUERY_FIRST]
    if pieces[piece, KIND] == DIAGONAL:
        column += target - pieces[piece, TARGET_FIRST]
    return column


@inline
def key_of(what, place, column):
    """Make the key of a block of rows, of a cell (a block of rows, a block of columns), or of a target place; column: 0 but for cells."""
    if what == BY_CELL:
        place = (place << 31) | column
    return (place << 3) | what


@inline
def bit_of(place):
    """Give the bit of a row in its block."""
    return np.int64(1) << ((place & LAST_OF_BLOCK) >> (BLOCK_BITS - 6))


@inline
def bucket_of(kept, key):
    """Give the bucket of a key."""
    mixed = ((key & 0x7FFFFFFF) * 0x1E3779B1) ^ ((key >> 31) * 0x05EBCA6B)
    return (mixed >> 16) & (len(kept.buckets) - 1)


@uncounted
def find_key(kept, key):
    """Find where a key is, -1: nowhere."""
    at = kept.buckets[bucket_of(kept, key)]
    while at >= 0 and kept.keys[at, KEY] != key:
        at = kept.keys[at, KEY_BEFORE]
    return at


@uncounted
def newest(kept, key):
    """Find the newest mark of a key, -1: none."""
    at = find_key(kept, key)
    return kept.keys[at, NEWEST] if at >= 0 else at


@uncounted
def piece_at(kept, alignment, target):
    """Find the first piece of an alignment that does not end before a target row (at least one does not)."""
    pieces = kept.pieces
    low, high = kept.alignments[alignment, FIRST], kept.alignments[alignment, LAST]
    while low < high:
        middle = (low + high) >> 1
        if pieces[middle, TARGET_LAST] >= target:
            high = middle
        else:
            low = middle + 1
    return low


@uncounted
def begin(kept, fence, left, right, target, query, leftward):
    """Set a fence up for one side of an anchor; `left`, `right` as `beside` gives them."""
    pieces = kept.pieces
    low = high = np.int64(0)
    if left >= 0:
        low = column_at(pieces, left, target) - query
    if right >= 0:
        high = column_at(pieces, right, target) - query
    if leftward:
        # Going left they change roles.
        left, right = right, left
        low, high = -high + 1, -low - 1
    fence[LOW_PIECE], fence[HIGH_PIECE], fence[FIRST_COLUMN], fence[END_COLUMN] = left, right, low, high
    fence[ANCHOR_TARGET], fence[ANCHOR_QUERY], fence[LEFTWARD] = target, query, leftward
    fence[MASKING] = 0
    fence[WAITING], fence[NEAREST] = 0, NOWHERE
    fence[HOLES] = 0
    fence[BLOCK] = BEFORE_ALL


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


@inline
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


@inline
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
