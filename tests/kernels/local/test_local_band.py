"""Extensions in a band on cores: scores and ends of the cells that are in it, however narrow it is and whatever depth the first try has."""

import random
from typing import Any

import numpy as np
import pytest
import scored_oracle
from scored_cases import DNA, SCORINGS, TWO, aligned, batch, cases, ends, letters, mutated

from tidalign.kernels.local import extension, pairs
from tidalign.kernels.local.lanes import PAIR_LANES
from tidalign.kernels.scoring.substitution import Substitution

BANDS = (1, 2, 5, 20)


@pytest.mark.parametrize("name", SCORINGS)
def test_random_pairs(name: str) -> None:
    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    for seed, (zdrop, bonus) in enumerate([(None, 0), (None, 9), (20, 0), (20, 30), (400, 7)]):
        queries, targets = cases(seed, alphabet, 20, 60)
        for band in BANDS:
            expected = [scored_oracle.extended(*pair, scoring, zdrop, bonus, ambiguous, band) for pair in zip(queries, targets, strict=True)]
            assert ends(queries, targets, scoring, zdrop, bonus, ambiguous, band) == expected, (zdrop, bonus, band)


@pytest.mark.parametrize("first", [0, 256])
@pytest.mark.parametrize("number", [np.uint16, np.uint32, np.uint64])
def test_lanes_and_depths_do_not_show(monkeypatch: pytest.MonkeyPatch, number: Any, first: int) -> None:
    """Unlike pairs too, whose cells lose more in a band than in a whole matrix."""
    monkeypatch.setattr(extension, "NUMBERS", (number,))
    monkeypatch.setattr(extension, "FIRST_DEPTH", first)
    scoring, chance = Substitution.parse(TWO), random.Random(1)
    queries, targets = (["".join(chance.choices("ACGT", k=chance.randint(0, 90))) for _ in range(15)] for _ in range(2))
    for band in BANDS:
        expected = [scored_oracle.extended(*pair, scoring, None, 40, band=band) for pair in zip(queries, targets, strict=True)]
        assert ends(queries, targets, scoring, None, 40, band=band) == expected, band


@pytest.mark.parametrize("zdrop", [None, 20])
@pytest.mark.parametrize("text", [TWO, "match:3,mismatch:-2,gap:1,1"])
def test_lengths_about_a_vector(text: str, zdrop: int | None) -> None:
    """Both sides shorter than a vector of columns, as long and longer; a side so much longer that cells end before it does, and no letters at all."""
    scoring, chance = Substitution.parse(text), random.Random(7)
    lengths = [0, 1, PAIR_LANES - 1, PAIR_LANES, PAIR_LANES + 1, 100]
    sides = [("".join(chance.choices(DNA, k=100))[:i], j) for i in lengths for j in lengths]
    queries, targets = [query for query, _ in sides], [("".join(mutated(chance, query, DNA)) + letters(5, 100))[:j] for query, j in sides]
    for band in (1, 2, 20, PAIR_LANES, 1 << 30):
        expected = [scored_oracle.extended(*pair, scoring, zdrop, 30, band=band) for pair in zip(queries, targets, strict=True)]
        assert ends(queries, targets, scoring, zdrop, 30, band=band) == expected, band


def test_a_gap_as_long_as_the_band_and_longer() -> None:
    """The way over a gap is in the band of its length; a CIGAR up to an end in a band may leave it, and the score is that of the CIGAR."""
    start, inserted, rest = letters(0, 60), letters(1, 12), letters(2, 80)
    scoring, query, target = Substitution.parse("match:2,mismatch:-4,gap:4,2"), start + inserted + rest, start + rest
    for one, other in ((query, target), (target, query)):
        assert ends([one], [other], scoring, band=12) == [(280 - 28, len(one), len(other))]
        assert ends([one], [other], scoring, band=11)[0][0] < 150
    both = [start + inserted + rest + letters(3, 12) + letters(4, 80)], [start + rest + letters(5, 12) + letters(3, 12) + letters(4, 80)]
    narrow = ends(*both, Substitution.parse("match:2,mismatch:-1,gap:4,2"), band=3)[0]
    sides = [batch(strings, scoring) for strings in both]
    found = pairs.align(*sides, Substitution.parse("match:2,mismatch:-1,gap:4,2"), span="extension", band=3)
    (score, _, query_end, _, target_end, cigar), *_ = aligned(found)
    assert found.heuristic and (query_end, target_end) == narrow[1:] and score > narrow[0]
    assert score == scored_oracle.rescored(both[0][0], both[1][0], (0, query_end, 0, target_end), cigar, Substitution.parse("match:2,mismatch:-1,gap:4,2"))
