# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""The sequential stage of exact mode: what is kept, what an anchor meets of it, and whether an extension that knew of no fences stands (LASTZ.md 15)."""

import numpy as np

from tidalign.kernels.extension.fences import (
    BIN_BITS,
    DIAGONAL,
    FIRST,
    HIGH,
    HIGH_LEFT,
    HIGH_QUERY,
    HIGH_RIGHT,
    HIGH_TARGET,
    HOLES,
    HORIZONTAL,
    KIND,
    LAST,
    LOW,
    LOW_LEFT,
    LOW_QUERY,
    LOW_RIGHT,
    LOW_TARGET,
    ONE,
    OTHER,
    OWNER,
    QUERY_FIRST,
    QUERY_LAST,
    TARGET_FIRST,
    TARGET_LAST,
    VERTICAL,
    begin,
    beside,
    column_at,
    piece_at,
    step,
)
from tidalign.kernels.extension.side import DOWN, PAIR
from tidalign.kernels.gapped.speculated import ABOVE, LOOKED, REJECTED, UNDECIDED, UNKNOWN
from tidalign.kernels.runtime.numba_cache import inline, jit

MARGIN = np.int64(2)
"""Fences and masks lie up to two rows and columns off their alignment."""

# How `advance` ends: no anchor left, or enough done; one to be extended; arrays of what is kept have no room for the next.
AT_END, EXTEND, FULL = range(3)

# What `advance` counts: anchors whose free extension stands, below the threshold and above it; the cells of both; anchors on kept alignments.
PASSED, STOOD, CELLS, SKIPPED = range(4)


@jit
def _insert(order, alignment, places, falling):
    """Puts the newest alignment into an order of all by their places, before those that are equal."""
    low, high = np.int64(0), alignment
    while low < high:
        middle = (low + high) >> 1
        one = places[order[middle]]
        if one > places[alignment] if falling else one < places[alignment]:
            low = middle + 1
        else:
            high = middle
    for i in range(alignment, low, -1):
        order[i] = order[i - 1]
    order[low] = alignment


@jit
def keep(kept, ends, operations, lengths):
    """Adds an alignment; arrays have room. ends: target start, target end, query start, query end, half open."""
    pieces, counts = kept.pieces, kept.counts
    alignment = counts[1]
    first = n = counts[0]
    t, q = ends[0], ends[2]
    i = 0
    while t < ends[1] or q < ends[3]:
        length = np.int64(0)
        if i < len(operations) and operations[i] == PAIR:
            length = lengths[i]
            i += 1
        if n > first:
            last_t, last_q = pieces[n - 1, TARGET_LAST], pieces[n - 1, QUERY_LAST]
            pieces[n, KIND] = HORIZONTAL if t == last_t + 1 else VERTICAL
            pieces[n, TARGET_FIRST], pieces[n, QUERY_FIRST], pieces[n, TARGET_LAST], pieces[n, QUERY_LAST] = last_t + 1, last_q + 1, t - 1, q - 1
            pieces[n, OWNER] = alignment
            n += 1
        pieces[n, KIND], pieces[n, OWNER] = DIAGONAL, alignment
        pieces[n, TARGET_FIRST], pieces[n, QUERY_FIRST], pieces[n, TARGET_LAST], pieces[n, QUERY_LAST] = t, q, t + length - 1, q + length - 1
        n += 1
        t += length
        q += length
        if i < len(operations) and operations[i] != PAIR:
            if operations[i] == DOWN:
                t += lengths[i]
            else:
                q += lengths[i]
            i += 1
    row = kept.alignments[alignment]
    row[LOW_TARGET], row[HIGH_TARGET], row[LOW_QUERY], row[HIGH_QUERY] = ends[0], ends[1] - 1, ends[2], ends[3] - 1
    row[FIRST], row[LAST] = first, n - 1
    _, row[LOW_LEFT], row[LOW_RIGHT] = beside(kept, row[LOW_TARGET], row[LOW_QUERY])
    _, row[HIGH_LEFT], row[HIGH_RIGHT] = beside(kept, row[HIGH_TARGET], row[HIGH_QUERY])
    _insert(kept.by_start, alignment, kept.alignments[:, LOW_TARGET], False)
    _insert(kept.by_end, alignment, kept.alignments[:, HIGH_TARGET], True)
    entry = counts[2]
    for block in range(row[LOW_TARGET] >> BIN_BITS, (row[HIGH_TARGET] >> BIN_BITS) + 1):
        kept.entries[entry, 0], kept.entries[entry, 1] = alignment, kept.heads[block]
        kept.heads[block] = entry
        entry += 1
    counts[0], counts[1], counts[2] = n, alignment + 1, entry


@inline
def _columns(kept, alignment, low, high):
    """First and last query place of an alignment at target rows low..high, both of which it has; gaps at their borders included."""
    pieces = kept.pieces
    at = piece_at(kept, alignment, low)
    first = column_at(pieces, at, low)
    if low == pieces[at, TARGET_FIRST] and at > kept.alignments[alignment, FIRST]:
        first = pieces[at - 1, QUERY_FIRST]
    at = piece_at(kept, alignment, high)
    last = column_at(pieces, at, high)
    while high == pieces[at, TARGET_LAST] and at < kept.alignments[alignment, LAST] and pieces[at + 1, TARGET_LAST] <= high:
        at += 1
        last = max(last, pieces[at, QUERY_LAST])
    return first, last


