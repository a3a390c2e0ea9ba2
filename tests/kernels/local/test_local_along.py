"""Long pairs one by one on cores, lanes with strips of a pair: the whole matrix's scores, places and CIGARs, and those of lanes with a pair each."""

import random
from typing import Any

import numpy as np
import pytest
import scored_oracle
from scored_cases import SCORINGS, aligned, batch, cases, mutated, same

from tidalign.kernels.local import along, memory, pairs
from tidalign.kernels.local.choices import SEARCH_SPANS
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.lanes import PAIR_LANES
from tidalign.kernels.local.lookups import STRIP_ROWS
from tidalign.kernels.scoring.substitution import Substitution

NEVER = 1e18


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have all pairs aligned one by one from here on; gives a list that counts them."""
    counted: list[int] = []
    align = along.align_along
    monkeypatch.setattr(along, "align_along", lambda order, *rest: (counted.append(len(order)), align(order, *rest))[1])
    monkeypatch.setattr(pairs, "ALONG_COST", -NEVER)
    monkeypatch.setattr(pairs, "ALONG_SAVES", -NEVER)
    return counted


OTHERS = [*((span, 16) for span in SEARCH_SPANS if span != "local"), ("overlap", 32)]
"""Spans and bits that are compiled for each scoring anew, which takes long."""


@pytest.mark.parametrize(
    ("name", "span", "bits"),
    [
        *((name, "local", bits) for name in SCORINGS for bits in (16, 32)),
        *(pytest.param(name, *other, marks=() if name == "affine" else pytest.mark.slow) for name in SCORINGS for other in OTHERS),
    ],
)
def test_all_is_as_in_the_whole_matrix(monkeypatch: pytest.MonkeyPatch, name: str, span: str, bits: int) -> None:
    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    queries, targets = cases(len(name) + len(span) + bits, alphabet, 100)
    sides = [batch(strings, scoring) for strings in (queries, targets)]
    if bits == 32:
        monkeypatch.setattr(pairs._Work, "_narrow", lambda self: np.zeros(len(self._found[0]), bool))
    counted = one_by_one(monkeypatch)
    found = pairs.align(*sides, scoring, span=span, ambiguous=ambiguous)
    assert counted == [100]
    assert aligned(found) == [scored_oracle.align(query, target, scoring, span, ambiguous) for query, target in zip(queries, targets, strict=True)]
    for report in ("score", "ends"):
        other = pairs.align(*sides, scoring, span=span, ambiguous=ambiguous, report=report)
        assert other.score is not None and found.score is not None and other.score.tolist() == found.score.tolist()
    same(found, other, "ends")


@pytest.mark.parametrize("span", SEARCH_SPANS)
@pytest.mark.parametrize("name", ["affine", "two pieces", "blosum62"])
@pytest.mark.parametrize("block_bytes", [1, 1 << 20, 1 << 23], ids=["a round a block", "some rounds a block", "one block"])
def test_rounds_and_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch, name: str, span: str, block_bytes: int) -> None:
    """Queries about as long as one round of strips, and as several; targets of fewer letters than lanes; ends in the first strip of a round and in its last."""
    text, alphabet, ambiguous = SCORINGS[name]
    scoring, chance, rows = Substitution.parse(text), random.Random(4), STRIP_ROWS * PAIR_LANES
    queries = ["".join(chance.choices(alphabet[:4], k=length)) for length in (1, rows - 1, rows, rows + 1, 3 * rows, 7 * rows + 9, 2 * rows)]
    targets = ["".join(mutated(chance, query[len(query) // 3 :], alphabet[:4])) for query in queries[:-1]] + [queries[-1][: rows + 1]]
    queries, targets = [*queries, queries[2], queries[5]], [*targets, targets[2][: PAIR_LANES // 2], targets[5][:PAIR_LANES]]
    sides = [batch(strings, scoring) for strings in (queries, targets)]
    expected = pairs.align(*sides, scoring, span=span, ambiguous=ambiguous)
    counted = one_by_one(monkeypatch)
    monkeypatch.setattr(pairs, "BLOCK_BYTES", block_bytes)
    for report in ("cigar", "score"):
        found = pairs.align(*sides, scoring, span=span, ambiguous=ambiguous, report=report)
        assert found.score is not None and expected.score is not None and found.score.tolist() == expected.score.tolist()
        if report == "cigar":
            same(expected, found, report)
    assert sum(counted) == 2 * len(queries)


@pytest.mark.parametrize(("length", "match"), [(20_000, 4), (600, 127)])
def test_scores_beyond_16_bits(monkeypatch: pytest.MonkeyPatch, length: int, match: int) -> None:
    scoring = Substitution.parse(f"match:{match},mismatch:-4,gap:4,2")
    letters = "".join(random.Random(length).choices("ACGT", k=length))
    queries = [letters, letters[: 65_534 // match], letters[: 65_536 // match + 1], letters[:100]]
    counted = one_by_one(monkeypatch)
    found = pairs.align(*(batch(strings, scoring) for strings in (queries, [letters] * 4)), scoring)
    assert sum(counted) == 4 + 2, "two are aligned again"
    assert found.score is not None and found.score.tolist() == [match * min(length, len(query)) for query in queries]
    assert [row[5] for row in aligned(found)] == [f"{min(length, len(query))}=" for query in queries]


def test_a_group_of_few_or_unlike_pairs_is_aligned_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long pair alone, and one among short ones, for which all other lanes would wait; full groups are not."""
    scoring, chance = Substitution.parse("match:2,mismatch:-4,gap:4,2"), random.Random(8)
    counted: list[int] = []
    align = along.align_along
    monkeypatch.setattr(along, "align_along", lambda order, *rest: (counted.append(len(order)), align(order, *rest))[1])
    monkeypatch.setattr(pairs, "ALONG_SAVES", 0.0)
    long, short = ("".join(chance.choices("ACGT", k=length)) for length in (3000, 50))
    for strings, expected in (([long], [1]), ([short] * (PAIR_LANES - 1) + [long], [PAIR_LANES]), ([long] * 2 * PAIR_LANES, []), ([short] * 5, [])):
        counted.clear()
        found = pairs.align(*(batch(strings, scoring) for _ in range(2)), scoring)
        assert counted == expected and found.score is not None and found.score.tolist() == [2 * len(each) for each in strings]


