# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Columns of alignments, as operations: which pairs of letters are equal, = X I D; and what a CIGAR says."""

import numpy as np

from tidalign.kernels.runtime.numba_cache import inline, jit

EQUAL, DIFFERENT, INSERTION, DELETION = (np.uint8(ord(letter)) for letter in "=XID")


@inline
def _emit(letters, lengths, first, n, letter, length):
    """Put an operation behind n of them, or into the last one where it is the same (and not before `first`); returns the new count."""
    if n > first and letters[n - 1] == letter:
        lengths[n - 1] += length
        return n
    letters[n], lengths[n] = letter, length
    return n + 1


@jit
def parse(text, bounds):
    """Parse CIGARs, row i text[bounds[i]:bounds[i + 1]]: operations of digits and then one letter each.

    text: uint8; bounds: int64[n + 1]. Returns uint8[m] letters, int64[m] lengths, int64[n + 1] offsets.
    """
    room = (bounds[-1] - bounds[0]) // 2  # an operation has two bytes or more
    letters, lengths = np.empty(room, np.uint8), np.empty(room, np.int64)
    offsets = np.zeros(len(bounds), np.int64)
    n = np.int64(0)
    for i in range(len(bounds) - 1):
        length = np.int64(0)
        for place in range(bounds[i], bounds[i + 1]):
            byte = text[place]
            if byte <= 57:  # 9
                length = 10 * length + byte - 48
            else:
                letters[n], lengths[n] = byte, length
                n += 1
                length = np.int64(0)
        offsets[i + 1] = n
    return letters[:n], lengths[:n], offsets


@jit
def spell(target, query, starts, run_offsets, run_ops, run_lengths, room, counts):
    """Spell out alignments: operations = X I D of their runs of pairs and gaps.

    target, query: codes (letters). starts: int64[n, 2], target and query. Runs as in gapped.Extensions. room: at least as many operations as there
    are pairs of letters and runs. counts: int64[4, n], filled: columns of two equal ACGT letters and of two different ones, case-blind; runs of I or of D,
    and letters in these. Returns uint8[m] letters, int64[m] lengths, int64[n + 1] offsets. A column with a letter other than ACGT is an X.
    """
    letters, lengths = np.empty(room, np.uint8), np.empty(room, np.int64)
    offsets = np.zeros(len(starts) + 1, np.int64)
    n = np.int64(0)
    for i in range(len(starts)):
        first = n
        equals = differing = openings = gap = np.int64(0)
        t, q = starts[i, 0], starts[i, 1]
        for run in range(run_offsets[i], run_offsets[i + 1]):
            length = run_lengths[run]
            if run_ops[run] == 1 or run_ops[run] == 2:
                before = n
                n = _emit(letters, lengths, first, n, INSERTION if run_ops[run] == 1 else DELETION, length)
                openings += n - before
                gap += length
                q += length * (run_ops[run] == 1)
                t += length * (run_ops[run] == 2)
            else:
                for _ in range(length):
                    one, other = target[t], query[q]
                    bases = one < 8 and other < 8
                    equal = bases and (one ^ other) & 3 == 0
                    equals += equal
                    differing += bases and not equal
                    n = _emit(letters, lengths, first, n, EQUAL if equal else DIFFERENT, np.int64(1))
                    t += 1
                    q += 1
        offsets[i + 1] = n
        counts[0, i], counts[1, i], counts[2, i], counts[3, i] = equals, differing, openings, gap
    return letters[:n].copy(), lengths[:n].copy(), offsets
