"""Words that sequences share: how many there are, and that no pair which has too few comes to its bar."""

import random

import numpy as np
import pytest
import scored_oracle
from scored_cases import mutated

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.letters.words import LETTERS
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.search import words, words_host


def words_of(letters: str) -> list[str]:
    return [letters[i : i + LETTERS] for i in range(len(letters) - LETTERS + 1)]


def counted(query: str, targets: list[str], coding: Coding) -> tuple[list[int], int]:
    sides = [coding.coded(Sequences.from_strings(letters), place) for place, letters in enumerate([[query], targets])]
    out = np.empty(len(targets), np.int64)
    different = words_host.count_shared(sides[0].codes, sides[1].codes, sides[1].starts, sides[1].lengths, out)
    return out.tolist(), different


def test_words_are_counted() -> None:
    chance = random.Random(1)
    query = "".join(chance.choices("ACGT", k=300)) + "ACGTACGTACGTACGTACGT"
    targets = ["", "ACGTACG", "ACGTACGT", query[40:47], query[40:48], query, query[::-1], query[:50] + query, "A" * 200]
    found, different = counted(query, targets, Coding(Substitution.parse("match:2,mismatch:-3,gap:5,2")))
    assert found == [sum(word in set(words_of(query)) for word in words_of(target)) for target in targets]
    assert different == len(set(words_of(query)))
    assert counted("ACGTACG", targets, Coding(Substitution.parse("match:2,mismatch:-3,gap:5,2"))) == ([0] * len(targets), 0)


SCORINGS = ["match:2,mismatch:-3,gap:5,2", "match:1,mismatch:-1,gap:0,1", "match:1,mismatch:-9,gap:2,1,8,1", "match:5,mismatch:-4,gap:8,6"]


@pytest.mark.parametrize("text", SCORINGS)
def test_no_pair_with_too_few_words_comes_to_its_bar(text: str) -> None:
    """Pairs of all degrees of likeness: each has the words that its score takes, and many have not those that nearly equal letters would."""
    chance, scoring = random.Random(len(text)), Substitution.parse(text)
    coding, refused = Coding(scoring), 0
    for _ in range(150):
        query = "".join(chance.choices("ACGTN", weights=[9, 9, 9, 9, 1], k=chance.choice([5, 30, 90, 160])))
        target = "".join(mutated(chance, query * chance.choice([1, 1, 2]), "ACGT")) if chance.random() < 0.8 else "".join(chance.choices("ACGT", k=90))
        score, length = scored_oracle.align(query, target, scoring, "local")[0], np.array([len(query)])
        shared = counted(query, [target], coding)[0][0]
        assert shared >= words.fewest(length, np.array([score]), coding)[0], (query, target)
        refused += int(shared < words.fewest(length, np.array([19 * len(query) * int(coding.matrix.max()) // 20]), coding)[0])
    assert refused > 20


def test_periodic_mismatches_are_the_worst_that_there_is() -> None:
    """A mismatch after each seven letters leaves no word: the bar that asks for none is its score, about."""
    scoring = Substitution.parse("match:2,mismatch:-3,gap:5,2")
    query = "".join(random.Random(3).choices("ACGT", k=400))
    target = "".join(letter if i % LETTERS != LETTERS - 1 else {"A": "C", "C": "A", "G": "T", "T": "G"}[letter] for i, letter in enumerate(query))
    score, length = scored_oracle.align(query, target, scoring, "local")[0], np.array([len(query)])
    assert score == 347 * 2 - 49 * 3 + 6
    assert words.fewest(length, np.array([score]), Coding(scoring))[0] <= 0 < words.fewest(length, np.array([score + 12]), Coding(scoring))[0]


def test_scores_that_are_more_than_equal_or_unequal_ask_for_none() -> None:
    for text in ("match:1,mismatch:-4,n:-1,gap:6,1", "blosum62"):
        assert words.fewest(np.array([100, 200]), np.array([10**6, 0]), Coding(Substitution.parse(text))).tolist() == [0, 0]
