"""The oracles against what can be checked by eye or by trying everything."""

from functools import cache

import oracle
import pytest
import simulate

from tidalign.kernels.scoring.penalties import Penalties

MODELS = ("edit", "linear:3,2", "affine:4,6,2", "affine2p:4,6,2,24,1", "affine2p:1,5,1,0,4")


def by_trying(query: bytes, target: bytes, penalties: Penalties) -> int:
    """Try every split into a last column or a last gap of any length."""

    @cache
    def best(n: int, m: int) -> int:
        if n == 0 and m == 0:
            return 0
        options = []
        if n and m:
            options.append(best(n - 1, m - 1) + (0 if query[n - 1] == target[m - 1] else penalties.mismatch))
        options += [best(n - length, m) + penalties.gap(length) for length in range(1, n + 1)]
        options += [best(n, m - length) + penalties.gap(length) for length in range(1, m + 1)]
        return min(options)

    return best(len(query), len(target))


@pytest.mark.parametrize("text", MODELS)
def test_gotoh_against_every_gap_tried(text: str) -> None:
    penalties = Penalties.parse(text)
    for kind in ("mixed", "indel", "repeats", "gaps", "unrelated"):
        for length in (0, 3, 14, 26):
            for query, target in simulate.pairs(1, 3, length, 0.3, kind):
                assert oracle.gotoh(query, target, penalties) == by_trying(query, target, penalties), (query, target)


@pytest.mark.parametrize("text", MODELS)
def test_free_ends_are_the_best_of_all_ends(text: str) -> None:
    penalties = Penalties.parse(text)
    free = (2, 3, 4, 1)
    for query, target in simulate.pairs(2, 8, 12, 0.4, "gaps"):
        n, m = len(query), len(target)
        ends = [
            (v, w, h, j)
            for v in range(min(free[0], n) + 1)
            for h in range(min(free[2], m) + 1)
            for w in range(max(n - free[1], v), n + 1)
            for j in range(max(m - free[3], h), m + 1)
            if (v == 0 or h == 0) and (w == n or j == m)
        ]
        assert oracle.gotoh(query, target, penalties, free) == min(oracle.gotoh(query[v:w], target[h:j], penalties) for v, w, h, j in ends), (query, target)


def test_two_oracles_agree_with_free_ends() -> None:
    for text in MODELS:
        penalties = Penalties.parse(text)
        for query, target in simulate.pairs(3, 6, 30, 0.3, "gaps"):
            for ambiguous in ("mismatch", "match"):
                query = simulate.ambiguous(simulate.np.random.default_rng(len(query)), query)
                found = oracle.wavefront(query, target, penalties, (5, 1, 0, 9), ambiguous)
                assert found.penalty == oracle.gotoh(query, target, penalties, (5, 1, 0, 9), ambiguous)
                inner = query[found.query_start : found.query_end], target[found.target_start : found.target_end]
                assert oracle.rescore(found.cigar, *inner, penalties, ambiguous) == found.penalty


@pytest.mark.parametrize(
    ("cigar", "complaint"),
    [
        ("3=", "spells 3 query and 3 target"),
        ("2=1X1=", "letters that say otherwise"),
        ("4=1=", "two runs"),
        ("5=", "runs past"),
        ("2M2=", "not a CIGAR"),
        ("0I4=", "not a"),
    ],
)
def test_rescore_refuses(cigar: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        oracle.rescore(cigar, b"ACGT", b"ACGT", Penalties.parse("edit"))


def test_rescore_counts() -> None:
    penalties = Penalties.parse("affine2p:4,6,2,24,1")
    assert oracle.rescore("2=1X1I", b"ACGT", b"ACA", penalties) == 4 + 8
    assert oracle.rescore("20D", b"", b"A" * 20, penalties) == 44
    assert oracle.rescore("1=1X", b"aN", b"AN", penalties) == 4
    assert oracle.rescore("2=", b"aN", b"AC", penalties, "match") == 0
