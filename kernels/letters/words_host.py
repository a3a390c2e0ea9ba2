# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Words of DNA that pairs share, counted on one core without the interpreter lock."""

import numpy as np

from tidalign.kernels.letters.host import QUERY_TAG, SENTINEL, TARGET_TAG
from tidalign.kernels.letters.words import LETTERS, WORDS
from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.runtime.vectors import load_u8

MASK, TOP = np.int64(WORDS - 1), np.int64(2 * LETTERS - 2)


@jit
def count(query, target, has):
    """Count the words of a query, and of its reverse complement, that a target has. Codes, a byte a letter, of which 2 turns each into that of its complement;
    has: a bit for each word, none set, as they are left."""
    word = np.int64(0)
    for j in range(len(target)):
        word = (word << 2 | np.int64(target[j])) & MASK
        if j >= LETTERS - 1:
            has[word >> 6] |= np.uint64(1) << np.uint64(word & 63)
    plus, minus, word, turned = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(len(query)):
        code = np.int64(query[i])
        word = (word << 2 | code) & MASK
        turned = turned >> 2 | (code ^ 2) << TOP
        if i >= LETTERS - 1:
            plus += np.int64(has[word >> 6] >> np.uint64(word & 63) & np.uint64(1))
            minus += np.int64(has[turned >> 6] >> np.uint64(turned & 63) & np.uint64(1))
    word = np.int64(0)
    for j in range(len(target)):
        word = (word << 2 | np.int64(target[j])) & MASK
        if j >= LETTERS - 1:
            has[word >> 6] = 0
    return plus, minus


@jit
def count_plain(query, target, buffers, found):
    """Count the words of pairs of plain letters: letters and where each sequence begins, of both sides. Fills found[2, pairs]."""
    has = np.zeros(WORDS // 64, np.uint64)
    for i in range(found.shape[1]):
        for side in range(2):
            letters, offsets = query if side == 0 else target
            for k in range(offsets[i + 1] - offsets[i]):
                buffers[side][k] = letters[offsets[i] + k] >> 1 & 3
        n, m = query[1][i + 1] - query[1][i], target[1][i + 1] - target[1][i]
        found[0, i], found[1, i] = count(buffers[0][:n], buffers[1][:m], has)


@jit
def count_packed(query, target, buffers, found):
    """Count the same of packed letters: codes, where those of each sequence begin, and lengths."""
    has = np.zeros(WORDS // 64, np.uint64)
    for i in range(found.shape[1]):
        for side in range(2):
            codes, offsets, lengths = query if side == 0 else target
            for k in range(lengths[i]):
                buffers[side][k] = codes[offsets[i] + (k >> 2)] >> (6 - 2 * (k & 3)) & 3
        found[0, i], found[1, i] = count(buffers[0][: query[2][i]], buffers[1][: target[2][i]], has)


@jit
def count_missing(q, n, t, m, counts):
    """Count, in a query from each of its letters on, words that do not overlap and that the target does not have, as many as there can be: counts[0] to
    counts[n]. q, t: addresses of letters as `host` encodes them. False, and no counts, where a letter of the target equals every other; a word of the query
    with such a letter is not counted.
    """
    has = np.zeros(WORDS // 64, np.uint64)
    word, length = np.int64(0), 0
    for h in range(m):
        letter = load_u8(t + h)
        if letter == TARGET_TAG:
            return False
        bit = ~letter & 15
        word = (word << 2 | (bit >> 1) - (bit >> 3)) & MASK
        length = 0 if letter == SENTINEL else length + 1
        if length >= LETTERS:
            has[word >> 6] |= np.uint64(1) << np.uint64(word & 63)
    # First whether one begins at a letter, then how many.
    word, length = np.int64(0), 0
    for v in range(n):
        letter = load_u8(q + v)
        bit = letter & 15
        word = (word << 2 | (bit >> 1) - (bit >> 3)) & MASK
        length = 0 if letter == QUERY_TAG else length + 1
        begin = v - (LETTERS - 1)
        if begin >= 0:
            counts[begin] = length >= LETTERS and has[word >> 6] >> np.uint64(word & 63) & np.uint64(1) == 0
    for v in range(max(n - (LETTERS - 1), 0), n + 1):
        counts[v] = 0
    for v in range(n - LETTERS, -1, -1):
        counts[v] = max(counts[v + 1], counts[v + LETTERS] + 1 if counts[v] else 0)
    return True
