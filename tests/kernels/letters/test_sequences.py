"""Packing: what comes back, and how the bits lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidalign.kernels.letters.sequences import Sequences, pack, unpack


def strings(sequences: Sequences) -> list[bytes]:
    return [bytes(sequences.letters[start:stop]) for start, stop in zip(sequences.offsets[:-1], sequences.offsets[1:], strict=True)]


@given(st.lists(st.text(alphabet="ACGTacgtNnRYKM-*", max_size=40)))
def test_unpack_gives_upper_case_and_n(texts: list[str]) -> None:
    packed = pack(Sequences.from_strings(texts))
    assert len(packed) == len(texts)
    assert strings(unpack(packed)) == ["".join(c if c in "ACGT" else "N" for c in text.upper()).encode() for text in texts]
    for i, text in enumerate(texts):
        masked = packed.ambiguous_offsets[i + 1] - packed.ambiguous_offsets[i]
        assert masked == (0 if set(text.upper()) <= set("ACGT") else (len(text) + 7) // 8)
        assert packed.code_offsets[i + 1] - packed.code_offsets[i] == (len(text) + 3) // 4
    assert packed.lengths.tolist() == [len(text) for text in texts]


def test_the_bits() -> None:
    """A 0, C 1, T 2, G 3, the first letter in the top bits, each sequence from a byte of its own; the ambiguous bits likewise."""
    packed = pack(Sequences.from_strings(["ACTG", "GA", "", "aNcgtacgY"]))
    assert packed.codes[:2].tolist() == [0b00_01_10_11, 0b11_00_00_00]
    assert packed.code_offsets.tolist() == [0, 1, 2, 2, 5]
    assert packed.codes[2] & 0b11_00_11_11 == 0b00_00_01_11
    assert packed.ambiguous.tolist() == [0b0100_0000, 0b1000_0000]
    assert packed.ambiguous_offsets.tolist() == [0, 0, 0, 0, 2]


def test_every_byte() -> None:
    every = bytes(range(256))
    expected = bytes(byte if byte in b"ACGT" else byte - 32 if byte in b"acgt" else ord("N") for byte in every)
    assert strings(unpack(pack(Sequences.from_strings([every])))) == [expected]


def test_a_view_of_a_larger_array() -> None:
    """Offsets may start anywhere, as those of a slice of an Arrow column do."""
    whole = Sequences.from_strings(["AAAA", "CGN", "TT"])
    part = Sequences(whole.letters, whole.offsets[1:])
    packed = pack(part)
    assert strings(unpack(packed)) == [b"CGN", b"TT"]
    assert packed.code_offsets.tolist() == [0, 1, 2]


def test_from_strings() -> None:
    both = Sequences.from_strings([b"AC", "g", ""])
    assert len(both) == 3
    assert both.lengths.tolist() == [2, 1, 0]
    assert both.letters.tobytes() == b"ACg"
    with pytest.raises(UnicodeEncodeError):
        Sequences.from_strings(["Ä"])
    empty = Sequences(np.empty(0, np.uint8), np.zeros(1, np.int64))
    assert len(unpack(pack(empty))) == 0
