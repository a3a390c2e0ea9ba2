# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Alignments that are kept: how one is added, which anchors are about where one runs, and alignments that are kept because none is."""

import numpy as np

from tidalign.kernels.commit.beside import beside
from tidalign.kernels.extension.side import DOWN, PAIR
from tidalign.kernels.fences.kept import (
    BEFORE,
    BLOCK_BITS,
    BY_CELL,
    BY_END,
    BY_ROWS,
    BY_START,
    CHUNK,
    CROSSING,
    DIAGONAL,
    ENDS,
    FIRST,
    HIGH_LEFT,
    HIGH_QUERY,
    HIGH_RIGHT,
    HIGH_TARGET,
    HORIZONTAL,
    KEY,
    KEY_BEFORE,
    KIND,
    LAST,
    LAST_OF_BLOCK,
    LEFTMOST,
    LOW_LEFT,
    LOW_QUERY,
    LOW_RIGHT,
    LOW_TARGET,
    MARKED,
    NEWEST,
    NOTHING,
    OWNER,
    QUERY_FIRST,
    QUERY_LAST,
    RIGHTMOST,
    ROWS,
    STARTS,
    TARGET_FIRST,
    TARGET_LAST,
    VERTICAL,
    WITHIN,
    bit_of,
    bucket_of,
    column_at,
    find_key,
    key_of,
    newest,
    piece_at,
)
from tidalign.kernels.runtime.numba_cache import inline, jit


@jit
def forget(kept):
    """Forget all alignments; the arrays stay."""
    for at in range(kept.counts[4]):
        kept.buckets[bucket_of(kept, kept.keys[at, KEY])] = -1
    for i in range(len(kept.counts)):
        kept.counts[i] = 0


@jit
def link(kept):
    """Put the keys into buckets that are empty."""
    for at in range(kept.counts[4]):
        _link(kept, at)


@inline
def _link(kept, at):
    """Put a key into its bucket, before all that are there."""
    bucket = bucket_of(kept, kept.keys[at, KEY])
    kept.keys[at, KEY_BEFORE] = kept.buckets[bucket]
    kept.buckets[bucket] = at


@jit
def _mark(kept, marked, key, within):
    """Have an alignment, or a chunk of crossings, found by a key."""
    at, mark = find_key(kept, key), kept.counts[2]
    before = NOTHING
    if at >= 0:
        before = kept.keys[at, NEWEST]
    else:
        at = kept.counts[4]
        kept.counts[4] = at + 1
        kept.keys[at, KEY] = key
        _link(kept, at)
    kept.keys[at, NEWEST] = mark
    kept.marks[mark, MARKED], kept.marks[mark, BEFORE], kept.marks[mark, WITHIN] = marked, before, within
    kept.counts[2] = mark + 1


@inline
def _note(kept, key, bit):
    """Note at which rows of a block an alignment begins or ends."""
    mark = newest(kept, key)
    if mark < 0:
        _mark(kept, NOTHING, key, bit)
    else:
        kept.marks[mark, WITHIN] |= bit


@inline
def _next_crossing(kept, key):
    """Take the next crossing of a block of rows."""
    mark = newest(kept, key)
    if mark < 0 or kept.marks[mark, WITHIN] == CHUNK:
        mark = kept.counts[2]
        _mark(kept, kept.counts[3], key, np.int64(0))
        kept.counts[3] += CHUNK
    count = kept.marks[mark, WITHIN]
    kept.marks[mark, WITHIN] = count + 1
    return kept.marks[mark, MARKED] + count


@inline
def columns(kept, alignment, low, high):
    """Find the first and last query place of an alignment at target rows low..high, both of which it has; gaps at their borders included."""
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


@inline
def _lay(kept, ends, operations, lengths):
    """Add the pieces and the ends of an alignment; returns its number."""
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
    counts[0], counts[1] = n, alignment + 1
    return alignment


@jit
def keep(kept, ends, operations, lengths):
    """Add an alignment; arrays have room. ends: target start, target end, query start, query end, half open."""
    alignment = _lay(kept, ends, operations, lengths)
    row = kept.alignments[alignment]
    _, row[LOW_LEFT], row[LOW_RIGHT] = beside(kept, row[LOW_TARGET], row[LOW_QUERY])
    _, row[HIGH_LEFT], row[HIGH_RIGHT] = beside(kept, row[HIGH_TARGET], row[HIGH_QUERY])
    _mark(kept, alignment, key_of(BY_START, row[LOW_TARGET], 0), np.int64(0))
    _mark(kept, alignment, key_of(BY_END, row[HIGH_TARGET], 0), np.int64(0))
    _note(kept, key_of(STARTS, row[LOW_TARGET] >> BLOCK_BITS, 0), bit_of(row[LOW_TARGET]))
    _note(kept, key_of(ENDS, row[HIGH_TARGET] >> BLOCK_BITS, 0), bit_of(row[HIGH_TARGET]))
    top = row[LOW_TARGET]
    while top <= row[HIGH_TARGET]:
        block, bottom = top >> BLOCK_BITS, min(top | LAST_OF_BLOCK, row[HIGH_TARGET])
        within = ((top & LAST_OF_BLOCK) << BLOCK_BITS) | (bottom & LAST_OF_BLOCK)
        leftmost, rightmost = columns(kept, alignment, top, bottom)
        crossing = _next_crossing(kept, key_of(BY_ROWS, block, 0))
        kept.crossings[crossing, CROSSING], kept.crossings[crossing, ROWS] = alignment, within
        kept.crossings[crossing, LEFTMOST], kept.crossings[crossing, RIGHTMOST] = leftmost, rightmost
        for column in range(leftmost >> BLOCK_BITS, (rightmost >> BLOCK_BITS) + 1):
            _mark(kept, alignment, key_of(BY_CELL, block, column), within)
        top = bottom + 1


