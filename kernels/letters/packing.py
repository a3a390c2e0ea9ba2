# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Letters to two bits and back, a batch at a time."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from tidalign.kernels.letters import nucleotides
from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import I8, I32, POINTER, intrinsic, load_u64

AMBIGUOUS = np.array([byte not in b"ACGTacgt" for byte in range(256)], np.bool_)
LETTER_OF_CODE = np.frombuffer(b"ACTG", np.uint8)
SAME = np.arange(256, dtype=np.uint8)
COMPLEMENT = np.frombuffer(nucleotides.COMPLEMENT, np.uint8)
"""Of letters, by their bytes; what has none is its own."""


ONES, LOW_BITS, TOP_BITS = np.uint64(0x0101010101010101), np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8080808080808080)
UPPER = np.uint64(0xDFDFDFDFDFDFDFDF)
A, C, G, T, N = (np.uint64(letter) * ONES for letter in b"ACGTN")


@inline
def others(word, bytes_):
    """Set the top bit of every byte in which two words differ."""
    different = word ^ bytes_
    return ((different & LOW_BITS) + LOW_BITS | different) & TOP_BITS


@inline
def no_bases(word):
    """Set the top bit of every byte that is none of A, C, G and T, of either case."""
    upper = word & UPPER
    return others(upper, A) & others(upper, C) & others(upper, G) & others(upper, T)


STRETCH_LETTERS = 32
"""Letters that `pack_stretch` takes."""


