"""What a batch sends to the device says the same as its sequences; no GPU needed: the lane keeps everything on the host."""

from typing import Any

import numpy as np
import pytest

from tidalign.kernels.letters.device import MAX_SHORT_LETTERS, Letters, Parcel, Side
from tidalign.kernels.letters.sequences import Sequences, pack, unpack


class HostLane:
    def stage(self, shapes: list[tuple[int, Any]]) -> list[np.ndarray]:
        return [np.zeros(size, kind) for size, kind in shapes]

    def send(self, staged: list[np.ndarray]) -> list[np.ndarray]:
        return [array.copy() for array in staged]


def batch(seed: int, alphabet: bytes, longest: int = 300) -> Sequences:
    random = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([[0, 1], random.integers(0, longest, 60), [0]]))])
    return Sequences(np.frombuffer(alphabet, np.uint8)[random.integers(0, len(alphabet), offsets[-1])], offsets)


def received(side: Side, masks: Any) -> list[bytes]:
    """Read the sequences as a kernel reads them, N where masked."""
    letters = np.frombuffer(b"ACTG", np.uint8)[(side.codes.view(np.uint8)[:, None] >> np.array([6, 4, 2, 0])) & 3].ravel()
    found = []
    for place, (start, length) in enumerate(zip(side.starts.tolist(), side.lengths.tolist(), strict=True)):
        sequence = letters[start : start + length].copy()
        if side.mask_starts is not None and side.mask_starts[place] >= 0:
            bits = np.unpackbits(masks[side.mask_starts[place] :])[:length]
            sequence[bits.astype(bool)] = ord("N")
        found.append(bytes(sequence))
    return found


def strings(side: Letters, start: int, stop: int) -> list[bytes]:
    letters = unpack(side) if not isinstance(side, Sequences) else unpack(pack(side))
    return [bytes(letters.letters[letters.offsets[i] : letters.offsets[i + 1]]) for i in range(start, stop)]


@pytest.mark.parametrize("packed", [(False, False), (True, True), (False, True)], ids=["letters", "packed", "each"])
@pytest.mark.parametrize(
    "alphabets", [(b"ACGT", b"acgt"), (b"ACGT", b"ACGTACGTN"), (b"ACGTRYn", b"ACGT"), (b"ACGN", b"xACGT")], ids=["none", "target", "query", "both"]
)
def test_sent_as_it_was(alphabets: tuple[bytes, bytes], packed: tuple[bool, bool]) -> None:
    plain = [batch(seed, alphabet) for seed, alphabet in enumerate(alphabets)]
    sides = [pack(side) if form else side for side, form in zip(plain, packed, strict=True)]
    for start, stop in ((0, 63), (7, 30), (2, 3), (0, 1)):
        lengths = np.empty(stop - start, np.int64), np.empty(stop - start, np.int64)
        parcel = Parcel(HostLane(), sides[0], sides[1], start, stop, lengths)  # type: ignore[arg-type]
        parcel.stage()
        *sent, masks = parcel.send()
        for source, side, measured in zip(plain, sent, lengths, strict=True):
            assert received(side, masks) == strings(source, start, stop)
            assert measured.tolist() == source.lengths[start:stop].tolist()
        assert parcel.longest == max(each.max() for each in lengths)
        assert parcel.letters >= sum(each.sum() for each in lengths)


def test_only_masks_that_are_needed() -> None:
    """One ambiguous letter: its sequence alone has a mask."""
    plain = batch(5, b"ACGT"), batch(6, b"ACGT")
    letters = plain[1].letters.copy()
    letters[plain[1].offsets[40]] = ord("R")
    parcel = Parcel(HostLane(), plain[0], Sequences(letters, plain[1].offsets), 0, 63, (np.empty(63, np.int64), np.empty(63, np.int64)))  # type: ignore[arg-type]
    parcel.stage()
    query, target, masks = parcel.send()
    assert (query.mask_starts == -1).all() and np.flatnonzero(target.mask_starts >= 0).tolist() == [40]
    assert len(masks) == -(-int(plain[1].lengths[40]) // 8) and masks[0] == 128 and not masks[1:].any()


def test_too_long_for_the_device() -> None:
    long = Sequences(np.full(2 * MAX_SHORT_LETTERS + 3, ord("A"), np.uint8), np.array([0, MAX_SHORT_LETTERS, 2 * MAX_SHORT_LETTERS + 3]))
    parcel = Parcel(HostLane(), long, pack(long), 0, 2, (np.empty(2, np.int64), np.empty(2, np.int64)))  # type: ignore[arg-type]
    parcel.stage()
    for side in parcel.send()[:2]:
        assert side.lengths.tolist() == [MAX_SHORT_LETTERS, MAX_SHORT_LETTERS + 1]
    assert parcel.longest == MAX_SHORT_LETTERS + 3