@jit
def clear(kept, low, high, first, last):
    """Whether no kept alignment comes near the box of target rows low..high and query columns first..last."""
    low, high, first, last = max(low - MARGIN, 0), high + MARGIN, first - MARGIN, last + MARGIN
    for block in range(low >> BIN_BITS, min(high >> BIN_BITS, len(kept.heads) - 1) + 1):
        entry = kept.heads[block]
        while entry >= 0:
            alignment = kept.entries[entry, 0]
            entry = kept.entries[entry, 1]
            ends = kept.alignments[alignment]
            top, bottom = max(low, ends[LOW_TARGET]), min(high, ends[HIGH_TARGET])
            if top > bottom or ends[LOW_QUERY] > last or ends[HIGH_QUERY] < first:
                continue
            leftmost, rightmost = _columns(kept, alignment, top, bottom)
            if leftmost <= last and rightmost >= first:
                return False
    return True


@jit
def untouched(kept, fence, holes, leftward, anchor, ranges):
    """Whether no fence or mask reaches a column that one side of a free extension looked at; ranges: int32[rows, 2], of rows 1.. ."""
    t, q, left, right = anchor
    begin(kept, fence, left, right, t, q, leftward)
    for i in range(ranges.shape[0]):
        low, high = np.int64(ranges[i, 0]), np.int64(ranges[i, 1])
        step(kept, fence, holes, np.int64(i + 1), low, high)
        if fence[ONE] >= 0 and fence[LOW] > low:
            return False
        if (fence[OTHER] >= 0 and fence[HIGH] <= high) or fence[HOLES] > 0:
            return False
    return True


@inline
def _apart(kept, t, q, known, boxes, i):
    """Whether nothing kept comes near what an anchor (BELOW, ABOVE or REJECTED) is known by: then it is on no alignment, and its free extension stands."""
    around = known[i] == REJECTED
    box = boxes[i]
    above, below = (LOOKED, LOOKED) if around else (box[0], box[2])
    before, after = (LOOKED, LOOKED) if around else (box[1], box[3])
    return clear(kept, t[i] - above, t[i] + below, q[i] - before, q[i] + after)


@inline
def _stands(kept, fence, holes, t, q, known, free, i, left, right):
    """Whether an anchor's free extension reaches the threshold and stands, though something kept comes near; left, right: the pieces beside it."""
    if known[i] != ABOVE:
        return False
    row = free.row[i]
    first, middle, last = free.range_offsets[2 * row], free.range_offsets[2 * row + 1], free.range_offsets[2 * row + 2]
    anchor = (t[i], q[i], left, right)
    stands = untouched(kept, fence, holes, True, anchor, free.ranges[first:middle])
    return stands and untouched(kept, fence, holes, False, anchor, free.ranges[middle:last])


@inline
def _width(ranges):
    """Cells of the rows of one side."""
    cells = np.int64(0)
    for i in range(ranges.shape[0]):
        cells += np.int64(ranges[i, 1]) - np.int64(ranges[i, 0])
    return cells


@jit
def has_room(kept, ends, runs):
    """Whether arrays of what is kept have room for an alignment of so many runs."""
    pieces, alignments, entries = kept.counts
    blocks = (ends[1] >> BIN_BITS) - (ends[0] >> BIN_BITS) + 1
    return pieces + 2 * runs + 1 <= len(kept.pieces) and alignments < len(kept.alignments) and entries + blocks <= len(kept.entries)


@jit
def advance(kept, fence, holes, t, q, known, boxes, free, i, stop, most, chosen, counts):
    """Walks anchors [i, stop): past those on a kept alignment, and past those whose extension is sure to stay below the threshold; keeps
    free extensions that reach it and met nothing.

    known: uint8[n], UNKNOWN .. REJECTED. boxes: int64[n, 4], rows and columns that a free extension looked at left and right. free: of those ABOVE.
    most: cells after which it ends. chosen: int64[n], to which anchors whose free extension is kept are added. counts: int64[4], PASSED .. SKIPPED, added to;
    of a box half the cells count.
    Returns (anchor, AT_END | EXTEND | FULL, nearest pieces left and right of it).
    """
    while i < stop and counts[CELLS] < most:
        if known[i] == UNKNOWN or known[i] == UNDECIDED or not _apart(kept, t, q, known, boxes, i):
            on, left, right = beside(kept, t[i], q[i])
            if on:
                counts[SKIPPED] += 1
                i += 1
                continue
            if not _stands(kept, fence, holes, t, q, known, free, i, left, right):
                return i, EXTEND, left, right
        if known[i] != ABOVE:
            box = boxes[i]
            counts[PASSED] += 1
            counts[CELLS] += (box[0] * box[1] + box[2] * box[3]) >> 1
            i += 1
            continue
        row = free.row[i]
        first, last = free.range_offsets[2 * row], free.range_offsets[2 * row + 2]
        a, b = free.run_offsets[row], free.run_offsets[row + 1]
        if not has_room(kept, free.ends[row], b - a):
            return i, FULL, np.int64(-1), np.int64(-1)
        keep(kept, free.ends[row], free.run_ops[a:b], free.run_lengths[a:b])
        chosen[counts[STOOD]] = i
        counts[STOOD] += 1
        counts[CELLS] += _width(free.ranges[first:last])
        i += 1
    return i, AT_END, np.int64(-1), np.int64(-1)


@jit
def ahead(kept, t, q, known, i, room):
    """Next anchors, from the i-th on and not far from it, of which nothing is known and that lie on no kept alignment: int64[at most room]."""
    found = np.empty(room, np.int64)
    n = 0
    stop = min(len(t), i + 64 * room)
    while i < stop and n < room:
        if known[i] == UNKNOWN and not beside(kept, t[i], q[i])[0]:
            found[n] = i
            n += 1
        i += 1
    return found[:n].copy()
