"""Letters on their way to a device, against `sequences.pack`, and results on their way back."""

import numpy as np
import pytest

from tidalign.kernels.letters import staging as host
from tidalign.kernels.letters.sequences import Sequences, pack, unpack

ALPHABETS = {"plain": b"ACGTacgt", "one other": b"ACGT" * 200 + b"N", "any byte": bytes(range(256))}
UNTOUCHED = 77


def sequences(letters: bytes, seed: int) -> Sequences:
    """Draw sequences of 0 to 700 letters; `offsets` begin behind some letters that are none of theirs."""
    random = np.random.default_rng(seed)
    lengths = np.concatenate([[0, 1, 700, 256, 0], random.integers(0, 700, 40)])
    offsets = 13 + np.concatenate([[0], np.cumsum(lengths)])
    return Sequences(np.frombuffer(letters, np.uint8)[random.integers(0, len(letters), offsets[-1])], offsets)


class Staged:
    """What `stage_letters` writes, with room behind it."""

    def __init__(self, batch: Sequences) -> None:
        count, self.stream = len(batch), batch.letters[batch.offsets[0] :]
        self.codes, self.others = (np.full(len(self.stream) + 9, UNTOUCHED, np.uint8) for _ in range(2))
        self.starts, self.short, self.lengths = np.empty(count, np.int32), np.empty(count, np.uint16), np.empty(count, np.int64)
        arrays = self.codes, self.others, self.starts, self.short, self.lengths
        self.longest, self.found = host.stage_letters(self.stream.ctypes.data, batch.offsets.ctypes.data, count, *(array.ctypes.data for array in arrays))


@pytest.mark.parametrize("letters", ALPHABETS.values(), ids=ALPHABETS)
def test_letters_as_one_stream(letters: bytes) -> None:
    """The codes are those of one sequence of all letters; other letters are seen in their blocks."""
    for seed in range(5):
        batch = sequences(letters, seed)
        staged = Staged(batch)
        stream = staged.stream
        packed = pack(Sequences(stream, np.array([0, len(stream)])))
        size, blocks = len(packed.codes), -(-len(stream) // host.BLOCK_LETTERS)
        assert np.array_equal(staged.codes[:size], packed.codes) and (staged.codes[size:] == UNTOUCHED).all()
        expected = [bool(set(bytes(stream[first : first + host.BLOCK_LETTERS]).upper()) - set(b"ACGT")) for first in range(0, len(stream), host.BLOCK_LETTERS)]
        assert staged.others[:blocks].astype(bool).tolist() == expected and (staged.others[blocks:] == UNTOUCHED).all()
        assert staged.found == any(expected)
        assert staged.starts.tolist() == (batch.offsets[:-1] - 13).tolist()
        assert staged.lengths.tolist() == staged.short.tolist() == batch.lengths.tolist() and staged.longest == 700


def test_every_letter_is_seen_wherever_it_stands() -> None:
    for length in (3, 300):
        for byte in range(256):
            for place in {0, length // 2, length - 1}:
                letters = np.full(length, ord("g"), np.uint8)
                letters[place] = byte
                assert Staged(Sequences(letters, np.array([0, length]))).found == (byte not in b"ACGTacgt")


@pytest.mark.parametrize("letters", ALPHABETS.values(), ids=ALPHABETS)
def test_masks_of_sequences_with_other_letters(letters: bytes) -> None:
    batch = sequences(letters, 9)
    count, staged = len(batch), Staged(batch)
    masks, starts = np.full(len(staged.stream), UNTOUCHED, np.uint8), np.empty(count, np.int32)
    addresses = staged.stream.ctypes.data, batch.offsets.ctypes.data, count, staged.others.ctypes.data, masks.ctypes.data
    used = host.mask_letters(*addresses, 5, starts.ctypes.data)
    packed = pack(batch)
    sizes = np.diff(packed.ambiguous_offsets)
    assert starts.tolist() == np.where(sizes > 0, 5 + packed.ambiguous_offsets[:-1], -1).tolist()
    assert used == 5 + len(packed.ambiguous) and np.array_equal(masks[5:used], packed.ambiguous)


def test_packed_sequences() -> None:
    packed = pack(sequences(ALPHABETS["plain"], 4))
    count, first = len(packed) - 2, packed.code_offsets[2]
    source = packed.codes[first:]
    codes = np.full(len(source) + 9, UNTOUCHED, np.uint8)
    starts, short, lengths = np.empty(count, np.int32), np.empty(count, np.uint16), np.empty(count, np.int64)
    given = packed.code_offsets[2:], packed.lengths[2:]
    out = (array.ctypes.data for array in (codes, starts, short, lengths))
    longest = host.stage_packed(source.ctypes.data, len(source), *(array.ctypes.data for array in given), count, *out)
    assert np.array_equal(codes[: len(source)], source) and (codes[len(source) :] == UNTOUCHED).all()
    assert starts.tolist() == (4 * (packed.code_offsets[2:-1] - first)).tolist()
    assert lengths.tolist() == short.tolist() == packed.lengths[2:].tolist() and longest == packed.lengths[2:].max()


def test_lengths_that_a_device_does_not_take() -> None:
    lengths, offsets, codes = np.array([1, 32_767, 32_768, 1 << 40]), np.zeros(5, np.int64), np.empty(0, np.uint8)
    starts, short, copied = np.empty(4, np.int32), np.empty(4, np.uint16), np.empty(4, np.int64)
    out = (array.ctypes.data for array in (codes, starts, short, copied))
    assert host.stage_packed(codes.ctypes.data, 0, offsets.ctypes.data, lengths.ctypes.data, 4, *out) == 1 << 40
    assert short.tolist() == [1, 32_767, 32_768, 32_768] and copied.tolist() == lengths.tolist()


@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
@pytest.mark.parametrize("cigar", [True, False])
def test_delivers(kind: type, cigar: bool) -> None:
    random = np.random.default_rng(6)
    units, counts = random.integers(0, 1 << 31, 500, np.int32), random.integers(0, 300, 500).astype(np.uint16)
    total = int(counts.sum())
    runs = random.integers(0, np.iinfo(kind).max, total, kind, endpoint=True)
    penalty, offsets, out = np.empty(500, np.int64), np.full(500, UNTOUCHED, np.int64), np.full(total + 9, UNTOUCHED, np.uint32)
    addresses = counts.ctypes.data, 40, offsets.ctypes.data if cigar else 0, runs.ctypes.data, runs.itemsize, out.ctypes.data
    host.deliver(units.ctypes.data, 6, 500, penalty.ctypes.data, *addresses)
    assert penalty.tolist() == (units.astype(np.int64) * 6).tolist()
    if cigar:
        assert offsets.tolist() == (40 + np.cumsum(counts, dtype=np.int64)).tolist()
        assert np.array_equal(out[:total], runs) and (out[total:] == UNTOUCHED).all()
    else:
        assert (offsets == UNTOUCHED).all() and (out == UNTOUCHED).all()


def test_oracle_keeps_what_is_packed() -> None:
    """`pack`, which the others are compared with, gives its letters back."""
    batch = sequences(ALPHABETS["one other"], 3)
    assert np.array_equal(unpack(pack(batch)).letters, batch.letters[13:])
