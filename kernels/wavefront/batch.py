# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""A group of pairs on one core: encode them all, then align them all, without the interpreter."""

import numpy as np

from tidalign.kernels.letters.host import BEHIND, encode_ascii, encode_packed
from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.runtime.workspace import CIGAR_COUNT, CIGAR_FIRST, LETTERS, STATE, empty_ring
from tidalign.kernels.wavefront import pruned
from tidalign.kernels.wavefront.host import NO, NO_BOUND, M, sweep
from tidalign.kernels.wavefront.solve import counted, solve


@jit
def align_encoded(work, spare, rows, first, stop, places, n, m, model, free, unit, most, keep, null, out, ends):
    """Align pairs rows[first:stop], whose letters lie encoded at `places` (query and target, bytes into LETTERS).

    Fills out[i] = penalty, query start, query end, target start, target end and ends[i] = the first and last operation in the CIGAR. The penalty is negative
    where it is above `most` units and all wavefronts would have to be kept.
    """
    for r in range(first, stop):
        i = rows[r]
        q = work[LETTERS] + places[r - first, 0]
        t = work[LETTERS] + places[r - first, 1]
        rows_n = n[i]
        columns_m = m[i]
        qb = min(free[0], rows_n)
        qe = min(free[1], rows_n)
        tb = min(free[2], columns_m)
        te = min(free[3], columns_m)
        work[CIGAR_FIRST] = work[CIGAR_COUNT]
        ends[i, 0] = work[CIGAR_COUNT]
        s, begin, end = solve(work, spare, q, rows_n, t, columns_m, model, (qb, qe, tb, te), M, M, NO_BOUND, most, keep, null)
        ends[i, 1] = work[CIGAR_COUNT]
        out[0, i] = s * unit
        out[1, i] = max(-begin, 0)
        out[2, i] = min(rows_n, columns_m - end)
        out[3, i] = max(begin, 0)
        out[4, i] = min(columns_m, rows_n + end)


@jit
def align_pruned(work, rows, first, stop, places, n, m, model, free, cut, edit, unit, keep, null, out, ends):
    """Align pairs with a heuristic, otherwise as `align_encoded`; the penalty is negative where it leaves no path."""
    for r in range(first, stop):
        i = rows[r]
        q = work[LETTERS] + places[r - first, 0]
        t = work[LETTERS] + places[r - first, 1]
        ends_free = (min(free[0], n[i]), min(free[1], n[i]), min(free[2], m[i]), min(free[3], m[i]))
        work[CIGAR_FIRST] = work[CIGAR_COUNT]
        ends[i, 0] = work[CIGAR_COUNT]
        s, begin, end = pruned.solve(work, q, n[i], t, m[i], model, ends_free, cut, edit, unit, keep, null)
        ends[i, 1] = work[CIGAR_COUNT]
        out[0, i] = -1
        if s >= 0:
            out[0, i] = s * unit
            out[1, i] = max(-begin, 0)
            out[2, i] = min(n[i], m[i] - end)
            out[3, i] = max(begin, 0)
            out[4, i] = min(m[i], n[i] + end)


@jit
def penalties_within(work, rows, first, stop, places, n, m, model, free, limits, null, out):
    """Find the penalties of pairs rows[first:stop], encoded as `batch.align_encoded` has them -> out[i], in units; -1 where it is above limits[i]."""
    states, _, o1, e1, o2, e2 = model
    for r in range(first, stop):
        i = rows[r]
        ends = (min(free[0], n[i]), min(free[1], n[i]), min(free[2], m[i]), min(free[3], m[i]))
        goal = m[i] - n[i]
        # Letters of the gap that lengths alone make necessary.
        apart = max(goal - ends[3] - ends[2], -goal - ends[1] - ends[0])
        least = np.int64(0)
        if apart > 0:
            least = o1 + e1 * apart
            if states == 5:
                least = min(least, o2 + e2 * apart)
        out[i] = -1
        if least <= limits[i]:
            q, t = work[LETTERS] + places[r - first, 0], work[LETTERS] + places[r - first, 1]
            counts = counted(q, n[i], t, m[i], model, ends, limits[i])
            out[i] = sweep(work, q, n[i], t, m[i], model, ends, M, M, limits[i], NO_BOUND, limits[i], counts, NO, null)
            if out[i] < 0:
                work[STATE] = 0
                empty_ring(work, 0)


@jit
def encode_ascii_group(work, rows, first, stop, places, query, query_offsets, target, target_offsets, tables):
    """Encode pairs rows[first:stop] of plain letters into LETTERS; `tables`: of the queries and of the targets."""
    at = 0
    for r in range(first, stop):
        i = rows[r]
        for side in range(2):
            letters, offsets = (query, query_offsets) if side == 0 else (target, target_offsets)
            places[r - first, side] = at
            length = offsets[i + 1] - offsets[i]
            encode_ascii(letters, offsets[i], length, tables[side], work[LETTERS] + at)
            at += length + BEHIND


@jit
def encode_packed_group(work, rows, first, stop, places, query, target, tables, other):
    """Encode pairs rows[first:stop] of packed letters; `query` and `target`: codes, their offsets, lengths, ambiguous bits and their offsets."""
    at = 0
    for r in range(first, stop):
        i = rows[r]
        for side in range(2):
            codes, code_offsets, lengths, ambiguous, ambiguous_offsets = query if side == 0 else target
            places[r - first, side] = at
            begin, end = ambiguous_offsets[i], ambiguous_offsets[i + 1]
            encode_packed(codes, code_offsets[i], lengths[i], tables[side], ambiguous, begin, end, other[side], work[LETTERS] + at)
            at += lengths[i] + BEHIND
