"""Walk a unit's anchors by exact mode, from its last checkpoint on, with what is extended ahead of it by this process's GPU or by other workers."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tidalign.kernels.commit.walk import Commit
from tidalign.kernels.gapped.speculated import Speculated
from tidalign.pipeline.genome.stages import gapped
from tidalign.pipeline.genome.stages.anchoring import without_gaps
from tidalign.pipeline.genome.stages.anchors_file import places
from tidalign.pipeline.genome.stages.guards import Beat, Budget, Done
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.walk import checkpoints
from tidalign.pipeline.genome.walk.speculation import Ahead
from tidalign.pipeline.genome.walk.waves import Waves

WALK_ANCHORS = 1024
"""Anchors after which a walk looks what others have extended ahead of it."""

CHECKPOINT_SECONDS = 20.0
"""Between two checkpoints of exact mode's walk: what a kill costs at most."""

ASKED_SHARE = 0.05
"""Of a walk's time, at most, that goes into checkpoints for others who ask what it keeps."""


def walk(unit: Unit, anchors: Any, beat: Beat, checkpoint: bool) -> Done:
    """Make the unit's rows by exact mode: anchors one after the other, in LASTZ's order, what is kept fencing what comes later.

    checkpoint: whether to write from time to time how far this is, and to go on from there.
    """
    if not unit.parameters.gapped:
        return gapped.rows(without_gaps(anchors), unit), []
    commit, at = (checkpoint and checkpoints.restored(unit)) or (gapped.commit(unit), 0)
    budget = Budget(unit.parameters)
    saved, took = time.monotonic(), 0.0
    with _ahead(unit, anchors, at, commit, checkpoint) as ahead:
        while at < len(anchors) and not budget.spent(commit.cells):
            beat(at)
            stop, known = ahead(at)
            at += commit.walk(*places(anchors, at, stop), known, cells=budget.cells_left(commit.cells), seconds=unit.device.slice_seconds)
            since = time.monotonic() - saved
            if checkpoint and (since >= CHECKPOINT_SECONDS or (took <= ASKED_SHARE * since and checkpoints.asked(unit))):
                checkpoints.save(unit, commit, at)
                saved, took = time.monotonic(), time.monotonic() - saved - since
    unit.counts.update(commit.counts())
    return gapped.rows(commit.alignments(), unit), [budget.shortfall(unit, at, len(anchors))] if at < len(anchors) else []


@contextmanager
def _ahead(unit: Unit, anchors: Any, at: int, commit: Commit, shared: bool) -> Iterator[Callable[[int], tuple[int, Speculated | None]]]:
    """Give what says of a place how far a walk may go in one piece from there, and what is known of these anchors. shared: other workers may extend some."""
    if unit.forms.extender:
        with Waves(unit, unit.forms.extender, anchors, at, commit.state()) as waves:
            yield waves.at
    elif shared:
        others = Ahead(unit)
        yield lambda place: others.at(place, min(len(anchors), place + WALK_ANCHORS))
    else:
        yield lambda place: (len(anchors), None)
