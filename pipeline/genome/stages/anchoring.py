"""The first stage of a unit: its anchors, and the file of them that lies between the stages of a large one."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidalign.kernels.gapped.alignments import Extensions
from tidalign.kernels.runtime.errors import DeviceLimit
from tidalign.kernels.ungapped.hsps import Segments
from tidalign.pipeline.errors import MissingInput
from tidalign.pipeline.genome.input.segments import load_segments
from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.manifest import read_manifest
from tidalign.pipeline.genome.plan import strands, unit_name
from tidalign.pipeline.genome.stages import anchors_file, gapped, seeding
from tidalign.pipeline.genome.stages.filters import asked_of, passed
from tidalign.pipeline.genome.stages.guards import Heartbeat
from tidalign.pipeline.genome.stages.seeded import Seeded
from tidalign.pipeline.genome.stages.unit import OF_HSPS, Unit
from tidalign.pipeline.schema import ANCHORS, HSPS, KEPT
from tidalign.pipeline.store.files import UNSEALED, seal, writing_error

T = TypeVar("T")


def anchors_path(directory: str, job: int, unit: int) -> str:
    return f"{directory}/stages/{unit_name(job, unit)}.anchors.arrow"


def count_anchors(directory: str, job: int, unit: int, run: str) -> int | None:
    """Count the anchors of a large unit; None while they are not known."""
    return anchors_file.count_anchors(anchors_path(directory, job, unit), run)


def write_anchors(unit: Unit, beat: Heartbeat) -> int:
    """Find a large unit's anchors and write them, of which a bounded number is in memory at a time; returns how many. beat: called with how many letters of
    the query are done."""
    path, letters = anchors_path(unit.directory, unit.job_number, unit.number), len(unit.query_codes)
    if anchors_file.count_anchors(path, unit.run) is None:
        find(unit, beat, lambda tables: anchors_file.write_anchors(path, tables, schema_of(unit), unit.run, partial(beat, letters)), checkpoint=True)
    for strand in SEEDED:
        seeded(unit, strand).forget()
    return anchors_file.count_anchors(path, unit.run) or 0


def read_anchors(unit: Unit, start: int = 0, stop: int | None = None) -> Any:
    """Read anchors [start, stop) of a large unit, in the order they are extended; mapped."""
    return anchors_file.read_anchors(anchors_path(unit.directory, unit.job_number, unit.number), start, stop)


def schema_of(unit: Unit) -> Any:
    """Give the schema of a unit's anchors: HSPs where these are the result."""
    return ANCHORS if unit.parameters.gapped else HSPS


SEEDED = {"+": "plus", "-": "minus"}
"""How strands are named in names of files."""


def seeded(unit: Unit, strand: str) -> Seeded:
    """Give what was found for a unit on a strand of its query, of which it may need both, and where more is written down."""
    return Seeded(f"{unit.directory}/stages/{unit.name}.{SEEDED[strand]}", unit.run)


def find(unit: Unit, beat: Heartbeat, take: Callable[[Iterator[Any]], T], *, checkpoint: bool) -> T:
    """Find the unit's anchors and give what `take` makes of them, which come in tables; from the first one again where the GPU cannot go on.

    checkpoint: whether to write from time to time what was seeded, and to go on from there.
    """
    _keep(unit, beat)
    parameters = unit.parameters
    if unit.segments is not None:
        hsps = _segments(unit.directory, unit.run, unit.segments, unit.job.target, unit.job.sequence, unit.job.query)
        found = _of_all(unit, hsps) if unit.joint else hsps.get((unit.query_index, unit.strand), HSPS.empty_table())
        anchors = seeding.anchors(unit.target_codes, unit.query_codes, found, parameters) if parameters.gapped else found
        return take(_in_order(unit, iter([anchors])))
    found = partial(seeding.find_anchors, unit.target, unit.query_codes, unit.strand)
    rest = parameters, beat, partial(_passing, unit), partial(seeded, unit) if checkpoint else None, unit.limit, unit.origin, partial(_left_out, unit)
    # Closed, as no other strand is seeded on the GPU until all its tiles are there or nobody wants them.
    try:
        with closing(found(unit.words(), *rest)) as tables:
            return take(_in_order(unit, tables))
    except (DeviceLimit, MemoryError):
        if not unit.device.takes_gpu:
            raise
    unit.counts["strands seeded by the host for lack of room"] += 1
    return take(_in_order(unit, found(unit.words_here(), *rest)))


