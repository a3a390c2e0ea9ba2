"""LASTZ's sequential stage against the reference model, which was compared with the LASTZ program."""

from dataclasses import replace

import genome_oracle_fences
import numpy as np
import pytest
from genome_cases import Case, crowded

from tidalign.kernels.commit import ahead as ahead_module
from tidalign.kernels.commit.walk import Commit
from tidalign.kernels.gapped.alignments import Extensions
from tidalign.kernels.gapped.speculated import UNDECIDED, Speculated, speculate


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


def test_speculation_joined_from_ranges() -> None:
    for seed in range(400, 430):
        case = crowded(seed)
        t, q = case.places()
        parts = [speculate(*case.codes(), t[i : i + 3], q[i : i + 3], case.costs()) for i in range(0, len(t), 3)]
        walk = Commit(*case.codes(), case.costs())
        walk.walk(t, q, Speculated.concat(parts))
        assert listed(walk.alignments()) == expected(case), seed


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
