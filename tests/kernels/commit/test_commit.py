"""LASTZ's sequential stage against the reference model, which was compared with the LASTZ program."""

import random
from dataclasses import replace
from inspect import signature

import genome_oracle_fences
import numpy as np
import pytest
from genome_cases import WHOLE, Case, crowded, mutated

from tidalign.kernels.commit import ahead as ahead_module
from tidalign.kernels.commit.walk import Commit
from tidalign.kernels.gapped import extender as extender_module
from tidalign.kernels.gapped.alignments import Extensions
from tidalign.kernels.gapped.speculated import UNDECIDED, Speculated, speculate
from tidalign.kernels.scoring.scores import Scoring


def listed(extensions: Extensions) -> list[tuple[object, ...]]:
    return [(one.score, *one.ends.tolist(), tuple(zip(one.ops.tolist(), one.lengths.tolist(), strict=True)), one.capped) for one in extensions]


def expected(case: Case) -> list[tuple[object, ...]]:
    kept = genome_oracle_fences.gapped_stage(*case.letters(), case.anchors, case.oracle_costs())
    return [(one.score, *one.ends(), one.runs, one.cut) for one in kept]


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_walks_equal_the_reference(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the spot; with everything speculated, in one call and in two; stopped and restored from arrays; by several threads, with a few anchors surveyed."""
    monkeypatch.setattr(ahead_module, "SURVEYED", 7)
    monkeypatch.setattr(ahead_module, "SLICE", 3)
    redone = stood = ahead = done_again = 0
    for seed in range(first, first + 100):
        case = crowded(seed)
        wanted = expected(case)
        arguments = (*case.codes(), case.costs())
        t, q = case.places()
        walk = Commit(*arguments)
        assert walk.walk(t, q) == len(t)
        assert listed(walk.alignments()) == wanted, seed

        half = seed % (len(t) + 1)
        walk, surveyed = Commit(*arguments), Commit(*arguments, threads=3)
        for part in (slice(half), slice(half, None)):
            free = speculate(*arguments[:3], t[part], q[part], case.costs())
            walk.walk(t[part], q[part], Speculated.from_arrays(free.to_arrays()))
            surveyed.walk(t[part], q[part], free)
        assert listed(walk.alignments()) == listed(surveyed.alignments()) == wanted, seed
        assert (surveyed.skipped, surveyed.stood) == (walk.skipped, walk.stood), seed
        redone += walk.extended
        stood += walk.stood

        walk = Commit(*arguments)
        done = walk.walk(t, q, cells=20_000)
        again = Commit(*arguments)
        again.restore(Extensions.from_arrays(walk.state().to_arrays()), walk.consumed)
        again.walk(t[done:], q[done:])
        assert listed(again.alignments()) == wanted, seed
        assert again.consumed == len(t)

        walk = Commit(*arguments, threads=3)
        walk.walk(t, q, replace(Speculated.nothing(len(t)), known=np.full(len(t), UNDECIDED)))
        assert listed(walk.alignments()) == wanted, seed
        assert walk.extended > 0 or len(t) == walk.skipped
        ahead += walk.stood_ahead
        done_again += walk.extended - walk.stood_ahead
    assert redone > 100
    assert stood > 100
    assert ahead > 10
    assert done_again > 100


def test_a_walk_does_not_wait_for_what_another_process_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """It extends by itself until the kernel of its threads is there, and keeps the same."""
    asked: list[int] = []

    def elsewhere(kernel: object, arguments: tuple[object, ...]) -> bool:
        assert kernel is ahead_module.ahead_host.extend_listed
        assert len(arguments) == len(signature(kernel.py_func).parameters)
        asked.append(len(asked))
        return len(asked) % 8 < 6

    monkeypatch.setattr(ahead_module, "elsewhere", elsewhere)
    ahead = 0
    for seed in range(530, 600):
        case, before = crowded(seed), len(asked)
        t, q = case.places()
        walk = Commit(*case.codes(), case.costs(), threads=3)
        walk.walk(t, q, replace(Speculated.nothing(len(t)), known=np.full(len(t), UNDECIDED)))
        assert listed(walk.alignments()) == expected(case), seed
        assert walk.stood_ahead == 0 or len(asked) > before
        ahead += walk.stood_ahead
    assert len(asked) > 70
    assert ahead > 0


def test_anchors_of_hsps_are_not_inspected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the same without inspection, which says of anchors what their extension would."""
    monkeypatch.setattr(extender_module.inspection_host, "inspect", lambda *_: pytest.fail("inspected"))
    for seed in range(430, 530):
        case = crowded(seed)
        walk = Commit(*case.codes(), replace(case.costs(), of_hsps=True))
        walk.walk(*case.places())
        assert listed(walk.alignments()) == expected(case), seed


def test_speculation_joined_from_ranges() -> None:
    for seed in range(400, 430):
        case = crowded(seed)
        t, q = case.places()
        parts = [speculate(*case.codes(), t[i : i + 3], q[i : i + 3], case.costs()) for i in range(0, len(t), 3)]
        walk = Commit(*case.codes(), case.costs())
        walk.walk(t, q, Speculated.concat(parts))
        assert listed(walk.alignments()) == expected(case), seed


def tandem(seed: int) -> Case:
    """Draw thousands of letters of one unit over and over: alignments beside each other, and gaps from one to the next."""
    rng = random.Random(seed)
    unit, length = "".join(rng.choices("ACGT", k=rng.choice([30, 60, 150]))), rng.choice([1500, 3000])
    target, query = ("".join(mutated(rng, unit, rng.choice([0.02, 0.1, 0.2]), 0.03, "ACGT") for _ in range(2 * length // len(unit)))[:length] for _ in range(2))
    scores = {}
    for _ in range(rng.choice([20, 60])):
        t, q = rng.randrange(len(target)), rng.randrange(len(query))
        if rng.random() < 0.5:
            q = min(len(query) - 1, max(0, t + rng.randint(-300, 300)))
        scores[t, q] = rng.choice([1, 2, 3, 1000])
    anchors = sorted(((t, q, score) for (t, q), score in scores.items()), key=lambda anchor: (-anchor[2], anchor[1], anchor[0]))
    gap_open, gap_extend = rng.choice([(400, 30), (100, 10), (100, 2)])
    return Case(target, query, anchors, Scoring(gap_open=gap_open, gap_extend=gap_extend), rng.choice([900, 2000, 5000]), rng.choice([300, 2000]), True, WHOLE)


def test_sweeps_in_segments_find_the_same_between_fences() -> None:
    """Masks of the rows at which a sweep paused come back with it, those to the right of all that a row looks at, too."""
    kept = 0
    for seed in range(30):
        case = tandem(seed)
        found = []
        for segment in (case.segment, 20_000, 2_000):
            walk = Commit(*case.codes(), replace(case, segment=segment).costs())
            walk.walk(*case.places())
            found.append(listed(walk.alignments()))
        assert found[0] == found[1] == found[2], seed
        kept += len(found[0])
    assert kept > 300


def test_many_kept_alignments() -> None:
    """Three thousand alignments on a grid: arrays grow, anchors on them are passed over, others find their place between."""
    random = np.random.default_rng(5)
    blocks, length = 3000, 60
    target = random.integers(0, 4, blocks * length).astype(np.uint8)
    query = target.reshape(blocks, length)[random.permutation(blocks)].reshape(-1)
    place = np.empty(blocks, np.int64)
    place[[np.flatnonzero((query.reshape(blocks, length) == row).all(1))[0] for row in target.reshape(blocks, length)]] = np.arange(blocks)
    t, q = place * length + 30, np.arange(blocks) * length + 30
    case = crowded(1)
    costs = type(case.costs())(case.costs().plain, ydrop=400, threshold=2000)
    walk = Commit(target, query, np.array([[0, len(target)]]), costs)
    walk.walk(t, q)
    walk.walk(t, q)
    assert walk.extended == len(walk.alignments()) == blocks
    found = walk.alignments()
    assert (np.diff(found.target_start) >= 0).all()
    assert (found.target_start <= np.sort(t)).all()
    assert (found.target_end > np.sort(t)).all()
