"""Letters of genomes as small codes that keep case, and their complements."""

from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint8]

ALPHABET = b"ACGTacgtNnXxBDHKMRSVWYbdhkmrsvwy\0"
"""A letter's code is its place here: 0..3 upper-case ACGT, 4..7 lower-case; the NUL stands between sequences that are kept in one array."""

SEPARATOR = ALPHABET.index(b"\0")
INVALID = 255
"""Code of a byte that is no letter of a genome."""

BLANK = ord(" ")
"""What a table of `read_letters` has for what is left out."""
COMPLEMENT = bytes.maketrans(b"ACGTRYKMBDHVacgtrykmbdhv", b"TGCAYRMKVHDBtgcayrmkvhdb")


def _table(letters: bytes) -> Codes:
    table = np.full(256, INVALID, np.uint8)
    table[np.frombuffer(letters, np.uint8)] = np.arange(len(letters))
    return table


_CODE = _table(ALPHABET)
_LETTER = np.frombuffer(ALPHABET, np.uint8)
_COMPLEMENTED = np.append(_CODE[np.frombuffer(ALPHABET.translate(COMPLEMENT), np.uint8)], np.full(256 - len(ALPHABET), INVALID, np.uint8))


FEW_LETTERS = 1_000_000
"""For fewer it does not pay to load a compiled loop."""


def encode(letters: Any, memory: Codes | None = None) -> Codes:
    """Give codes of ASCII letters (bytes or uint8[n]) -> uint8[n]; INVALID for a byte that ALPHABET does not have. memory: where they may be written to,
    uint8[n] or more."""
    letters = np.frombuffer(letters, np.uint8) if isinstance(letters, bytes) else letters
    return np.ascontiguousarray(_CODE[letters]) if len(letters) < FEW_LETTERS else _recoded("encode", _CODE, letters, memory)


def read_letters(text: Any, table: Codes, kept: int, memory: Codes) -> tuple[int, int]:
    """Read the letters of a text (bytes) into memory, uint8[n] or more: table[text] but for what is BLANK there. Returns how many they are, -1 where the table
    has INVALID for one; and how many lines end.

    kept: the bits that the table leaves of A, C, G, T and N of either case; 0 where it makes other letters of one of them.
    """
    from tidalign.kernels.letters import recode

    count, lines = recode.read(np.frombuffer(memoryview(text).toreadonly(), np.uint8), table, np.uint8(kept), memory)
    return count, lines


def decode(codes: Codes) -> Codes:
    """Give ASCII letters of codes, uint8[n] -> uint8[n]."""
    return np.asarray(_LETTER[codes])


def reverse_complement(codes: Codes) -> Codes:
    """Give the other strand, uint8[n] -> uint8[n], C-contiguous; case is kept, N and X are their own complements."""
    return np.ascontiguousarray(_COMPLEMENTED[codes[::-1]]) if len(codes) < FEW_LETTERS else _recoded("backward", _COMPLEMENTED, codes)


def _recoded(loop: str, table: Codes, codes: Codes, memory: Codes | None = None) -> Codes:
    from tidalign.kernels.letters import recode

    found, codes = np.empty(len(codes), np.uint8) if memory is None else memory[: len(codes)], codes.view()
    codes.flags.writeable = False  # the loops are compiled for arrays that are read alone
    getattr(recode, loop)(table, codes, found)
    return found
