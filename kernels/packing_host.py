# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Letters to two bits and back, a batch at a time."""

import numpy as np

from tidalign.kernels.numba_cache import jit

AMBIGUOUS = np.array([byte not in b"ACGTacgt" for byte in range(256)], np.bool_)
LETTER_OF_CODE = np.frombuffer(b"ACTG", np.uint8)


@jit
def find_ambiguous(letters, offsets, is_ambiguous, found):
    """found[i] = whether sequence i holds a letter other than A, C, G and T."""
    for i in range(len(found)):
        any_found = False
        for j in range(offsets[i], offsets[i + 1]):
            any_found |= is_ambiguous[letters[j]]
        found[i] = any_found


@jit
def pack_codes(letters, offsets, codes, code_offsets):
    """Four letters a byte, the first in the top bits, each sequence from a byte of its own."""
    for i in range(len(offsets) - 1):
        start, stop, out = offsets[i], offsets[i + 1], code_offsets[i]
        whole = start + (stop - start) // 4 * 4
        for j in range(start, whole, 4):
            codes[out] = (
                (letters[j] >> 1 & 3) << 6 | (letters[j + 1] >> 1 & 3) << 4 | (letters[j + 2] >> 1 & 3) << 2 | (letters[j + 3] >> 1 & 3)
            )  # fmt: skip
            out += 1
        if whole < stop:
            byte = 0
            for j in range(whole, stop):
                byte |= (letters[j] >> 1 & 3) << (6 - 2 * (j - whole))
            codes[out] = byte


@jit
def pack_ambiguous(letters, offsets, is_ambiguous, bits, bit_offsets):
    """One bit a letter, the first in the top bit, for the sequences that have room in `bit_offsets`; `bits` must hold zeros."""
    for i in range(len(offsets) - 1):
        out = bit_offsets[i]
        if bit_offsets[i + 1] > out:
            for j in range(offsets[i + 1] - offsets[i]):
                if is_ambiguous[letters[offsets[i] + j]]:
                    bits[out + (j >> 3)] |= np.uint8(128 >> (j & 7))


@jit
def unpack_letters(codes, code_offsets, offsets, ambiguous, ambiguous_offsets, letter_of_code, letters):
    """Upper case letters, N where an ambiguous bit is set."""
    for i in range(len(offsets) - 1):
        start = offsets[i]
        for j in range(offsets[i + 1] - start):
            letters[start + j] = letter_of_code[codes[code_offsets[i] + (j >> 2)] >> (6 - 2 * (j & 3)) & 3]
        if ambiguous_offsets[i + 1] > ambiguous_offsets[i]:
            for j in range(offsets[i + 1] - start):
                if ambiguous[ambiguous_offsets[i] + (j >> 3)] >> (7 - (j & 7)) & 1:
                    letters[start + j] = 78
