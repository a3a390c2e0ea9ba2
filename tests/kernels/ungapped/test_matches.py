"""Stretches of few mismatches (`--exact`, `--mismatch`): the longest about each hit, by trying all; and which hits are passed over."""

import numpy as np
import pytest

from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.ungapped.hsps import HitFilter

SPAN = 5


def sides(seed: int) -> tuple[str, str]:
    rng = np.random.default_rng(seed)
    target = rng.choice(list("ACGTacgN"), 60, p=[0.22, 0.22, 0.22, 0.22, 0.03, 0.03, 0.03, 0.03])
    query = np.where(rng.random(60) < 0.2, rng.choice(list("ACGT"), 60), target)
    if seed % 3 == 0:
        target[40] = query[30] = "\0"
    return "".join(target), "".join(query)


def same(t: str, q: str) -> bool:
    return t.upper() == q.upper() and t.upper() in "ACGT"


def longest(target: str, query: str, shift: int, at: int, mismatches: int) -> tuple[int, int] | None:
    """The first of the longest stretches of the target about a hit that begins at `at`, `shift` further on in the query; by trying all."""
    best: tuple[int, int] | None = None
    for start in range(at + 1):
        for end in range(at + SPAN, min(len(target), len(query) - shift) + 1):
            pairs = [(target[i], query[i + shift]) for i in range(start, end) if i + shift >= 0]
            if len(pairs) < end - start or any("\0" in pair for pair in pairs) or sum(not same(*pair) for pair in pairs) > mismatches:
                continue
            if best is None or end - start > best[1] - best[0]:
                best = start, end
    return best


@pytest.mark.parametrize("mismatches", [0, 1, 2, 4])
@pytest.mark.parametrize("exact", [True, False])
def test_the_longest_stretch_about_a_hit(mismatches: int, exact: bool) -> None:
    found = passed = 0
    for seed in range(30):
        target, query = sides(seed)
        for at, shift in ((12, 0), (25, 3), (30, -4), (50, 0)):
            if "\0" in target[at : at + SPAN] + query[at + shift : at + shift + SPAN]:
                continue
            used = HitFilter(encode(target.encode()), encode(query.encode()), SPAN, Scoring(), exact=exact)
            hit = np.array([at, at]), np.array([at + shift, at + shift])
            segments, places = used.matches_of_hits(*hit, mismatches, SPAN + 1)
            expected = longest(target, query, shift, at, mismatches)
            if expected is None or expected[1] - expected[0] <= SPAN:
                assert not len(segments)
                passed += 1
                continue
            ((t, q, length, score),) = zip(segments.target, segments.query, segments.length, segments.score, strict=True)  # the second lies on the first
            assert (t, t + length, q - t, score) == (*expected, shift, length)
            assert places.tolist() == [at + shift]
            found += 1
    assert found > 10 and passed > 2
