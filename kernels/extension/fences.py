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

NO_PIECE = np.int64(-1)
"""No piece."""

# Columns of a piece.
KIND, TARGET_FIRST, QUERY_FIRST, TARGET_LAST, QUERY_LAST, OWNER = range(6)
# Columns of a kept alignment: its ends (included), its first and last piece, and the pieces beside its low and high end when it was kept.
LOW_TARGET, LOW_QUERY, HIGH_TARGET, HIGH_QUERY, FIRST, LAST, LOW_LEFT, LOW_RIGHT, HIGH_LEFT, HIGH_RIGHT = range(10)

BIN_BITS = np.int64(12)
"""Kept alignments are found by the blocks of 4,096 target letters that they touch."""

Integers = npt.NDArray[np.int64]


class KeptAlignments(NamedTuple):
    """Alignments kept so far; arrays have room for more.

    pieces: int64[., 6]; alignments: int64[., 10]. by_start: alignments by first target place, of equal ones the newest first; by_end: by last target
    place, falling, of equal ones the newest first. heads: int64[bins], the last entry of each bin's list or -1; entries: int64[., 2], alignment and
    entry before. counts: pieces, alignments, entries.
    """

    pieces: Integers
    alignments: Integers
    by_start: Integers
    by_end: Integers
    heads: Integers
    entries: Integers
    counts: Integers


# Slots of a fence: the pieces followed on the left and right, their columns, whether they limit this row; anchor, direction, the next alignment to
# begin masking (place in by_start or by_end), alignments that mask now, and this row's masks. Then four slots for each that masks.
LOW_PIECE, HIGH_PIECE, FIRST_COLUMN, END_COLUMN, ANCHOR_TARGET, ANCHOR_QUERY, LEFTWARD, NEXT, MASKING, HOLES = range(10)
HEADER = 16
AT_PIECE, SINCE, COLUMN, UNTIL = range(4)


def empty(target: int) -> KeptAlignments:
    """Make the arrays of kept alignments, none yet, on a target of so many letters."""
    pieces, alignments, by_start, by_end, heads, entries = (
        np.full(shape, -1, np.int64) for shape in ((1024, 6), (64, 10), (64,), (64,), ((target >> int(BIN_BITS)) + 1,), (256, 2))
    )
    return KeptAlignments(pieces, alignments, by_start, by_end, heads, entries, np.zeros(3, np.int64))


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
def beside(kept, target, query):
    """Look along the row of a place: (whether the place is on a kept alignment, the nearest piece left of it, and right of it; -1: none)."""
    apart()
    on = False
    left = right = NO_PIECE
    left_gap = right_gap = np.int64(0)
    entry = kept.heads[target >> BIN_BITS]
    while entry >= 0:
        alignment = kept.entries[entry, 0]
        entry = kept.entries[entry, 1]
        if target < kept.alignments[alignment, LOW_TARGET] or target > kept.alignments[alignment, HIGH_TARGET]:
            continue
        piece = piece_at(kept, alignment, target)
        gap = column_at(kept.pieces, piece, target) - query
        if gap == 0:
            on = True
        elif gap > 0:
            if right < 0 or gap < right_gap or (gap == right_gap and _first_of(kept, piece, right)):
                right, right_gap = piece, gap
        elif left < 0 or gap > left_gap or (gap == left_gap and _first_of(kept, piece, left)):
            left, left_gap = piece, gap
    return on, left, right


@inline
def _first_of(kept, piece, other):
    """Tell whether LASTZ meets a piece's alignment before another's: by target start, of equal starts the newest first."""
    one, two = kept.pieces[piece, OWNER], kept.pieces[other, OWNER]
    start, other_start = kept.alignments[one, LOW_TARGET], kept.alignments[two, LOW_TARGET]
    return start < other_start or (start == other_start and one > two)


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
    fence[HOLES] = 0
    # The first alignment that begins beyond the anchor's row.
    order = kept.by_end if leftward else kept.by_start
    first, stop = np.int64(0), kept.counts[1]
    while first < stop:
        middle = (first + stop) >> 1
        beyond = kept.alignments[order[middle], HIGH_TARGET] < target if leftward else kept.alignments[order[middle], LOW_TARGET] > target
        if beyond:
            stop = middle
        else:
            first = middle + 1
    fence[NEXT] = first


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
        piece = fence[at + AT_PIECE]
        if fence[at + UNTIL] >= row:
            column = fence[at + COLUMN]
            if kept.pieces[piece, KIND] == DIAGONAL:
                column += row - fence[at + SINCE]
            _hole(fence, holes, column, column, low, high)
            if still != at:
                for slot in range(4):
                    fence[still + slot] = fence[at + slot]
        else:
            owner = kept.pieces[piece, OWNER]
            if piece == kept.alignments[owner, FIRST if leftward else LAST]:
                continue
            piece += onward
            _start(kept, fence, holes, still, piece, row, low, high)
            if kept.pieces[piece, KIND] == HORIZONTAL:
                _start(kept, fence, holes, still, piece + onward, row, low, high)
        still += 4
    order = kept.by_end if leftward else kept.by_start
    while fence[NEXT] < kept.counts[1]:
        alignment = order[fence[NEXT]]
        ends = kept.alignments[alignment]
        if (fence[ANCHOR_TARGET] - ends[HIGH_TARGET] if leftward else ends[LOW_TARGET] - fence[ANCHOR_TARGET]) > row:
            break
        fence[NEXT] += 1
        # Columns only rise along an alignment, and so does the first one of a row: what is left of it stays there.
        if (fence[ANCHOR_QUERY] - ends[LOW_QUERY] if leftward else ends[HIGH_QUERY] - fence[ANCHOR_QUERY]) + 2 < low:
            continue
        _start(kept, fence, holes, still, ends[LAST if leftward else FIRST], row, low, high)
        still += 4
    fence[MASKING] = (still - HEADER) >> 2
