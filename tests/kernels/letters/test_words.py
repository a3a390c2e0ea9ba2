"""Words that pairs share on either strand, and what those that they do not share cost at least."""

import random

import numpy as np
import pytest

from tidalign.kernels.letters import words
from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.letters.shared_words import of_both_strands
from tidalign.kernels.pairwise import wavefront
from tidalign.kernels.scoring.penalties import Penalties

COMPLEMENT = str.maketrans("ACGT", "TGCA")


def drawn(seed: int, letters: str, longest: int) -> tuple[list[str], list[str]]:
    chance = random.Random(seed)
    targets = ["".join(chance.choices(letters, k=chance.randint(0, longest))) for _ in range(60)]
    queries = [
        "".join(chance.choice(["", "ACGT"[chance.randrange(4)], letter]) if chance.random() < 0.1 else letter for letter in target) for target in targets
    ]
    return [query.translate(COMPLEMENT)[::-1] if number % 3 == 0 else query for number, query in enumerate(queries)] + ["", "ACGT" * 9], [
        *targets,
        "A" * 20,
        "",
    ]


def of(letters: str) -> list[str]:
    return [letters[i : i + words.LETTERS] for i in range(len(letters) - words.LETTERS + 1)]


def test_words_of_both_strands() -> None:
    queries, targets = drawn(1, "ACGT", 300)
    turned = [query.translate(COMPLEMENT)[::-1] for query in queries]
    expected = [[sum(word in set(of(target)) for word in of(each)) for target, each in zip(targets, side, strict=True)] for side in (queries, turned)]
    sides = [Sequences.from_strings(side) for side in (queries, targets)]
    assert of_both_strands(*sides).tolist() == expected
    assert of_both_strands(*map(pack, sides)).tolist() == expected
    none = Sequences.from_strings([])
    assert of_both_strands(none, none).shape == (2, 0)


@pytest.mark.parametrize("model", ["edit", "linear:3,5", "affine:4,6,2", "affine:9,1,1", "affine:90,80,1", "affine2p:4,6,2,24,1", "affine2p:90,20,9,80,1"])
def test_no_alignment_costs_less_than_its_words_say(model: str) -> None:
    """Pairs of all degrees of likeness, N among them; some are sure to cost something."""
    penalties, (queries, targets) = Penalties.parse(model), drawn(2, "ACGTN", 200)
    sides = [Sequences.from_strings(side) for side in (queries, targets)]
    shared = of_both_strands(*sides)[0]
    gap, more = (min(costs) for costs in zip(*((opening + extension, extension) for opening, extension in penalties.pieces), strict=True))
    for free in (0, 30):
        least = words.least_penalty(np.maximum(sides[0].lengths - free, 0), shared, penalties.mismatch, gap, more)
        cost = wavefront.align(*sides, penalties, cigar=False, ends_free=(free, 0, 0, 0)).penalty
        assert (least <= cost).all() and (least > 0).sum() > 10


@pytest.mark.parametrize("model", ["affine:90,80,1", "affine2p:90,20,9,80,1", "affine:90,1,90"])
def test_long_gaps_pay_for_many_letters(model: str) -> None:
    """Words say no more than a gap of nearly all of the query, or of the other sequence, costs; of gaps whose letters cost next to nothing as well."""
    penalties, random_letters = Penalties.parse(model), random.Random(7)
    query, target = ("".join(random_letters.choices("ACGT", k=length)) for length in (600, 600))
    sides = [Sequences.from_strings([query, query[:10], query + target]), Sequences.from_strings([query[:10], query, query])]
    gap, more = (min(costs) for costs in zip(*((opening + extension, extension) for opening, extension in penalties.pieces), strict=True))
    least = words.least_penalty(sides[0].lengths, of_both_strands(*sides)[0], penalties.mismatch, gap, more)
    cost = wavefront.align(*sides, penalties, cigar=False).penalty
    assert (least <= cost).all() and least[0] > 0.9 * 500
