# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Eight letters at once: the bytes of a word."""

import numpy as np

from tidalign.kernels.runtime.numba_cache import inline

ONES, LOW, HIGH = np.uint64(0x0101010101010101), np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8080808080808080)
UPPER = np.uint64(0xDFDFDFDFDFDFDFDF)
A, C, G, T, N = (np.uint64(letter) * ONES for letter in b"ACGTN")


@inline
def others(word, bytes_):
    """The top bit of every byte in which two words differ."""
    different = word ^ bytes_
    return ((different & LOW) + LOW | different) & HIGH


@inline
def no_bases(word):
    """The top bit of every byte that is none of A, C, G and T, of either case."""
    upper = word & UPPER
    return others(upper, A) & others(upper, C) & others(upper, G) & others(upper, T)
