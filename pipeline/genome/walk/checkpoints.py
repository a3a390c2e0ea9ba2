"""Write down how far a unit's walk is and what it keeps, for whoever goes on with it, and for those who ask because they work ahead of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.kernels.commit.walk import Commit
from tidalign.kernels.gapped.alignments import Extensions
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.schema import WALK
from tidalign.pipeline.store.files import read_table, write_table


def save(unit: Unit, commit: Commit, at: int) -> None:
    """Write down a walk that is `at` anchors far: the alignments it keeps, in the order it kept them, as one row of lists."""
    save_found(unit, "walk", commit.state(), at, commit.cells)


def save_found(unit: Unit, stage: str, found: Extensions, at: int, cells: int) -> None:
    """Write down what a stage has found when it was so far and had looked at so many cells."""
    columns = {name: pa.array([values], WALK.field(name).type) for name, values in found.to_arrays().items()}
    table = pa.table(columns, schema=WALK)
    write_table(_path(unit, stage), table, metadata={"tidalign.run": unit.run, "tidalign.at": str(at), "tidalign.cells": str(cells)})


def saved(unit: Unit, stage: str = "walk") -> tuple[Extensions, int, int] | None:
    """Read what a stage had found when it was written down, how far it was (a walk: anchors) and cells; None where there is none."""
    try:
        table = read_table(_path(unit, stage))
    except FileNotFoundError:
        return None
    labels: dict[bytes, Any] = table.schema.metadata or {}
    if labels.get(b"tidalign.run") != unit.run.encode():
        return None
    # Copies that can be written to, as what a walk keeps is: kernels are compiled for these.
    arrays = {name: np.array(table[name].combine_chunks().values.to_numpy(zero_copy_only=False)) for name in table.schema.names}
    return Extensions.from_arrays(arrays), int(labels[b"tidalign.at"]), int(labels[b"tidalign.cells"])


def restored(unit: Unit) -> tuple[Commit, int] | None:
    """Take up a walk as it was written down, and how many anchors it is far; None where there is none."""
    if (found := saved(unit)) is None:
        return None
    commit = Commit(unit.target_codes, unit.query_codes, unit.bounds, unit.costs, query_bounds=unit.query_bounds)
    commit.restore(*found[:2])
    commit.cells = found[2]
    return commit, found[1]


def ask(unit: Unit) -> None:
    """Ask the unit's walk, which another process is at, to write down what it keeps."""
    Path(_asked_path(unit)).touch()


def asked(unit: Unit) -> bool:
    """Tell whether anybody asked since this was called."""
    try:
        Path(_asked_path(unit)).unlink()
    except FileNotFoundError:
        return False
    return True


def _path(unit: Unit, stage: str) -> str:
    return f"{unit.directory}/stages/{unit.name}.{stage}.parquet"


def _asked_path(unit: Unit) -> str:
    return f"{unit.directory}/stages/{unit.name}.asked"
