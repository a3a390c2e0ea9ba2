"""Run the stages of a unit that give rows: all of a small one at once, of a large one the last; and compile their kernels before anybody waits for them."""

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import shake_256
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.kernels.gapped.alignments import Extensions
from tidalign.pipeline.device import CPU, Device
from tidalign.pipeline.genome.input.folders import read_all
from tidalign.pipeline.genome.input.sequences import Queries
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.manifest import read_manifest, write_manifest
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import Tile, alone, chance_hits, strands
from tidalign.pipeline.genome.stages import anchoring, seeding
from tidalign.pipeline.genome.stages import gapped as alignments
from tidalign.pipeline.genome.stages.anchoring import find, schema_of, without_gaps
from tidalign.pipeline.genome.stages.anchors_file import places
from tidalign.pipeline.genome.stages.filters import asked_last, keep, shown
from tidalign.pipeline.genome.stages.guards import Due, Heartbeat, RowsAndShortfalls
from tidalign.pipeline.genome.stages.independent import extend_together, in_order
from tidalign.pipeline.genome.stages.masked import MaskedTarget
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.walk.immediate import first_found
from tidalign.pipeline.genome.walk.walk import extend_ahead, walk, walk_many
from tidalign.pipeline.schema import EXTENDED, GENOME_ALIGNMENTS
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES
from tidalign.pipeline.store.parts import read_tables, scan_chunk, write_part

FOLDERS = ("stages", "extended")
"""Where lies what is between the stages of a unit, or was when somebody stopped."""

LETTERS_TOGETHER = 1 << 20
"""Of the query strands that are sought together."""


SLOW_SECONDS = 5.0
"""Of a strand among many that are done together, after which it is done by itself, as it has checkpoints then: a tile of them is estimated at less."""

Units = Iterator[tuple[int, Iterable[Any], list[dict[str, Any]]]]
"""Up to which unit all is there, the tables of rows of those since the last one, made as they are asked for, and what was cut or given up."""


def small(directory: str, tile: Tile, device: Device, beat: Heartbeat, counts: Counter[str], due: Due) -> Units:
    """Run all stages of a tile's small units, job by job: many at a time where each may be done as if it were alone, else one by one. `counts`: added to."""
    begun = _begun(directory, tile)
    for job, begin, start, stop in read_manifest(directory).pieces(tile):

        def at(place: int, begin: int = begin) -> None:
            beat(begin + place)

        slow = {number for of, number in begun if of == job}
        for reached, rows, shortfalls in _of_job(directory, job, range(start, stop), device, at, counts, due, slow):
            yield begin + reached, rows, shortfalls


def _of_job(directory: str, job: int, units: range, device: Device, beat: Heartbeat, counts: Counter[str], due: Due, slow: set[int]) -> Units:
    number = units.start
    masked: MaskedTarget | None = None
    while number < units.stop:
        unit = Unit(directory, job, number, device)
        if unit.parameters.masking is not None:
            if masked is None:
                masked = MaskedTarget(unit.target, unit.target_codes, unit.parameters)
                masked.read(directory, unit.run, job, number)
            unit.mask(masked)
            rows, shortfalls = whole(unit, partial(beat, number), due)
            # What counts is what passes the filters; whoever takes the rows takes them all before the next unit.
            yield number + 1, masked.noting(keep(table, asked_last(unit.parameters)) for table in rows), shortfalls
            number += 1
        elif number in slow or alone(unit.parameters) or unit.joint or unit.segments is not None or unit.keep or device.takes_gpu:
            yield number + 1, *whole(unit, partial(beat, number), due)
            number += 1
        else:
            first = number
            try:
                for stop, rows in together(unit, unit.queries(min([units.stop, *(each for each in slow if each > first)]), LETTERS_TOGETHER), beat):
                    number = first + stop
                    yield number, rows, []
            except _Slow as error:
                slow.add(error.unit)
        counts.update(unit.counts)


