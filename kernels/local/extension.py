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

from tidalign.kernels.runtime.numba_cache import jit

LOW = np.int64(-(1 << 40))


def ends(query: Any, target: Any, letters: Any, zdrop: int | None, end_bonus: int) -> Any:
    """Extend all pairs -> scores int64[n] and int64[2, n]: query and target ends. query, target, letters: as pairs.py has them; zdrop: None for no stop."""
    score = np.zeros(len(query.lengths), np.int64)
    found = np.zeros((2, len(score)), np.int64)
    size = len(letters.same)
    table = np.full((size, size), letters.scores[-1], np.int64)
    if len(letters.scores) == 2:
        table[:4, :4][np.eye(4, dtype=bool)] = letters.scores[0]
    else:
        table[:] = letters.matrix
    pieces = np.array(sorted(letters.scoring.pieces), np.int64)
    sides = (query.codes, query.starts, query.lengths, target.codes, target.starts, target.lengths)
    stop = np.int64(-1 if zdrop is None else zdrop)
    rows = np.empty((3 + 2 * len(pieces), int(target.lengths.max(initial=0)) + 2), np.int64)
    extend(*sides, table, pieces, stop, np.int64(end_bonus), rows, score, found)
    return score, found


@jit
def extend(queries, query_starts, n, targets, target_starts, m, table, pieces, zdrop, end_bonus, rows, score, found):
    """`ends` of pair after pair. rows: room for three antidiagonals of H and one each of I and D of each piece, by target position."""
    count = len(pieces)
    slope = pieces[count - 1, 1]
    for i in range(len(score)):
        q, t = queries[query_starts[i] : query_starts[i] + n[i]], targets[target_starts[i] : target_starts[i] + m[i]]
        best, best_q, best_t = np.int64(0), np.int64(0), np.int64(0)
        seen, seen_q, seen_t = np.int64(0), np.int64(0), np.int64(0)  # what the z-drop is measured from
        whole, whole_t = LOW, np.int64(0)
        if n[i] == 0:
            whole = np.int64(0)
        rows[:] = LOW
        rows[0, 0] = 0
        for a in range(1, n[i] + m[i] + 1):
            first, last = max(0, a - n[i]), min(a, m[i])
            now, before, earlier = rows[a % 3], rows[(a - 1) % 3], rows[(a - 2) % 3]
            highest, place = LOW, np.int64(0)
            for h in range(last, first - 1, -1):  # downwards: D of position h is made of that of h - 1
                v = a - h
                value = LOW
                if h > 0 and v > 0:
                    value = earlier[h - 1] + table[q[v - 1], t[h - 1]]
                for piece in range(count):
                    opened, extended = pieces[piece, 0], pieces[piece, 1]
                    insertion = LOW
                    if v > 0:
                        insertion = max(rows[3 + 2 * piece, h], before[h] - opened) - extended
                    deletion = LOW
                    if h > 0:
                        deletion = max(rows[4 + 2 * piece, h - 1], before[h - 1] - opened) - extended
                    rows[3 + 2 * piece, h] = insertion
                    rows[4 + 2 * piece, h] = deletion
                    value = max(value, max(insertion, deletion))
                now[h] = value
                if value >= highest:
                    highest, place = value, np.int64(h)
                if value > best or (value == best and (h < best_t or (h == best_t and v < best_q))):
                    best, best_q, best_t = value, np.int64(v), np.int64(h)
                if v == n[i] and (value > whole or (value == whole and h < whole_t)):
                    whole, whole_t = value, np.int64(h)
            if highest > seen:
                seen, seen_q, seen_t = highest, a - place, place
            elif zdrop >= 0 and place >= seen_t and a - place >= seen_q and seen - highest > zdrop + slope * abs((place - seen_t) - (a - place - seen_q)):
                break
        if end_bonus > 0 and whole > 0 and whole + end_bonus > best:
            best, best_q, best_t = whole, n[i], whole_t
        score[i], found[0, i], found[1, i] = best, best_q, best_t
