"""Gapped extension on the GPU against the host's, which is compared with the reference. The kernels run on the host as well as on a GPU."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import cuda_on_host
import numpy as np
import pytest
from genome_cases import mutated

from tidalign.kernels.extension import launches as extension_launches
from tidalign.kernels.extension import runs as extension_runs
from tidalign.kernels.extension.costs import Costs
from tidalign.kernels.gapped.alignments import Extensions
from tidalign.kernels.gapped.device import DeviceExtender
from tidalign.kernels.gapped.extender import Extender
from tidalign.kernels.gapped.speculated import ABOVE, Speculated
from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.runtime import compiler
from tidalign.kernels.scoring.scores import Scoring

UNIT = tuple(tuple(1 if a == b else -1 for b in range(4)) for a in range(4))
LARGE = tuple(tuple(900 - 7 * a if a == b else -1234 - 56 * a + 78 * b for b in range(4)) for a in range(4))

COSTS = {
    "default": Costs(Scoring().plain()),
    "cut": Costs(Scoring().plain(), ydrop=910, threshold=-(10**9), traceback=20_000),
    "untrimmed": Costs(Scoring(UNIT).plain(), 2, 1, 20, 5, trim=False),
    "wide": Costs(Scoring().plain(), ydrop=40_000),
    "every letter": Costs(Scoring(LARGE, ambiguous=("iupac", 10, 100)).plain(), 900, 300, 9000, 1000),
}


def related(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Target of three sequences, query, the target's bounds, anchors: most near the diagonal, some anywhere."""
    rng = random.Random(seed)
    alphabet = rng.choice(["ACGT", "AC", "ACGTacgtN", "ACGTRYn"])
    target = "".join(rng.choices(alphabet, k=rng.choice([60, 400, 3000])))
    if rng.random() < 0.4:
        target = target[: len(target) // 2] + target[len(target) // 3 :]  # a repeat
    query = mutated(rng, target, rng.choice([0.02, 0.2]), rng.choice([0, 0.02]), alphabet) or "A"
    third = len(target) // 3
    bounds = np.array([[0, third], [third + 1, 2 * third], [2 * third + 1, len(target)]], np.int64)
    target = f"{target[:third]}\0{target[third + 1 : 2 * third]}\0{target[2 * third + 1 :]}"
    places = [t for t in rng.choices(range(len(target)), k=24) if target[t] != "\0"]
    queries = [rng.randrange(len(query)) if rng.random() < 0.2 else min(len(query) - 1, max(0, t + rng.randint(-4, 4))) for t in places]
    return encode(target.encode()), encode(query.encode()), bounds, np.array(places), np.array(queries)


def by_host(extender: Extender, t: Any, q: Any) -> Iterator[tuple[Any, ...]]:
    for i, (a, b) in enumerate(zip(t.tolist(), q.tolist(), strict=True)):
        one, looked = extender.extend(i, a, b, ranges=True)
        row = (
            None
            if one is None
            else (i, one.score, one.ends.tolist(), one.capped, one.ops.tolist(), one.lengths.tolist(), looked.left.tolist(), looked.right.tolist())
        )
        yield looked.box.tolist(), row


def rows(found: Speculated) -> Iterator[tuple[Any, ...]]:
    above = {one.anchor: (row, one) for row, one in enumerate(found.extensions)}
    for i, box in enumerate(found.boxes.tolist()):
        assert (found.known[i] == ABOVE) == (i in above)
        if i not in above:
            yield box, None
            continue
        row, one = above[i]
        offsets = found.range_offsets[2 * row : 2 * row + 3]
        left, right = (found.ranges[a:b].tolist() for a, b in zip(offsets, offsets[1:], strict=False))
        yield box, (i, one.score, one.ends.tolist(), one.capped, one.ops.tolist(), one.lengths.tolist(), left, right)


def test_costs_that_the_kernels_take() -> None:
    assert all(extension_launches.fits(costs) for costs in COSTS.values())
    default = COSTS["default"]
    assert not extension_launches.fits(replace(default, gap_extend=0))
    assert not extension_launches.fits(replace(default, ydrop=1 << 16))
    assert extension_launches.fits(replace(default, ydrop=(1 << 16) - 1 - 101))


@pytest.mark.gpu
@pytest.mark.parametrize("kind", COSTS)
def test_rows_equal_the_hosts(kind: str, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores, ends, paths, cuts, boxes and every row's columns; sweeps too wide for a warp at every checkpoint."""
    if kind == "wide":
        monkeypatch.setattr(extension_launches, "BATCH_RECORDS", 1)
    equal(kind, 20 if kind == "wide" else 40)


@pytest.mark.slow
@pytest.mark.skipif(cuda_on_host.COMPILER is None, reason="no C++ compiler here")
@pytest.mark.parametrize("kind", COSTS)
def test_rows_without_a_gpu(kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cuda_on_host.installed(monkeypatch, tmp_path)
    monkeypatch.setattr(extension_launches, "BATCH_RECORDS", 1 if kind == "wide" else 8)
    equal(kind, 4 if kind == "wide" else 6, 15)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["default", "every letter"])
def test_rows_without_the_newer_instructions(kind: str, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on GPUs before compute capability 9.0, which have no DPX."""
    of = compiler.kernel
    monkeypatch.setattr(compiler, "kernel", lambda name, entry, macros, **more: of(name, entry, {**macros, "EXTENSION_PLAIN": 1}, **more))
    equal(kind, 40)


def equal(kind: str, cases: int, least: int = 100) -> None:
    above = 0
    for seed in range(cases):
        target, query, bounds, t, q = related(seed)
        extender = DeviceExtender(target, query, bounds, COSTS[kind])
        found = extender.extend(t, q, ranges=True)
        assert list(rows(found)) == list(by_host(Extender(target, query, bounds, COSTS[kind]), t, q)), seed
        assert extender.taken_by_host == 0
        above += len(found.extensions)
    assert above > least


@pytest.mark.gpu
def test_folded_rows_hold_less_and_are_the_same(device: Any) -> None:
    """Anchors near the beginning of one long alignment have its other end, and nearly all runs, in common."""
    rng = random.Random(1)
    letters = "".join(rng.choices("ACGT", k=4000))
    target, query = encode(letters.encode()), encode((letters[:300] + mutated(rng, letters[300:], 0.05, 0.02, "ACGT")).encode())
    t, bounds = np.array(rng.choices(range(100, 300), k=12)), np.array([[0, len(target)]])
    extender = DeviceExtender(target, query, bounds, COSTS["default"])
    folded = extender.folded(t, t)
    found = [(row[0], row[1]) for row in rows(extender.extend(t, t, ranges=True))]
    assert found == list(by_host(Extender(target, query, bounds, COSTS["default"]), t, t))
    unfolded = list(folded.take(np.arange(len(folded))))
    assert [(one.anchor, one.score, one.ends.tolist(), one.ops.tolist(), one.lengths.tolist()) for one in unfolded] == [
        (row[0], row[1], row[2], row[4], row[5]) for _, row in found if row
    ]
    assert len(unfolded) == 12 and 3 * len(folded.words) < sum(len(one.ops) for one in unfolded)


@pytest.mark.gpu
def test_distinct_leaves_out_what_has_the_ends_of_another(device: Any) -> None:
    target, query, bounds, t, q = related(11)
    extender = DeviceExtender(target, query, bounds, COSTS["default"])
    every, some = (extender.extend(t, q, distinct=distinct).extensions for distinct in (False, True))
    best: dict[tuple[int, ...], tuple[int, int]] = {}
    for one in every:
        ends = tuple(one.ends.tolist())
        best[ends] = min(best.get(ends, (0, 0)), (-one.score, one.anchor))
    assert len(best) < len(every)
    assert [one.anchor for one in some] == sorted(anchor for _, anchor in best.values())


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("module", "name", "size", "least"),
    [
        (extension_launches, "POOL_BYTES", 1 << 16, 0),
        (extension_launches, "POOL_BYTES", 1 << 13, 1),
        (extension_runs, "TRACE_BYTES", 1 << 17, 0),
        (extension_launches, "RANGE_BYTES", 1 << 10, 0),
        (extension_runs, "FIRST_RUNS", 0, 0),
    ],
)
def test_little_memory_changes_nothing(module: Any, name: str, size: int, least: int, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer anchors at once, then the host; too little room for runs at first."""
    monkeypatch.setattr(module, name, size)
    target, query, bounds, t, q = related(7)
    extender = DeviceExtender(target, query, bounds, COSTS["default"])
    found = extender.extend(t, q, ranges=True)
    assert list(rows(found)) == list(by_host(Extender(target, query, bounds, COSTS["default"]), t, q))
    assert extender.taken_by_host >= least


@pytest.mark.gpu
def test_gaps_for_nothing_are_left_to_the_host(device: Any) -> None:
    target, query, bounds, t, q = related(5)
    costs = Costs(Scoring().plain(), 400, 0, 300)
    extender = DeviceExtender(target, query, bounds, costs)
    assert list(rows(extender.extend(t[:4], q[:4], ranges=True))) == list(by_host(Extender(target, query, bounds, costs), t[:4], q[:4]))
    assert extender.taken_by_host == 4


@pytest.mark.gpu
def test_nothing_to_extend(device: Any) -> None:
    target, query, bounds, t, q = related(0)
    found = DeviceExtender(target, query, bounds, COSTS["default"]).extend(t[:0], q[:0])
    assert len(found.known) == len(found.extensions) == 0 and isinstance(found.extensions, Extensions)
