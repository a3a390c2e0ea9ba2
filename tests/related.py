"""Sequences of a few families for tests of searches: queries on both strands, and a database with nearer and farther relatives of each, and some of none."""

import random

from scored_cases import mutated

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def related(seed: int, lengths: list[int], relatives: int) -> tuple[list[list[str]], list[str]]:
    """Make families of these lengths -> strands of queries, targets."""
    chance = random.Random(seed)
    families = ["".join(chance.choices("ACGT", k=length)) for length in lengths]
    queries = ["".join(mutated(chance, family, "ACGTN")) for family in families] + ["", "ACGTACG", families[0]]
    targets = []
    for family in families:
        for number in range(relatives):
            changed = family[: len(family) * (number % 3 + 1) // 3]
            for _ in range(number % 4):
                changed = "".join(mutated(chance, changed, "ACGT"))
            targets.append(changed)
    chance.shuffle(targets)
    targets += [families[1].translate(COMPLEMENT)[::-1], families[2] * 2, "", "A" * 50, "ACGTACGN" * 5]
    return [queries, [query.translate(COMPLEMENT)[::-1] for query in queries]], targets
