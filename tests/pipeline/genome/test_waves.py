"""A walk that waits for a wave heeds a stop, and leaves no wave behind."""

import time
from collections import Counter
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tidalign.kernels.commit.paths import Paths
from tidalign.kernels.gapped.alignments import Extensions
from tidalign.kernels.gapped.speculated import Speculated
from tidalign.pipeline.device import GPU
from tidalign.pipeline.genome.walk.waves import EXTENDED_AT_ONCE, FIRST_WAVE, Waves
from tidalign.pipeline.schema import ANCHORS

LETTERS = 1 << 26
SECONDS = 0.05


class Slow:
    """Extends nothing, and takes long for each call, the third until a stop was asked for; anchors lie far apart, so that none spares another."""

    taken_by_host = 0

    def __init__(self) -> None:
        self.calls, self.asked = 0, Event()

    def inspect(self, t: Any, q: Any) -> tuple[Any, Any]:
        return np.zeros(len(t), np.bool_), np.zeros((len(t), 4), np.int64)

    def extend(self, t: Any, q: Any) -> Speculated:
        self.calls += 1
        if self.calls == 3:
            self.asked.wait(60)
        time.sleep(SECONDS)
        return Speculated.nothing(len(t))


class Asked(Exception):
    """A stop."""


def test_a_walk_that_waits_for_a_wave_heeds_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidalign.pipeline.genome.walk.waves.SMALL_WAVE_AT_ONCE", 8)
    count = FIRST_WAVE
    assert count > EXTENDED_AT_ONCE
    places = np.arange(count) << 15
    anchors = pa.table([places, places, np.full(count, 3000)], schema=ANCHORS)
    unit: Any = SimpleNamespace(device=GPU, counts=Counter())
    Paths().near(places, places)  # compiled
    slow, beats = Slow(), []

    def beat(place: int) -> None:
        beats.append(place)
        if len(beats) == 3:
            slow.asked.set()
            raise Asked

    with pytest.raises(Asked), Waves(unit, lambda _: slow, anchors, 0, Extensions.empty(), beat) as waves:
        waves.at(0)
    assert beats == [0, 0, 0]
    calls = slow.calls
    assert 0 < calls < 25, "half of what the wave takes"
    time.sleep(3 * SECONDS)
    assert slow.calls == calls
