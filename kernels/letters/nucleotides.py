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

COMPLEMENT = bytes.maketrans(b"ACGTRYKMBDHVacgtrykmbdhv", b"TGCAYRMKVHDBtgcayrmkvhdb")


def _table(letters: bytes) -> Codes:
    table = np.full(256, INVALID, np.uint8)
    table[np.frombuffer(letters, np.uint8)] = np.arange(len(letters))
    return table


_CODE = _table(ALPHABET)
_LETTER = np.frombuffer(ALPHABET, np.uint8)
_COMPLEMENTED = np.append(_CODE[np.frombuffer(ALPHABET.translate(COMPLEMENT), np.uint8)], np.full(256 - len(ALPHABET), INVALID, np.uint8))


_FEW_LETTERS = 1_000_000  # letters; for fewer it does not pay to load a compiled loop


def encode(letters: Any) -> Codes:
    """Give codes of ASCII letters (bytes or uint8[n]) -> uint8[n]; INVALID for a byte that ALPHABET does not have."""
    return _looked_up(_CODE, np.frombuffer(letters, np.uint8) if isinstance(letters, bytes) else letters)


def decode(codes: Codes) -> Codes:
    """Give ASCII letters of codes, uint8[n] -> uint8[n]."""
    return np.asarray(_LETTER[codes])


def reverse_complement(codes: Codes) -> Codes:
    """Give the other strand, uint8[n] -> uint8[n], C-contiguous; case is kept, N and X are their own complements."""
    return _looked_up(_COMPLEMENTED, codes, backward=True)


def _looked_up(table: Codes, codes: Codes, *, backward: bool = False) -> Codes:
    if len(codes) < _FEW_LETTERS:
        return np.ascontiguousarray(table[codes[::-1] if backward else codes])
    from tidalign.kernels.letters import recode

    found, codes = np.empty(len(codes), np.uint8), codes.view()
    codes.flags.writeable = False  # the loops are compiled for arrays that are read alone
    (recode.backward if backward else recode.forward)(table, codes, found)
    return found
