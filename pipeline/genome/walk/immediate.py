"""Extend anchors as they are found, each on its own, until a query has so many alignments (`--limitperquery`, `--anyornone`, LASTZ.md 27)."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tidalign.kernels.gapped.alignments import Extensions
from tidalign.pipeline.genome.stages import gapped, host
from tidalign.pipeline.genome.stages.anchors_file import places
from tidalign.pipeline.genome.stages.filters import asked_of, passed
from tidalign.pipeline.genome.stages.guards import Budget
from tidalign.pipeline.genome.stages.unit import Unit


def first_found(unit: Unit, tables: Iterable[Any], most: int, beat: Callable[[], None]) -> list[Any]:
    """Make rows of the first `most` alignments of a strand that pass the filters, in the order of their anchors, no two with the same ends; then those of a
    sequence with itself. tables: of anchors, as they are found; no more are asked for than are needed."""
    found = [Extensions.empty(), *_first(unit, tables, most, beat)]
    rows = list(gapped.tables(Extensions.concat(found), unit))
    return rows if sum(map(len, rows)) >= most else [*rows, *gapped.tables(Extensions.of(gapped.trivial(unit)), unit)]


def _first(unit: Unit, tables: Iterable[Any], most: int, beat: Callable[[], None]) -> Iterator[Extensions]:
    seen: set[tuple[int, ...]] = set()
    for table in tables:
        for _, found in host.extend(unit, *places(table), Budget(unit.parameters), lambda _: beat()):
            chosen = []
            for row in np.flatnonzero(_passing(unit, found)).tolist():
                ends = tuple(found.ends()[row].tolist())
                if ends not in seen or most == 1:
                    chosen.append(row)
                    seen.add(ends)
                if len(seen) == most:
                    yield found.take(chosen)
                    return
            yield found.take(chosen)


def _passing(unit: Unit, found: Extensions) -> Any:
    masks = [passed(rows, asked_of(unit)) for rows in gapped.tables(found, unit)]
    return np.concatenate([np.empty(0, np.bool_), *masks])
