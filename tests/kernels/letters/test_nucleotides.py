"""Codes of letters and their complements, few and many: every byte, and case kept."""

import random
from typing import Any

import numpy as np
import pytest

from tidalign.kernels.letters import nucleotides
from tidalign.kernels.letters.nucleotides import ALPHABET, BLANK, COMPLEMENT, INVALID, decode, encode, read_letters, reverse_complement

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


def test_codes_of_many_letters_in_given_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nucleotides, "FEW_LETTERS", 0)
    choose, memory = random.Random(4), np.full(700, 77, np.uint8)
    for _ in range(200):
        letters = bytes(choose.choices(ALPHABET + b"ACGTacgtNn" * 9, k=choose.randrange(600)))
        assert encode(letters, memory).tolist() == [ALPHABET.index(letter) for letter in letters]
        assert (memory[len(letters) :] == 77).all()
        memory[:] = 77


@pytest.mark.parametrize("kept", [0xFF, 0xDF, 0])
def test_letters_of_texts(kept: int) -> None:
    """As bytes.translate reads them; memory behind the letters that are read, or could have been, stays as it is."""
    choose = random.Random(kept)
    table = np.full(256, INVALID, np.uint8)
    table[[*ALPHABET[:-1]]] = [letter & (kept or 0xFF) for letter in ALPHABET[:-1]]
    if not kept:
        table[ord("A")] = 0
    table[[*b" \n\r"]] = BLANK
    for _ in range(400):
        width = choose.choice((1, 7, 60, 64, 200))
        letters = choose.choices(ALPHABET[:-1] + b"ACGTacgtNn" * choose.choice((0, 9, 99)), k=choose.randrange(700))
        text = b"\r\n".join(bytes(letters[i : i + width]) for i in range(0, len(letters), width)) + b" \n"
        if choose.random() < 0.2:
            at = choose.randrange(len(text))
            text = text[:at] + choose.choice((b"!", b"\0", b">", b"\xff")) + text[at:]
        read = text.translate(table.tobytes(), b" \n\r")
        memory = np.full(len(text) + 70, 77, np.uint8)
        count, lines = read_letters(text, table, kept, memory[: len(text)])
        assert (memory[len(text) :] == 77).all()
        if INVALID in read:
            assert count == -1
        else:
            assert memory[:count].tobytes() == read and lines == text.count(b"\n")
