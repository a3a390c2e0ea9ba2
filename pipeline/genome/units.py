"""Run the stages of a unit that give rows: all of a small one at once, of a large one the last; and compile their kernels before anybody waits for them."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.kernels.gapped.alignments import Extensions
from tidalign.pipeline.device import CPU, Device
from tidalign.pipeline.genome import units as stages
from tidalign.pipeline.genome.input.sequences import Queries
from tidalign.pipeline.genome.input.sides import read_side
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import Tile, alone, chance_hits, read_manifest, strands, write_manifest
from tidalign.pipeline.genome.stages import anchoring, gapped, seeding
from tidalign.pipeline.genome.stages.anchoring import find, schema_of, without_gaps
from tidalign.pipeline.genome.stages.anchors_file import places
from tidalign.pipeline.genome.stages.filters import asked, keep, shown
from tidalign.pipeline.genome.stages.guards import Beat, Done
from tidalign.pipeline.genome.stages.independent import extend, in_order
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.walk.walk import extend_ahead, walk, walk_many
from tidalign.pipeline.schema import EXTENDED, GENOME_ALIGNMENTS
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES
from tidalign.pipeline.store.parts import read_tables, scan_chunk, write_part

LETTERS_TOGETHER = 1 << 20
"""Of the query strands that are sought together."""


def small(directory: str, tile: Tile, device: Device, beat: Beat, counts: Counter[str]) -> Iterator[Done]:
    """All of a tile's small units: many at a time where each may be done as if it were alone, else one by one. `counts`: added to."""
    number = tile.start
    while number < tile.stop:
        unit = Unit(directory, tile.job, number, device)
        if alone(unit.parameters) or unit.segments is not None or unit.keep or device.takes_gpu:
            yield whole(unit, partial(beat, number))
            number += 1
        else:
            queries = unit.queries(tile.stop, LETTERS_TOGETHER)
            yield together(unit, queries, beat), []
            number += len(queries)
        counts.update(unit.counts)


def together(unit: Unit, queries: Queries, beat: Beat) -> Iterator[Any]:
    """Make the rows of many small units, `queries` from this one on: each stage takes all of them at once."""
    parameters, at = unit.parameters, 0

    def strand(i: int) -> None:
        beat(unit.number + i)

    equal = gapped.equal_pieces(unit, queries) if parameters.gapped else {}
    for stop, segments in seeding.find_of_many(unit.words(), queries, parameters, strand):
        if parameters.gapped:
            anchors = seeding.anchors_of_many(unit.target_codes, queries, segments, parameters)
            found = walk_many(unit, queries, anchors, range(at, stop), strand, equal)
        else:
            found = without_gaps(segments)
        yield from gapped.tables(found, unit, queries)
        at = stop


def whole(unit: Unit, beat: Callable[[], None]) -> Done:
    """All of a small unit at once."""
    anchors = find(unit, beat, lambda tables: pa.concat_tables([schema_of(unit).empty_table(), *tables]))
    if unit.parameters.mode == "exact" or not unit.parameters.gapped:
        return walk(unit, anchors, lambda _: beat(), checkpoint=False)
    rows, shortfalls = extend(unit, anchors, 0, lambda _: beat())
    return _by_start(rows, unit), shortfalls


def assemble(unit: Unit) -> Done:
    """The rows of a large unit whose anchors are all extended."""
    parts = scan_chunk(f"{unit.directory}/extended", unit.run, Tile("extend", unit.job_number, unit.number, 0, 0).chunk)
    tables = (rows for part in parts for rows in read_tables(part.path, EXTENDED))
    return _by_start(tables, unit), [shortfall for part in parts for shortfall in part.labels["shortfalls"]]


def _by_start(tables: Iterable[Any], unit: Unit) -> Iterator[Any]:
    """By target start, each once; `GENOME_ALIGNMENTS`."""
    for rows in in_order(tables, f"{unit.directory}/stages"):
        yield rows.drop_columns(["anchor"]).cast(GENOME_ALIGNMENTS)


def write_units(directory: str, run: str, tile: Tile, done: Iterable[Done]) -> None:
    """Write the part of a range of units, one after the other, filters applied."""
    parameters = read_manifest(directory).parameters
    filters, limit = asked(parameters), parameters.query_hsp_limit
    shortfalls: list[dict[str, Any]] = []

    def kept() -> Iterator[Iterator[Any]]:
        for rows, cut in done:
            yield (keep(table, filters) for table in rows)
            shortfalls.extend(cut)

    def rows() -> Iterator[Any]:
        units = kept()
        if limit is None:
            yield from chain.from_iterable(units)
            return
        # A query's strands are in one tile.
        for first in units:
            yield from shown(chain([first], islice(units, len(strands(parameters)) - 1)), limit, gapped=parameters.gapped)

    write_part(f"{directory}/parts", run, tile.chunk, tile.start, tile.stop, GENOME_ALIGNMENTS, rows(), shortfalls=shortfalls)


def forget(unit: Unit) -> None:
    """Remove what lay between the stages of a unit whose part is written."""
    for folder in ("stages", "extended"):
        for path in Path(unit.directory, folder).glob(f"{unit.name}.*"):
            # Somebody who works ahead may still be writing; `_finish` removes what comes of that.
            if path.suffix != ".tmp":
                path.unlink(missing_ok=True)


LETTERS = 3000

WARM_HITS = 64
"""By chance, at most, between the sequences that kernels are warmed up with: each is an anchor, as any score will do."""


def warm_up(parameters: GenomeParameters, device: Device = CPU) -> Any:
    """Align two small made-up sequences with these parameters: what is compiled for them is kept on disk, where worker processes find it. Returns the rows
    (`GENOME_ALIGNMENTS`), the same on every device."""
    step = max(1, int(chance_hits(LETTERS, LETTERS, parameters) / WARM_HITS))  # of a light seed few places are looked for
    any_score = replace(parameters, strand="plus", hspthresh=1, gappedthresh=1, filters=(), cells=None, seconds=None, step=step)
    letters = np.random.default_rng(1).choice(np.frombuffer(b"ACGT", np.uint8), LETTERS)
    changed = np.where(np.arange(LETTERS) % 97 == 0, np.roll(letters, 1), letters)
    with tempfile.TemporaryDirectory(prefix="tidalign-") as folder:
        for name, sequence in (("target", letters), ("query", np.delete(changed, slice(1500, 1510)))):
            Path(folder, f"{name}.fa").write_bytes(b">%s\n%s\n" % (name.encode(), sequence.tobytes()))
        source = GenomeSource((Pair("pair", f"{folder}/target.fa", f"{folder}/query.fa"),))
        rundir.create(folder, any_score.to_json(), source.to_json(), GENOMES)
        write_manifest(folder, [read_side(folder, side, role, spec, None) for side, (role, spec) in enumerate(source.sides())])
        unit = Unit(folder, 0, 0, device)
        if not device.takes_gpu and parameters.mode == "exact" and parameters.gapped:
            # By those who have nothing else to do, near the end of a run.
            anchoring.write_anchors(unit, lambda: None)
            anchors = anchoring.read_anchors(unit)
            extend_ahead(unit, anchors, Extensions.empty(), 0, lambda: False)
            one = (*places(anchors, 0, 1), np.zeros(min(1, len(anchors)), np.int64))
            walk_many(unit, unit.queries(1, LETTERS), one, range(1), lambda _: None, {})
        return pa.concat_tables([GENOME_ALIGNMENTS.empty_table(), *stages.whole(unit, lambda: None)[0]])
