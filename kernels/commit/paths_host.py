# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Which anchors are about where an alignment runs, and alignments that are kept because none is."""

import numpy as np

from tidalign.kernels.commit.host import has_room, keep
from tidalign.kernels.extension.fences import BIN_BITS, HIGH_QUERY, HIGH_TARGET, LOW_QUERY, LOW_TARGET, column_at, piece_at
from tidalign.kernels.runtime.numba_cache import jit


@jit
def near(kept, t, q, diagonals):
    """Of each anchor, whether a kept alignment is on its row within so many diagonals: bool[n]."""
    found = np.zeros(len(t), np.bool_)
    for i in range(len(t)):
        found[i] = _within(kept, t[i], q[i], diagonals)
    return found


@jit
def _within(kept, target, query, diagonals):
    entry = kept.heads[target >> BIN_BITS]
    while entry >= 0:
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
    """Keeps those of alignments i.. of which no earlier one is near the anchor (t, q). Returns the first for which there is no room, or how many there are."""
    while i < len(t):
        a, b = run_offsets[i], run_offsets[i + 1]
        if not _within(kept, t[i], q[i], diagonals):
            if not has_room(kept, ends[i], b - a):
                return i
            keep(kept, ends[i], run_ops[a:b], run_lengths[a:b])
        i += 1
    return i