@intrinsic
def pack_stretch(typing: Any, letters: Any, codes: Any) -> Any:
    """Pack the 32 letters at an address into 8 bytes at another. Returns which of them are none of A, C, G and T, of either case, a bit each, the first in
    the lowest."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(I8, STRETCH_LETTERS)

        def each(value: int, kind: Any = vector) -> Any:
            return ir.Constant(kind, [value] * kind.count)

        found = b.load(b.inttoptr(args[0], POINTER), align=1, typ=vector)
        upper = b.and_(found, each(0xDF))
        a, c, g, t = (b.icmp_unsigned("==", upper, each(letter)) for letter in b"ACGT")
        other = b.not_(b.or_(b.or_(a, c), b.or_(g, t)))
        two_bits = b.and_(b.lshr(found, each(1)), each(3))
        short = ir.VectorType(I8, STRETCH_LETTERS // 4)
        packed = None
        for place in range(4):
            every_fourth = ir.Constant(ir.VectorType(I32, short.count), list(range(place, STRETCH_LETTERS, 4)))
            part = b.shl(b.shuffle_vector(two_bits, ir.Constant(vector, ir.Undefined), every_fourth), each(6 - 2 * place, short))
            packed = part if packed is None else b.or_(packed, part)
        b.store(packed, b.inttoptr(args[1], POINTER), align=1)
        return b.zext(b.bitcast(other, I32), ir.IntType(64))

    return types.uint64(types.int64, types.int64), codegen


@jit
def find_ambiguous(letters, offsets, found):
    """Tell of each sequence, in found[i], whether it holds a letter other than A, C, G and T."""
    address = letters.ctypes.data
    for i in range(len(found)):
        start, stop = offsets[i], offsets[i + 1]
        whole = start + (stop - start) // 8 * 8
        bits = np.uint64(0)
        for j in range(start, whole, 8):
            bits |= no_bases(load_u64(address + j))
        for j in range(whole, stop):
            bits |= no_bases(np.uint64(letters[j]) * ONES)
        found[i] = bits != np.uint64(0)


@jit
def pack_codes(letters, offsets, codes, code_offsets):
    """Pack four letters a byte, the first in the top bits, each sequence from a byte of its own."""
    address = letters.ctypes.data
    two_bits = np.uint64(0x0303030303030303)
    # Moves the two bits of bytes 0, 1, 2, 3 of a word to bits 30, 28, 26, 24; nothing else meets them there.
    gather = np.uint64(1 << 30 | 1 << 20 | 1 << 10 | 1)
    for i in range(len(offsets) - 1):
        start, stop, out = offsets[i], offsets[i + 1], code_offsets[i]
        stretches, whole = start + (stop - start) // STRETCH_LETTERS * STRETCH_LETTERS, start + (stop - start) // 8 * 8
        for j in range(start, stretches, STRETCH_LETTERS):
            pack_stretch(address + j, codes.ctypes.data + out)
            out += STRETCH_LETTERS // 4
        for j in range(stretches, whole, 8):
            word = load_u64(address + j) >> np.uint64(1) & two_bits
            codes[out] = (word & np.uint64(0xFFFFFFFF)) * gather >> np.uint64(24)
            codes[out + 1] = (word >> np.uint64(32)) * gather >> np.uint64(24)
            out += 2
        byte = 0
        for j in range(whole, stop):
            place = j - whole
            byte |= (letters[j] >> 1 & 3) << (6 - 2 * (place & 3))
            if place & 3 == 3 or j + 1 == stop:
                codes[out] = byte
                byte = 0
                out += 1


@jit
def pack_ambiguous(letters, offsets, is_ambiguous, bits, bit_offsets):
    """Set one bit a letter, the first in the top bit, for the sequences that have room in `bit_offsets`; `bits` must hold zeros."""
    for i in range(len(offsets) - 1):
        out = bit_offsets[i]
        if bit_offsets[i + 1] > out:
            for j in range(offsets[i + 1] - offsets[i]):
                if is_ambiguous[letters[offsets[i] + j]]:
                    bits[out + (j >> 3)] |= np.uint8(128 >> (j & 7))


@jit
def unpack_letters(codes, code_offsets, offsets, ambiguous, ambiguous_offsets, letter_of_code, letters):
    """Write upper case letters, N where an ambiguous bit is set."""
    for i in range(len(offsets) - 1):
        start = offsets[i]
        for j in range(offsets[i + 1] - start):
            letters[start + j] = letter_of_code[codes[code_offsets[i] + (j >> 2)] >> (6 - 2 * (j & 3)) & 3]
        if ambiguous_offsets[i + 1] > ambiguous_offsets[i]:
            for j in range(offsets[i + 1] - start):
                if ambiguous[ambiguous_offsets[i] + (j >> 3)] >> (7 - (j & 7)) & 1:
                    letters[start + j] = 78


@jit
def reverse_letters(letters, offsets, chosen, table, reversed_):
    """Write sequences in the same places, those that are chosen from their end on, each letter as the table has it."""
    for i in range(len(offsets) - 1):
        start, stop = offsets[i], offsets[i + 1]
        for j in range(start, stop):
            reversed_[j] = table[letters[start + stop - 1 - j]] if chosen[i] else letters[j]


@jit
def reverse_codes(codes, code_offsets, lengths, reversed_):
    """Complement packed sequences (a code and its complement differ in the upper bit), each from its end on; bits behind the last letter are 0."""
    for i in range(len(lengths)):
        first = code_offsets[i]
        reversed_[first : code_offsets[i + 1]] = 0
        for j in range(lengths[i]):
            k = lengths[i] - 1 - j
            code = codes[first + (k >> 2)] >> (6 - 2 * (k & 3)) & 3 ^ 2
            reversed_[first + (j >> 2)] |= np.uint8(code << (6 - 2 * (j & 3)))


@jit
def reverse_bits(bits, bit_offsets, lengths, reversed_):
    """Write the bits of letters, those of a sequence from its end on; `reversed_` must hold zeros."""
    for i in range(len(lengths)):
        first = bit_offsets[i]
        for j in range(lengths[i] if bit_offsets[i + 1] > first else 0):
            k = lengths[i] - 1 - j
            if bits[first + (k >> 3)] >> (7 - (k & 7)) & 1:
                reversed_[first + (j >> 3)] |= np.uint8(128 >> (j & 7))
