"""A batch of pairs on one core: encode a group of pairs, align them, go on with the next group, all without the interpreter."""

import numpy as np

from tidalign.kernels.letters_host import BEHIND, encode_ascii, encode_packed
from tidalign.kernels.numba_cache import jit
from tidalign.kernels.wavefront_host import NONE, M, solve
from tidalign.kernels.workspace_host import CIGAR_COUNT, CIGAR_FIRST, LETTERS, reserve

GROUP = 1 << 17
"""Letters encoded at once: what stays in a core's own cache."""


@jit
def align_encoded(work, spare, rows, first, stop, places, n, m, model, free, unit, keep, null, out, ends):
    """Align pairs rows[first:stop], whose letters lie encoded at `places` (query and target, bytes into LETTERS).

    Fills out[i] = penalty, query start, query end, target start, target end and ends[i] = the first and last operation in the CIGAR.
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
        s, begin, end = solve(work, spare, q, rows_n, t, columns_m, model, (qb, qe, tb, te), M, M, NONE, keep, null)
        ends[i, 1] = work[CIGAR_COUNT]
        out[0, i] = s * unit
        out[1, i] = max(-begin, 0)
        out[2, i] = min(rows_n, columns_m - end)
        out[3, i] = max(begin, 0)
        out[4, i] = min(columns_m, rows_n + end)


@jit
def group_end(rows, first, n, m):
    """The rows from `first` on whose letters are encoded at once, and the bytes they take."""
    size = 0
    stop = first
    while stop < len(rows):
        more = n[rows[stop]] + m[rows[stop]] + 2 * BEHIND
        if stop > first and size + more > GROUP:
            break
        size += more
        stop += 1
    return stop, size


@jit
def align_ascii(work, spare, rows, query, query_offsets, target, target_offsets, table, n, m, model, free, unit, keep, null, out, ends):
    """Align pairs `rows` of plain letters; results as `align_encoded`."""
    first = 0
    while first < len(rows):
        stop, size = group_end(rows, first, n, m)
        reserve(work, LETTERS, size)
        places = np.empty((stop - first, 2), np.int64)
        at = 0
        for r in range(first, stop):
            i = rows[r]
            places[r - first, 0] = at
            encode_ascii(query, query_offsets[i], n[i], table[0], work[LETTERS] + at)
            at += n[i] + BEHIND
            places[r - first, 1] = at
            encode_ascii(target, target_offsets[i], m[i], table[1], work[LETTERS] + at)
            at += m[i] + BEHIND
        align_encoded(work, spare, rows, first, stop, places, n, m, model, free, unit, keep, null, out, ends)
        first = stop


@jit
def align_packed(work, spare, rows, query, target, tables, other, n, m, model, free, unit, keep, null, out, ends):
    """Align pairs `rows` of packed letters, `query` and `target` being (codes, code_offsets, ambiguous, ambiguous_offsets); results as `align_encoded`."""
    first = 0
    while first < len(rows):
        stop, size = group_end(rows, first, n, m)
        reserve(work, LETTERS, size)
        places = np.empty((stop - first, 2), np.int64)
        at = 0
        for r in range(first, stop):
            i = rows[r]
            for side in range(2):
                codes, code_offsets, ambiguous, ambiguous_offsets = query if side == 0 else target
                length = n[i] if side == 0 else m[i]
                places[r - first, side] = at
                begin, end = ambiguous_offsets[i], ambiguous_offsets[i + 1]
                encode_packed(codes, code_offsets[i], length, tables[side], ambiguous, begin, end, other[side], work[LETTERS] + at)
                at += length + BEHIND
        align_encoded(work, spare, rows, first, stop, places, n, m, model, free, unit, keep, null, out, ends)
        first = stop
