"""The stages of a unit and the files between them: anchors, the walk of exact mode with its checkpoints, the tiles of independent mode, rows."""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidalign.kernels.anchors import lastz_order
from tidalign.kernels.commit import Commit, Speculated
from tidalign.kernels.errors import DeviceLimit
from tidalign.kernels.gapped import Extensions
from tidalign.pipeline.genome import gapped, seeding
from tidalign.pipeline.genome.filters import asked, keep, passed, shown
from tidalign.pipeline.genome.guards import Beat, Budget, Done
from tidalign.pipeline.genome.independent import ENDS, EXTENDED, extend, unique
from tidalign.pipeline.genome.manifest import read_manifest
from tidalign.pipeline.genome.parts import scan_chunk, write_part
from tidalign.pipeline.genome.plan import Tile, strands, unit_name
from tidalign.pipeline.genome.segments import load_segments
from tidalign.pipeline.genome.sides import load_side
from tidalign.pipeline.genome.speculation import Ahead, ahead_path, extend_ahead
from tidalign.pipeline.genome.unit import Unit
from tidalign.pipeline.genome.waves import Waves
from tidalign.pipeline.rundir import write_table, writing_error
from tidalign.pipeline.schema import GENOME_ALIGNMENTS, HITS, HSPS

_GROUP = 1 << 16
"""Anchors that are read at once."""

WALK_ANCHORS = 1024
"""Anchors after which a walk looks what others have extended ahead of it."""

SLICE_SECONDS = 2.0
"""Between two signs of life of exact mode's walk."""

CHECKPOINT_SECONDS = 20.0
"""Between two checkpoints of exact mode's walk: what a kill costs at most."""


def empty_rows() -> Any:
    """No rows."""
    return GENOME_ALIGNMENTS.empty_table()


# ---- anchors


def _anchors_path(directory: str, job: int, unit: int) -> str:
    return f"{directory}/stages/{unit_name(job, unit)}.anchors.parquet"


def count_anchors(directory: str, job: int, unit: int, run: str) -> int | None:
    """How many anchors a large unit has; None while they are not known."""
    try:
        footer = pq.read_metadata(_anchors_path(directory, job, unit))
    except (OSError, pa.ArrowException):
        return None
    return int(footer.num_rows) if (footer.metadata or {}).get(b"tidalign.run") == run.encode() else None


def write_anchors(unit: Unit, beat: Callable[[], None]) -> int:
    """Find a large unit's anchors and write them; returns how many."""
    known = count_anchors(unit.directory, unit.job_number, unit.number, unit.run)
    if known is not None:
        return known
    anchors = _find(unit, beat)
    write_table(_anchors_path(unit.directory, unit.job_number, unit.number), anchors, row_group_size=_GROUP, metadata={"tidalign.run": unit.run})
    return len(anchors)


