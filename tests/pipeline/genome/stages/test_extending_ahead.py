"""The GPU extends the next anchors while rows are made of those before."""

import threading
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tidalign.kernels.gapped.alignments import Extensions
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages import gpu
from tidalign.pipeline.genome.stages.guards import Budget


def test_the_next_anchors_are_extended_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """One batch ahead, no more; with a limit of cells what is not asked for is not begun."""
    begun = [threading.Event() for _ in range(3)]

    class Extender:
        taken_by_host = 0

        def inspect(self, t: Any, q: Any) -> tuple[Any, Any]:
            begun[int(t[0]) // 4].set()
            return np.ones(len(t), np.bool_), np.ones((len(t), 4), np.int64)

        def extend(self, t: Any, q: Any, **_: Any) -> Any:
            return SimpleNamespace(boxes=np.zeros((0, 4), np.int64), extensions=Extensions.empty())

    monkeypatch.setattr(gpu, "_extender", lambda unit: Extender())
    monkeypatch.setattr(gpu, "ANCHORS", 4)
    monkeypatch.setattr(gpu, "GUARDED", 4)
    places = np.arange(12)

    def steps(parameters: GenomeParameters) -> Any:
        unit: Any = SimpleNamespace(parameters=parameters, counts=Counter())
        return gpu.extend(unit, places, places, Budget(parameters), lambda _: None)

    free = steps(GenomeParameters())
    assert next(free)[0] == 4
    assert begun[1].wait(30) and not begun[2].is_set()
    assert [stop for stop, _ in free] == [8, 12]
    for event in begun:
        event.clear()
    assert [stop for stop, _ in steps(GenomeParameters(cells=1))] == [4]
    assert not begun[1].is_set()
