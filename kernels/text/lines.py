# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Where lines of a text end, whether its letters are plain, and what names say: many threads look at once, without the interpreter lock and without temporary
arrays."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from tidalign.kernels.letters.packing import ONES, UPPER, N, no_bases, others
from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.runtime.vectors import I8, I32, I64, POINTER, intrinsic, load_u8, load_u64, store_u8, store_u64, zeros_below

LINE_END, CR, AT, PLUS, BLANK, TAB = (np.uint8(letter) for letter in b"\n\r@+ \t")


@intrinsic
def ones(typing: Any, value: Any) -> Any:
    """Count the one bits of a value."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        return b.ctpop(args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def equal_bytes(typing: Any, address: Any, value: Any) -> Any:
    """Tell which of the 64 bytes at an address are `value` (uint8), a bit each, the first in the lowest."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(I8, 64)
        empty = ir.Constant(vector, ir.Undefined)
        first = b.insert_element(empty, args[1], ir.Constant(I32, 0))
        wanted = b.shuffle_vector(first, empty, ir.Constant(ir.VectorType(I32, 64), [0] * 64))
        return b.bitcast(b.icmp_unsigned("==", b.load(b.inttoptr(args[0], POINTER), align=1, typ=vector), wanted), I64)

    return types.uint64(types.int64, types.uint8), codegen


@jit
def count_marks(text, cells, first, counts):
    """Count, in counts[i], line ends in text[cells[i]:cells[i + 1]] that a byte of the cell follows; only those that `first` follows, unless it is 0."""
    address = text.ctypes.data
    for i in range(len(counts)):
        stop = cells[i + 1] - 1
        count = np.int64(0)
        at = cells[i]
        while at + 64 <= stop:
            marks = equal_bytes(address + at, LINE_END)
            if first != 0:
                marks &= equal_bytes(address + at + 1, np.uint8(first))
            count += ones(marks)
            at += 64
        for j in range(at, stop):
            count += text[j] == LINE_END and (first == 0 or text[j + 1] == first)
        counts[i] = count


