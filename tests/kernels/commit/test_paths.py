"""Which anchors seem to lie on alignments, against a plain search of all their pairs of letters."""

import numpy as np
from genome_cases import crowded

from tidalign.kernels.commit.paths import NEAR_DIAGONALS, Paths
from tidalign.kernels.gapped.alignments import Extensions
from tidalign.kernels.gapped.extender import extend


def diagonals(found: Extensions) -> dict[int, list[int]]:
    """List, by target place, the query places that alignments have there: letters against letters, and where a gap of the query stands."""
    places: dict[int, list[int]] = {}
    for one in found:
        t, q = int(one.ends[0]), int(one.ends[2])
        for op, length in zip(one.ops.tolist(), one.lengths.tolist(), strict=True):
            for i in range(length if op != 1 else 0):
                places.setdefault(t + i, []).append(q + i if op == 0 else q - 1)
            t, q = t + (length if op != 1 else 0), q + (length if op != 2 else 0)
    return places


def test_near_is_within_so_many_diagonals() -> None:
    near = far = 0
    for seed in range(40):
        case = crowded(seed)
        target, query, bounds = case.codes()
        found = extend(target, query, bounds, *case.places(), case.costs())
        paths = Paths()
        for one in found:
            paths.keep(one.ends, one.ops, one.lengths)
        random = np.random.default_rng(seed)
        t, q = random.integers(0, len(target), 500), random.integers(0, len(query), 500)
        runs = diagonals(found)
        sure = paths.near(t, q)
        for i in range(500):
            gaps = [abs(place - q[i]) for place in runs.get(int(t[i]), [])]
            expected = bool(gaps) and min(gaps) <= NEAR_DIAGONALS
            assert sure[i] == expected or (gaps and abs(min(gaps) - NEAR_DIAGONALS) <= 1), seed  # a gap has no place of its own
            near, far = near + sure[i], far + (not sure[i])
    assert near > 1000 and far > 1000


def test_near_of_those_that_came_later_alone() -> None:
    told = 0
    for seed in range(40):
        case = crowded(seed)
        target, query, bounds = case.codes()
        found = list(extend(target, query, bounds, *case.places(), case.costs()))
        both, later = Paths(), Paths()
        for one in found[: len(found) // 2]:
            both.keep(one.ends, one.ops, one.lengths)
        before = len(both)
        for one in found[len(found) // 2 :]:
            both.keep(one.ends, one.ops, one.lengths)
            later.keep(one.ends, one.ops, one.lengths)
        random = np.random.default_rng(seed)
        t, q = random.integers(0, len(target), 500), random.integers(0, len(query), 500)
        assert (both.near(t, q, before) == later.near(t, q)).all()
        assert not both.near(t, q, len(both)).any()
        told += int((both.near(t, q) != later.near(t, q)).sum())
    assert told > 100


def test_alignments_that_lie_on_earlier_ones_are_left_out() -> None:
    left_out = 0
    for seed in range(40):
        case = crowded(seed)
        target, query, bounds = case.codes()
        t, q = case.places()
        found = extend(target, query, bounds, t, q, case.costs())
        one_by_one, at_once = Paths(), Paths()
        for one in found:
            if not one_by_one.near(t[[one.anchor]], q[[one.anchor]])[0]:
                one_by_one.keep(one.ends, one.ops, one.lengths)
        at_once.keep_apart(t[found.anchor], q[found.anchor], found)
        pieces, alignments, *_ = one_by_one.kept.counts
        assert at_once.kept.counts[:2].tolist() == [pieces, alignments]
        assert (at_once.near(t, q) == one_by_one.near(t, q)).all()
        assert (at_once.kept.pieces[:pieces] == one_by_one.kept.pieces[:pieces]).all()
        left_out += len(found) - alignments
    assert left_out > 100
