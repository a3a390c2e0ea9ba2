"""Do one stage of the alignment of two sequences in memory, Arrow in and out: `tidalign.genome`. ARCHITECTURE.md ("The life of a seed") has the way."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidalign.kernels.anchors.points import lastz_order
from tidalign.pipeline.genome import units
from tidalign.pipeline.genome.input.folders import read_all
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.manifest import write_manifest
from tidalign.pipeline.genome.plan import unit_of
from tidalign.pipeline.genome.stages import independent, seeding
from tidalign.pipeline.genome.stages.filters import asked_last, keep
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.walk.walk import walk
from tidalign.pipeline.schema import ANCHORS, GENOME_ALIGNMENTS, HITS, HSPS
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES
from tidalign.workflows.options import keywords
from tidalign.workflows.options.given import check, parameters
from tidalign.workflows.sequences import InMemory, Letters, as_file

_WHOLE = ("segments", "seconds", "cells")
"""Options of whole runs."""


def seeds(target: Letters | InMemory, query: Letters, *, strand: str = "+", **options: Any) -> pa.Table:
    """Find every seed hit: a table in `schema.HITS`, in LASTZ's order of arrival.

    target: letters, or several sequences by name: they lie in one array, with a separator before each, and places are those in it. query: letters. strand: of
    the query, whose places are those on that strand. options: LASTZ's, as `align_genomes` takes them. Raises ValueError for options that make no sense.

    >>> seeds("GATTACAGATTACA", "TTACAG", seed="match5", notransition=True).to_pydict()
    {'target': [9, 2, 3], 'query': [0, 0, 1]}
    """
    with _unit(target, query, strand, options) as unit:
        return pa.Table.from_batches(seeding.find_hits(unit.words(), unit.query_codes, unit.parameters), HITS)


def hsps(target: Letters | InMemory, query: Letters, *, strand: str = "+", **options: Any) -> pa.Table:
    """Extend seed hits without gaps: a table in `schema.HSPS` of those that reach `hspthresh`, as they are found; bare seeds with `nogfextend=True`.

    Arguments are those of `seeds`.

    >>> hsps("ACGTTGCATTGACCATGCAAGTC", "ACGTTGCATTGACCATGCAAGTC", hspthresh=1000)["length"].to_pylist()
    [23]
    """
    with _unit(target, query, strand, options) as unit:
        return pa.Table.from_batches(seeding.find_hsps(unit.words(), unit.query_codes, unit.parameters), HSPS)


def anchors(target: Letters | InMemory, query: Letters, hsps: pa.Table | None = None, *, strand: str = "+", **options: Any) -> pa.Table:
    """Find where gapped extension starts: a table in `schema.ANCHORS`, one place of each HSP, with its score.

    hsps: those of `hsps`, or some of them; None: all are found here, with the limits and chains that the options say. Other arguments are those of `seeds`.

    >>> anchors("ACGTTGCATTGACCATGCAAGTC", "ACGTTGCATTGACCATGCAAGTC", hspthresh=1000).num_rows
    1
    """
    with _unit(target, query, strand, options) as unit:
        if hsps is not None:
            found = _cast(hsps, HSPS, unit)
            return seeding.anchors(unit.target_codes, unit.query_codes, found, unit.parameters)
        wanted = replace(unit.parameters, gapped=True)
        tables = seeding.find_anchors(unit.target, unit.query_codes, unit.strand, unit.words(), wanted, origin=unit.origin)
        return pa.concat_tables([ANCHORS.empty_table(), *tables])


def extend(target: Letters | InMemory, query: Letters, anchors: pa.Table, *, strand: str = "+", **options: Any) -> pa.Table:
    """Extend anchors with gaps: a table in `schema.GENOME_ALIGNMENTS`, filters applied, sorted as a run's.

    With `mode="exact"`, as LASTZ does: anchors by falling score, what is kept fencing what comes later; with `mode="independent"` each on its own, and of equal
    ends the best. anchors: those of `anchors`, or some of them. Other arguments are those of `seeds`.

    >>> letters = "ACGTTGCATTGACCATGCAAGTC"
    >>> extend(letters, letters, anchors(letters, letters, hspthresh=1000), hspthresh=1000)["cigar"].to_pylist()
    ['23=']
    """
    with _unit(target, query, strand, options) as unit:
        found = _cast(anchors, ANCHORS, unit)
        if unit.parameters.mode == "exact":
            found = found.take(pa.array(lastz_order(*(found[name].to_numpy() for name in ANCHORS.names))))
            tables, _ = walk(unit, found, lambda _: None, checkpoint=False)
        else:
            rows, _ = independent.extend(unit, found, 0, lambda _: None)
            tables = units.by_start(rows, unit)
        filters = asked_last(unit.parameters)
        return pa.concat_tables([GENOME_ALIGNMENTS.empty_table(), *(keep(table, filters) for table in tables)])


@contextmanager
def _unit(target: Letters | InMemory, query: Letters, strand: str, options: dict[str, Any]) -> Iterator[Unit]:
    """Read both sequences as a run does, in a folder that lasts as long as the context; their unit on a strand."""
    if strand not in ("+", "-"):
        raise ValueError(f"strand {strand!r}: expected '+' or '-'")
    given = keywords.read(options)
    check(given)
    if wrong := next((name for name in _WHOLE if name in given), None):
        raise ValueError(f"{wrong} is for whole runs: leave it out, or call align_genomes")
    wanted = replace(parameters(given), strand="both")  # so that units are numbered + and -
    sides = {"target": target if not isinstance(target, str | bytes) else {"target": target}, "query": {"query": query}}
    with tempfile.TemporaryDirectory(prefix="tidalign-") as folder:
        specs = [as_file(side, role, Path(folder)) for role, side in sides.items()]
        run = f"{folder}/run"
        source = GenomeSource((Pair("pair", specs[0], specs[1]),))
        rundir.create(run, wanted.to_json(), source.to_json(), GENOMES)
        letters = wanted.scoring.ambiguous[0] if wanted.scoring.ambiguous else None
        write_manifest(run, read_all(run, source, letters))
        unit = Unit(run, 0, next(number for number in (0, 1) if unit_of(number, wanted) == (0, strand)))
        unit.counts = Counter()
        yield unit


def _cast(table: pa.Table, schema: pa.Schema, unit: Unit) -> pa.Table:
    """Check that a table has the columns of a stage, and that its places are some of the sequences. ValueError where not."""
    if missing := [name for name in schema.names if name not in table.column_names]:
        raise ValueError(f"expected a table with the columns {', '.join(schema.names)}, found none named {missing[0]}")
    found = table.select(schema.names).cast(schema).combine_chunks()
    for name, codes in (("target", unit.target_codes), ("query", unit.query_codes)):
        places = found[name].to_numpy()
        ends = places + (found["length"].to_numpy() if "length" in schema.names else 1)
        if len(places) and not (places.min() >= 0 and ends.max() <= len(codes)):
            raise ValueError(f"expected places of the {name} from 0 to {len(codes):,}, found {places.min():,} to {ends.max():,}: are both of these sequences?")
    return found
