# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Turn CIGAR operations into text, and count them."""

import numpy as np

from tidalign.kernels.runtime.numba_cache import inline, jit

LETTERS = np.frombuffer(b"MIDNSHP=X", np.uint8)
INSERTION, DELETION, EQUAL, DIFFERENT = 1, 2, 7, 8


@inline
def digits(number):
    count = 1
    while number >= 10:
        number //= 10
        count += 1
    return count


@jit
def measure(cigar, cigar_offsets, offsets):
    """offsets[i + 1] = bytes of the text of pairs 0..i."""
    total = 0
    for i in range(len(cigar_offsets) - 1):
        for j in range(cigar_offsets[i], cigar_offsets[i + 1]):
            total += digits(np.int64(cigar[j]) >> 4) + 1
        offsets[i + 1] = total


@jit
def write(cigar, text):
    """The text of all operations, one after another."""
    at = 0
    for j in range(len(cigar)):
        number = np.int64(cigar[j]) >> 4
        stop = at + digits(number)
        for place in range(stop - 1, at - 1, -1):
            text[place] = 48 + number % 10
            number //= 10
        text[stop] = LETTERS[cigar[j] & 15]
        at = stop + 1


@jit
def count(cigar, cigar_offsets, counts):
    """Fill counts (int64[4, n]): letter pairs in = and in X of each pair, its runs of I or of D, and the letters in these."""
    for i in range(len(cigar_offsets) - 1):
        equal = different = openings = letters = np.int64(0)
        for j in range(cigar_offsets[i], cigar_offsets[i + 1]):
            length, code = np.int64(cigar[j]) >> 4, cigar[j] & 15
            if code == EQUAL:
                equal += length
            elif code == DIFFERENT:
                different += length
            elif code in (INSERTION, DELETION):
                openings += 1
                letters += length
        counts[0, i], counts[1, i], counts[2, i], counts[3, i] = equal, different, openings, letters
