"""Anchor points, compared with the reference model; LASTZ's order."""

import genome_oracle
import numpy as np
from genome_pairs import related

from tidalign.kernels.anchors.points import anchor_points, lastz_order
from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.ungapped.hsps import Segments


def test_anchor_points_are_those_of_the_model() -> None:
    random = np.random.default_rng(1)
    plain = genome_oracle.tables(Scoring())[0]
    for _ in range(10):
        target, query = related(random)
        lengths = random.integers(1, 120, 40)
        starts, query_starts = (random.integers(0, len(letters) - 120, 40) for letters in (target, query))
        segments = Segments(starts, query_starts, lengths, np.zeros(40, np.int64))
        sides = genome_oracle.letters(target), genome_oracle.letters(query)
        expected = [genome_oracle.anchor_point(*sides, row, plain) for row in zip(starts, query_starts, lengths, lengths, strict=True)]
        t, q = anchor_points(encode(target), encode(query), segments, Scoring().plain())
        assert list(zip(t, q, strict=True)) == expected


def test_the_leftmost_of_equal_windows() -> None:
    letters = b"A" * 100
    segments = Segments(*(np.array([value]) for value in (10, 5, 60, 0)))
    assert [int(place[0]) for place in anchor_points(encode(letters), encode(letters), segments, Scoring().plain())] == [25, 20]


def test_order_is_score_then_query_then_target() -> None:
    random = np.random.default_rng(2)
    t, q, score = random.integers(0, 4, (3, 200))
    order = lastz_order(t, q, score)
    rows = sorted(zip((-score).tolist(), q.tolist(), t.tolist(), strict=True))
    assert list(zip((-score[order]).tolist(), q[order].tolist(), t[order].tolist(), strict=True)) == rows
