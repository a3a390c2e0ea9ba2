# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Words of DNA that sequences share, counted on one core."""

import numpy as np

from tidalign.kernels.letters.words import LETTERS, WORDS
from tidalign.kernels.runtime.numba_cache import jit


@jit
def count_shared(query, codes, starts, lengths, out):
    """Count the words of each sequence that the query has, too. query: codes; out: int64[sequences]. Returns how many different words the query has."""
    has = np.zeros(WORDS // 64, np.uint64)
    different, word = np.int64(0), np.int64(0)
    for i in range(len(query)):
        word = (word << 2 | np.int64(query[i]) & 3) & (WORDS - 1)
        bit = np.uint64(1) << np.uint64(word & 63)
        if i >= LETTERS - 1 and not has[word >> 6] & bit:
            has[word >> 6] |= bit
            different += 1
    for i in range(len(starts)):
        count, word = np.int64(0), np.int64(0)
        for j in range(lengths[i]):
            word = (word << 2 | np.int64(codes[starts[i] + j]) & 3) & (WORDS - 1)
            if j >= LETTERS - 1:
                count += np.int64(has[word >> 6] >> np.uint64(word & 63) & np.uint64(1))
        out[i] = count
    return different
