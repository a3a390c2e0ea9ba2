"""The stages of a unit and the files between them: anchors, the walk of exact mode with its checkpoints, the tiles of independent mode, rows."""

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidalign.kernels.commit import Commit, Speculated
from tidalign.kernels.errors import DeviceLimit
from tidalign.kernels.gapped import Extensions
from tidalign.pipeline.genome import anchors_file, gapped, seeding
from tidalign.pipeline.genome.anchors_file import places
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
from tidalign.pipeline.schema import ANCHORS, GENOME_ALIGNMENTS, HITS, HSPS

T = TypeVar("T")

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


def empty_rows() -> Any:
    """No rows."""
    return GENOME_ALIGNMENTS.empty_table()


# ---- anchors


def _anchors_path(directory: str, job: int, unit: int) -> str:
    return f"{directory}/stages/{unit_name(job, unit)}.anchors.arrow"


def count_anchors(directory: str, job: int, unit: int, run: str) -> int | None:
    """How many anchors a large unit has; None while they are not known."""
    return anchors_file.count_anchors(_anchors_path(directory, job, unit), run)


def write_anchors(unit: Unit, beat: Callable[[], None]) -> int:
    """Find a large unit's anchors and write them, of which a bounded number is in memory at a time; returns how many."""
    path = _anchors_path(unit.directory, unit.job_number, unit.number)
    if anchors_file.count_anchors(path, unit.run) is None:
        _find(unit, beat, lambda tables: anchors_file.write_anchors(path, tables, _schema(unit), unit.run, beat))
    return anchors_file.count_anchors(path, unit.run) or 0


def read_anchors(unit: Unit, start: int = 0, stop: int | None = None) -> Any:
    """Anchors [start, stop) of a large unit, in the order they are extended; mapped."""
    return anchors_file.read_anchors(_anchors_path(unit.directory, unit.job_number, unit.number), start, stop)


def _schema(unit: Unit) -> Any:
    """Of a unit's anchors: HSPs where these are the result."""
    return ANCHORS if unit.parameters.gapped else HSPS


def _find(unit: Unit, beat: Callable[[], None], take: Callable[[Iterator[Any]], T]) -> T:
    """What `take` makes of the unit's anchors, which come in tables; from the first one again where the card cannot go on."""
    _keep(unit, beat)
    parameters = unit.parameters
    if unit.segments is not None:
        hsps = _segments(unit.directory, unit.run, unit.segments, unit.job.target, unit.job.sequence, unit.job.query)
        found = hsps.get((unit.query_index, unit.strand), HSPS.empty_table())
        anchors = seeding.anchors(unit.target_codes, unit.query_codes, found, parameters) if parameters.gapped else found
        return take(_in_order(unit, iter([anchors])))
    find = partial(seeding.find_anchors, unit.target, unit.query_codes, unit.strand)
    # Closed, as a card is held for a strand until all its tiles are there or nobody wants them.
    try:
        with closing(find(unit.index(), parameters, beat, partial(_passing, unit))) as tables:
            return take(_in_order(unit, tables))
    except (DeviceLimit, MemoryError):
        if unit.device == "cpu":
            raise
    unit.counts["strands seeded by the host for lack of room"] += 1
    return take(_in_order(unit, find(unit.index_here(), parameters, beat, partial(_passing, unit))))


def _in_order(unit: Unit, found: Iterator[Any]) -> Iterator[Any]:
    """Tables of anchors in the order they are extended: exact mode by falling score, independent mode as they are found. Kept on the way if asked for."""
    if unit.parameters.mode == "exact" and unit.parameters.gapped:
        found = anchors_file.in_lastz_order(found, f"{unit.directory}/stages")
    found = anchors_file.in_tables(found, _schema(unit))
    return _kept(unit, "anchors", found, ANCHORS) if "anchors" in unit.keep and unit.parameters.gapped else found


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


def _named(unit: Unit, table: Any) -> Any:
    """With columns that say of which pair of genomes, query and strand it is."""
    first: dict[str, Any] = unit.where()
    columns = {name: pa.array([value] * len(table), pa.int64() if name == "job" else pa.string()) for name, value in first.items()}
    return pa.table(columns | {name: table[name] for name in table.schema.names})


def _keep(unit: Unit, beat: Callable[[], None]) -> None:
    """Write the tables of hits and HSPs that are asked for, a batch at a time."""
    for stage, finder, schema in (("hits", seeding.find_hits, HITS), ("hsps", seeding.find_hsps, HSPS)):
        if stage in unit.keep and unit.segments is None:
            batches = finder(unit.index_here(), unit.query_codes, unit.parameters)
            for _ in _kept(unit, stage, (pa.Table.from_batches([batch]) for batch in batches), schema):
                beat()


def _kept(unit: Unit, stage: str, tables: Iterator[Any], schema: Any) -> Iterator[Any]:
    """The same tables, written on the way to where those of the stage are kept."""
    folder = Path(unit.directory, "kept", stage)
    folder.mkdir(exist_ok=True)
    path = folder / f"{unit.name}.parquet"
    temporary = Path(f"{path}.{secrets.token_hex(4)}.tmp")
    try:
        with pq.ParquetWriter(temporary, _named(unit, schema.empty_table()).schema, compression="zstd") as writer:
            for table in tables:
                writer.write_table(_named(unit, table))
                yield table
        temporary.replace(path)
    except OSError as error:
        raise writing_error(str(path), error) from error
    finally:
        temporary.unlink(missing_ok=True)


# ---- rows


def whole(unit: Unit, beat: Callable[[], None]) -> Done:
    """All of a small unit at once."""
    anchors = _find(unit, beat, lambda tables: pa.concat_tables([_schema(unit).empty_table(), *tables]))
    if unit.parameters.mode == "exact" or not unit.parameters.gapped:
        return walk(unit, anchors, lambda _: beat(), checkpoint=False)
    rows, shortfalls = extend(unit, anchors, 0, lambda _: beat())
    return _by_start(rows), shortfalls


def walk(unit: Unit, anchors: Any, beat: Beat, checkpoint: bool) -> Done:
    """The unit's rows by exact mode: anchors one after the other, in LASTZ's order, what is kept fencing what comes later.

    checkpoint: whether to write from time to time how far this is, and to go on from there.
    """
    if not unit.parameters.gapped:
        return gapped.rows(_without_gaps(anchors), unit), []
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
    return not Path(_anchors_path(unit.directory, unit.job_number, unit.number)).exists()


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
    return _by_start(unique(pa.concat_tables(tables))), [shortfall for part in parts for shortfall in part.shortfalls]


def _by_start(rows: Any) -> Any:
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
