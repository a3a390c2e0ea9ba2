"""Extensions on cores: scores and ends of the whole matrix, in lanes of every width, whatever depth the first try has."""

import random
from typing import Any

import numpy as np
import pytest
import scored_oracle
from scored_cases import DNA, SCORINGS, TWO, aligned, batch, cases, ends, letters, mutated

from tidalign.kernels.local import extension, pairs
from tidalign.kernels.local.lanes import PAIR_LANES
from tidalign.kernels.scoring.substitution import Substitution


@pytest.mark.parametrize("first", [0, 256])
@pytest.mark.parametrize("number", [np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("name", ["affine", "two pieces", "n", "n matches", "a mismatch earns", "blosum62"])
def test_lanes_and_depths_do_not_show(monkeypatch: pytest.MonkeyPatch, name: str, number: Any, first: int) -> None:
    monkeypatch.setattr(extension, "NUMBERS", (number,))
    monkeypatch.setattr(extension, "FIRST_DEPTH", first)
    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    for seed, (zdrop, bonus) in enumerate([(None, 0), (None, 9), (0, 0), (20, 0), (20, 5), (50, 40), (100, 1), (400, 7)]):
        queries, targets = cases(seed, alphabet, 25, 70)
        expected = [scored_oracle.extended(*pair, scoring, zdrop, bonus, ambiguous) for pair in zip(queries, targets, strict=True)]
        assert ends(queries, targets, scoring, zdrop, bonus, ambiguous) == expected, (zdrop, bonus)


@pytest.mark.parametrize("text", [TWO, "match:3,mismatch:-2,gap:1,1", "match:1,mismatch:-4,n:-1,gap:6,1"])
@pytest.mark.parametrize("zdrop", [None, 20, 400])
def test_lengths_about_a_vector(text: str, zdrop: int | None) -> None:
    """Both sides shorter than a vector of columns, as long, longer by a letter, and of some; one far longer than the other; N among them."""
    scoring, chance = Substitution.parse(text), random.Random(7)
    lengths = [0, 1, 2, PAIR_LANES - 1, PAIR_LANES, PAIR_LANES + 1, 3 * PAIR_LANES - 1, 3 * PAIR_LANES, 150]
    sides = [("".join(chance.choices(DNA, k=150))[:i], j) for i in lengths for j in lengths]
    queries, targets = [query for query, _ in sides], [("".join(mutated(chance, query, DNA)) + letters(5, 150))[:j] for query, j in sides]
    for bonus in (0, 30):
        expected = [scored_oracle.extended(*pair, scoring, zdrop, bonus) for pair in zip(queries, targets, strict=True)]
        assert ends(queries, targets, scoring, zdrop, bonus) == expected
        assert ends(targets, queries, scoring, zdrop, bonus) == [
            scored_oracle.extended(*pair, scoring, zdrop, bonus) for pair in zip(targets, queries, strict=True)
        ]


@pytest.mark.parametrize("zdrop", [20, 100, 400])
@pytest.mark.parametrize("pieces", ["gap:4,2", "gap:4,2,24,1"])
def test_pairs_that_part(pieces: str, zdrop: int) -> None:
    """Pairs alike in their first letters only, with a long gap, with an unlike stretch that is gone through or not, and without anything alike."""
    scoring, chance = Substitution.parse(f"match:2,mismatch:-4,{pieces}"), random.Random(zdrop)
    start, middle, rest, other = (letters(seed, 90) for seed in range(4))
    queries = [start + rest, start + middle + rest, start + middle[:25] + rest, start + rest, start, other]
    targets = [start + middle, start + rest, start + other[:25] + rest, start + middle + rest, rest, rest]
    targets = ["".join(mutated(chance, target, "ACGT")) if k % 2 else target for k, target in enumerate(targets)]
    for bonus in (0, 10, 60):
        expected = [scored_oracle.extended(*pair, scoring, zdrop, bonus) for pair in zip(queries, targets, strict=True)]
        assert ends(queries, targets, scoring, zdrop, bonus) == expected


@pytest.mark.parametrize(("length", "match"), [(40_000, 2), (600, 127)])
def test_high_scores_and_losses(length: int, match: int) -> None:
    """Scores beyond 16 bits, and losses beyond them, where lanes have 32: half of it is unlike, and nothing stops the extension."""
    scoring, text = Substitution.parse(f"match:{match},mismatch:-4,gap:4,2"), letters(length, length)
    assert ends([text, text[: length // 2]], [text, text], scoring, 400) == [(match * length, length, length), (match * length // 2, length // 2, length // 2)]
    if length == 600:
        other = text[:300] + letters(1, 300)
        assert ends([other], [text], scoring) == [scored_oracle.extended(other, text, scoring)]


def test_what_other_letters_lose() -> None:
    """Take matrices of DNA with N last, with N first, and with two scores of a mismatch: compared or looked up, as they can be."""
    chance = random.Random(2)
    for lower in (
        "ACGTN 2 -4 2 -4 -4 2 -4 -4 -4 2 -1 -1 -1 -1 -1",
        "NACGT -1 -1 2 -1 -4 2 -1 -4 -4 2 -1 -4 -4 -4 2",
        "ACGTN 2 -4 2 -1 -4 2 -4 -1 -4 2 0 0 0 0 1",
    ):
        names, *values = lower.split()
        scoring = Substitution.parse(f"letters:{names},scores:{','.join(values)},gap:4,2", "dna")
        queries = ["".join(chance.choices("ACGTNacgtnRY", k=chance.randint(0, 80))) for _ in range(30)]
        targets = ["".join(mutated(chance, query, "ACGTNR")) for query in queries]
        assert ends(queries, targets, scoring, 30, 5) == [scored_oracle.extended(*pair, scoring, 30, 5) for pair in zip(queries, targets, strict=True)], lower


def test_all_stop_at_once() -> None:
    scoring = Substitution.parse(TWO)
    assert ends(["A" * 500] * 40, ["C" * 500] * 40, scoring, 20) == [(0, 0, 0)] * 40
    assert ends([""] * 3 + ["ACGT"] * 2, ["", "ACGT", "", "", "ACGT"], scoring, 20, 5) == [(0, 0, 0)] * 4 + [(8, 4, 4)]
    assert ends([], [], scoring, 20) == []


def test_an_end_of_the_query_beyond_the_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    """The query's last row comes into what is made late or not at all, and with a large bonus it is the end all the same."""
    scoring, same = Substitution.parse(TWO), letters(3, 200)
    query, target = same + letters(4, 60), same + letters(5, 60)
    for first in (0, 256):
        monkeypatch.setattr(extension, "FIRST_DEPTH", first)
        for bonus in (0, 20, 100, 400):
            for zdrop in (None, 50, 400):
                assert ends([query], [target], scoring, zdrop, bonus) == [scored_oracle.extended(query, target, scoring, zdrop, bonus)]


def test_batches_do_not_show_and_rows_of_reports_agree() -> None:
    scoring = Substitution.parse(TWO)
    queries, targets = cases(3, DNA, 80, 90)
    whole = ends(queries, targets, scoring, 50, 5)
    assert [ends([query], [target], scoring, 50, 5)[0] for query, target in zip(queries, targets, strict=True)] == whole
    sides = [batch(strings, scoring) for strings in (queries, targets)]
    rows = aligned(pairs.align(*sides, scoring, span="extension", zdrop=50, end_bonus=5))
    assert [(row[0], row[2], row[4]) for row in rows] == whole
