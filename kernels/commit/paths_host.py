# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Alignments that are kept: how one is added, which anchors are about where one runs, and alignments that are kept because none is."""

import numpy as np

from tidalign.kernels.extension.fences import (
    BIN_BITS,
    DIAGONAL,
    FIRST,
    HIGH_LEFT,
    HIGH_QUERY,
    HIGH_RIGHT,
    HIGH_TARGET,
    HORIZONTAL,
    KIND,
    LAST,
    LOW_LEFT,
    LOW_QUERY,
    LOW_RIGHT,
    LOW_TARGET,
    OWNER,
    QUERY_FIRST,
    QUERY_LAST,
    TARGET_FIRST,
    TARGET_LAST,
    VERTICAL,
    beside,
    column_at,
    piece_at,
)
from tidalign.kernels.extension.side import DOWN, PAIR
from tidalign.kernels.runtime.numba_cache import jit


@jit
def forget(kept):
    """Forget all alignments; the arrays stay, of which one is as long as the target."""
    for alignment in range(kept.counts[1]):
        for block in range(kept.alignments[alignment, LOW_TARGET] >> BIN_BITS, (kept.alignments[alignment, HIGH_TARGET] >> BIN_BITS) + 1):
            kept.heads[block] = -1
    kept.counts[:] = 0


@jit
def _insert(order, alignment, places, falling):
    """Put the newest alignment into an order of all by their places, before those that are equal."""
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
    """Add an alignment; arrays have room. ends: target start, target end, query start, query end, half open."""
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


@jit
def has_room(kept, ends, runs):
    """Tell whether arrays of what is kept have room for an alignment of so many runs."""
    pieces, alignments, entries = kept.counts
    blocks = (ends[1] >> BIN_BITS) - (ends[0] >> BIN_BITS) + 1
    return pieces + 2 * runs + 1 <= len(kept.pieces) and alignments < len(kept.alignments) and entries + blocks <= len(kept.entries)


@jit
def near(kept, t, q, diagonals, since):
    """Tell of each anchor whether a kept alignment is on its row within so many diagonals: bool[n]. since: of those alone whose entries came after so many."""
    found = np.zeros(len(t), np.bool_)
    for i in range(len(t)):
        found[i] = _within(kept, t[i], q[i], diagonals, since)
    return found


@jit
def _within(kept, target, query, diagonals, since):
    entry = kept.heads[target >> BIN_BITS]
    while entry >= since:  # the last one is the first of its block
        alignment = kept.entries[entry, 0]
        entry = kept.entries[entry, 1]
        ends = kept.alignments[alignment]
        if target < ends[LOW_TARGET] or target > ends[HIGH_TARGET] or query < ends[LOW_QUERY] - diagonals or query > ends[HIGH_QUERY] + diagonals:
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
        if not _within(kept, t[i], q[i], diagonals, 0):
            if not has_room(kept, ends[i], b - a):
                return i
            keep(kept, ends[i], run_ops[a:b], run_lengths[a:b])
        i += 1
    return i
