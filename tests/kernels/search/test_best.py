"""Search of a database: what is kept of each query is what comes first where all scores are sorted, however many pairs go into a call."""

import random

import numpy as np
import pytest
import scored_oracle
from related import related

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local import lookups, pairs
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.search import best, words

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def strings(seed: int, count: int, alphabet: str, longest: int) -> list[str]:
    """Draw strings of few letters and many repeats, so that many scores are equal."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(alphabet, k=chance.randint(0, 6))) for _ in range(8)]
    return ["".join(chance.choices(words, k=chance.randint(0, longest // 6))) for _ in range(count)]


def hits(found: best.Hits) -> list[tuple[int, int, int, int]]:
    return list(zip(*(getattr(found, name).tolist() for name in ("query", "target", "strand", "score")), strict=True))


@pytest.mark.parametrize("at_once", [1, 7, 64, 1 << 14])
@pytest.mark.parametrize(("top", "least", "both", "text"), [(1, 1, True, "dna"), (5, 8, True, "dna"), (3, 1, False, "blosum62"), (1000, 4, True, "dna")])
def test_the_best_are_those_of_a_full_sort(monkeypatch: pytest.MonkeyPatch, at_once: int, top: int, least: int, both: bool, text: str) -> None:
    monkeypatch.setattr(best, "CALL_PAIRS", at_once)
    scoring = Substitution.parse("match:2,mismatch:-3,gap:5,2" if text == "dna" else text)
    queries, targets = (strings(seed, count, "ACGTN" if text == "dna" else "ARNDWY", 36) for seed, count in ((1, 9), (2, 25)))
    strands = [queries, [query.translate(COMPLEMENT)[::-1] for query in queries]][: 1 + both]
    coding = Coding(scoring)
    coded = [coding.coded(Sequences.from_strings(strand), 0) for strand in strands]
    found = best.search(coded, coding.coded(Sequences.from_strings(targets), 1), coding, top=top, least=least)
    wanted = []
    for i in range(len(queries)):
        scored = [(-scored_oracle.align(strand[i], target, scoring, "local")[0], j, s) for j, target in enumerate(targets) for s, strand in enumerate(strands)]
        wanted += [(i, j, s, -score) for score, j, s in sorted(scored)[:top] if -score >= least]
    assert hits(found) == wanted


def test_nothing_to_search() -> None:
    coding = Coding(Substitution.parse("blosum62"))
    none, some = (coding.coded(Sequences.from_strings(letters), 0) for letters in ([], ["WYR"]))
    for queries, database in ((none, some), (some, none), (none, none)):
        assert len(best.search([queries], database, coding, top=3, least=1)) == 0


def test_scores_beyond_16_bits_and_below_zero() -> None:
    """A score of 16 bits that overflows is made again; of global alignments those below 0 count too where they are asked for."""
    coding = Coding(Substitution.parse("match:127,mismatch:-4,gap:4,2"))
    letters = "ACGT" * 300
    sides = [coding.coded(Sequences.from_strings([letters, "TT"]), place) for place in (0, 1)]
    found = best.search([sides[0]], sides[1], coding, top=2, least=-10_000, span="global")
    assert np.array_equal(found.score, [127 * 1200, scored(letters, "TT"), 254, scored("TT", letters)])


def scored(query: str, target: str) -> int:
    return scored_oracle.align(query, target, Substitution.parse("match:127,mismatch:-4,gap:4,2"), "global")[0]


@pytest.mark.parametrize("text", ["blosum62", "pam250,gap:6,2,14,1", "match:1,mismatch:-4,n:-1,gap:6,1"])
def test_rows_that_all_lanes_share_change_nothing(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """One query with many sequences, whose scores are looked up in one table where the processor can, as pairs of their own."""
    scoring = Substitution.parse(text)
    alphabet = "ACGTN" if scoring.alphabet == "dna" else "ARNDCQEGHILKMFPSTWYVBZX*UO"
    chance = random.Random(5)
    query = "".join(chance.choices(alphabet, k=37))
    targets = ["".join(chance.choices(alphabet, k=chance.randint(0, 60))) + query[: chance.randint(0, 30)] for _ in range(70)]
    coding = Coding(scoring)
    sides = coding.coded(Sequences.from_strings([query]), 0), coding.coded(Sequences.from_strings(targets), 1)
    rows = np.zeros(len(targets), np.int64), np.arange(len(targets))
    found = []
    monkeypatch.setattr(pairs, "SHARED_PAIRS", 1)
    for shares in {lookups.SHARES, False}:
        monkeypatch.setattr(lookups, "SHARES", shares)
        found.append(pairs.align_coded(sides[0].at(rows[0]), sides[1].at(rows[1]), coding, report="score"))
    wanted = [scored_oracle.align(query, target, scoring, "local") for target in targets]
    for one in found:
        assert one.score is not None and one.score.tolist() == [row[0] for row in wanted]


def test_queries_alone_in_their_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    coding = Coding(Substitution.parse("blosum62"))
    queries, targets = (Sequences.from_strings(strings(seed, count, "ARNDWY", 36)) for seed, count in ((1, 9), (2, 40)))
    sides = [coding.coded(queries, 0)], coding.coded(targets, 1)
    found = []
    for alone in (1, 1000):
        monkeypatch.setattr(pairs, "SHARED_PAIRS", alone)
        found.append(hits(best.search(*sides, coding, top=4, least=1)))
    assert found[0] == found[1] and found[0]


@pytest.mark.parametrize(("at_once", "likeliest", "promising"), [(1 << 14, 1, 4), (7, 3, 0), (64, 8, 1000)])
@pytest.mark.parametrize(
    ("top", "least", "text"), [(1, 1, "match:2,mismatch:-3,gap:5,2"), (4, 40, "match:2,mismatch:-3,gap:5,2"), (3, 1, "match:5,mismatch:-4,n:-2,gap:8,6")]
)
def test_what_shares_most_words_first(monkeypatch: pytest.MonkeyPatch, top: int, least: int, text: str, at_once: int, likeliest: int, promising: int) -> None:
    """Queries among whose sequences some are much alike, of all degrees: the best of them all, though most pairs are left out or given up."""
    for module, name, value in (
        (best, "CALL_PAIRS", at_once),
        (best, "LIKE_PAIRS", 5),
        (words, "LIKELIEST", likeliest),
        (best, "PROMISING", promising),
        (best, "WORDS_CELLS", 0),
        (pairs, "SHARED_PAIRS", 1),
    ):
        monkeypatch.setattr(module, name, value)
    scoring = Substitution.parse(text)
    strands, targets = related(top, [70, 40, 25], 13)
    queries = strands[0]
    coding = Coding(scoring)
    counts: list[int] = []
    count_shared = best.words_host.count_shared
    monkeypatch.setattr(best.words_host, "count_shared", lambda *given: (counts.append(1), count_shared(*given))[1])
    found = best.search(
        [coding.coded(Sequences.from_strings(strand), 0) for strand in strands], coding.coded(Sequences.from_strings(targets), 1), coding, top=top, least=least
    )
    wanted = []
    for i in range(len(queries)):
        scored = [(-scored_oracle.align(strand[i], target, scoring, "local")[0], j, s) for j, target in enumerate(targets) for s, strand in enumerate(strands)]
        wanted += [(i, j, s, -score) for score, j, s in sorted(scored)[:top] if -score >= least]
    assert hits(found) == wanted and len(counts) == 2 * len(queries)


def test_most_pairs_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few of the pairs of a query that has near relatives are scored, on either strand; all of a query that has none."""
    monkeypatch.setattr(best, "WORDS_CELLS", 0)
    scored_pairs: list[int] = []
    align_coded = pairs.align_coded
    monkeypatch.setattr(pairs, "align_coded", lambda query, *rest, **options: (scored_pairs.append(len(query)), align_coded(query, *rest, **options))[1])
    chance, coding = random.Random(8), Coding(Substitution.parse("match:2,mismatch:-3,gap:5,2"))
    strangers = ["".join(chance.choices("ACGT", k=400)) for _ in range(400)]
    query, lonely = ("".join(chance.choices("ACGT", k=400)) for _ in range(2))
    targets = coding.coded(Sequences.from_strings([*strangers, *(query[number:] for number in range(20))]), 1)
    for letters, few in ((query, True), (lonely, False)):
        scored_pairs.clear()
        strands = [coding.coded(Sequences.from_strings([letters if plus else letters.translate(COMPLEMENT)[::-1]]), 0) for plus in (True, False)]
        found = best.search(strands, targets, coding, top=10, least=1)
        assert len(found) == 10 and (sum(scored_pairs) < 60 if few else sum(scored_pairs) == 840)
