"""Calibration measures every kind of work that estimates ask for, and its rates say of what was measured about what it took."""

import threading
from typing import Any

import gpu_stand_in
import pytest

from tidalign.pipeline.device import CPU, GPU
from tidalign.workflows.estimate import calibrate, genome, rates, search
from tidalign.workflows.estimate.rates import Rates, fitted


def test_a_core_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "PAIR_SETS", ((50, 100, 0.05), (20, 400, 0.05), (5, 1500, 0.1), (50, 100, 0.2)))
    monkeypatch.setattr(calibrate, "LONG_PAIR_SETS", ((1, 33_000, 0.001),))
    monkeypatch.setattr(calibrate, "SCORED", ((50, 100, 0.05), (5, 500, 0.05)))
    monkeypatch.setattr(search, "SIZES", ((2, 100, 40, 200), (1, 300, 20, 100)))
    monkeypatch.setattr(genome, "LETTERS", 60_000)
    monkeypatch.setattr(genome, "TARGETS", (80_000, 100_000))
    monkeypatch.setattr(calibrate, "REPEATS", 1)
    *steps, (done, total, found) = calibrate.calibrated(CPU)
    assert isinstance(found, Rates) and done == total == len(steps) and all(each is None for _, _, each in steps)
    stored = next(each for each in rates._stored() if not each.gpu)
    assert {kind: set(terms) for kind, terms in found.seconds.items()} == {kind: set(terms) for kind, terms in stored.seconds.items()}
    assert all(any(terms.values()) and min(terms.values()) >= 0 for terms in found.seconds.values())


def test_a_gpu_is_measured_with_kernels_that_take_turns_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages of genomes take the GPU themselves: who holds it around them waits for ever."""
    gpu_stand_in.installed(monkeypatch)
    monkeypatch.setattr(genome, "LETTERS", 40_000)
    monkeypatch.setattr(genome, "TARGETS", (50_000, 60_000))
    found: list[dict[str, Any]] = []
    measuring = threading.Thread(target=lambda: found.append(genome.points(GPU, lambda device, work: 1.0)), daemon=True)
    measuring.start()
    measuring.join(900)  # kernels are compiled on the way
    assert found and found[0].keys() == {"index", "seed", "extend"}


def test_rates_say_what_pairs_took() -> None:
    """Of sets that they were not fitted to; generous, as machines are busy."""
    rates_of = {kind: fitted(points) for kind, points in calibrate._wavefront(CPU, "affine:4,6,2").items()}
    measured: Any = calibrate._aligned(CPU, calibrate.pack_pairs(calibrate.made(calibrate.DNA, 150, 600, 0.07)), calibrate.PairParameters())
    for kind, (counts, seconds) in measured.items():
        assert 0.3 < sum(rate * counts[term] for term, rate in rates_of[kind].items()) / seconds < 3
