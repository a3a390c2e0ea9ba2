"""Search of a database: what is kept of each query is what comes first where all scores are sorted, however many pairs go into a call."""

import random

import numpy as np
import pytest
import scored_oracle

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local import best
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.scoring.substitution import Substitution

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def strings(seed: int, count: int, alphabet: str, longest: int) -> list[str]:
    """Few letters and many repeats, so that many scores are equal."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(alphabet, k=chance.randint(0, 6))) for _ in range(8)]
    return ["".join(chance.choices(words, k=chance.randint(0, longest // 6))) for _ in range(count)]


def hits(found: best.Hits) -> list[tuple[int, int, int, int]]:
    return list(zip(*(getattr(found, name).tolist() for name in ("query", "target", "strand", "score")), strict=True))


@pytest.mark.parametrize("pairs", [1, 7, 64, 1 << 14])
@pytest.mark.parametrize(("top", "least", "both", "text"), [(1, 1, True, "dna"), (5, 8, True, "dna"), (3, 1, False, "blosum62"), (1000, 4, True, "dna")])
def test_the_best_are_those_of_a_full_sort(monkeypatch: pytest.MonkeyPatch, pairs: int, top: int, least: int, both: bool, text: str) -> None:
    monkeypatch.setattr(best, "CALL_PAIRS", pairs)
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
