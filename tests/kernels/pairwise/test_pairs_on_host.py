"""The CUDA kernels of pairs without a GPU, threads taking turns on the host, exact and with heuristics: the rows of the host twin."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import conformance
import cuda_on_host
import numpy as np
import pytest
import simulate
import within

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.pairwise import wavefront, wavefront_device
from tidalign.kernels.scoring.heuristic import Heuristic
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront import device, device_pruned

pytestmark = [pytest.mark.slow, pytest.mark.skipif(cuda_on_host.COMPILER is None, reason="no C++ compiler here")]

RULES = ("adaptive:10,20,1", "adaptive:1,0,3", "band:-20,9", "adaptive-band:-10,6,2", "xdrop:15,1", "zdrop:15,2")
MODELS = ("edit", "linear:3,5", "affine:4,6,2", "affine2p:4,6,2,24,1")


@pytest.fixture(autouse=True)
def on_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    cuda_on_host.installed(monkeypatch, tmp_path)
    yield


def sides(pairs: list[simulate.Pair]) -> tuple[Sequences, Sequences]:
    queries, targets = (Sequences.from_strings(side) for side in zip(*pairs, strict=True))
    return queries, targets


def check(pairs: list[simulate.Pair], model: str, rule: str, **options: Any) -> None:
    both, penalties, heuristic = sides(pairs), Penalties.parse(model), Heuristic.parse(rule)
    expected = wavefront.align(*both, penalties, heuristic=heuristic, **options)
    found = wavefront_device.align(*both, penalties, heuristic=heuristic, **options)
    assert found.by_host == 0 and found.heuristic and np.array_equal(found.dropped, expected.dropped)
    conformance.same(expected, found, f"{model} {rule}", with_cigar=options.get("cigar", True))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("model", MODELS)
def test_host_rows(model: str, rule: str) -> None:
    random = np.random.default_rng(1)
    pairs = [simulate.pair(random, int(random.integers(0, 350)), rate, kind) for kind in simulate.KINDS for rate in (0.03, 0.25)]
    check(pairs, model, rule)
    check(pairs[::2], model, rule, ends_free=(5, 0, 20, 9), ambiguous="match")
    check(pairs[1::4], model, rule, cigar=False)


@pytest.mark.parametrize("rule", ["adaptive:400,500,1", "xdrop:900,1", "zdrop:900,1"])
def test_pairs_that_outgrow_a_pass_go_to_the_next(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    """By width and by steps: unrelated letters, whose wavefronts become wide, and no more memory at first than close pairs take."""
    monkeypatch.setattr(device_pruned, "PASS_SHARES", (0.02, 0.1, 2.0))
    monkeypatch.setattr(device_pruned, "ADAPTIVE_WIDTH", 64)
    check([*simulate.pairs(3, 2, 250, 0.3, "unrelated"), *simulate.pairs(4, 3, 300, 0.2)], "affine:2,3,1", rule)


def test_packed_letters() -> None:
    both = sides(simulate.pairs(9, 8, 200, 0.15))
    heuristic = Heuristic.parse("adaptive")
    expected = wavefront.align(*both, Penalties.parse("affine:4,6,2"), heuristic=heuristic)
    found = wavefront_device.align(*(pack(side) for side in both), Penalties.parse("affine:4,6,2"), heuristic=heuristic)
    conformance.same(expected, found, "packed")


def far(seed: int) -> list[simulate.Pair]:
    """Make pairs whose penalties a narrow pass bounds only: far apart, a long gap, a repeat, lengths that differ by more than its diagonals."""
    pairs = [pair for kind in simulate.KINDS for pair in simulate.pairs(seed, 1, 700, 0.15, kind)]
    ((query, target),) = simulate.pairs(seed, 1, 900, 0.05)
    pairs += [(query[:300] + query[500:], target), (query, target[:200] + target[420:]), (query[:400], target)]
    return [*pairs, (b"ACG" * 250 + query[:200], b"ACG" * 200 + target[:300])]


@pytest.mark.parametrize("model", [*MODELS, "linear:5,2", "affine:5,0,3", "affine:3,1,4", "affine2p:3,5,4,9,1"])
def test_rows_that_are_trimmed(model: str) -> None:
    both, penalties = sides(far(5)), Penalties.parse(model)
    expected = wavefront.align(*both, penalties)
    found = wavefront_device.align(*both, penalties)
    assert found.by_host == 0
    conformance.same(expected, found, model)


@pytest.mark.parametrize("model", ["affine:2,3,1", "affine2p:4,6,2,24,1"])
def test_trimmed_rows_fit_fewer_diagonals(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three quarters of those that the penalty alone would need, and no pair outgrows them."""
    asked: list[tuple[int, float]] = []
    run = device.Batch._run_bounded

    def run_bounded(self: device.Batch, rows: Any, bound: Any, needed: Any, ambiguous: int) -> Any:
        asked.append((len(rows), float((needed / self._settings.model.width(bound)).max(initial=0))))
        return run(self, rows, bound, needed, ambiguous)

    monkeypatch.setattr(device.Batch, "_run_bounded", run_bounded)
    both, penalties = sides(simulate.pairs(3, 2, 3000, 0.06)), Penalties.parse(model)
    expected = wavefront.align(*both, penalties)
    conformance.same(expected, wavefront_device.align(*both, penalties), model)
    assert [rows for rows, _ in asked] == [2, 0] and asked[0][1] < 0.75


@pytest.mark.parametrize("model", ["affine2p:4,6,2,24,1", "affine2p:3,5,4,9,1"])
def test_rows_of_long_ago_in_memory(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "DEEP_SHARE", 10_000)
    for ends_free in (None, (5, 0, 9, 30)):
        both, penalties = sides(far(6)), Penalties.parse(model)
        expected = wavefront.align(*both, penalties, ends_free=ends_free)
        found = wavefront_device.align(*both, penalties, ends_free=ends_free)
        assert found.by_host == 0
        conformance.same(expected, found, model)


@pytest.mark.parametrize("ends_free", [None, (5, 0, 9, 30)], ids=["global", "free"])
@pytest.mark.parametrize("model", MODELS)
def test_exact_host_rows(model: str, ends_free: tuple[int, int, int, int] | None) -> None:
    """A narrow pass and one of 256 diagonals."""
    both = sides([pair for kind in simulate.KINDS for pair in simulate.pairs(3, 2, 200, 0.1, kind)] + simulate.pairs(5, 1, 900, 0.3))
    expected = wavefront.align(*both, Penalties.parse(model), ends_free=ends_free)
    found = wavefront_device.align(*both, Penalties.parse(model), ends_free=ends_free)
    assert found.by_host == 0
    conformance.same(expected, found, model)


@pytest.mark.parametrize("way", within.WAYS[:2], ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_penalties_up_to_a_limit(model: str, way: dict[str, Any]) -> None:
    within.check(wavefront_device.penalties_within, within.sides(200, 1), Penalties.parse(model), **way)