@jit
def keep_place(kept, ends, operations, lengths):
    """Add an alignment, as `keep` does, of which nothing will be asked but where it runs: `within` and `touched` find it, fences do not."""
    alignment = _lay(kept, ends, operations, lengths)
    row = kept.alignments[alignment]
    top = row[LOW_TARGET]
    while top <= row[HIGH_TARGET]:
        bottom = min(top | LAST_OF_BLOCK, row[HIGH_TARGET])
        within = ((top & LAST_OF_BLOCK) << BLOCK_BITS) | (bottom & LAST_OF_BLOCK)
        leftmost, rightmost = columns(kept, alignment, top, bottom)
        for column in range(leftmost >> BLOCK_BITS, (rightmost >> BLOCK_BITS) + 1):
            _mark(kept, alignment, key_of(BY_CELL, top >> BLOCK_BITS, column), within)
        top = bottom + 1


@jit
def most(ends, runs):
    """Count the pieces, marks (as many keys) and crossings that an alignment of so many runs takes at most.

    Marks: four for its ends, and for each block of rows that, its cells, and a gap that two blocks share.
    """
    blocks = (ends[1] >> BLOCK_BITS) - (ends[0] >> BLOCK_BITS) + 1
    return 2 * runs + 1, 4 + 3 * blocks + 2 * ((ends[3] - ends[2]) >> BLOCK_BITS) + 2, CHUNK * blocks


@jit
def has_room(kept, ends, runs):
    """Tell whether arrays of what is kept have room for an alignment of so many runs."""
    pieces, marks, crossings = most(ends, runs)
    fits = kept.counts[0] + pieces <= len(kept.pieces) and kept.counts[1] < len(kept.alignments)
    return fits and kept.counts[2] + marks <= len(kept.marks) and kept.counts[3] + crossings <= len(kept.crossings)


@jit
def near(kept, t, q, diagonals, since, cells):
    """Tell of each anchor whether a kept alignment is on its row within so many diagonals: bool[n]. since: of those alone kept after so many, whose cells are
    `touched`."""
    found = np.zeros(len(t), np.bool_)
    for i in range(len(t)):
        block, column = t[i] >> BLOCK_BITS, max(q[i] - diagonals, 0) >> BLOCK_BITS
        if cells[place_of(cells, block, column)] or cells[place_of(cells, block, (q[i] + diagonals) >> BLOCK_BITS)]:
            found[i] = within(kept, t[i], q[i], diagonals, since)
    return found


@inline
def place_of(cells, block, column):
    """Give the place of a cell in an array whose length is a power of two; several may have one."""
    return (block * 0x9E3B + column) & (len(cells) - 1)


@jit
def touched(kept, since, cells):
    """Note the cells of alignments kept after so many: bool[a power of two]."""
    for alignment in range(since, kept.counts[1]):
        row = kept.alignments[alignment]
        top = row[LOW_TARGET]
        while top <= row[HIGH_TARGET]:
            bottom = min(top | LAST_OF_BLOCK, row[HIGH_TARGET])
            leftmost, rightmost = columns(kept, alignment, top, bottom)
            for column in range(leftmost >> BLOCK_BITS, (rightmost >> BLOCK_BITS) + 1):
                cells[place_of(cells, top >> BLOCK_BITS, column)] = True
            top = bottom + 1


@jit
def within(kept, target, query, diagonals, since):
    """Tell whether a kept alignment is on a row within so many diagonals of a query place; 0: at it. since: as `near` has it."""
    row = target & LAST_OF_BLOCK
    for column in range(max(query - diagonals, 0) >> BLOCK_BITS, ((query + diagonals) >> BLOCK_BITS) + 1):
        key = key_of(BY_CELL, target >> BLOCK_BITS, column)
        mark = newest(kept, key)
        while mark >= 0 and kept.marks[mark, MARKED] >= since:
            alignment, rows = kept.marks[mark, MARKED], kept.marks[mark, WITHIN]
            mark = kept.marks[mark, BEFORE]
            if row < rows >> BLOCK_BITS or row > rows & LAST_OF_BLOCK:
                continue
            if abs(column_at(kept.pieces, piece_at(kept, alignment, target), target) - query) <= diagonals:
                return True
    return False


@jit
def keep_apart(kept, t, q, ends, run_offsets, run_ops, run_lengths, i, diagonals):
    """Keep those of alignments from i on of which no earlier one is near the anchor (t, q). Returns the first for which there is no room, or how many there
    are."""
    while i < len(t):
        a, b = run_offsets[i], run_offsets[i + 1]
        if not within(kept, t[i], q[i], diagonals, 0):
            if not has_room(kept, ends[i], b - a):
                return i
            keep_place(kept, ends[i], run_ops[a:b], run_lengths[a:b])
        i += 1
    return i