def test_it_is_worth_it_where_there_is_enough_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls with a pair each, as in a loop, count together."""
    scoring, counted = Substitution.parse("match:2,mismatch:-4,gap:4,2"), one_by_one(monkeypatch)
    monkeypatch.setattr(pairs, "ALONG_COST", 1.0)
    monkeypatch.setattr(pairs._Work, "gain", 0.0)
    sides = [batch(["ACGTTGCA" * 100], scoring) for _ in range(2)]
    gained = 800 / STRIP_ROWS * 800 - -(-800 // (STRIP_ROWS * PAIR_LANES)) * (800 + PAIR_LANES)
    monkeypatch.setattr(pairs, "ALONG_SAVES", 2.5 * gained)
    for calls in (0, 0, 1, 2):
        assert pairs.align(*sides, scoring).score == [1600]
        assert len(counted) == calls


@pytest.mark.parametrize("name", ["affine", "two pieces", "cheap gaps", "blosum62"])
@pytest.mark.parametrize("block_bytes", [1, 1 << 23], ids=["a round a block", "one block"])
def test_the_way_back_is_looked_for_near_the_end(monkeypatch: pytest.MonkeyPatch, name: str, block_bytes: int) -> None:
    """Targets that are much longer than any alignment: copies of the query here and there, the same one twice, one with a long gap, at either end, none."""
    text, alphabet, ambiguous = SCORINGS[name]
    scoring, chance, letters = Substitution.parse(text), random.Random(6), alphabet[:4]
    query = "".join(chance.choices(letters, k=2 * STRIP_ROWS * PAIR_LANES + 40))
    near, far = ("".join(mutated(chance, query, letters)) for _ in range(2))
    between = ["".join(chance.choices(letters, k=20_000)) for _ in range(3)]
    gapped = query[:300] + between[2][:80] + query[300:]
    targets = [between[0] + near + between[1] + far, near + between[0] + near + between[1], gapped + between[0], between[1] + query, between[2], between[2][:5]]
    queries = [query, query, query, query, letters[0] * 60, query]
    sides = [batch(strings, scoring) for strings in (queries, targets)]
    expected = pairs.align(*sides, scoring, ambiguous=ambiguous)
    one_by_one(monkeypatch)
    monkeypatch.setattr(pairs, "BLOCK_BYTES", block_bytes)
    windows: list[int] = []
    monkeypatch.setattr(pairs, "window", counted_windows(windows, pairs.window))
    same(expected, pairs.align(*sides, scoring, ambiguous=ambiguous), "cigar")
    assert name == "cheap gaps" or min(windows) < 20_000


@pytest.mark.parametrize("alone", [True, False])
def test_scores_of_targets_whose_columns_16_bits_do_not_count(monkeypatch: pytest.MonkeyPatch, alone: bool) -> None:
    scoring, chance = Substitution.parse("match:2,mismatch:-4,gap:4,2"), random.Random(9)
    query, target = ("".join(chance.choices("ACGT", k=length)) for length in (300, 70_000))
    targets = [target + query, query + target, target[:65_535] + query[:200] + target, target]
    sides = [batch(strings, scoring) for strings in ([query] * 4, targets)]
    expected = pairs.align(*sides, scoring, report="ends")
    if alone:
        one_by_one(monkeypatch)
    widths: list[int] = []
    align = pairs._Work._align
    monkeypatch.setattr(pairs._Work, "_align", lambda self, rows, bits: (widths.extend([bits] * len(rows)), align(self, rows, bits))[1])
    found = pairs.align(*sides, scoring, report="score")
    assert widths == [16] * 4 and found.score is not None and expected.score is not None
    assert found.score.tolist() == expected.score.tolist() and found.score[:2].tolist() == [600, 600]


@pytest.mark.parametrize("length", [65_503, 65_511, 65_520, 65_535, 65_536])
def test_columns_behind_a_long_target_are_not_taken_for_others(length: int) -> None:
    """Find the end where a mismatch costs nothing: the best score lives on in columns that lanes make there, which 16 bits may not count."""
    scoring, chance = Substitution.parse("match:2,mismatch:0,gap:9,4"), random.Random(1)
    query = "".join(chance.choices("ACGT", k=1800))
    target = "".join(chance.choices("ACGT", k=length - 1800)) + query
    found = aligned(pairs.align(*(batch([letters], scoring) for letters in (query, target)), scoring))
    assert found == [(3600, 0, 1800, length - 1800, length, "1800=")]


def counted_windows(found: list[int], window: Any) -> Any:
    """Note the shortest window of each call."""

    def noted(coding: Any, letters: Any) -> Any:
        found.append(int(np.min(window(coding, letters))))
        return window(coding, letters)

    return noted


def test_memory_is_that_of_a_window() -> None:
    """A gene against a chromosome: the way back takes what its window does."""
    coding = Coding(Substitution.parse("match:2,mismatch:-4,gap:4,2"))
    gene, chromosome = 1_500, 250_000_000
    local, other = (memory.memory(coding, gene, chromosome, traced=True, local=local) for local in (True, False))
    assert memory.memory(coding, gene, chromosome, traced=False, local=True) < local < 5e9 and other > 64e9
