"""Chaining, compared with a quadratic search and with what LASTZ chose: where chains are equal, and where its search misses the best one."""

import json
from itertools import product
from typing import Any

import genome_golden as golden
import genome_oracle
import numpy as np
import pytest

from tidalign.kernels.anchors.chain import SCALE, best_chain
from tidalign.kernels.ungapped.hsps import Segments


def some(random: np.random.Generator, count: int, reach: int) -> Segments:
    t, q = random.integers(0, reach, (2, count))
    return Segments(t, q, random.integers(1, 60, count), random.integers(1, 5000, count))


def rows(segments: Segments) -> list[tuple[int, ...]]:
    return list(zip(*(values.tolist() for values in (segments.target, segments.query, segments.length, segments.score)), strict=True))


@pytest.mark.parametrize("reach", [60, 500, 5000])
def test_members_are_those_of_the_model(reach: int) -> None:
    random = np.random.default_rng(reach)
    for count in (1, 2, 17, 60, 150):
        segments = some(random, count, reach)
        assert rows(segments.take(best_chain(segments, 91))) == genome_oracle.chain(rows(segments))


@pytest.mark.parametrize("reach", [6, 25, 400])
def test_equal_scores_and_few_places_give_the_chain_of_the_model(reach: int) -> None:
    random = np.random.default_rng(reach)
    for count in (3, 4, 5, 11, 40, 130):
        segments = some(random, count, reach)
        segments = Segments(segments.target, segments.query, np.full(count, 1 + reach // 20), np.full(count, 100))
        assert rows(segments.take(best_chain(segments, 91))) == genome_oracle.chain(rows(segments))


# Of A and T alone all bare seeds of one length have one score, and many chains are equal. What LASTZ 1.04.22 chose of them:
# lastz TARGET QUERY --seed=match5 --nogfextend --nogapped --chain --strand=plus --format=general-:zstart1,zstart2
CHOSEN = [
    ("TTATAAAATTATAAAATTATAAAT", "AAAAAAAATTAAAATTATTAATAT", "4/4 5/5 11/9 13/11 15/13"),
    ("TATATTTTTATTAATATTATTTATAAAAATTTTTATTATA", "ATTATTATTTAAATTAAATAATTTTAAATTAAATAATTAA", "7/1 14/2 16/4 18/6 26/10 30/21"),
    (
        "TTATATTTTTTTTAATATTAATTTATATTTTTTTAATTTTTTTTTTTTATTTAAATTTAT",
        "ATTTAAATAAAATAAAAATATAATTTTAAATATTTTATATATTTTATTTTAATTAAATAT",
        "10/1 13/16 19/21 24/29 26/31 30/32 35/40 44/46 50/52 51/53",
    ),
    (
        "ATAATAATATTTTTAATATATAATTAATTTAAATAAAATATTTTAATAATAAATAATTATTTTTATTTTAAATAAAAAAAATTTATTTTT",
        "TTAAAAATTTATATATAATATTTAATTAATTTAAAAAAATTTATTTATAAAAATTATATTAAATAAATATAAATTAATTTTAAAATAAAT",
        "3/14 4/15 5/16 7/18 11/20 12/21 20/26 26/28 27/29 28/30 34/35 38/41 48/46 54/51 55/52 67/58 68/59 71/62 78/70 84/76",
    ),
]


def seeds(target: str, query: str, letters: int) -> Segments:
    """Make a segment of every place where so many letters are equal."""
    places = product(range(len(target) - letters + 1), range(len(query) - letters + 1))
    hits = [(t, q) for t, q in places if target[t : t + letters] == query[q : q + letters]]
    t, q = np.array(hits, np.int64).reshape(-1, 2).T.copy()
    worth = [sum(91 if letter in "AT" else 100 for letter in target[place : place + letters]) for place in t]
    return Segments(t, q, np.full(len(t), letters), np.array(worth, np.int64))


@pytest.mark.parametrize(("target", "query", "chosen"), CHOSEN)
def test_of_equal_chains_the_one_that_lastz_chooses(target: str, query: str, chosen: str) -> None:
    segments = seeds(target, query, 5)
    assert " ".join(f"{t}/{q}" for t, q, *_ in rows(segments.take(best_chain(segments, 91)))) == chosen


CHAINS = json.loads(golden.text("chains.json.gz"))["cases"]
"""Chains that LASTZ found with penalties (tests/data/genomes/make_chains.py)."""


def chosen(case: dict[str, Any], *, lastz: bool) -> list[list[int]]:
    segments = seeds(case["target"], case["query"], case["letters"])
    t, q = (places + (side in case["multiple"]) for side, places in (("target", segments.target), ("query", segments.query)))  # behind a NUL
    members = best_chain(Segments(t, q, segments.length, segments.score), 91, case["diagonal"], case["anti"], lastz=lastz)
    return [[t, q] for t, q, *_ in rows(segments.take(members))]


def test_with_penalties_the_chain_that_lastz_finds() -> None:
    for number, case in enumerate(CHAINS):
        assert (number, chosen(case, lastz=True)) == (number, case["chain"])


def test_lastz_misses_the_best_chain() -> None:
    # Else the cases would say nothing of its search. What it finds is worth no more where nothing passes 32 bits.
    missed = [case for case in CHAINS if chosen(case, lastz=False) != case["chain"]]
    assert len(missed) > len(CHAINS) // 8
    for case in missed:
        if max(case["diagonal"], case["anti"]) < 10**6:
            segments = rows(seeds(case["target"], case["query"], case["letters"]))
            theirs = [next(row for row in segments if [*row[:2]] == place) for place in case["chain"]]
            best = [next(row for row in segments if [*row[:2]] == place) for place in chosen(case, lastz=False)]
            assert worth(theirs, case["diagonal"], case["anti"]) <= worth(best, case["diagonal"], case["anti"])


# Of sequences with repeats, by --match=300000 --exact=12 --nogapped --strand=plus and a chain: letters that overlap cost more than 32 bits hold.
# Penalties, target/query/length of all HSPs, and how many of LASTZ 1.04.22's chain come first among them.
WRAPPED = [
    (
        (0, 0),
        "59/39/132 102/172/48 179/39/32 149/39/62 119/39/92 89/39/122 30/40/131 30/70/101 30/100/71 30/130/41 192/172/19 162/172/48 132/172/48 72/172/48 "
        "42/172/48 30/190/30",
        2,
    ),
    ((1000, 0), "29/39/103 30/57/85 98/40/34 81/40/51 64/40/68 47/40/85 30/74/68 30/91/51 30/108/34", 2),
]


@pytest.mark.parametrize(("penalties", "hsps", "count"), WRAPPED)
def test_costs_wrap_as_with_lastz(penalties: tuple[int, int], hsps: str, count: int) -> None:
    t, q, length = np.array([[int(number) for number in hsp.split("/")] for hsp in hsps.split()]).T.copy()
    segments = Segments(t, q, length, 300_000 * length)
    members = [best_chain(segments, 300_000, *penalties, lastz=lastz) for lastz in (True, False)]
    assert members[0].tolist() == list(range(count))
    theirs, best = (worth(rows(segments.take(chain)), *penalties, 300_000) for chain in members)
    assert theirs < best


def worth(chain: list[tuple[int, ...]], diagonal: int, anti: int, match: int = 91) -> int:
    """Compute what a chain is worth by the rule, penalties included."""
    total = sum(SCALE * score for *_, score in chain)
    for (t, q, length, _), (next_t, next_q, *_) in zip(chain, chain[1:], strict=False):
        assert t < next_t
        assert q < next_q
        apart = (next_t - next_q) - (t - q)
        room = next_q - q - length if apart >= 0 else next_t - t - length
        total -= abs(apart) * diagonal + (room * anti if room >= 0 else -room * match * SCALE)
    return total


@pytest.mark.parametrize(("diagonal", "anti"), [(0, 0), (3, 1), (500, 40), (0, 2000)])
def test_no_chain_is_worth_more(diagonal: int, anti: int) -> None:
    random = np.random.default_rng(diagonal + anti)
    for _ in range(10):
        segments = some(random, 12, 300)
        ours = worth(rows(segments.take(best_chain(segments, 91, diagonal, anti))), diagonal, anti)
        others = [[]]
        for row in sorted(rows(segments)):  # every chain there is
            others += [[*chain, row] for chain in others if not chain or (chain[-1][0] < row[0] and chain[-1][1] < row[1])]
        assert ours == max(worth(chain, diagonal, anti) for chain in others)


def test_no_segments_and_no_score_give_no_chain() -> None:
    assert len(best_chain(some(np.random.default_rng(1), 0, 10), 91)) == 0
    assert len(best_chain(Segments(*(np.array([value]) for value in (3, 4, 5, 0))), 91)) == 0


def test_negative_penalties_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        best_chain(some(np.random.default_rng(1), 3, 10), 91, -1)
