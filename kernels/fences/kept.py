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
