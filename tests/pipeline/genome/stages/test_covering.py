"""The best HSPs that cover so many letters: which these are, by sorting all of them."""

import numpy as np
import pytest

from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.ungapped.hsps import Segments
from tidalign.pipeline.genome.stages.covering import LEAST, Covering


def best(scores: list[int], lengths: list[int], limit: int) -> list[int]:
    """Find the rows of the highest scores, all of each or none, the fewest scores that cover so many letters."""
    covered = 0
    for score in sorted(set(scores), reverse=True):
        covered += sum(length for one, length in zip(scores, lengths, strict=True) if one == score)
        if covered >= limit:
            return [row for row, one in enumerate(scores) if one >= score]
    return list(range(len(scores)))


@pytest.mark.parametrize("limit", [1, 40, 300, 1000, 10**6])
def test_the_best_that_cover_so_many_letters(limit: int) -> None:
    codes = encode(b"A" * 300)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(1, 80))
        scores, lengths = rng.integers(0, 25, count), rng.integers(1, 40, count)
        minus = rng.random(count) < 0.5
        covering = Covering(limit, entropy=False)
        for row in range(count):
            one = Segments(np.array([row]), np.array([row]), lengths[row : row + 1], scores[row : row + 1])
            covering.add(codes, codes, one, minus=bool(minus[row]))
        expected = best(scores.tolist(), lengths.tolist(), limit)
        for strand in (False, True):
            assert sorted(covering.strand(minus=strand).target.tolist()) == [row for row in expected if minus[row] == strand]
        alone = len({bool(minus[row]) for row in expected}) < 2
        assert covering.lowest() == (LEAST if alone else min(int(scores[row]) for row in expected))


def test_scores_that_are_not_below_the_lowest_are_scaled() -> None:
    letters = encode(b"AC" * 20)
    covering = Covering(1000, entropy=True)
    for score in (900, 800, 1000):
        covering.add(letters, letters, Segments(np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([40]), np.array([score])), minus=False)
    assert covering.strand(minus=False).score.tolist() == [900, 800, 500]
