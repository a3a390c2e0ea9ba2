"""Small genomes and parameters that force the corners of gapped extension: ties, tiny y-drops, odd letters and matrices, small traceback buffers."""

import random
from dataclasses import dataclass

import numpy as np
from genome_oracle import letters, tables
from genome_oracle_extension import Costs as OracleCosts

from tidalign.kernels.extension.costs import SEGMENT, Costs
from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.scoring.scores import Scoring

WHOLE = 80 << 20
"""LASTZ's traceback buffer."""


def mutated(rng: random.Random, sequence: str, substitutions: float, indels: float, alphabet: str) -> str:
    out = []
    for letter in sequence:
        chance = rng.random()
        if chance < substitutions:
            out.append(rng.choice(alphabet))
        elif chance < substitutions + indels:
            if rng.random() < 0.5:
                out += [letter, *rng.choices(alphabet, k=rng.choice([1, 1, 1, 2, 3, 8, 20]))]
        elif chance >= substitutions + 2 * indels:
            out.append(letter)
    return "".join(out)


@dataclass(frozen=True)
class Case:
    """A target (a NUL between sequences), a query and anchors (target, query, score), in LASTZ's order of them."""

    target: str
    query: str
    anchors: list[tuple[int, int, int]]
    scoring: Scoring
    ydrop: int
    threshold: int
    trim: bool
    traceback: int
    segment: int = SEGMENT

    def letters(self) -> tuple[np.ndarray, np.ndarray]:
        return letters(self.target), letters(self.query)

    def codes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Target, query, and the target's sequences."""
        ends = [*(i for i, letter in enumerate(self.target) if letter == "\0"), len(self.target)]
        bounds = np.array([[start + 1, end] for start, end in zip([-1, *ends], ends, strict=False)], np.int64)
        return encode(self.letters()[0]), encode(self.letters()[1]), bounds

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        return tuple(np.array([anchor[i] for anchor in self.anchors], np.int64) for i in range(2))

    def costs(self) -> Costs:
        scoring = self.scoring
        return Costs(scoring.plain(), scoring.gap_open, scoring.gap_extend, self.ydrop, self.threshold, self.trim, self.traceback, self.segment)

    def oracle_costs(self) -> OracleCosts:
        scoring = self.scoring
        return OracleCosts(tables(scoring)[0], scoring.gap_open, scoring.gap_extend, self.ydrop, self.threshold, self.traceback, self.trim)


def single(seed: int) -> Case:
    """Draw a case of one anchor, anything goes."""
    rng = random.Random(seed)
    alphabet = rng.choice(["ACGT", "ACGT", "AC", "AT", "ACG", "ACGTN", "ACGTacgtN", "ACGTX", "ACGTRYn"])
    base = "".join(rng.choices(alphabet, k=rng.choice([5, 30, 80, 200, 400])))
    target, query = (mutated(rng, base, rng.choice([0, 0.05, 0.2, 0.4]), rng.choice([0, 0.02, 0.08]), alphabet) or "A" for _ in range(2))
    ambiguous = rng.choice([None, ("n", 3, 50), ("iupac", 10, 100)]) if "R" not in alphabet else ("iupac", 10, 100)
    matrices = {
        "unit": lambda a, b: 1 if a == b else -1,
        "small": lambda a, b: 2 if a == b else -3,
        "odd": lambda a, b: rng.randint(1, 9) if a == b else rng.randint(-9, 2),
        "large": lambda a, b: rng.randint(1, 9000) if a == b else rng.randint(-9000, 2000),
    }
    kind = rng.choice(["default", "default", *matrices])
    if kind == "default":
        gap_open, gap_extend = rng.choice([(400, 30), (400, 30), (0, 30), (100, 100), (600, 150), (400, 0), (0, 0)])
        ydrop = rng.choice([gap_open + 300 * gap_extend, 910, 2000, 9400, 300])
        scoring = Scoring(gap_open=gap_open, gap_extend=gap_extend, ambiguous=ambiguous)
    else:
        matrix = tuple(tuple(matrices[kind](a, b) for b in range(4)) for a in range(4))
        gap_open, gap_extend = rng.choice([(1, 1), (2, 1), (0, 1), (5, 2), (12, 5), (0, 0), (3, 0)])
        ydrop = rng.choice([5, 10, 20, 50, 100])
        if kind == "large":
            gap_open, gap_extend, ydrop = 900 * gap_open, 300 * gap_extend, ydrop * rng.choice([100, 1000])
        scoring = Scoring(matrix, gap_open=gap_open, gap_extend=gap_extend, ambiguous=ambiguous)
    t = rng.randrange(len(target))
    q = rng.randrange(len(query)) if rng.random() < 0.2 else min(len(query) - 1, max(0, t + rng.randint(-3, 3)))
    traceback = rng.choice([WHOLE, WHOLE, WHOLE, 2000, 5000, 30000])
    return Case(target, query, [(t, q, 0)], scoring, ydrop, -(10**9), rng.random() < 0.7, traceback, rng.choice([SEGMENT, 1000]))


def crowded(seed: int) -> Case:
    """Draw many anchors in tandem repeats: fences and masks everywhere."""
    rng = random.Random(seed)
    unit = "".join(rng.choices("ACGT", k=rng.choice([7, 20, 50])))
    length = rng.choice([100, 250, 600])

    def repeated(n: int) -> str:
        return "".join(mutated(rng, unit, 0.1, 0.03, "ACGT") for _ in range(2 * n // len(unit) + 2))[:n]

    target, query = repeated(length), repeated(length + rng.randrange(40))
    if rng.random() < 0.3:
        target = "".join(rng.choices("ACGT", k=length))
        query = mutated(rng, target, 0.15, 0.04, "ACGT") or "A"
    if rng.random() < 0.3:
        third = len(target) // 3
        target = "\0".join([target[:third], target[third + 1 : 2 * third], target[2 * third + 1 :]])
    scores = {}
    for _ in range(rng.choice([3, 10, 40])):
        t, q = rng.randrange(len(target)), rng.randrange(len(query))
        if rng.random() < 0.5:
            q = min(len(query) - 1, max(0, t + rng.randint(-15, 15)))
        if target[t] != "\0":
            scores[t, q] = rng.choice([1, 2, 3, 1000])
    anchors = sorted(((t, q, score) for (t, q), score in scores.items()), key=lambda anchor: (-anchor[2], anchor[1], anchor[0]))
    gap_open, gap_extend = rng.choice([(400, 30), (100, 30), (0, 30), (30, 10)])
    return Case(
        target,
        query,
        anchors,
        Scoring(gap_open=gap_open, gap_extend=gap_extend),
        rng.choice([300, 600, 910, 2000, 9400]),
        rng.choice([1, 300, 800, 2000, -(10**6)]),
        rng.random() < 0.8,
        rng.choice([WHOLE, WHOLE, WHOLE, WHOLE, 3000, 20000]),
        rng.choice([SEGMENT, 2000]),
    )
