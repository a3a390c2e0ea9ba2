"""Scores alone of local pairs, in lanes of 8 bits where they fit: the whole matrix's, whatever they are."""

import random
from typing import Any

import numpy as np
import pytest
import scored_oracle
from scored_cases import SCORINGS, batch, cases

from tidalign.kernels.local import pairs, scored
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.scoring.substitution import Substitution

NEVER = 1e18


@pytest.fixture
def bytes_scored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have few pairs scored in lanes of 8 bits, too; gives a list of how many there are in each call."""
    calls: list[int] = []
    scores = scored._scores
    monkeypatch.setattr(pairs, "SHARED_PAIRS", 1)
    monkeypatch.setattr(pairs, "BYTES_CELLS", 0.0)
    monkeypatch.setattr(pairs, "ALONG_SAVES", NEVER)
    monkeypatch.setattr(scored, "_scores", lambda query, *rest: (calls.append(len(query)), scores(query, *rest))[1])
    return calls


def scores(queries: list[str], targets: list[str], text: str, **options: Any) -> list[int]:
    scoring = Substitution.parse(text)
    found = pairs.align(batch(queries, scoring), batch(targets, scoring), scoring, report="score", **options).score
    assert found is not None
    return [int(score) for score in found]


@pytest.mark.parametrize("name", SCORINGS)
def test_scores_are_as_in_the_whole_matrix(bytes_scored: list[int], name: str) -> None:
    text, alphabet, ambiguous = SCORINGS[name]
    queries, targets = cases(len(name), alphabet, 2 * scored.LANES + 3)
    found = scores(queries, targets, text, ambiguous=ambiguous)
    scoring = Substitution.parse(text)
    assert found == [scored_oracle.align(query, target, scoring, "local", ambiguous)[0] for query, target in zip(queries, targets, strict=True)]
    assert sum(bytes_scored) == len(queries)


@pytest.mark.parametrize("match", [1, 2, 127])
def test_scores_about_the_highest_of_8_bits(bytes_scored: list[int], match: int) -> None:
    """Scores again, in 16 bits, what is 255 or more; all lengths are in one group or another."""
    letters = "".join(random.Random(3).choices("ACGT", k=300))
    lengths = [length for length in range(300) if length * match < 1000] + [0, 1, 2] * scored.LANES
    strings = [letters[:length] for length in lengths]
    assert scores(strings, strings, f"match:{match},mismatch:-4,gap:4,2") == [match * length for length in lengths]
    assert sum(bytes_scored) == len(lengths)


def test_a_sample_says_whether_8_bits_are_worth_it(bytes_scored: list[int]) -> None:
    chance, count = random.Random(4), 2 * scored.SAMPLED * scored.LANES
    query, other = ("".join(chance.choices(letters, k=200)) for letters in ("ACGT", "AC"))
    for target, score, expected in ((query, 400, [count // scored.SAMPLED]), (other, None, [count // scored.SAMPLED, count - count // scored.SAMPLED])):
        bytes_scored.clear()
        found = scores([query] * count, [target] * count, "match:2,mismatch:-4,gap:4,2")
        assert found == [found[0] if score is None else score] * count and bytes_scored == expected
    bytes_scored.clear()
    assert scores([query] * count, [query] * count, "match:1,mismatch:-4,gap:4,2") == [200] * count
    assert bytes_scored == [count], "200 letters score at most 200"


def test_gaps_that_8_bits_do_not_hold(bytes_scored: list[int]) -> None:
    assert scores(["ACGTACGT"], ["ACGTTACGT"], "match:100,mismatch:-4,gap:126,1") == [800 - 127] and bytes_scored == [1]
    assert scores(["ACGTACGT"], ["ACGTTACGT"], "match:100,mismatch:-4,gap:127,1") == [800 - 128] and bytes_scored == [1]


def test_only_scores_of_local_pairs_are_made_so(bytes_scored: list[int]) -> None:
    scoring = Substitution.parse("blosum62")
    sides = [batch(["WYRRAND"] * 300, scoring) for _ in range(2)]
    for report, span in (("ends", "local"), ("cigar", "local"), ("score", "query"), ("score", "global")):
        found = pairs.align(*sides, scoring, report=report, span=span).score
        assert found is not None and len(np.unique(found)) == 1 and bytes_scored == []


def test_a_kernel_of_8_bits_is_compiled_where_it_is_worth_it(bytes_scored: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """From so many cells of all calls on; at once for one query with many sequences, whose scores are looked up: that one is compiled ahead."""
    monkeypatch.setattr(pairs, "BYTES_CELLS", 2.5 * 300 * 49)
    monkeypatch.setattr(pairs._Work, "cells", 0.0)
    for calls in (0, 0, 1, 2):
        assert scores(["WYRRAND"] * 299 + ["WYRRANE"], ["WYRRAND"] * 300, "blosum62")[:299] == [44] * 299
        assert len(bytes_scored) == calls
    monkeypatch.setattr(pairs._Work, "cells", 0.0)
    coding = Coding(Substitution.parse("blosum62"))
    one, many = (coding.coded(batch(["WYRRAND"] * count, coding.scoring), place) for place, count in enumerate((1, 300)))
    assert pairs.align_coded(one.at(np.zeros(300, np.int64)), many, coding, report="score").score.tolist() == [44] * 300
    assert len(bytes_scored) == 3


def test_long_and_unlike_pairs_are_left_to_others(bytes_scored: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs whose group takes too much memory, and one among short ones, for which all other lanes would wait."""
    text, chance = "match:1,mismatch:-4,gap:4,2", random.Random(5)
    short, long = ("".join(chance.choices("ACGT", k=length)) for length in (50, 5000))
    monkeypatch.setattr(pairs, "ALONG_SAVES", 0.0)
    strings = [short] * scored.LANES + [long]
    assert scores(strings, [short] * len(strings), text)[: scored.LANES] == [50] * scored.LANES and sum(bytes_scored) == scored.LANES
    bytes_scored.clear()
    monkeypatch.setattr(pairs, "GROUP_BYTES", 1 << 16)
    assert scores([short] * len(strings), strings, text)[: scored.LANES] == [50] * scored.LANES and sum(bytes_scored) == scored.LANES
