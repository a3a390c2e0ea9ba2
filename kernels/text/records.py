# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Records of FASTA, FASTQ and .seq as they lie in a text, and their letters in two bits each: one pass over the text and one over what was found there.

Whatever is unusual ends the pass: who calls then looks at the text more closely.
"""

import numpy as np

from tidalign.kernels.letters.packing import STRETCH_LETTERS, pack_stretch
from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import load_u8, load_u64, store_u8, store_u64, zeros_below
from tidalign.kernels.text.lines import AT, BLANK, CR, LINE_END, PLUS, TAB, equal_bytes

ABOVE, BELOW, DELETE = (np.uint8(letter) for letter in b"><\x7f")

NAME, NAME_STOP, LETTERS, LETTERS_STOP, LENGTH = range(5)
"""Of a record: where its name begins and ends in the text, where its letters do, with the ends of lines among them, and how many these are."""


USUAL = np.array([byte in b"ACGTNacgtn" for byte in range(256)], np.bool_)


@jit
def line_end(address, at, size):
    """Find the first end of a line from a place on, or the end of the text."""
    while at + 64 <= size:
        marks = equal_bytes(address + at, LINE_END)
        if marks != 0:
            return at + zeros_below(marks)
        at += 64
    while at < size and load_u8(address + at) != LINE_END:
        at += 1
    return min(at, size)


@jit
def without_cr(address, start, end):
    """Take the CR away with which a line may end."""
    return end - (end > start and load_u8(address + end - 1) == CR)


@jit
def name_end(address, start, end, longest):
    """Find where the name ends that a header line [start, end) begins with; -1 where there is none, one that is too long, or one with other than printable
    ASCII."""
    at = start
    while at < end and BLANK < load_u8(address + at) < DELETE:
        at += 1
    if at == start or at - start > longest:
        return -1
    if at < end and load_u8(address + at) != BLANK and load_u8(address + at) != TAB:
        return -1
    return at


@jit
def after_lines(address, size, at_line_start, lines):
    """Find where the line begins that comes after so many lines that begin in a text."""
    at = 0 if at_line_start else line_end(address, 0, size) + 1
    for _ in range(lines):
        at = line_end(address, at, size) + 1
    return at


@jit
def find_fastq(text, at_line_start, skip, longest_name, longest_header, spans):
    """Find records of four lines after the first `skip` lines -> how many are as they should be; spans: int64[5, records]."""
    address, size = text.ctypes.data, len(text)
    at = after_lines(address, size, at_line_start, skip)
    for i in range(spans.shape[1]):
        end = line_end(address, at, size)
        head = without_cr(address, at, end)
        letters = end + 1
        plus = line_end(address, letters, size) + 1
        quality = line_end(address, plus, size) + 1
        if quality >= size or load_u8(address + at) != AT or head - at > longest_header or load_u8(address + plus) != PLUS:
            return i
        stop, end = without_cr(address, letters, plus - 1), line_end(address, quality, size)
        name = name_end(address, at + 1, head, longest_name)
        if name < 0 or without_cr(address, plus, quality - 1) != plus + 1 or without_cr(address, quality, end) - quality != stop - letters:
            return i
        spans[NAME, i], spans[NAME_STOP, i] = at + 1, name
        spans[LETTERS, i], spans[LETTERS_STOP, i], spans[LENGTH, i] = letters, stop, stop - letters
        at = end + 1
    return spans.shape[1]


@jit
def find_fasta(text, at_line_start, skip, longest_name, longest_header, spans):
    """Find records of a header line and any number of others after the first `skip` headers -> how many are as they should be; spans: int64[5, records]."""
    address, size = text.ctypes.data, len(text)
    at = after_lines(address, size, at_line_start, 0)
    while at < size and (skip > 0 or load_u8(address + at) != ABOVE):
        skip -= load_u8(address + at) == ABOVE
        at = line_end(address, at, size) + 1
    for i in range(spans.shape[1]):
        if at >= size:
            return i
        end = line_end(address, at, size)
        head = without_cr(address, at, end)
        name = name_end(address, at + 1, head, longest_name)
        if name < 0 or head - at > longest_header:
            return i
        spans[NAME, i], spans[NAME_STOP, i] = at + 1, name
        at = spans[LETTERS, i] = spans[LETTERS_STOP, i] = min(end + 1, size)
        count = 0
        while at < size and load_u8(address + at) != ABOVE:
            end = line_end(address, at, size)
            stop = without_cr(address, at, end)
            if stop > at:
                spans[LETTERS_STOP, i] = stop
            count += stop - at
            at = end + 1
        spans[LENGTH, i] = count
    return spans.shape[1]


@jit
def find_seq(text, at_line_start, skip, longest_name, longest_header, spans):
    """Find lines of a mark and letters after the first `skip` lines, queries and targets in turn -> how many are as they should be; spans: int64[5, records],
    without names."""
    address, size = text.ctypes.data, len(text)
    at = after_lines(address, size, at_line_start, skip)
    for i in range(spans.shape[1]):
        if at >= size or load_u8(address + at) != (BELOW if i & 1 else ABOVE):
            return i
        end = line_end(address, at, size)
        stop = without_cr(address, at, end)
        spans[NAME, i] = spans[NAME_STOP, i] = at
        spans[LETTERS, i], spans[LETTERS_STOP, i], spans[LENGTH, i] = at + 1, stop, stop - at - 1
        at = end + 1
    return spans.shape[1]


FINDERS = {"fasta": find_fasta, "fastq": find_fastq, "seq": find_seq}
"""What finds the records of each format."""


@jit
def measure(spans, first, step, names, lengths, codes):
    """Sum up every `step`-th record from `first` on: where its name ends among names (int32[n + 1]), its letters, where its codes end (int64[n + 1]); the
    longest. Names of 2 GiB and more together give -1."""
    names[0] = codes[0] = longest = 0
    total = np.int64(0)
    for i in range(len(lengths)):
        row = first + step * i
        total += spans[NAME_STOP, row] - spans[NAME, row]
        if total >= 1 << 31:
            return -1
        lengths[i] = spans[LENGTH, row]
        names[i + 1] = total
        codes[i + 1] = codes[i] + (lengths[i] + 3) // 4
        longest = max(longest, lengths[i])
    return longest


@inline
def without_line_ends(text, start, stop, out):
    """Copy text[start:stop] without the ends of lines."""
    count = 0
    for j in range(start, stop):
        letter = text[j]
        if letter != LINE_END and (letter != CR or text[j + 1] != LINE_END):
            out[count] = letter
            count += 1


SPARE = 8
"""Bytes behind names and codes that `fill` writes to, so that it can write eight at a time."""


@jit
def fill(text, spans, first, step, longest, name_ends, names, code_ends, codes, ambiguous):
    """Copy the names of every `step`-th record from `first` on, and pack its letters as `packing.pack_codes` does; ambiguous[i]: whether some of them are N.
    Returns whether none is anything else than A, C, G, T and N, of either case. names, codes: SPARE bytes longer than what they hold."""
    size = len(text)
    whole = text.ctypes.data
    one_line = np.zeros(longest + STRETCH_LETTERS, np.uint8)
    plain = True
    for i in range(len(ambiguous)):
        row = first + step * i
        begin, length = spans[NAME, row], name_ends[i + 1] - name_ends[i]
        to = names.ctypes.data + name_ends[i]
        if begin + length + 8 <= size:
            for j in range(0, length, 8):
                store_u64(to + j, load_u64(whole + begin + j))
        else:
            for j in range(length):
                store_u8(to + j, load_u8(whole + begin + j))
        begin, length = spans[LETTERS, row], spans[LENGTH, row]
        at, to = whole + begin, codes.ctypes.data + code_ends[i]
        if spans[LETTERS_STOP, row] - begin != length or begin + length + STRETCH_LETTERS > size:
            without_line_ends(text, begin, spans[LETTERS_STOP, row], one_line)
            at = one_line.ctypes.data
        others = np.uint64(0)
        for j in range(0, length, STRETCH_LETTERS):
            wrong = pack_stretch(at + j, to + (j >> 2))
            if length - j < STRETCH_LETTERS:
                wrong &= (np.uint64(1) << np.uint64(length - j)) - np.uint64(1)
            others |= wrong
        if length & 3:  # behind the last letter
            codes[code_ends[i + 1] - 1] &= 0xFF << (8 - 2 * (length & 3)) & 0xFF
        ambiguous[i] = others != np.uint64(0)
        if ambiguous[i]:
            for j in range(length):
                plain &= USUAL[load_u8(at + j)]
    return plain


@jit
def mask(text, spans, first, step, longest, is_ambiguous, bit_ends, bits):
    """Mark letters other than A, C, G and T of the records that have room, as `packing.pack_ambiguous` does; `bits` must hold zeros."""
    one_line = np.empty(longest + 8, np.uint8)
    for i in range(len(bit_ends) - 1):
        if bit_ends[i + 1] > bit_ends[i]:
            row = first + step * i
            without_line_ends(text, spans[LETTERS, row], spans[LETTERS_STOP, row], one_line)
            for j in range(spans[LENGTH, row]):
                if is_ambiguous[one_line[j]]:
                    bits[bit_ends[i] + (j >> 3)] |= np.uint8(128 >> (j & 7))
