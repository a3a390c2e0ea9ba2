# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Write text: CIGARs, what differs along them as the tags MD and cs have it, and lines put together of columns; and count what CIGARs hold."""

import numpy as np

from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import load_i64, load_u8, load_u32, load_u64, store_u8, store_u32, store_u64

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
    """Measure the text of CIGARs: offsets[i + 1] = bytes of that of pairs 0..i."""
    total = 0
    for i in range(len(cigar_offsets) - 1):
        for j in range(cigar_offsets[i], cigar_offsets[i + 1]):
            total += digits(np.int64(cigar[j]) >> 4) + 1
        offsets[i + 1] = total


@jit
def write(cigar, text):
    """Write the text of all operations, one after another."""
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


NUMBER_BYTES = 24
"""Bytes of a number and a sign."""

MD, CS = 0, 1
"""Tags: the target's letters where the query has others (SAM's optional fields, 1.1), and those of both sides (minimap2's cs, its short form)."""


def _codes(letters: bytes) -> np.ndarray:
    """Number the letters, both cases alike, by their bytes; 0: one that equals nothing."""
    table = np.zeros(256, np.uint8)
    table[np.frombuffer(letters, np.uint8)] = table[np.frombuffer(letters.lower(), np.uint8)] = np.arange(1, len(letters) + 1)
    return table


BASES, RESIDUES = _codes(b"ACGT"), _codes(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ*")
"""What the tags take for equal in DNA, as SAM has it (A, C, G and T alone), and in proteins."""


@inline
def upper(byte):
    """Make a letter upper case; what is no letter stays."""
    return byte & 223 if byte >= 65 else byte


@inline
def put(at, byte):
    """Write a byte at an address; returns where it ends."""
    store_u8(at, byte)
    return at + 1


@inline
def put_number(at, number):
    """Put a number as `put` does a text; returns where it ends."""
    stop = at + digits(number)
    for place in range(stop - 1, at - 1, -1):
        store_u8(place, 48 + number % 10)
        number //= 10
    return stop


@jit
def differences(form, cigar, offsets, query, query_firsts, target, target_firsts, codes, edits, ends, text):
    """Write the tag `form` of each row: ends[i + 1] = bytes of rows 0..i, edits[i] = letters in X, I and D (NM).

    cigar, offsets: text of CIGARs of = X M I D, row i from offsets[i] on. query, target: letters; those of row i are aligned from query_firsts[i] and
    target_firsts[i] on. codes: BASES or RESIDUES. text: has room for three bytes for each letter of both sides, and NUMBER_BYTES for each row.

    Invariant: the tag of all columns before q and t is written but for `equal`, the matches since the last difference.

        CIGAR   5=          1X         2I          3D           =: q and t, X: q and t, I: q alone, D: t alone
        MD      (equal 5)   5A         -           0^ACG        letters of the target
        cs      (equal 5)   :5*ag      +tt         -acg         letters of both
    """
    words = cigar.ctypes.data
    at = text.ctypes.data
    for i in range(len(edits)):
        q, t = query_firsts[i], target_firsts[i]
        equal = length = changed = 0
        for place in range(offsets[i], offsets[i + 1]):
            byte = load_u8(words + place)
            if byte <= 57:
                length = 10 * length + byte - 48
                continue
            if byte == 73:
                if form == CS:
                    if equal > 0:
                        at = put_number(put(at, 58), equal)
                        equal = 0
                    at = put(at, 43)
                    for j in range(length):
                        at = put(at, query[q + j] | 32)
                q += length
                changed += length
            elif byte == 68:
                if form == MD:
                    at = put(put_number(at, equal), 94)
                else:
                    if equal > 0:
                        at = put_number(put(at, 58), equal)
                    at = put(at, 45)
                equal = 0
                for j in range(length):
                    at = put(at, upper(target[t + j]) if form == MD else target[t + j] | 32)
                t += length
                changed += length
            else:
                for j in range(length):
                    code = codes[target[t + j]]
                    if code != 0 and codes[query[q + j]] == code:
                        equal += 1
                        continue
                    changed += 1
                    if form == MD:
                        at = put(put_number(at, equal), upper(target[t + j]))
                    else:
                        if equal > 0:
                            at = put_number(put(at, 58), equal)
                        at = put(put(put(at, 42), target[t + j] | 32), query[q + j] | 32)
                    equal = 0
                q += length
                t += length
            length = 0
        if form == MD:
            at = put_number(at, equal)
        elif equal > 0:
            at = put_number(put(at, 58), equal)
        edits[i] = changed
        ends[i + 1] = at - text.ctypes.data


CONSTANT, NUMBERS, TEXTS, SHORT_TEXTS, WORDS = range(5)
"""Kinds of columns: one text for all rows (its bytes are its size), int64, texts with offsets of 64 bits, of 32 bits, and int64 as the four bytes of a word."""


@inline
def is_valid(bits, first, row):
    """Tell whether a row of a column has a value; bits: address of Arrow's bitmap, 0 where all have one."""
    place = first + row
    return bits == 0 or load_u8(bits + (place >> 3)) >> (place & 7) & 1


@inline
def text_bounds(kind, offsets, row):
    """Find where the text of a row lies."""
    if kind == SHORT_TEXTS:
        return load_u32(offsets + 4 * row), load_u32(offsets + 4 * row + 4)
    return load_i64(offsets + 8 * row), load_i64(offsets + 8 * row + 8)


@inline
def write_number(number, at):
    """Write a number as text at an address; returns where it ends."""
    if number < 0:
        store_u8(at, 45)
        at += 1
        number = -number
    return put_number(at, number)


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
    """Measure lines: ends[i + 1] = bytes of those of rows 0..i. columns: int64[n, 5], of each its kind, the addresses of its values and of its offsets (of a
    CONSTANT its bytes), the address of its bitmap, and the first bit there."""
    ends[:] = 0
    for c in range(len(columns)):
        kind, values, offsets, bits, first = columns[c, 0], columns[c, 1], columns[c, 2], columns[c, 3], columns[c, 4]
        for i in range(len(ends) - 1):
            if not is_valid(bits, first, i):
                continue
            if kind == CONSTANT:
                ends[i + 1] += offsets
            elif kind == NUMBERS:
                number = load_i64(values + 8 * i)
                ends[i + 1] += digits(abs(number)) + (number < 0)
            elif kind == WORDS:
                ends[i + 1] += 4
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
            elif kind == WORDS:
                store_u32(at, load_i64(values + 8 * i))
                at += 4
            else:
                start, stop = text_bounds(kind, offsets, i)
                at = copy_bytes(values + start, at, stop - start)