def _begun(directory: str, tile: Tile) -> set[tuple[int, int]]:
    """Find the units of a tile, each a job and a number, that somebody was at who wrote down how far."""
    units = {job: range(start, stop) for job, _, start, stop in read_manifest(directory).pieces(tile)}
    names = (name.split(".") for folder in FOLDERS for name in os.listdir(f"{directory}/{folder}") if name[:1] == "j")  # noqa: PTH208
    found = {(int(job[1:]), int(unit[1:])) for job, unit, *_ in names}
    return {(job, unit) for job, unit in found if unit in units.get(job, ())}


class _Slow(Exception):
    """A unit that takes long is among those that are done together."""

    def __init__(self, unit: int) -> None:
        super().__init__(unit)
        self.unit = unit


def together(unit: Unit, queries: Queries, beat: Heartbeat) -> Iterator[tuple[int, Iterator[Any]]]:
    """Make the rows of many small units, `queries` from this one on: each stage takes all of them at once. Tells up to which one all rows are there."""
    parameters, at = unit.parameters, 0
    last, since = -1, 0.0

    def strand(i: int) -> None:
        nonlocal last, since
        beat(unit.number + i)
        if i != last:
            last, since = i, time.monotonic()
        elif time.monotonic() - since > SLOW_SECONDS:
            raise _Slow(unit.number + i)

    equal = alignments.equal_pieces(unit, queries) if parameters.gapped else {}
    for stop, segments in seeding.find_of_many(unit.words(), queries, parameters, strand):
        if parameters.gapped:
            anchors = seeding.anchors_of_many(unit.target_codes, queries, segments, parameters)
            found = walk_many(unit, queries, anchors, range(at, stop), strand, equal)
        else:
            found = without_gaps(segments)
        yield stop, alignments.tables(found, unit, queries)
        at = stop


def whole(unit: Unit, beat: Callable[[], None], due: Due) -> RowsAndShortfalls:
    """Run all stages of a small unit at once. Where it takes longer than was thought it is written down how far it is, and gone on from there."""
    if (most := unit.parameters.per_query) is not None and unit.parameters.gapped:
        return iter(find(unit, lambda _: beat(), lambda tables: first_found(unit, tables, most, beat), checkpoint=False)), []
    anchors = find(unit, lambda _: beat(), lambda tables: pa.concat_tables([schema_of(unit).empty_table(), *tables]), checkpoint=True)
    if unit.parameters.mode == "exact" or not unit.parameters.gapped:
        return walk(unit, anchors, lambda _: beat(), checkpoint=True)
    if (done := extend_together(unit, anchors, lambda _: beat(), due)) is None:
        return assemble(unit)
    rows, shortfalls = done
    return by_start(rows, unit), shortfalls


def assemble(unit: Unit) -> RowsAndShortfalls:
    """Assemble the rows of a large unit whose anchors are all extended."""
    parts = scan_chunk(f"{unit.directory}/extended", unit.run, Tile("extend", unit.job_number, unit.number, 0, 0).chunk)
    tables = (rows for part in parts for rows in read_tables(part.path, EXTENDED))
    return by_start(tables, unit), [shortfall for part in parts for shortfall in part.labels["shortfalls"]]


def by_start(tables: Iterable[Any], unit: Unit) -> Iterator[Any]:
    """Sort rows by target start, each once; `GENOME_ALIGNMENTS`."""
    for rows in in_order(tables, f"{unit.directory}/stages", unit.device.helpers):
        yield rows.drop_columns(["anchor"]).cast(GENOME_ALIGNMENTS)


