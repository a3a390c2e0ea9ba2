"""The GPU's inspection: what it is sure of is so by the exact rule on the host, and its boxes hold all that the exact rule looks at.

The kernels run on the host as well as on a GPU.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cuda_on_host
import numpy as np
import pytest
from genome_cases import WHOLE, Case, mutated

from tidalign.kernels.extension.costs import Costs
from tidalign.kernels.gapped.extender import Extender
from tidalign.kernels.inspection import device as inspection_device
from tidalign.kernels.inspection.device import Bound, Inspector
from tidalign.kernels.letters.nucleotides import SEPARATOR
from tidalign.kernels.scoring.scores import Scoring


def with_others(rng: random.Random, letters: str) -> str:
    """Put runs of letters that are none of ACGT into a sequence."""
    for _ in range(rng.randint(1, 8)):
        place = rng.randrange(len(letters))
        run = rng.choice(["N", "N", "n", "X", "R"]) * rng.choice([1, 2, 5, 30, 200])
        kept = "".join(old if old == "\0" else new for old, new in zip(letters[place : place + len(run)], run, strict=False))
        letters = letters[:place] + kept + letters[place + len(run) :]
    return letters


def several(seed: int) -> Case:
    """Draw anchors of two sequences with words in common, some akin; y-drops and thresholds of all sizes, odd scores, other letters, several targets."""
    rng = random.Random(seed)
    alphabet = rng.choice(["ACGT", "ACGT", "ACGTacgt", "ACG", "AT", "ACGTN"])
    length = rng.choice([700, 1500, 3000])
    target, query = ("".join(rng.choices(alphabet, k=length)) for _ in range(2))
    if rng.random() < 0.3:
        place = rng.randrange(length // 2)
        target = target[:place] + mutated(rng, query[place : place + length // 3], 0.1, 0.03, "ACGT") + target[place + length // 3 :]
    if rng.random() < 0.3:
        target = f"{target[:350]}\0{target[351:]}"
    anchors = []
    for _ in range(40):
        t, q = rng.randrange(20, len(target) - 20), rng.randrange(20, len(query) - 20)
        word = rng.randint(1, 12)
        query = query[: q - word] + target[t - word : t + word].replace("\0", "A") + query[q + word :]
        anchors += [(t, q, 0)] if target[t] != "\0" else []
    if rng.random() < 0.4:
        target, query = with_others(rng, target), with_others(rng, query)
    kinds = {
        "default": (1.0, None, 0, 0),
        "unit": (0.02, lambda same: 1 if same else -1, 2, 1),
        "odd": (0.06, lambda same: rng.randint(1, 9) if same else rng.randint(-9, 2), rng.randint(0, 20), rng.randint(1, 4)),
        "large": (1.0, lambda same: rng.randint(50, 127) if same else rng.randint(-200, -1), rng.randint(0, 500), rng.randint(5, 60)),
    }
    scale, score, gap_open, gap_extend = kinds[rng.choice(["default", *kinds])]
    if score is None:
        scoring = Scoring()
    else:
        matrix = tuple(tuple(score(a == b) for b in range(4)) for a in range(4))
        scoring = Scoring(matrix, bad=-rng.randint(1, 300), fill=rng.choice([-100, -9, -2, -1, 0, 1]), gap_open=gap_open, gap_extend=gap_extend)
    ydrop, threshold = rng.choice([150, 300, 500, 910, 1000, 2000, 3000]), rng.choice([200, 500, 800, 1300, 3000])
    sizes = max(4, int(ydrop * scale)), max(2, int(threshold * scale))
    return Case(target, query, anchors, scoring, *sizes, rng.random() < 0.8, rng.choice([WHOLE, WHOLE, 100_000]))


def agrees(extender: Extender, t: Any, q: Any, below: Any, boxes: Any) -> None:
    """Check that what is sure is so by the exact rule."""
    for i in np.flatnonzero(below).tolist():
        one, looked = extender.extend(i, int(t[i]), int(q[i]))
        assert one is None, f"anchor {i} at {t[i]}, {q[i]} reaches {one.score}"
        assert (looked.box <= boxes[i]).all(), f"anchor {i}: {looked.box} is not in {boxes[i]}"
    assert not boxes[~below].any()


def test_costs_fit_16_bits_or_are_refused() -> None:
    decided = others = 0
    for seed in range(300):
        costs = several(seed).costs()
        rng = random.Random(seed)
        costs = replace(costs, ydrop=costs.ydrop * rng.choice([1, 3, 10]), threshold=costs.threshold * rng.choice([1, 5, 10]))
        bound = Bound.of(costs)
        if bound is None:
            continue
        decided += 1
        most = max(int(costs.plain[:4, :4].max()), 0)
        # Values of 16 rows more than what is compared; the line far enough above 0, which is as good as dead.
        assert bound.start + costs.threshold + 16 * (most + 2) < 1 << 15
        assert bound.line == bound.start - costs.ydrop > 16 * most
        assert bound.looked * most <= costs.ydrop
        scores = bound.scores.view(np.int8).reshape(5, 4)
        assert (scores[:4] >= costs.plain[:4, :4]).all()
        assert ((scores[:4] == costs.plain[:4, :4]) | (costs.plain[:4, :4] < -128)).all()
        # Any other letter scores no more with any letter, though a sign of 0 or -1 is added; separators are no letters.
        others += bound.others == SEPARATOR
        if bound.others == SEPARATOR:
            assert (scores[4] >= costs.plain[8:SEPARATOR, :4]).all() and (scores[4] < 0).all()
            assert 0 >= bound.other > costs.plain[:SEPARATOR, 8:SEPARATOR].max()
        else:
            assert bound.others == 8 and costs.plain[:SEPARATOR, 8:SEPARATOR].max() >= 0
    assert 100 < decided < 300 and 50 < others < decided
    assert Bound.of(Costs(Scoring().plain(), threshold=30_000)) is None
    assert Bound.of(Costs(Scoring().plain(), gap_extend=0)) is None
    assert Bound.of(Costs(2 * Scoring().plain())) is None
    # Letters that score with others what a match does decide nothing.
    assert (Bound.of(Costs(Scoring(ambiguous=("n", 100, 100)).plain())) or Bound).others == 8


def test_the_diagonal_bounds_the_best_from_below() -> None:
    """LASTZ's best on a side is at least the best sum of its first letters on the diagonal."""
    positive = 0
    for seed in range(80):
        case = several(seed)
        costs = replace(case.costs(), threshold=1, traceback=None, trim=True)
        bound = Bound.of(costs)
        if bound is None:
            continue
        target, query, bounds = case.codes()
        extender = Extender(target, query, bounds, costs)
        for t, q, _ in case.anchors[:10]:
            start, stop, *_ = extender.limits(t, q)
            left, right = min(t + 1 - start, q + 1, bound.looked), min(stop - t - 1, len(query) - q - 1, bound.looked)
            sums = [np.cumsum(costs.plain[target[t - np.arange(left)], query[q - np.arange(left)]], dtype=np.int64)]
            sums += [np.cumsum(costs.plain[target[t + 1 + np.arange(right)], query[q + 1 + np.arange(right)]], dtype=np.int64)]
            least = sum(max(int(side.max(initial=0)), 0) for side in sums)
            one, _ = extender.extend(0, t, q)
            assert (0 if one is None else one.score) >= least
            positive += least > 0
    assert positive > 300