def read_anchors(unit: Unit, start: int = 0, stop: int | None = None) -> Any:
    """Anchors [start, stop) of a large unit, in the order they are extended."""
    with pq.ParquetFile(_anchors_path(unit.directory, unit.job_number, unit.number)) as file:
        last = file.metadata.num_rows if stop is None else stop
        first = start // _GROUP
        table = file.read_row_groups(list(range(first, -(-last // _GROUP))))
    return table.slice(start - first * _GROUP, last - start).replace_schema_metadata(None)


def _find(unit: Unit, beat: Callable[[], None]) -> Any:
    """The unit's anchors in the order they are extended: exact mode by falling score, independent mode as they are found. HSPs where these are the result."""
    _keep(unit, beat)
    parameters = unit.parameters
    if unit.segments is not None:
        hsps = _segments(unit.directory, unit.run, unit.segments, unit.job.target, unit.job.sequence, unit.job.query)
        found = hsps.get((unit.query_index, unit.strand), HSPS.empty_table())
        anchors = seeding.anchors(unit.target_codes, unit.query_codes, found, parameters) if parameters.gapped else found
    else:
        find = partial(seeding.find_anchors, unit.target, unit.query_codes, unit.strand)
        try:
            anchors = find(unit.index(), parameters, beat, partial(_passing, unit))
        except (DeviceLimit, MemoryError):
            if unit.device == "cpu":
                raise
            unit.counts["strands seeded by the host for lack of room"] += 1
            anchors = find(unit.index_here(), parameters, beat, partial(_passing, unit))
    if parameters.mode == "exact" and parameters.gapped:
        anchors = anchors.take(pa.array(lastz_order(*(anchors[name].to_numpy() for name in ("target", "query", "score")))))
    if "anchors" in unit.keep and parameters.gapped:
        write_table(_kept_path(unit, "anchors"), _named(unit, anchors))
    return anchors


@lru_cache(maxsize=1)
def _segments(directory: str, run: str, path: str, target: int, sequence: int | None, query: int) -> dict[tuple[int, str], Any]:
    sides = load_side(directory, run, target, sequence)[0], load_side(directory, run, query)[0]
    parameters = read_manifest(directory).parameters
    return load_segments(path, *sides, strands(parameters), parameters.query_hsp_best)


def _passing(unit: Unit, hsps: Any) -> Any:
    """Those of a unit's HSPs that may be chained: where they are the result, LASTZ filters them before."""
    parameters = unit.parameters
    if parameters.gapped or parameters.chain is None or not parameters.filters:
        return hsps
    return hsps.filter(pa.array(passed(gapped.rows(_without_gaps(hsps), unit), asked(parameters))))


def _kept_path(unit: Unit, stage: str) -> str:
    folder = Path(unit.directory, "kept", stage)
    folder.mkdir(exist_ok=True)
    return str(folder / f"{unit.name}.parquet")


def _named(unit: Unit, table: Any) -> Any:
    """With columns that say of which pair of genomes, query and strand it is."""
    first: dict[str, Any] = unit.where()
    columns = {name: pa.array([value] * len(table), pa.int64() if name == "job" else pa.string()) for name, value in first.items()}
    return pa.table(columns | {name: table[name] for name in table.schema.names})


def _keep(unit: Unit, beat: Callable[[], None]) -> None:
    """Write the tables of hits and HSPs that are asked for, a batch at a time."""
    finders: dict[str, Callable[..., Any]] = {"hits": seeding.find_hits, "hsps": seeding.find_hsps}
    for stage in (name for name in finders if name in unit.keep and unit.segments is None):
        path = _kept_path(unit, stage)
        schema = _named(unit, {"hits": HITS, "hsps": HSPS}[stage].empty_table()).schema
        temporary = f"{path}.{secrets.token_hex(4)}.tmp"
        try:
            with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
                for batch in finders[stage](unit.index_here(), unit.query_codes, unit.parameters):
                    beat()
                    writer.write_table(_named(unit, pa.Table.from_batches([batch])))
            Path(temporary).replace(path)
        except OSError as error:
            raise writing_error(path, error) from error


# ---- rows


def whole(unit: Unit, beat: Callable[[], None]) -> Done:
    """All of a small unit at once."""
    anchors = _find(unit, beat)
    if unit.parameters.mode == "exact" or not unit.parameters.gapped:
        return walk(unit, anchors, lambda _: beat(), checkpoint=False)
    rows, shortfalls = extend(unit, anchors, 0, lambda _: beat())
    return _in_order(rows), shortfalls


def walk(unit: Unit, anchors: Any, beat: Beat, checkpoint: bool) -> Done:
    """The unit's rows by exact mode: anchors one after the other, in LASTZ's order, what is kept fencing what comes later.

    checkpoint: whether to write from time to time how far this is, and to go on from there.
    """
    if not unit.parameters.gapped:
        return gapped.rows(_without_gaps(anchors), unit), []
    t, q = (anchors[name].to_numpy() for name in ("target", "query"))
    commit, at = (checkpoint and _restored(unit)) or (gapped.commit(unit), 0)
    budget = Budget(unit.parameters)
    saved = time.monotonic()
    with _ahead(unit, t, q, at, commit, checkpoint) as ahead:
        while at < len(t) and not budget.spent(commit.cells):
            beat(at)
            stop, known = ahead(at)
            at += commit.walk(t[at:stop], q[at:stop], known, cells=budget.cells_left(commit.cells), seconds=SLICE_SECONDS)
            if checkpoint and time.monotonic() - saved >= CHECKPOINT_SECONDS:
                _save(unit, commit, at)
                saved = time.monotonic()
    unit.counts.update(commit.counts())
    return gapped.rows(commit.alignments(), unit), [budget.shortfall(unit, at, len(t))] if at < len(t) else []


@contextmanager
def _ahead(unit: Unit, t: Any, q: Any, at: int, commit: Commit, shared: bool) -> Iterator[Callable[[int], tuple[int, Speculated | None]]]:
    """What says of a place how far a walk may go in one piece from there, and what is known of these anchors. shared: other workers may extend some."""
    if unit.device == "gpu":
        with Waves(unit, t, q, at, commit.state()) as waves:
            yield waves.at
    elif shared:
        others = Ahead(unit)
        yield lambda place: others.at(place, min(len(t), place + WALK_ANCHORS))
    else:
        yield lambda place: (len(t), None)


def speculate(unit: Unit, start: int, stop: int) -> int:
    """Extend some anchors ahead of the unit's walk; returns how many. Nothing where the walk is over, or this was done."""
    if count_anchors(unit.directory, unit.job_number, unit.number, unit.run) is None or Path(ahead_path(unit, start, stop)).exists():
        return 0
    restored = _restored(unit)
    return extend_ahead(unit, read_anchors(unit, start, stop), restored[0].state() if restored else Extensions.empty(), start)


def _without_gaps(hsps: Any) -> Extensions:
    """HSPs as alignments, in their order."""
    t, q, length, score = (hsps[name].to_numpy() for name in ("target", "query", "length", "score"))
    count = len(hsps)
    return Extensions(
        anchor=np.arange(count),
        score=score,
        target_start=t,
        target_end=t + length,
        query_start=q,
        query_end=q + length,
        capped=np.zeros(count, np.bool_),
        run_offsets=np.arange(count + 1),
        run_ops=np.zeros(count, np.uint8),
        run_lengths=length,
    )


def assemble(unit: Unit) -> Done:
    """The rows of a large unit whose anchors are all extended."""
    parts = scan_chunk(f"{unit.directory}/extended", unit.run, Tile("extend", unit.job_number, unit.number, 0, 0).chunk)
    tables = [EXTENDED.empty_table(), *(pq.read_table(part.path).cast(EXTENDED) for part in parts)]
    return _in_order(unique(pa.concat_tables(tables))), [shortfall for part in parts for shortfall in part.shortfalls]


def _in_order(rows: Any) -> Any:
    """By target start; `GENOME_ALIGNMENTS`."""
    return rows.sort_by([(name, "ascending") for name in ENDS]).drop_columns(["anchor"]).cast(GENOME_ALIGNMENTS)


def write_units(directory: str, run: str, tile: Tile, done: list[Done]) -> None:
    """Write the part of a range of units, filters applied."""
    parameters = read_manifest(directory).parameters
    kept = [keep(rows, asked(parameters)) for rows, _ in done]
    if (limit := parameters.query_hsp_limit) is not None:
        # A query's strands are in one tile.
        several = len(strands(parameters))
        kept = [rows for first in range(0, len(kept), several) for rows in shown(kept[first : first + several], limit, gapped=parameters.gapped)]
    rows = pa.concat_tables([empty_rows(), *kept])
    write_part(f"{directory}/parts", run, tile.chunk, tile.start, tile.stop, rows, [shortfall for _, shortfalls in done for shortfall in shortfalls])


def forget(unit: Unit) -> None:
    """Remove what lay between the stages of a unit whose part is written."""
    for folder in ("stages", "extended"):
        for path in Path(unit.directory, folder).glob(f"{unit.name}.*"):
            # Somebody who works ahead may still be writing; `_finish` removes what comes of that.
            if path.suffix != ".tmp":
                path.unlink(missing_ok=True)


# ---- checkpoints of the walk


def _walk_path(unit: Unit) -> str:
    return f"{unit.directory}/stages/{unit.name}.walk.parquet"


def _save(unit: Unit, commit: Commit, at: int) -> None:
    """Write down a walk that is `at` anchors far: the alignments it keeps, in the order it kept them, as one row of lists."""
    arrays = commit.state().to_arrays()
    table = pa.table({name: pa.array([values], pa.large_list(pa.from_numpy_dtype(values.dtype))) for name, values in arrays.items()})
    write_table(_walk_path(unit), table, metadata={"tidalign.run": unit.run, "tidalign.at": str(at), "tidalign.cells": str(commit.cells)})


def _restored(unit: Unit) -> tuple[Commit, int] | None:
    """A walk as it was written down, and how many anchors it is far; None where there is none."""
    try:
        table = pq.read_table(_walk_path(unit))
    except (OSError, pa.ArrowException):
        return None
    labels = table.schema.metadata or {}
    if labels.get(b"tidalign.run") != unit.run.encode():
        return None
    commit, at = Commit(unit.target_codes, unit.query_codes, unit.bounds, unit.costs), int(labels[b"tidalign.at"])
    arrays = {name: table[name].combine_chunks().values.to_numpy(zero_copy_only=False) for name in table.schema.names}
    commit.restore(Extensions.from_arrays(arrays), at)
    commit.cells = int(labels[b"tidalign.cells"])
    return commit, at
