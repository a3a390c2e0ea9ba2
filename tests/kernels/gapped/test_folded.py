"""Alignments whose runs are held once."""

import random
from itertools import groupby

import numpy as np
import pytest

from tidalign.kernels.gapped.alignments import Extended, Extensions
from tidalign.kernels.gapped.folded import MAX_RUN, Folded


def some(seed: int, count: int) -> tuple[Folded, list[list[tuple[int, int]]]]:
    """Draw rows with parts drawn from common words, and their runs written out one by one."""
    rng = random.Random(seed)
    words = [(rng.randrange(1, 9), rng.randrange(3)) for _ in range(rng.randrange(1, 30))]
    pieces, expected = [], []
    for _ in range(count):
        parts = [sorted(rng.choices(range(len(words) + 1), k=2)) for _ in range(4)]
        pieces.append(parts)
        left, right = ([word for begin, stop in parts[side : side + 2] for word in words[begin:stop]] for side in (0, 2))
        letters = [operation for length, operation in [*left, *reversed(right)] for _ in range(length)]
        expected.append([(operation, len(list(group))) for operation, group in groupby(letters)])
    anchor, score, target_start, target_end, query_start, query_end = np.arange(6 * count).reshape(6, count)
    packed = np.array([length << 2 | operation for length, operation in words], np.uint32)
    capped = np.arange(count) % 2 == 0
    places = np.array(pieces, np.int64).reshape(count, 2, 2, 2)
    return Folded(anchor, score, target_start, target_end, query_start, query_end, capped, packed, places), expected


def runs(found: Extensions) -> list[list[tuple[int, int]]]:
    return [list(zip(one.ops.tolist(), one.lengths.tolist(), strict=True)) for one in found]


@pytest.mark.parametrize("seed", range(20))
def test_rows_have_their_own_runs(seed: int) -> None:
    folded, expected = some(seed, 7)
    order = random.Random(seed).choices(range(7), k=9)
    found = folded.take(order)
    assert runs(found) == [expected[i] for i in order]
    assert found.anchor.tolist() == order and found.query_end.tolist() == [35 + i for i in order]
    assert found.capped.tolist() == [i % 2 == 0 for i in order]
    assert runs(folded.select(np.array(order[:4])).take([3, 0])) == [expected[order[3]], expected[order[0]]]


def test_several_in_one() -> None:
    one, other = some(1, 3), some(2, 4)
    plain = Extensions.of([Extended(9, 5, np.arange(4), True, np.array([0, 2, 0], np.uint8), np.array([3, 1 << 29, 4]))])
    joined = Folded.concat([one[0], Folded.of(plain), other[0]])
    assert runs(joined.take(range(len(joined)))) == [*one[1], [(0, 3), (2, 1 << 29), (0, 4)], *other[1]]
    assert joined.anchor.tolist() == [0, 1, 2, 9, 0, 1, 2, 3]


def test_runs_longer_than_a_word_holds() -> None:
    lengths = [1, MAX_RUN, MAX_RUN + 1, 3 * MAX_RUN, 3 * MAX_RUN + 7, (1 << 40) + 1, 5]
    found = [Extended(i, 5, np.arange(4), False, np.array([0, 1, 0], np.uint8), np.array([2, length, 3])) for i, length in enumerate(lengths)]
    folded = Folded.of(Extensions.of(found))
    assert len(folded.words) == 2 * len(lengths) + 1 + 1 + 2 + 3 + 4 + 1025 + 1
    assert runs(folded.take([5, 0, 1, 2, 3, 4, 6])) == [[(0, 2), (1, lengths[i]), (0, 3)] for i in (5, 0, 1, 2, 3, 4, 6)]
    assert runs(Folded.concat([folded.select([4]), folded]).take([0])) == [[(0, 2), (1, lengths[4]), (0, 3)]]


def test_none() -> None:
    assert len(Folded.concat([])) == 0 and len(Folded.concat([]).take([])) == 0
