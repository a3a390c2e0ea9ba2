"""Extend every anchor of a unit on its own (independent mode), in the form of its device; make rows of many at a time, and sort however many there are."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.kernels.gapped.alignments import Extensions, best_of_equals
from tidalign.pipeline import text
from tidalign.pipeline.genome.plan import Tile
from tidalign.pipeline.genome.stages import gapped
from tidalign.pipeline.genome.stages.anchors_file import places
from tidalign.pipeline.genome.stages.guards import Budget, Due, Heartbeat, RowsAndShortfalls
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.in_turn import Call, ahead, in_turn
from tidalign.pipeline.schema import EXTENDED
from tidalign.pipeline.store import parts, sorted_runs
from tidalign.pipeline.store.parts import write_part

ENDS = ["target_number", "target_start", "target_end", "query_start", "query_end"]


def chunk_of(unit: Unit) -> str:
    """Name what parts of a unit's anchors are parts of."""
    return Tile("extend", unit.job_number, unit.number, 0, 0).chunk


def extend(unit: Unit, anchors: Any, first: int, beat: Heartbeat) -> RowsAndShortfalls:
    """Extend some of a unit's anchors, numbered from `first`, to rows (`EXTENDED`); of those with the same ends that come together the best, then the first
    one."""
    shortfalls: list[dict[str, Any]] = []
    return _apart(rows for _, rows in _extended(unit, anchors, first, beat, shortfalls) if rows is not None), shortfalls


def extend_in_parts(unit: Unit, anchors: Any, first: int, beat: Heartbeat, due: Due) -> None:
    """Write the parts of what `extend` gives: another whenever it is due. What a tile may take at most (`Budget`) is meant of all of it: it is one part."""
    shortfalls: list[dict[str, Any]] = []
    steps, limited = _extended(unit, anchors, first, beat, shortfalls), Budget(unit.parameters).limited
    start, at, stop = first, first, first + len(anchors)

    def until_due() -> Iterator[Any]:
        nonlocal at
        for place, rows in steps:
            if rows is not None:
                yield rows
            elif place < stop and not limited and due():
                at = place
                return
        at = stop

    while start < stop:
        found = _apart(until_due())
        write_part(f"{unit.directory}/extended", unit.run, chunk_of(unit), start, stop, EXTENDED, found, lambda: at, shortfalls=shortfalls)
        start = at
        if start < stop:
            due.done()


def extend_together(unit: Unit, anchors: Any, beat: Heartbeat, due: Due) -> RowsAndShortfalls | None:
    """Extend all of a unit's anchors as `extend`; None where that takes long, or took long before: then parts hold all of it."""
    left = parts.left(f"{unit.directory}/extended", unit.run, chunk_of(unit), 0, len(anchors))
    if Budget(unit.parameters).limited or not len(anchors):
        return extend(unit, anchors, 0, beat)
    if left == [(0, len(anchors))]:
        held: list[Any] = []
        for place, rows in _extended(unit, anchors, 0, beat, []):
            if rows is not None:
                held.append(rows)
            elif place < len(anchors) and (due() or sum(table.nbytes for table in held) > text.TABLE_BYTES):
                write_part(f"{unit.directory}/extended", unit.run, chunk_of(unit), 0, place, EXTENDED, _apart(held), shortfalls=[])
                due.done()
                left = [(place, len(anchors))]
                break
        else:
            return _apart(held), []
        del held
    for start, stop in left:
        extend_in_parts(unit, anchors.slice(start, stop - start), start, beat, due)
    return None


def _apart(tables: Iterable[Any]) -> Iterator[Any]:
    """Drop, of the rows of tables with the same ends that come together, all but one."""
    return (unique(table) for table in text.in_batches(tables, text.TABLE_BYTES))


def _extended(unit: Unit, anchors: Any, first: int, beat: Heartbeat, shortfalls: list[dict[str, Any]]) -> Iterator[tuple[int, Any]]:
    """Make rows of a unit's anchors; and None where there are those of all before an anchor."""
    budget = Budget(unit.parameters)
    t, q = places(anchors)
    at = 0

    def calls() -> Iterator[Call[tuple[int, Any]]]:
        nonlocal at
        if first == 0 and not unit.parameters.notrivial:
            yield from _tables(Extensions.of(gapped.trivial(unit)), unit, 0, 0)
        for stop, found in unit.forms.extend(unit, t, q, budget, lambda place: beat(first + place)):
            yield from _tables(found, unit, first, first + at)
            at = stop
            yield Call(partial(_all_before, first + at))

    yield from in_turn(calls(), unit.device.helpers)
    if at < len(t):
        shortfalls.append(budget.shortfall(unit, first + at, first + len(t)))


def _all_before(anchor: int) -> tuple[int, None]:
    return anchor, None


def _tables(found: Extensions, unit: Unit, first: int, at: int) -> Iterator[Call[tuple[int, Any]]]:
    """Give what makes the rows of anchors counted from `first`, in tables, each with the place `at`."""
    return (Call(partial(_table, part, unit, first, at)) for part in gapped.in_parts(_distinct(found)))


def _table(found: Extensions, unit: Unit, first: int, at: int) -> tuple[int, Any]:
    return at, gapped.rows(found, unit).append_column(EXTENDED.field("anchor"), pa.array(found.anchor + first))


def _distinct(found: Extensions) -> Extensions:
    """Keep, of alignments with the same ends, the best, then the first: the anchors of one alignment mostly find the same one, whose CIGAR need not be
    written each time."""
    return found.take(best_of_equals(found.anchor, found.score, found.target_start, found.target_end, found.query_start, found.query_end))


def unique(rows: Any) -> Any:
    """Keep rows of which no two have the same ends: those of the best score, and of equal scores of the first anchor in order of arrival."""
    anchor, score, *ends = (rows[name].to_numpy() for name in ("anchor", "score", *ENDS))
    best = np.zeros(len(rows), np.bool_)
    best[best_of_equals(anchor, score, *ends)] = True
    return rows.filter(pa.array(best))


# ---- rows of a unit in their order


def in_order(tables: Iterable[Any], folder: str, threads: int = 1) -> Iterator[Any]:
    """Sort the rows of tables (`EXTENDED`) by their ends; of those with the same ends the best is kept, then the first anchor's; tables of bounded bytes, of
    which threads make more than one at a time."""
    return ahead(_firsts(sorted_runs.in_order(tables, _keys, folder, threads)), threads)


def _keys(table: Any) -> npt.NDArray[np.int64]:
    """Make keys that rows are sorted by, int64[n, 7]: their ends, the best score first, then the first anchor."""
    return np.stack([table[name].to_numpy() for name in ENDS] + [-table["score"].to_numpy(), table["anchor"].to_numpy()], axis=1)


def _firsts(tables: Iterable[Any]) -> Iterator[Any]:
    """Keep, of sorted rows with the same ends, the first one."""
    before = np.full(len(ENDS), -1)
    for table in tables:
        ends = _keys(table)[:, : len(ENDS)]
        fresh = (ends != np.concatenate([before[None], ends[:-1]])).any(axis=1)
        yield table.filter(pa.array(fresh))
        before = ends[-1]
