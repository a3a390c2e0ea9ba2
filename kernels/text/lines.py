# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Lines of text: where they end, whether their letters are plain, and lines put together of columns. Threads do so without the interpreter lock."""

import numpy as np

from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import load_i64, load_u8, load_u32, load_u64, store_u8, store_u64

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


CONSTANT, NUMBERS, TEXTS, SHORT_TEXTS = range(4)
"""Kinds of columns: one text for all rows (its bytes are its size), int64, texts with offsets of 64 bits, and of 32 bits."""


@inline
def is_valid(bits, first, row):
    """Whether a row of a column has a value; bits: address of Arrow's bitmap, 0 where all have one."""
    place = first + row
    return bits == 0 or load_u8(bits + (place >> 3)) >> (place & 7) & 1


@inline
def text_bounds(kind, offsets, row):
    """Where the text of a row lies."""
    if kind == SHORT_TEXTS:
        return load_u32(offsets + 4 * row), load_u32(offsets + 4 * row + 4)
    return load_i64(offsets + 8 * row), load_i64(offsets + 8 * row + 8)


@inline
def number_bytes(number):
    """How long a number is as text."""
    count = 1
    if number < 0:
        count += 1
        number = -number
    while number >= 10:
        number //= 10
        count += 1
    return count


@inline
def write_number(number, at):
    """Write a number as text at an address; returns where it ends."""
    stop = at + number_bytes(number)
    if number < 0:
        store_u8(at, 45)
        at += 1
        number = -number
    for place in range(stop - 1, at - 1, -1):
        store_u8(place, 48 + number % 10)
        number //= 10
    return stop


@inline
def copy_bytes(source, at, size):
    """Copy bytes from one address to another; returns where they end."""
    whole = size // 8 * 8
    for j in range(0, whole, 8):
        store_u64(at + j, load_u64(source + j))
    for j in range(whole, size):
        store_u8(at + j, load_u8(source + j))
    return at + size


@jit
def measure_lines(columns, ends):
    """ends[i + 1] = bytes of the lines of rows 0..i. columns: int64[n, 5], of each its kind, the addresses of its values and of its offsets (of a CONSTANT its
    bytes), the address of its bitmap, and the first bit there."""
    ends[:] = 0
    for c in range(len(columns)):
        kind, values, offsets, bits, first = columns[c, 0], columns[c, 1], columns[c, 2], columns[c, 3], columns[c, 4]
        for i in range(len(ends) - 1):
            if not is_valid(bits, first, i):
                continue
            if kind == CONSTANT:
                ends[i + 1] += offsets
            elif kind == NUMBERS:
                ends[i + 1] += number_bytes(load_i64(values + 8 * i))
            else:
                start, stop = text_bounds(kind, offsets, i)
                ends[i + 1] += stop - start
    for i in range(len(ends) - 1):
        ends[i + 1] += ends[i]


@jit
def write_lines(columns, ends, text):
    """Write what `measure_lines` has measured: the columns of a row one after the other."""
    address = text.ctypes.data
    for i in range(len(ends) - 1):
        at = address + ends[i]
        for c in range(len(columns)):
            kind, values, offsets, bits, first = columns[c, 0], columns[c, 1], columns[c, 2], columns[c, 3], columns[c, 4]
            if not is_valid(bits, first, i):
                continue
            if kind == CONSTANT:
                at = copy_bytes(values, at, offsets)
            elif kind == NUMBERS:
                at = write_number(load_i64(values + 8 * i), at)
            else:
                start, stop = text_bounds(kind, offsets, i)
                at = copy_bytes(values + start, at, stop - start)