@intrinsic
def read_at(typing: Any, handle: Any, address: Any, size: Any, place: Any) -> Any:
    """Read bytes of an open file at a place to an address, as C's pread: how many, or -1."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        function = cgutils.get_or_insert_function(b.module, ir.FunctionType(I64, [I32, POINTER, I64, I64]), "pread")
        return b.call(function, [b.trunc(args[0], I32), b.inttoptr(args[1], POINTER), args[2], args[3]])

    return types.int64(types.int64, types.int64, types.int64, types.int64), codegen


@jit
def count_file_marks(handle, places, first, piece, counts, begins, ends):
    """Count as `count_marks` the cells of an open file between these places, one after the other in the memory `piece`; begins: whether each one's first byte
    is `first`, or it is 0; ends: whether its last byte ends a line. Returns how many cells could be read."""
    cell = np.empty(2, np.int64)
    for i in range(len(counts)):
        size, done = places[i + 1] - places[i], 0
        while done < size:
            count = read_at(handle, piece.ctypes.data + done, size - done, places[i] + done)
            if count <= 0:
                return i
            done += count
        cell[0], cell[1] = 0, size
        count_marks(piece, cell, first, counts[i : i + 1])
        begins[i] = first == 0 or piece[0] == first
        ends[i] = piece[size - 1] == LINE_END
    return len(counts)


@jit
def line_bounds(text, at_line_start):
    """Find where the lines that begin in a text begin and end, int64[2, lines], LF or CRLF left out; the last may lack its end. at_line_start: whether one
    begins at its first byte."""
    address, size = text.ctypes.data, len(text)
    whole = size // 64 * 64
    total = np.int64(at_line_start and size > 0)
    for j in range(0, whole, 64):
        total += ones(equal_bytes(address + j, LINE_END))
    for j in range(whole, size):
        total += text[j] == LINE_END
    if size > 0 and text[size - 1] == LINE_END:
        total -= 1
    bounds = np.empty((2, total), np.int64)
    line = np.int64(-1)
    if at_line_start and total > 0:
        line = np.int64(0)
        bounds[0, 0] = 0
    for j in range(0, size, 64):
        if j < whole:
            marks = equal_bytes(address + j, LINE_END)
        else:
            marks = np.uint64(0)
            for k in range(j, size):
                marks |= np.uint64(text[k] == LINE_END) << np.uint64(k - j)
        while marks != 0:
            end = j + zeros_below(marks)
            marks &= marks - np.uint64(1)
            if line >= 0:
                bounds[1, line] = end - (end > bounds[0, line] and text[end - 1] == CR)
            line += 1
            if line < total:
                bounds[0, line] = end + 1
    if line >= 0 and line < total:  # without an end
        bounds[1, line] = size - (size > bounds[0, line] and text[size - 1] == CR)
    return bounds


@jit
def other_record(text, starts, ends):
    """Find the first record of four lines that is not as FASTQ's are: whole, with its marks, and with as many qualities as letters; how many there are if all
    are. And whether a third line has more than its mark."""
    records = len(starts) // 4
    named = False
    for i in range(records):
        head, letters, plus, quality = 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3
        if (
            starts[head] == ends[head]
            or text[starts[head]] != AT
            or starts[plus] == ends[plus]
            or text[starts[plus]] != PLUS
            or ends[letters] - starts[letters] != ends[quality] - starts[quality]
        ):
            return i, named
        named |= ends[plus] - starts[plus] > 1
    return records, named


@jit
def before_blanks(text, starts, ends):
    """Find the first blank or tab of each text[starts[i]:ends[i]], or else its end."""
    found = np.empty(len(starts), np.int64)
    for i in range(len(starts)):
        j = starts[i]
        while j < ends[i] and text[j] != BLANK and text[j] != TAB:
            j += 1
        found[i] = j
    return found


@jit
def copy_ranges(text, starts, offsets, out):
    """Copy text[starts[i]:] to out[offsets[i]:offsets[i + 1]]."""
    source, address = text.ctypes.data, out.ctypes.data
    for i in range(len(starts)):
        at, to, size = source + starts[i], address + offsets[i], offsets[i + 1] - offsets[i]
        whole = size // 8 * 8
        for k in range(0, whole, 8):
            store_u64(to + k, load_u64(at + k))
        for k in range(whole, size):
            store_u8(to + k, load_u8(at + k))


@jit
def is_plain_dna(letters):
    """Tell whether all are A, C, G, T or N, of either case."""
    address = letters.ctypes.data
    whole = len(letters) // 8
    found = np.uint64(0)
    for k in range(whole):
        word = load_u64(address + 8 * k)
        found |= no_bases(word) & others(word & UPPER, N)
    for j in range(8 * whole, len(letters)):
        word = np.uint64(letters[j]) * ONES
        found |= no_bases(word) & others(word & UPPER, N)
    return found == np.uint64(0)


@jit
def is_protein(letters):
    """Tell whether all are letters A to Z, of either case, or stops."""
    found = False
    for j in range(len(letters)):
        upper = letters[j] & 0xDF
        found |= ((upper < 65) | (upper > 90)) & (letters[j] != 42)
    return not found


@jit
def has_controls(letters):
    """Tell whether a byte is a control character."""
    found = False
    for j in range(len(letters)):
        found |= (letters[j] < 32) | (letters[j] == 127)
    return found


@jit
def hash_names(letters, offsets, weights, words):
    """Hash each name letters[offsets[i] : offsets[i + 1]] to words[:, i], uint64[2, n]: sums of its bytes, each times the weight of its place in
    weights, uint64[2, longest]."""
    for i in range(len(offsets) - 1):
        one = two = np.uint64(0)
        for j in range(offsets[i], offsets[i + 1]):
            letter, place = np.uint64(letters[j]), j - offsets[i]
            one += letter * weights[0, place]
            two += letter * weights[1, place]
        words[0, i], words[1, i] = one, two


@jit
def numbers_behind(letters, offsets, stops, first, last):
    """Read names as `contig:first-last`, numbers of at most ten digits without zeros before them, the first from 1: where the contig ends, int64[n], and both
    numbers; of other names -1."""
    for i in range(len(offsets) - 1):
        stops[i] = first[i] = last[i] = -1
        end, stop = _number_before(letters, offsets[i], offsets[i + 1])
        if end < 0 or stop == offsets[i] or letters[stop - 1] != 45:  # -
            continue
        begin, stop = _number_before(letters, offsets[i], stop - 1)
        if begin < 1 or stop - 1 <= offsets[i] or letters[stop - 1] != 58:  # :
            continue
        stops[i], first[i], last[i] = stop - 1, begin, end


@jit
def _number_before(letters, start, stop):
    """Read the number that ends at a place, and where it begins; -1 where there is none."""
    value, scale, at = 0, 1, stop
    while at > start and 48 <= letters[at - 1] <= 57 and stop - at < 11:
        at -= 1
        value += scale * (letters[at] - 48)
        scale *= 10
    if at == stop or stop - at > 10 or (letters[at] == 48 and stop - at > 1):
        return -1, at
    return value, at
