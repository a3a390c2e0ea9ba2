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
_COMPLEMENTED = _CODE[np.frombuffer(ALPHABET.translate(COMPLEMENT), np.uint8)]


def encode(letters: Any) -> Codes:
    """Encode ASCII letters (bytes or uint8[n]) as codes, uint8[n]; INVALID for a byte that ALPHABET does not have."""
    return np.asarray(_CODE[np.frombuffer(letters, np.uint8) if isinstance(letters, bytes) else letters])


def decode(codes: Codes) -> Codes:
    """Decode codes, uint8[n], to ASCII letters, uint8[n]."""
    return np.asarray(_LETTER[codes])


def reverse_complement(codes: Codes) -> Codes:
    """Make the other strand of codes, uint8[n] -> uint8[n], C-contiguous; case is kept, N and X are their own complements."""
    return np.ascontiguousarray(_COMPLEMENTED[codes[::-1]])
