"""Codes of letters and their complements, few and many: every byte, and case kept."""

from typing import Any

import numpy as np
import pytest

from tidalign.kernels.letters import nucleotides
from tidalign.kernels.letters.nucleotides import ALPHABET, COMPLEMENT, INVALID, decode, encode, reverse_complement

BYTES = bytes(range(256)) * 3 + b"ACGTacgtNn"


@pytest.fixture(params=["few", "many"])
def amount(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Take all letters as few, or as many."""
    monkeypatch.setattr(nucleotides, "FEW_LETTERS", 1 << 40 if request.param == "few" else 0)
    return str(request.param)


@pytest.mark.usefixtures("amount")
@pytest.mark.parametrize("letters", [b"", b"A", BYTES, np.frombuffer(BYTES, np.uint8), np.array([*BYTES], np.uint8)])
def test_codes_are_places_in_the_alphabet(letters: Any) -> None:
    expected = [place if (place := ALPHABET.find(bytes([byte]))) >= 0 else INVALID for byte in bytes(letters)]
    assert encode(letters).tolist() == expected


@pytest.mark.usefixtures("amount")
@pytest.mark.parametrize("letters", [b"", b"G", ALPHABET, b"GATTACAnnNNxX\0acgtRYKMSWBDHV"])
def test_the_other_strand(letters: bytes) -> None:
    turned = reverse_complement(encode(letters))
    assert turned.flags.c_contiguous and turned.dtype == np.uint8
    assert decode(turned).tobytes() == letters.translate(COMPLEMENT)[::-1]
    assert decode(reverse_complement(turned[::1])).tobytes() == letters


@pytest.mark.usefixtures("amount")
def test_what_is_given_stays_as_it_is() -> None:
    letters = np.array([*b"ACGT"], np.uint8)
    codes = encode(letters)
    reverse_complement(codes)
    letters[0] = codes[0] = 3
