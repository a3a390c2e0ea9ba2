"""Exact mode's walk over a unit's anchors, with its checkpoints, and what other workers extend ahead of it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidalign.kernels.commit.walk import Commit
from tidalign.kernels.gapped.alignments import Extensions
from tidalign.kernels.gapped.speculated import Speculated
from tidalign.pipeline.genome.stages import gapped
from tidalign.pipeline.genome.stages.anchoring import anchors_path, count_anchors, read_anchors, without_gaps
from tidalign.pipeline.genome.stages.anchors_file import places
from tidalign.pipeline.genome.stages.guards import Beat, Budget, Done
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.walk.speculation import Ahead, ahead_path, extend_ahead
from tidalign.pipeline.genome.walk.waves import Waves
from tidalign.pipeline.schema import WALK
from tidalign.pipeline.store.files import write_table

WALK_ANCHORS = 1024
"""Anchors after which a walk looks what others have extended ahead of it."""

SLICE_SECONDS = 0.25
"""Between two signs of life of exact mode's walk: who works ahead of it should know where it is."""

WAVE_SECONDS = 2.0
"""The same with a card, of whose waves, large ones, each slice makes copies."""

CHECKPOINT_SECONDS = 20.0
"""Between two checkpoints of exact mode's walk: what a kill costs at most."""

ASKED_SHARE = 0.05
"""Of a walk's time, at most, that goes into checkpoints for others who ask what it keeps."""

ANSWER_SECONDS = 1.0
"""How long the first who asks waits for it."""


def walk(unit: Unit, anchors: Any, beat: Beat, checkpoint: bool) -> Done:
    """The unit's rows by exact mode: anchors one after the other, in LASTZ's order, what is kept fencing what comes later.

    checkpoint: whether to write from time to time how far this is, and to go on from there.
    """
    if not unit.parameters.gapped:
        return gapped.rows(without_gaps(anchors), unit), []
    commit, at = (checkpoint and _restored(unit)) or (gapped.commit(unit), 0)
    budget = Budget(unit.parameters)
    slice_seconds = SLICE_SECONDS if unit.device == "cpu" else WAVE_SECONDS
    saved, took = time.monotonic(), 0.0
    with _ahead(unit, anchors, at, commit, checkpoint) as ahead:
        while at < len(anchors) and not budget.spent(commit.cells):
            beat(at)
            stop, known = ahead(at)
            at += commit.walk(*places(anchors, at, stop), known, cells=budget.cells_left(commit.cells), seconds=slice_seconds)
            since = time.monotonic() - saved
            if checkpoint and (since >= CHECKPOINT_SECONDS or (took <= ASKED_SHARE * since and _asked(unit))):
                _save(unit, commit, at)
                saved, took = time.monotonic(), time.monotonic() - saved - since
    unit.counts.update(commit.counts())
    return gapped.rows(commit.alignments(), unit), [budget.shortfall(unit, at, len(anchors))] if at < len(anchors) else []


@contextmanager
def _ahead(unit: Unit, anchors: Any, at: int, commit: Commit, shared: bool) -> Iterator[Callable[[int], tuple[int, Speculated | None]]]:
    """What says of a place how far a walk may go in one piece from there, and what is known of these anchors. shared: other workers may extend some."""
    if unit.device == "gpu":
        with Waves(unit, anchors, at, commit.state()) as waves:
            yield waves.at
    elif shared:
        others = Ahead(unit)
        yield lambda place: others.at(place, min(len(anchors), place + WALK_ANCHORS))
    else:
        yield lambda place: (len(anchors), None)


def speculate(unit: Unit, start: int, stop: int) -> int:
    """Extend some anchors ahead of the unit's walk; returns how many. Nothing where the walk is over, or this was done."""
    if count_anchors(unit.directory, unit.job_number, unit.number, unit.run) is None or Path(ahead_path(unit, start, stop)).exists():
        return 0
    anchors = read_anchors(unit, start, stop)
    return extend_ahead(unit, anchors, _kept_by_now(unit), start, partial(_over, unit))


def _kept_by_now(unit: Unit) -> Extensions:
    """What the unit's walk keeps, as it was when somebody last asked; now it is asked again. Who asks first waits a while for an answer."""
    Path(_asked_path(unit)).touch()
    last = time.monotonic() + ANSWER_SECONDS
    while (saved := _saved(unit)) is None and time.monotonic() < last and not _over(unit):
        time.sleep(0.02)
    return saved[0] if saved else Extensions.empty()


def _over(unit: Unit) -> bool:
    """Whether the unit's walk has ended: its anchors are forgotten."""
    return not Path(anchors_path(unit.directory, unit.job_number, unit.number)).exists()


# ---- checkpoints


def _walk_path(unit: Unit) -> str:
    return f"{unit.directory}/stages/{unit.name}.walk.parquet"


def _save(unit: Unit, commit: Commit, at: int) -> None:
    """Write down a walk that is `at` anchors far: the alignments it keeps, in the order it kept them, as one row of lists."""
    columns = {name: pa.array([values], WALK.field(name).type) for name, values in commit.state().to_arrays().items()}
    table = pa.table(columns, schema=WALK)
    write_table(_walk_path(unit), table, metadata={"tidalign.run": unit.run, "tidalign.at": str(at), "tidalign.cells": str(commit.cells)})


def _asked_path(unit: Unit) -> str:
    return f"{unit.directory}/stages/{unit.name}.asked"


def _asked(unit: Unit) -> bool:
    """Whether anybody asked since this was called."""
    try:
        Path(_asked_path(unit)).unlink()
    except FileNotFoundError:
        return False
    return True


def _saved(unit: Unit) -> tuple[Extensions, int, int] | None:
    """What a walk kept when it was written down, how many anchors it was far and cells; None where there is none."""
    try:
        table = pq.read_table(_walk_path(unit))
    except (OSError, pa.ArrowException):
        return None
    labels = table.schema.metadata or {}
    if labels.get(b"tidalign.run") != unit.run.encode():
        return None
    # Copies that can be written to, as what a walk keeps is: kernels are compiled for these.
    arrays = {name: np.array(table[name].combine_chunks().values.to_numpy(zero_copy_only=False)) for name in table.schema.names}
    return Extensions.from_arrays(arrays), int(labels[b"tidalign.at"]), int(labels[b"tidalign.cells"])


def _restored(unit: Unit) -> tuple[Commit, int] | None:
    """A walk as it was written down, and how many anchors it is far; None where there is none."""
    if (saved := _saved(unit)) is None:
        return None
    commit = Commit(unit.target_codes, unit.query_codes, unit.bounds, unit.costs)
    commit.restore(*saved[:2])
    commit.cells = saved[2]
    return commit, saved[1]
