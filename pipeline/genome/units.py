"""Run the stages of a unit that give rows: all of a small one at once, of a large one the last; and compile their kernels before anybody waits for them."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.kernels.gapped.alignments import Extensions
from tidalign.pipeline.device import CPU, Device
from tidalign.pipeline.genome import units as stages
from tidalign.pipeline.genome.input.sides import read_side
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import Tile, read_manifest, strands, write_manifest
from tidalign.pipeline.genome.stages import anchoring
from tidalign.pipeline.genome.stages.anchoring import find, schema_of
from tidalign.pipeline.genome.stages.filters import asked, keep, shown
from tidalign.pipeline.genome.stages.guards import Done
from tidalign.pipeline.genome.stages.independent import ENDS, extend, unique
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.walk.walk import extend_ahead, walk
from tidalign.pipeline.schema import EXTENDED, GENOME_ALIGNMENTS
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.files import read_table
from tidalign.pipeline.store.layout import GENOMES
from tidalign.pipeline.store.parts import scan_chunk, write_part


def empty_rows() -> Any:
    """No rows."""
    return GENOME_ALIGNMENTS.empty_table()


def whole(unit: Unit, beat: Callable[[], None]) -> Done:
    """All of a small unit at once."""
    anchors = find(unit, beat, lambda tables: pa.concat_tables([schema_of(unit).empty_table(), *tables]))
    if unit.parameters.mode == "exact" or not unit.parameters.gapped:
        return walk(unit, anchors, lambda _: beat(), checkpoint=False)
    rows, shortfalls = extend(unit, anchors, 0, lambda _: beat())
    return _by_start(rows), shortfalls


def assemble(unit: Unit) -> Done:
    """The rows of a large unit whose anchors are all extended."""
    parts = scan_chunk(f"{unit.directory}/extended", unit.run, Tile("extend", unit.job_number, unit.number, 0, 0).chunk)
    tables = [EXTENDED.empty_table(), *(read_table(part.path).cast(EXTENDED) for part in parts)]
    return _by_start(unique(pa.concat_tables(tables))), [shortfall for part in parts for shortfall in part.labels["shortfalls"]]


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
    found = [shortfall for _, shortfalls in done for shortfall in shortfalls]
    write_part(f"{directory}/parts", run, tile.chunk, tile.start, tile.stop, rows, shortfalls=found)


def forget(unit: Unit) -> None:
    """Remove what lay between the stages of a unit whose part is written."""
    for folder in ("stages", "extended"):
        for path in Path(unit.directory, folder).glob(f"{unit.name}.*"):
            # Somebody who works ahead may still be writing; `_finish` removes what comes of that.
            if path.suffix != ".tmp":
                path.unlink(missing_ok=True)


LETTERS = 3000


def warm_up(parameters: GenomeParameters, device: Device = CPU) -> Any:
    """Align two small made-up sequences with these parameters: what is compiled for them is kept on disk, where worker processes find it. Returns the rows
    (`GENOME_ALIGNMENTS`), the same on every device."""
    any_score = replace(parameters, strand="plus", hspthresh=1, gappedthresh=1, filters=(), cells=None, seconds=None)
    letters = np.random.default_rng(1).choice(np.frombuffer(b"ACGT", np.uint8), LETTERS)
    changed = np.where(np.arange(LETTERS) % 97 == 0, np.roll(letters, 1), letters)
    with tempfile.TemporaryDirectory(prefix="tidalign-") as folder:
        for name, sequence in (("target", letters), ("query", np.delete(changed, slice(1500, 1510)))):
            Path(folder, f"{name}.fa").write_bytes(b">%s\n%s\n" % (name.encode(), sequence.tobytes()))
        source = GenomeSource((Pair("pair", f"{folder}/target.fa", f"{folder}/query.fa"),))
        rundir.create(folder, any_score.to_json(), source.to_json(), None, GENOMES)
        write_manifest(folder, [read_side(folder, side, role, spec, None) for side, (role, spec) in enumerate(source.sides())])
        unit = Unit(folder, 0, 0, device)
        if not device.takes_gpu and parameters.mode == "exact" and parameters.gapped:
            # By those who have nothing else to do, near the end of a run.
            anchoring.write_anchors(unit, lambda: None)
            extend_ahead(unit, anchoring.read_anchors(unit), Extensions.empty(), 0, lambda: False)
        return stages.whole(unit, lambda: None)[0]
