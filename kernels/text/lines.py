# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Where lines of a text end, and whether its letters are plain: many threads look at once, without the interpreter lock and without temporary arrays."""

import numpy as np

from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import load_u64

ONES, LOW, HIGH = np.uint64(0x0101010101010101), np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8080808080808080)
UPPER = np.uint64(0xDFDFDFDFDFDFDFDF)
LINE_ENDS = np.uint64(10) * ONES
A, C, G, T, N = (np.uint64(letter) * ONES for letter in b"ACGTN")


@inline
def others(word, bytes_):
    """The top bit of every byte in which two words differ."""
    different = word ^ bytes_
    return ((different & LOW) + LOW | different) & HIGH


@jit
def count_marks(text, cells, first, counts):
    """counts[i] = line ends in text[cells[i]:cells[i + 1]] that a byte of the cell follows; only those that `first` follows, unless it is 0."""
    address = text.ctypes.data
    follows = np.uint64(first) * ONES
    for i in range(len(counts)):
        stop = cells[i + 1] - 1
        count = np.int64(0)
        at = cells[i]
        while at + 8 <= stop:
            # One count a byte of a word, emptied before one can overflow.
            words = min((stop - at) // 8, 255)
            seen = np.uint64(0)
            for k in range(words):
                not_mark = others(load_u64(address + at + 8 * k), LINE_ENDS)
                if first != 0:
                    not_mark |= others(load_u64(address + at + 8 * k + 1), follows)
                seen += (not_mark ^ HIGH) >> np.uint64(7)
            for byte in range(8):
                count += np.int64(seen >> np.uint64(8 * byte) & np.uint64(255))
            at += 8 * words
        for j in range(at, stop):
            count += text[j] == 10 and (first == 0 or text[j + 1] == first)
        counts[i] = count


@jit
def line_ends(text):
    """Positions of all line ends."""
    counts = np.zeros(1, np.int64)
    count_marks(text, np.array([0, len(text)]), np.int64(0), counts)
    total = counts[0]
    if len(text) > 0 and text[len(text) - 1] == 10:
        total += 1
    found = np.empty(total, np.int64)
    address = text.ctypes.data
    at = 0
    whole = len(text) // 8 * 8
    for j in range(0, whole, 8):
        if others(load_u64(address + j), LINE_ENDS) != HIGH:
            for k in range(j, j + 8):
                if text[k] == 10:
                    found[at] = k
                    at += 1
    for j in range(whole, len(text)):
        if text[j] == 10:
            found[at] = j
            at += 1
    return found


@jit
def is_plain_dna(letters):
    """Whether all are A, C, G, T or N, of either case."""
    address = letters.ctypes.data
    whole = len(letters) // 8
    found = np.uint64(0)
    for k in range(whole):
        word = load_u64(address + 8 * k) & UPPER
        found |= others(word, A) & others(word, C) & others(word, G) & others(word, T) & others(word, N)
    for j in range(8 * whole, len(letters)):
        word = (np.uint64(letters[j]) * ONES) & UPPER
        found |= others(word, A) & others(word, C) & others(word, G) & others(word, T) & others(word, N)
    return found == np.uint64(0)


@jit
def has_controls(letters):
    """Whether a byte is a control character."""
    found = False
    for j in range(len(letters)):
        found |= (letters[j] < 32) | (letters[j] == 127)
    return found
