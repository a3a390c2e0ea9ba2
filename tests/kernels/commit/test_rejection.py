"""Walks that pass over anchors which are known to stay below the threshold between fences, too, against those that know nothing."""

import random
from typing import Any

import numpy as np
import pytest
from genome_cases import WHOLE, Case, mutated
from genome_rejection import reject

from tidalign.kernels.commit.walk import Commit
from tidalign.kernels.gapped.speculated import BELOW, REJECTED, REJECTION_LETTERS, Speculated, speculate
from tidalign.kernels.inspection import device as inspection_device
from tidalign.kernels.scoring.scores import Scoring


def among_kept(seed: int) -> Case:
    """Draw words in common beside some of homologous stretches, and on them; y-drops that reach from one to the next."""
    rng = random.Random(seed)
    length = rng.choice([1500, 2500])
    target, query = ("".join(rng.choices(rng.choice(["ACGT", "ACGT", "AACGTT"]), k=length)) for _ in range(2))
    scores: dict[tuple[int, int], int] = {}
    for _ in range(rng.randint(1, 6)):
        size = rng.randint(40, 400)
        t, q = (rng.randrange(max(1, length - size)) for _ in range(2))
        if rng.random() < 0.5:
            q = min(max(0, t + rng.randint(-60, 60)), length - size)
        copy = mutated(rng, target[t : t + size], 0.1, 0.02, "ACGT")
        query = query[:q] + copy + query[q + len(copy) :]
        scores |= {(t + place, min(q + place, len(query) - 1)): rng.choice([900, 1000, 2000]) for place in rng.choices(range(size), k=3)}
    for _ in range(rng.choice([0, 0, 2, 6])):  # what is masked
        place, run = rng.randrange(length), "N" * rng.choice([1, 3, 20, 100])
        one = target if (in_target := rng.random() < 0.5) else query
        one = one[:place] + run + one[place + len(run) :]
        target, query = (one, query) if in_target else (target, one)
    words: dict[str, list[int]] = {}
    for q in range(3, len(query) - 3):
        words.setdefault(query[q - 2 : q + 3], []).append(q)
    for _ in range(300):
        t = rng.randrange(3, length - 3)
        near, beside = rng.random() < 0.7, rng.choice([*scores])
        if near:
            t = min(max(3, beside[0] + rng.randint(-200, 200)), length - 3)
        places = [q for q in words.get(target[t - 2 : t + 3], []) if not near or abs(q - beside[1]) < 400]
        if places:
            scores.setdefault((t, rng.choice(places)), rng.randint(1, 899))
    anchors = sorted(((t, q, score) for (t, q), score in scores.items()), key=lambda anchor: (-anchor[2], anchor[1], anchor[0]))
    gap_open, gap_extend = rng.choice([(400, 30), (200, 60), (300, 100)])
    scoring = Scoring(gap_open=gap_open, gap_extend=gap_extend)
    return Case(target, query, anchors, scoring, rng.choice([910, 1500, 2500]), rng.choice([1200, 1500, 2000, 3000]), rng.random() < 0.8, WHOLE)


def speculated(case: Case, reject: Any = reject) -> tuple[Speculated, Speculated]:
    """Free extensions as one makes them here, and with those rejected that `reject` is sure of."""
    (target, query, bounds), (t, q) = case.codes(), case.places()
    free = speculate(target, query, bounds, t, q, case.costs())
    sure, _ = reject(target, query, bounds, t, q, case.costs())
    assert (free.known[sure] == BELOW).all()
    return free, Speculated(np.where(sure, REJECTED, free.known), free.boxes, free.extensions, free.range_offsets, free.ranges)


def listed(walk: Commit) -> list[tuple[object, ...]]:
    return [(one.anchor, one.score, *one.ends.tolist(), one.ops.tolist(), one.lengths.tolist(), one.capped) for one in walk.alignments()]


def test_a_rejection_looks_as_far_as_the_inspector() -> None:
    assert inspection_device.DIAGONAL_LETTERS <= REJECTION_LETTERS


def check_rejections(seeds: range, reject: Any) -> None:
    """Check that a walk that passes over rejected anchors gives what one without anything known gives."""
    spared = rejected = 0
    for seed in seeds:
        case = among_kept(seed)
        t, q = case.places()
        walks = [Commit(*case.codes(), case.costs()) for _ in range(3)]
        walks[0].walk(t, q)
        for walk, known in zip(walks[1:], speculated(case, reject), strict=True):
            walk.walk(t, q, known)
            assert listed(walk) == listed(walks[0]), seed
        spared += walks[1].again - walks[2].again
        rejected += walks[2].again
    assert spared > 400
    assert rejected > 100  # those that a fence comes too near to


@pytest.mark.parametrize("first", range(0, 120, 40))
def test_rejected_anchors_stay_below_between_fences(first: int) -> None:
    check_rejections(range(first, first + 40), reject)


def inspected(target: Any, query: Any, bounds: Any, t: Any, q: Any, costs: Any) -> Any:
    return inspection_device.Inspector(target, query, bounds, costs).inspect(t, q)


@pytest.mark.gpu
def test_anchors_that_the_gpu_rejects_stay_below_between_fences(device: Any) -> None:
    check_rejections(range(120, 220), inspected)