def write_units(directory: str, run: str, tile: Tile, done: Units, due: Due) -> None:
    """Write the parts of a range of units, one after the other, filters applied; another part whenever it is due."""
    parameters = read_manifest(directory).parameters
    filters, size = asked_last(parameters), len(strands(parameters))
    limit = parameters.query_hsp_limit or parameters.per_query
    gapped = parameters.gapped and parameters.per_query is None
    start = at = tile.start

    def until_due(shortfalls: list[dict[str, Any]]) -> Iterator[Any]:
        nonlocal at
        units = ((stop, (keep(table, filters) for table in rows), cut) for stop, rows, cut in done)
        # A query's strands are in one tile, and one part where what is shown of them depends on both.
        for of_query in iter(lambda: list(islice(units, 1 if limit is None else size)), []):
            tables = [rows for _, rows, _ in of_query]
            yield from chain.from_iterable(tables) if limit is None else shown(iter(tables), limit, gapped=gapped)
            at = of_query[-1][0]
            for _, _, cut in of_query:
                shortfalls += cut
            if at < tile.stop and due():
                return

    while start < tile.stop:
        shortfalls: list[dict[str, Any]] = []
        write_part(f"{directory}/parts", run, tile.chunk, start, tile.stop, GENOME_ALIGNMENTS, until_due(shortfalls), lambda: at, shortfalls=shortfalls)
        start = at
        if start < tile.stop:
            due.done()


def forget(unit: Unit) -> None:
    """Remove what lay between the stages of a unit whose part is written."""
    for folder in FOLDERS:
        for path in Path(unit.directory, folder).glob(f"{unit.name}.*"):
            # Somebody who works ahead may still be writing; `RunKind.leftovers` removes what comes of that.
            if path.suffix != ".tmp":
                path.unlink(missing_ok=True)


def forget_all(directory: str, tile: Tile) -> None:
    """Remove what units of a tile that took long have written down."""
    for unit in _begun(directory, tile):
        forget(Unit(directory, *unit))


LETTERS = 3000

WARM_HITS = 64
"""By chance, at most, between the sequences that kernels are warmed up with: each is an anchor, as any score will do."""


def made_up() -> tuple[bytes, bytes]:
    """Make two small sequences, target and query, that differ in some letters and a gap: the same for ever, as answers are known."""
    target = np.frombuffer(b"ACGT", np.uint8)[np.frombuffer(shake_256(b"tidalign").digest(LETTERS), np.uint8) & 3]
    query = np.where(np.arange(LETTERS) % 97 == 0, np.roll(target, 1), target)
    return target.tobytes(), np.delete(query, slice(1500, 1510)).tobytes()


def warm_up(parameters: GenomeParameters, device: Device = CPU) -> Any:
    """Align two small made-up sequences (`made_up`), by any score, with these parameters: what is compiled for them is kept on disk, where worker processes
    find it. Returns the rows (`GENOME_ALIGNMENTS`), the same on every device."""
    step = max(1, int(chance_hits(LETTERS, LETTERS, parameters) / WARM_HITS))  # of a light seed few places are looked for
    any_score = replace(parameters, strand="plus", hspthresh=1, gappedthresh=1, filters=(), cells=None, seconds=None, step=step)
    with tempfile.TemporaryDirectory(prefix="tidalign-") as folder:
        for name, letters in zip(("target", "query"), made_up(), strict=True):
            Path(folder, f"{name}.fa").write_bytes(b">%s\n%s\n" % (name.encode(), letters))
        source = GenomeSource((Pair("pair", f"{folder}/target.fa", f"{folder}/query.fa"),))
        rundir.create(folder, any_score.to_json(), source.to_json(), GENOMES)
        write_manifest(folder, read_all(folder, source))
        unit = Unit(folder, 0, 0, device)
        if not device.takes_gpu and parameters.mode == "exact" and parameters.gapped:
            # By those who have nothing else to do, near the end of a run.
            anchoring.write_anchors(unit, lambda _: None)
            anchors = anchoring.read_anchors(unit)
            extend_ahead(unit, anchors, Extensions.empty(), 0, lambda: False)
            one = (*places(anchors, 0, 1), np.zeros(min(1, len(anchors)), np.int64))
            walk_many(unit, unit.queries(1, LETTERS), one, range(1), lambda _: None, {})
        return pa.concat_tables([GENOME_ALIGNMENTS.empty_table(), *whole(unit, lambda: None, Due())[0]])
