"""Ends that are proven without the sweep of what comes after them, against the host, which sweeps it."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from genome_cases import mutated

from tidalign.kernels.extension import launches as extension_launches
from tidalign.kernels.extension.costs import Costs
from tidalign.kernels.gapped.device import DeviceExtender
from tidalign.kernels.gapped.extender import Extender
from tidalign.kernels.gapped.speculated import ABOVE
from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.runtime import compiler
from tidalign.kernels.scoring.scores import Scoring

COSTS = {
    "default": Costs(Scoring().plain()),
    "every score": Costs(Scoring().plain(), threshold=-(10**9)),
    "little room": Costs(Scoring().plain(), traceback=600_000, threshold=-(10**9)),
    "short drop": Costs(Scoring().plain(), ydrop=910, threshold=500),
    "dear gaps": Costs(Scoring().plain(), 3000, 200, 9400, 2000),
}


def blocks(rng: random.Random, gaps: tuple[int, int], count: int = 8) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], Any, Any]:
    """Target and query of similar blocks with anything between them, some of it much longer in one of both, and anchors within blocks."""

    def anything(length: int) -> str:
        return "".join(rng.choices("ACGT", k=length))

    target, query = anything(1500), anything(1500)
    t, q = [], []
    for _ in range(count):
        block = anything(rng.randint(40, 500))
        other = mutated(rng, block, rng.choice([0.02, 0.15]), rng.choice([0, 0.02]), "ACGT")
        if min(len(block), len(other)) > 40:
            for place in rng.sample(range(10, min(len(block), len(other)) - 10), 6):
                t.append(len(target) + place)
                q.append(len(query) + place)
        target += block + anything(rng.randint(*gaps))
        query += other + anything(rng.randint(*gaps))
    return encode((target + anything(1500)).encode()), encode((query + anything(1500)).encode()), np.array(t), np.array(q)


def equal(costs: Costs, gaps: tuple[int, int], cases: int = 6) -> tuple[int, int]:
    """Compare extensions; returns how many tails were proven, and how many not."""
    proven = failed = 0
    for seed in range(cases):
        target, query, t, q = blocks(random.Random(seed), gaps)
        bounds = np.array([[0, len(target)]])
        extender, host = DeviceExtender(target, query, bounds, costs), Extender(target, query, bounds, costs)
        found = extender.extend(t, q, boxes=False)
        above = {one.anchor: one for one in found.extensions}
        for i, (a, b) in enumerate(zip(t.tolist(), q.tolist(), strict=True)):
            one, looked = host.extend(i, a, b)
            assert (found.known[i] == ABOVE) == (one is not None)
            assert (found.boxes[i] >= looked.box).all(), (seed, i)
            if one is not None:
                mine = above[i]
                assert (mine.score, mine.ends.tolist(), mine.capped, mine.ops.tolist(), mine.lengths.tolist()) == (
                    *(one.score, one.ends.tolist(), one.capped, one.ops.tolist(), one.lengths.tolist()),
                ), (seed, i)
        assert extender.taken_by_host == 0
        proven, failed = proven + extender.tails[0], failed + extender.tails[1]
    return proven, failed


def test_costs_that_have_tails() -> None:
    assert all(extension_launches.provable(costs) for costs in COSTS.values())
    default = COSTS["default"]
    assert not extension_launches.provable(replace(default, trim=False))
    assert not extension_launches.provable(replace(default, ydrop=30_000))
    assert not extension_launches.provable(replace(default, gap_open=9000))


@pytest.mark.gpu
@pytest.mark.parametrize("kind", COSTS)
def test_ends_equal_the_hosts(kind: str, device: Any) -> None:
    proven, _ = equal(COSTS[kind], (600, 900))
    assert proven > 20


@pytest.mark.gpu
@pytest.mark.parametrize("gaps", [(0, 60), (60, 120), (100, 250)])
def test_what_goes_on_after_a_while_is_found(gaps: tuple[int, int], device: Any) -> None:
    """Alignments that reach a new best value after many rows without one: no tail is proven there."""
    proven, failed = equal(COSTS["default"], gaps)
    assert proven > 0 and failed > 0


@pytest.mark.gpu
@pytest.mark.parametrize(("module", "name", "value"), [(extension_launches, "BATCH_RECORDS", 1), (extension_launches, "POOL_BYTES", 1 << 19)])
def test_little_at_a_time_changes_nothing(module: Any, name: str, value: int, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, name, value)
    equal(COSTS["default"], (100, 900), 3)


@pytest.mark.gpu
def test_tails_tried_early_and_without_the_newer_instructions(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prove as GPUs before compute capability 9.0 do, which have no DPX; and from the first row without a best value on."""
    monkeypatch.setattr(extension_launches, "QUIET", 1)
    of = compiler.kernel
    monkeypatch.setattr(compiler, "kernel", lambda name, entry, macros, **more: of(name, entry, {**macros, "EXTENSION_PLAIN": 1}, **more))
    equal(COSTS["default"], (0, 250))
