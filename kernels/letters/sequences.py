"""Batches of sequences as flat arrays: plain letters, or two bits a letter with a mask for what is not A, C, G or T."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import cast

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]


def _read_only(batch: "Sequences | PackedSequences") -> None:
    """View the arrays of a batch as read-only: kernels are compiled for these, and again for others."""
    for each in fields(batch):
        array = getattr(batch, each.name).view()
        array.flags.writeable = False
        object.__setattr__(batch, each.name, array)


@dataclass(frozen=True, slots=True)
class Sequences:
    """Hold a batch of sequences as plain letters. `letters`: ASCII of any case [total]; sequence i is letters[offsets[i]:offsets[i + 1]] (`offsets` [n +
    1])."""

    letters: Bytes
    offsets: Offsets

    def __post_init__(self) -> None:
        _read_only(self)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Offsets:
        """Letters of each sequence [n]."""
        return np.diff(self.offsets)

    @classmethod
    def from_strings(cls, strings: Sequence[bytes | str]) -> "Sequences":
        """Make a batch of byte strings, or of text in ASCII."""
        parts = [string.encode("ascii") if isinstance(string, str) else string for string in strings]
        offsets = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(part) for part in parts], out=offsets[1:])
        return cls(np.frombuffer(b"".join(parts), np.uint8), offsets)


@dataclass(frozen=True, slots=True)
class PackedSequences:
    """Hold a batch of sequences, two bits a letter: the bits (letter >> 1) & 3 of its ASCII code (A 0, C 1, T 2, G 3), four to a byte, the first in the top
    bits.

    Sequence i has `lengths[i]` letters in codes[code_offsets[i]:code_offsets[i + 1]], and ambiguous[ambiguous_offsets[i]:ambiguous_offsets[i + 1]]
    holds one bit a letter (the first in the top bit), set where the letter is none of ACGT; a sequence without such letters has none of these bytes.
    """

    codes: Bytes
    code_offsets: Offsets
    lengths: Offsets
    ambiguous: Bytes
    ambiguous_offsets: Offsets

    def __post_init__(self) -> None:
        _read_only(self)

    def __len__(self) -> int:
        return len(self.lengths)


def pack(sequences: Sequences) -> PackedSequences:
    """Pack letters to two bits each; case is lost, and letters other than ACGT are masked."""
    from tidalign.kernels.letters import packing as host

    letters, offsets, lengths = sequences.letters, sequences.offsets, sequences.lengths
    found = np.zeros(len(sequences), np.bool_)
    host.find_ambiguous(letters, offsets, found)
    code_offsets = _summed((lengths + 3) // 4)
    ambiguous_offsets = _summed(np.where(found, (lengths + 7) // 8, 0))
    codes = np.empty(code_offsets[-1], np.uint8)
    ambiguous = np.zeros(ambiguous_offsets[-1], np.uint8)
    host.pack_codes(letters, offsets, codes, code_offsets)
    host.pack_ambiguous(letters, offsets, host.AMBIGUOUS, ambiguous, ambiguous_offsets)
    return PackedSequences(codes, code_offsets, lengths, ambiguous, ambiguous_offsets)


def unpack(packed: PackedSequences) -> Sequences:
    """Unpack to upper case letters, N where masked."""
    from tidalign.kernels.letters import packing as host

    offsets = _summed(packed.lengths)
    letters = np.empty(offsets[-1], np.uint8)
    host.unpack_letters(packed.codes, packed.code_offsets, offsets, packed.ambiguous, packed.ambiguous_offsets, host.LETTER_OF_CODE, letters)
    return Sequences(letters, offsets)


def reverse_complement(sequences: Sequences | PackedSequences) -> Sequences | PackedSequences:
    """Make the other strand of each, in the same places: packed ones, or letters, whose IUPAC codes and case are kept."""
    from tidalign.kernels.letters import packing as host

    if isinstance(sequences, Sequences):
        letters = np.empty_like(sequences.letters)
        host.reverse_letters(sequences.letters, sequences.offsets, np.ones(len(sequences), np.bool_), host.COMPLEMENT, letters)
        return Sequences(letters, sequences.offsets)
    codes, ambiguous = np.empty_like(sequences.codes), np.zeros_like(sequences.ambiguous)
    host.reverse_codes(sequences.codes, sequences.code_offsets, sequences.lengths, codes)
    host.reverse_bits(sequences.ambiguous, sequences.ambiguous_offsets, sequences.lengths, ambiguous)
    return PackedSequences(codes, sequences.code_offsets, sequences.lengths, ambiguous, sequences.ambiguous_offsets)


def one(side: Sequences | PackedSequences, row: int) -> Sequences | PackedSequences:
    """Take one sequence of a batch; its letters stay where they are."""
    if isinstance(side, Sequences):
        letters = side.letters[side.offsets[row] : side.offsets[row + 1]]
        return Sequences(letters, np.array([0, len(letters)]))
    codes = side.codes[side.code_offsets[row] : side.code_offsets[row + 1]]
    masks = side.ambiguous[side.ambiguous_offsets[row] : side.ambiguous_offsets[row + 1]]
    return PackedSequences(codes, np.array([0, len(codes)]), side.lengths[row : row + 1], masks, np.array([0, len(masks)]))


def _summed(sizes: Offsets) -> Offsets:
    return cast("Offsets", np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)]))