def _left_out(unit: Unit) -> None:
    """Count a query of which LASTZ would warn, once for its strands."""
    if unit.strand == strands(unit.parameters)[0]:
        unit.counts[OF_HSPS] = 1


def _in_order(unit: Unit, found: Iterator[Any]) -> Iterator[Any]:
    """Put tables of anchors in the order they are extended: exact mode by falling score, independent mode as they are found. Kept on the way if asked for."""
    if unit.parameters.mode == "exact" and unit.parameters.gapped and unit.parameters.per_query is None:
        found = anchors_file.in_lastz_order(found, f"{unit.directory}/stages")
    found = anchors_file.in_tables(found, schema_of(unit))
    return _kept(unit, "anchors", found) if "anchors" in unit.keep and unit.parameters.gapped else found


def _of_all(unit: Unit, hsps: dict[tuple[int, str], Any]) -> Any:
    """Join the segments of a strand of several sequences that are one query, at their places in the array of these: by diagonal, then by query start."""
    tables = [HSPS.empty_table()]
    for i, start in enumerate(unit.query.starts.tolist()):
        if (i, unit.strand) in hsps:
            found = hsps[i, unit.strand]
            tables.append(found.set_column(1, HSPS.field("query"), pa.array(found["query"].to_numpy() + start)))
    table = pa.concat_tables(tables)
    target, query = table["target"].to_numpy(), table["query"].to_numpy()
    return table.take(np.lexsort((query, target - query)))


@lru_cache(maxsize=1)
def _segments(directory: str, run: str, path: str, target: int, sequence: int | None, query: int) -> dict[tuple[int, str], Any]:
    sides = load_side(directory, run, target, sequence)[0], load_side(directory, run, query)[0]
    parameters = read_manifest(directory).parameters
    return load_segments(path, *sides, strands(parameters), parameters.query_hsp_best)


def _passing(unit: Unit, hsps: Any) -> Any:
    """Filter those of a unit's HSPs that may be chained: where they are the result, LASTZ filters them before."""
    parameters = unit.parameters
    if parameters.gapped or parameters.chain is None or not parameters.filters:
        return hsps
    found = [passed(rows, asked_of(unit)) for rows in gapped.tables(without_gaps(hsps), unit)]
    return hsps.filter(pa.array(np.concatenate([np.empty(0, np.bool_), *found])))


def _named(unit: Unit, table: Any) -> Any:
    """Add columns that say of which pair of genomes, query and strand a table is."""
    first: dict[str, Any] = unit.where()
    columns = {name: pa.array([value] * len(table), pa.int64() if name == "job" else pa.string()) for name, value in first.items()}
    return pa.table(columns | {name: table[name] for name in table.schema.names})


def _keep(unit: Unit, beat: Heartbeat) -> None:
    """Write the tables of hits and HSPs that are asked for, a batch at a time."""
    for stage, finder in (("hits", seeding.find_hits), ("hsps", seeding.find_hsps)):
        if stage in unit.keep and unit.segments is None:
            batches = finder(unit.words_here(), unit.query_codes, unit.parameters)
            for _ in _kept(unit, stage, (pa.Table.from_batches([batch]) for batch in batches)):
                beat(0)


def _kept(unit: Unit, stage: str, tables: Iterator[Any]) -> Iterator[Any]:
    """Pass tables on, written on the way to where those of the stage are kept."""
    folder = Path(unit.directory, "kept", stage)
    folder.mkdir(exist_ok=True)
    path = folder / f"{unit.name}.parquet"
    temporary = Path(f"{path}.{secrets.token_hex(4)}.tmp")
    try:
        with pq.ParquetWriter(temporary, KEPT[stage].with_metadata({"seal": UNSEALED}), compression="zstd") as writer:
            for table in tables:
                writer.write_table(_named(unit, table).cast(writer.schema))
                yield table
        seal(str(temporary))
        temporary.replace(path)
    except MissingInput:
        raise
    except OSError as error:
        raise writing_error(str(path), error) from error
    finally:
        temporary.unlink(missing_ok=True)


def without_gaps(hsps: Any) -> Extensions:
    """Make alignments of HSPs, a table (HSPS) or Segments, in their order."""
    if isinstance(hsps, Segments):
        t, q, length, score = hsps.target, hsps.query, hsps.length, hsps.score
    else:
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