@pytest.fixture(params=cuda_on_host.PLACES, scope="module")
def anchors(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Let kernels run on the host, or on a GPU; gives so many anchors as they take a second for."""
    with cuda_on_host.at(request.param, tmp_path_factory):
        yield 3000 if request.param == "gpu" else 60


@pytest.fixture(params=[0, 1])
def plain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run with DPX instructions and without."""
    monkeypatch.setattr(inspection_device, "MACROS", inspection_device.MACROS | {"INSPECTION_PLAIN": request.param})


@pytest.mark.usefixtures("plain", "anchors")
def test_what_is_sure_is_so() -> None:
    decided = 0
    for seed in range(180):
        case = several(seed)
        target, query, bounds = case.codes()
        t, q = case.places()
        below, boxes = Inspector(target, query, bounds, case.costs()).inspect(t, q)
        agrees(Extender(target, query, bounds, case.costs()), t, q, below, boxes)
        decided += int(below.sum())
    assert decided > 500


def chance(count: int, length: int = 1 << 20) -> tuple[Any, ...]:
    """Random sequences with a word of 12 letters in common at each of many places."""
    noise = np.random.default_rng(11)
    target, query = (noise.integers(0, 4, length).astype(np.uint8) for _ in range(2))
    t, q = noise.integers(2000, length - 2000, count), 2000 + np.arange(count) * ((length - 4000) // count)
    for i in range(-6, 6):
        query[q + i] = target[t + i]
    return target, query, np.array([[0, length]]), t, q


def test_chance_is_decided(anchors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several batches, and by both ways of counting the same."""
    target, query, bounds, t, q = chance(anchors, anchors << 9)
    costs = Costs(Scoring().plain())
    expected = Inspector(target, query, bounds, costs).inspect(t, q)
    assert expected[0].mean() > 0.99
    agrees(Extender(target, query, bounds, costs), t[:300], q[:300], expected[0][:300], expected[1][:300])
    monkeypatch.setattr(inspection_device, "BATCH", anchors // 4)
    for macros in ({}, {"INSPECTION_PLAIN": 1}):
        monkeypatch.setattr(inspection_device, "MACROS", inspection_device.MACROS | macros)
        below, boxes = Inspector(target, query, bounds, costs).inspect(t, q)
        assert (below == expected[0]).all() and (boxes == expected[1]).all()


def test_runs_of_n_leave_chance_decided(anchors: int) -> None:
    """Decide anchors nearly all of which have a run of N within their reach, as in chromosomes whose repeats are masked so."""
    target, query, bounds, t, q = chance(anchors, anchors << 9)
    noise = np.random.default_rng(5)
    for codes, places in ((target, t), (query, q)):
        free = np.ones(len(codes), np.bool_)
        free[(places[:, None] + np.arange(-6, 6)).reshape(-1)] = False
        for start in range(0, len(codes), 900):
            run = np.arange(start, min(start + int(noise.choice([1, 5, 60, 250, 400])), len(codes)))
            codes[run[free[run]]] = noise.choice([8, 9])
    costs = Costs(Scoring().plain())
    below, boxes = Inspector(target, query, bounds, costs).inspect(t, q)
    assert below.mean() > 0.99
    agrees(Extender(target, query, bounds, costs), t[:1000], q[:1000], below[:1000], boxes[:1000])


@pytest.mark.usefixtures("anchors")
def test_what_cannot_be_decided_is_not() -> None:
    target, query, bounds, t, q = chance(50, 1 << 17)
    below, boxes = Inspector(target, query, bounds, Costs(Scoring().plain(), gap_extend=0)).inspect(t, q)
    assert not below.any() and not boxes.any()
    empty = Inspector(target, query, bounds, Costs(Scoring().plain())).inspect(t[:0], q[:0])
    assert empty[0].shape == (0,) and empty[1].shape == (0, 4)
    # The same letters on both sides: every anchor on the diagonal reaches the threshold.
    below, _ = Inspector(target, target, bounds, Costs(Scoring().plain())).inspect(t, t)
    assert not below.any()


@pytest.mark.gpu
def test_little_memory_is_enough_and_none_decides_nothing(device: Any) -> None:
    target, query, bounds, t, q = chance(3000, 1 << 18)
    costs = Costs(Scoring().plain())
    inspector = Inspector(target, query, bounds, costs)
    expected = inspector.inspect(t, q)
    assert expected[0].mean() > 0.9
    for megabytes, there in ((16, True), (1, False)):
        pool = device.cuda.MemoryPool()  # of its own: what others have left of theirs would be room that is not counted
        pool.set_limit(size=megabytes << 20)
        with device.cuda.using_allocator(pool.malloc):
            below, boxes = inspector.inspect(t, q)
        assert (below == (expected[0] & there)).all() and (boxes == expected[1] * there).all()
