# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Extension from the corner: score and end, one antidiagonal after the other, stopped by minimap2's z-drop, with BWA-MEM's bonus for the query's end.

After each antidiagonal its highest score (of equal ones that with the smallest target position) is held against the highest so far. A higher one takes its
place. Otherwise, where it lies further on both sequences, the extension stops if it is more than zdrop + e * d below, d being how many diagonals apart both
are and e the extension of the gap piece that opens dearest (Li 2018, 10.1093/bioinformatics/bty191; ksw2's rule). Of all cells made by then, the end is that
of the highest score, then the smallest target end, then the smallest query end; 0 letters of both score 0. Where the whole query scores above 0, and with the
bonus above that, the end is the best of those cells instead (Li 2013, arXiv:1303.3997); the bonus is not in the score.
"""

from typing import Any

import numpy as np

from tidalign.kernels.runtime.numba_cache import inline, jit

NO_CELL = np.int32(-(1 << 30))
"""Of a cell that is none: sums of scores come nowhere near it, and it bears a mismatch and a gap more."""

MAX_NARROW_SCORE = 1 << 29
"""Scores stay below this in 32 bits; above, in 64."""


def ends(query: Any, target: Any, letters: Any, zdrop: int | None, end_bonus: int) -> Any:
    """Extend all pairs -> scores int64[n] and int64[2, n]: query and target ends. query, target, letters: as pairs.py has them; zdrop: None for no stop."""
    score = np.zeros(len(query.lengths), np.int64)
    found = np.zeros((2, len(score)), np.int64)
    pieces = np.array(sorted(letters.scoring.pieces), np.int64)
    both = int((query.lengths + target.lengths).max(initial=0))
    number = np.int32 if both * max(int(pieces[:, 1].max()), 128) + int(pieces.sum()) < MAX_NARROW_SCORE else np.int64
    longest = int(target.lengths.max(initial=0)) + 2
    sides = (query.codes, query.starts, query.lengths, target.codes, target.starts, target.lengths)
    rows = np.empty((4 + 3 * len(pieces), longest), number)
    turned = np.empty(int(query.lengths.max(initial=0)), np.uint8)
    scores = np.array([int(value) for value in letters.scores] if len(letters.scores) == 2 else [], number)
    stop = np.int64(-1 if zdrop is None else zdrop)
    extend(*sides, scores, letters.matrix.astype(number), pieces.astype(number), stop, np.int64(end_bonus), rows, turned, score, found)
    return score, found


# Each loop has few arrays, which begin at its first cell: so the compiler sees that they do not overlap and that no place is negative, and takes many at once.


@jit
def scored(row, query, target, scores, table):
    """Look up the scores of the letters of cells."""
    if len(scores) == 2:
        match, mismatch = scores[0], scores[1]
        for k in range(len(row)):
            row[k] = match if query[k] == target[k] else mismatch
    else:
        for k in range(len(row)):
            row[k] = table[query[k], target[k]]


@jit
def summed(now, earlier, row):
    """Make H by the diagonal."""
    for k in range(len(now)):
        now[k] = earlier[k] + row[k]


@jit
def gapped(now, before, gap, gap_before, opened, extended):
    """Make a gap's state, and H with it. before, gap_before: of the cells that the gap comes from."""
    for k in range(len(now)):
        gap[k] = max(gap_before[k], before[k] - opened) - extended
        now[k] = max(now[k], gap[k])


@jit
def highest_of(now):
    """Find the highest score."""
    highest = now[0]
    for k in range(len(now)):
        highest = max(highest, now[k])
    return np.int64(highest)


@inline
def place_of(now, value):
    """Find the first place of a score."""
    k = np.int64(0)
    while now[k] != value:
        k += 1
    return k


@jit
def extend(queries, query_starts, n, targets, target_starts, m, scores, table, pieces, zdrop, end_bonus, rows, turned, score, found):
    """Extend pair after pair as `ends` says. rows: room for scores of letters, three antidiagonals of H, and for each piece one of I and two of D."""
    count = len(pieces)
    slope = np.int64(pieces[count - 1, 1])
    for i in range(len(score)):
        q, t = queries[query_starts[i] : query_starts[i] + n[i]], targets[target_starts[i] : target_starts[i] + m[i]]
        turned[: n[i]] = q[::-1]
        rows[:, : m[i] + 2] = NO_CELL
        rows[1, 1] = 0
        best, best_q, best_t = np.int64(0), np.int64(0), np.int64(0)
        seen, seen_q, seen_t = np.int64(0), np.int64(0), np.int64(0)  # what the z-drop is measured from
        whole, whole_t = np.int64(0 if n[i] == 0 else NO_CELL), np.int64(0)
        for a in range(1, n[i] + m[i] + 1):
            first, last = max(np.int64(0), a - n[i]), min(np.int64(a), m[i])
            now, before, earlier = rows[1 + a % 3], rows[1 + (a - 1) % 3], rows[1 + (a - 2) % 3]
            inner, outer = max(first, 1), min(last, a - 1)  # columns of cells that have two letters
            if inner <= outer:
                shift = n[i] - a
                scored(rows[0, inner + 1 : outer + 2], turned[shift + inner : shift + outer + 1], t[inner - 1 : outer], scores, table)
            cells = now[first + 1 : last + 2]
            summed(cells, earlier[first : last + 1], rows[0, first + 1 : last + 2])
            for piece in range(count):
                opened, extended = pieces[piece, 0], pieces[piece, 1]
                gap = rows[4 + 3 * piece : 7 + 3 * piece]
                gapped(cells, before[first + 1 : last + 2], gap[0, first + 1 : last + 2], gap[0, first + 1 : last + 2], opened, extended)
                gapped(cells, before[first : last + 1], gap[1 + a % 2, first + 1 : last + 2], gap[1 + (a - 1) % 2, first : last + 1], opened, extended)
            highest = highest_of(cells)
            if highest >= best:
                h = first + place_of(cells, highest)
                if highest > best or h < best_t or (h == best_t and a - h < best_q):
                    best, best_q, best_t = highest, a - h, h
            if a >= n[i] and (now[first + 1] > whole or (now[first + 1] == whole and first < whole_t)):
                whole, whole_t = np.int64(now[first + 1]), np.int64(first)
            if highest > seen:
                seen_t = first + place_of(cells, highest)
                seen, seen_q = highest, a - seen_t
            elif zdrop >= 0 and seen - highest > zdrop:
                h = first + place_of(cells, highest)
                if h >= seen_t and a - h >= seen_q and seen - highest > zdrop + slope * abs((h - seen_t) - (a - h - seen_q)):
                    break
        if end_bonus > 0 and whole > 0 and whole + end_bonus > best:
            best, best_q, best_t = whole, n[i], whole_t
        score[i], found[0, i], found[1, i] = best, best_q, best_t
