"""Alignment by scores on cores: scores, places and CIGARs of every span against the whole matrix, in lanes of every width."""

import random

import numpy as np
import pytest
import scored_oracle
from scored_cases import DNA, SCORINGS, aligned, batch, cases, mutated

from tidalign.kernels.local import pairs
from tidalign.kernels.local.choices import SEARCH_SPANS
from tidalign.kernels.scoring.substitution import Substitution


@pytest.mark.parametrize("span", SEARCH_SPANS)
@pytest.mark.parametrize("name", SCORINGS)
def test_all_is_as_in_the_whole_matrix(name: str, span: str) -> None:
    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    queries, targets = cases(len(name) + len(span), alphabet, 120)
    sides = [batch(strings, scoring) for strings in (queries, targets)]
    found = aligned(pairs.align(*sides, scoring, span=span, ambiguous=ambiguous))
    for query, target, row in zip(queries, targets, found, strict=True):
        assert row == scored_oracle.align(query, target, scoring, span, ambiguous), (query, target)
        assert scored_oracle.rescored(query, target, row[1:5], row[5], scoring, ambiguous) == row[0]
    scores = pairs.align(*sides, scoring, span=span, report="score", ambiguous=ambiguous)
    assert scores.score is not None and scores.score.tolist() == [row[0] for row in found] and scores.cigar is None
    ends = pairs.align(*sides, scoring, span=span, report="ends", ambiguous=ambiguous)
    assert [ends.query_start.tolist(), ends.target_end.tolist()] == [[row[1] for row in found], [row[4] for row in found]] and ends.cigar is None


@pytest.mark.parametrize(
    ("name", "span", "bits"),
    [("affine", "overlap", 32), ("pam250 in two pieces", "local", 32), ("affine", "overlap", 64), ("pam250 in two pieces", "global", 64)],
)
def test_wider_lanes(monkeypatch: pytest.MonkeyPatch, name: str, span: str, bits: int) -> None:
    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    monkeypatch.setattr(pairs._Work, "_narrow", lambda self: np.zeros(len(self._found[0]), bool))
    monkeypatch.setattr(pairs._Work, "_fits", lambda self: np.full(len(self._found[0]), bits == 32))
    queries, targets = cases(bits, alphabet, 60)
    found = aligned(pairs.align(*(batch(strings, scoring) for strings in (queries, targets)), scoring, span=span, ambiguous=ambiguous))
    assert found == [scored_oracle.align(query, target, scoring, span, ambiguous) for query, target in zip(queries, targets, strict=True)]


@pytest.mark.parametrize(("name", "span"), [("affine", "local"), ("two pieces", "global"), ("blosum62", "query"), ("linear", "overlap")])
def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch, name: str, span: str) -> None:
    """The way back over many blocks of rows is that over one."""
    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    sides = [batch(strings, scoring) for strings in cases(5, alphabet, 100, 150)]
    whole = aligned(pairs.align(*sides, scoring, span=span, ambiguous=ambiguous))
    monkeypatch.setattr(pairs, "BLOCK_BYTES", 1)
    assert aligned(pairs.align(*sides, scoring, span=span, ambiguous=ambiguous)) == whole


@pytest.mark.parametrize(("length", "match"), [(20_000, 2), (600, 127)])
def test_scores_beyond_16_bits(length: int, match: int) -> None:
    """Local scores over 32,767 fit 16 bits up to 65,534; beyond these pairs are done again in 32."""
    scoring = Substitution.parse(f"match:{match},mismatch:-4,gap:4,2")
    letters = "".join(random.Random(length).choices("ACGT", k=length))
    queries = [letters, letters[: 65_534 // match], letters[: 65_536 // match + 1], letters[:100], letters[: length // 3] + letters[length // 2 :]]
    expected = [match * min(length, len(query)) for query in queries[:4]]
    for span in ("local", "query"):
        found = pairs.align(*(batch(strings, scoring) for strings in (queries, [letters] * 5)), scoring, span=span)
        assert found.score is not None and found.score[:4].tolist() == expected
        assert [row[5] for row in aligned(found)[:4]] == [f"{len(query)}=" for query in queries[:4]]
        last = aligned(found)[4]
        assert scored_oracle.rescored(queries[4], letters, last[1:5], last[5], scoring) == last[0]


def test_long_pairs_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair whose group would take too much is aligned alone, over blocks, with the same result."""
    scoring = Substitution.parse("match:2,mismatch:-4,gap:4,2,24,1")
    chance = random.Random(3)
    query = "".join(chance.choices("ACGT", k=2_000))
    target = "".join(mutated(chance, query, "ACGT"))
    sides = [batch([letters, letters[:50]], scoring) for letters in (query, target)]
    wanted = aligned(pairs.align(*sides, scoring))
    monkeypatch.setattr(pairs, "GROUP_BYTES", 1 << 20)
    monkeypatch.setattr(pairs, "BLOCK_BYTES", 1 << 12)
    assert aligned(pairs.align(*sides, scoring)) == wanted
    assert scored_oracle.rescored(query, target, wanted[0][1:5], wanted[0][5], scoring) == wanted[0][0]


@pytest.mark.parametrize("name", ["affine", "two pieces", "n", "blosum62"])
@pytest.mark.parametrize(("zdrop", "bonus"), [(None, 0), (None, 7), (10, 0), (3, 5), (0, 0), (40, 20)])
def test_extensions(name: str, zdrop: int | None, bonus: int) -> None:
    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    queries, targets = cases(11, alphabet, 60)
    sides = [batch(strings, scoring) for strings in (queries, targets)]
    found = aligned(pairs.align(*sides, scoring, span="extension", ambiguous=ambiguous, zdrop=zdrop, end_bonus=bonus))
    for query, target, row in zip(queries, targets, found, strict=True):
        score, i, j = scored_oracle.extended(query, target, scoring, zdrop, bonus)
        assert row[:5] == (score, 0, i, 0, j), (query, target)
        assert row[5] == scored_oracle.align(query[:i], target[:j], scoring, "global", ambiguous)[5]
    scores = pairs.align(*sides, scoring, span="extension", report="score", zdrop=zdrop, end_bonus=bonus)
    assert scores.score is not None and scores.score.tolist() == [row[0] for row in found]


def test_letters_packed_or_not_and_batches_do_not_show() -> None:
    scoring = Substitution.parse("match:2,mismatch:-4,gap:4,2")
    queries, targets = cases(9, DNA, 200)
    whole = aligned(pairs.align(*(batch(strings, scoring) for strings in (queries, targets)), scoring))
    assert aligned(pairs.align(*(batch(strings, scoring, packed=False) for strings in (queries, targets)), scoring)) == whole
    single = [aligned(pairs.align(batch([query], scoring), batch([target], scoring), scoring))[0] for query, target in zip(queries, targets, strict=True)]
    assert single == whole
    assert aligned(pairs.align(batch([], scoring), batch([], scoring), scoring)) == []


def test_what_callers_may_pass() -> None:
    scoring = Substitution.parse("match:2,mismatch:-4,gap:4,2")
    one, two = batch(["A"], scoring), batch(["A", "C"], scoring)
    with pytest.raises(ValueError, match="as many queries as targets"):
        pairs.align(one, two, scoring)
    with pytest.raises(ValueError, match="expected a span"):
        pairs.align(one, one, scoring, span="locale")
