"""Independent mode (LASTZ.md 14): every anchor is extended on its own, here or on the GPU, and rows are made of many at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.gapped.alignments import Extended, Extensions, first_of_equals
from tidalign.kernels.gapped.extender import Extender
from tidalign.kernels.runtime.card import CARD
from tidalign.kernels.runtime.errors import DeviceLimit
from tidalign.pipeline.genome.stages import gapped
from tidalign.pipeline.genome.stages.anchors_file import places
from tidalign.pipeline.genome.stages.guards import Beat, Budget, Done
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.schema import EXTENDED

TILE_ANCHORS = {"cpu": 1024, "gpu": 1 << 20}
"""Anchors of a tile."""

INSPECTED = 256
"""Anchors that are looked at together here, before those that may reach the threshold are extended."""

FOUND_AT_ONCE = 256
"""Alignments that become rows at once here."""

CARD_ANCHORS = 1 << 17
"""Anchors that the card gets at once."""

GUARDED = 1 << 12
"""The same where cells are limited, which is looked at in between."""

ENDS = ["target_number", "target_start", "target_end", "query_start", "query_end"]


def extend(unit: Unit, anchors: Any, first: int, beat: Beat) -> Done:
    """Rows (`EXTENDED`) of some of a unit's anchors, which are numbered from `first`; of rows with the same ends the first one."""
    budget = Budget(unit.parameters)
    tables = [EXTENDED.empty_table()]
    if first == 0 and not unit.parameters.notrivial:
        tables.append(_rows(Extensions.of(gapped.trivial(unit)), unit, 0))
    t, q = places(anchors)
    at = 0
    groups = _on_card if unit.device == "gpu" else _here
    for stop, found in groups(unit, t, q, budget, lambda place: beat(first + place)):
        at = stop
        if len(found):
            tables.append(_rows(found, unit, first))
    shortfalls = [budget.shortfall(unit, first + at, first + len(t))] if at < len(t) else []
    return unique(pa.concat_tables(tables)), shortfalls


def _rows(found: Extensions, unit: Unit, first: int) -> Any:
    found = _distinct(found)
    return gapped.rows(found, unit).append_column(EXTENDED.field("anchor"), pa.array(found.anchor + first))


def _distinct(found: Extensions) -> Extensions:
    """Of alignments with the same ends the first: the anchors of one alignment mostly find the same one, whose CIGAR need not be written for each of them."""
    return found.take(first_of_equals(found.target_start, found.target_end, found.query_start, found.query_end))


def _here(unit: Unit, t: Any, q: Any, budget: Budget, beat: Beat) -> Iterator[tuple[int, Extensions]]:
    """(anchors that are done, alignments of some of them) until there are no more, or the budget is spent."""
    extender = Extender(unit.target_codes, unit.query_codes, unit.bounds, unit.costs)
    found: list[Extended] = []
    cells, at, before = 0, 0, unit.counts["cells"]
    while at < len(t) and not budget.spent(cells):
        group = slice(at, at + INSPECTED)
        below, boxes = extender.inspect(t[group], q[group])
        cells += int((boxes[below, 0] * boxes[below, 1] + boxes[below, 2] * boxes[below, 3]).sum()) // 2
        stop = min(at + INSPECTED, len(t))
        for i in range(at, stop):
            if budget.spent(cells):
                stop = i
                break
            beat(i)
            if below[i - at]:
                continue
            one, looked = extender.extend(i, int(t[i]), int(q[i]))
            cells += looked.cells
            found += [one] if one is not None else []
            if len(found) >= FOUND_AT_ONCE:
                unit.counts["cells"] = before + cells
                yield i + 1, Extensions.of(found)
                found = []
        at = stop
    unit.counts["cells"] = before + cells
    yield at, Extensions.of(found)


def _on_card(unit: Unit, t: Any, q: Any, budget: Budget, beat: Beat) -> Iterator[tuple[int, Extensions]]:
    """As `_here`; of those that have to be extended half the boxes' cells count, too. From where the card has no room on it is done here."""
    from tidalign.kernels.gapped.device import DeviceExtender

    at_once = CARD_ANCHORS if unit.parameters.cells is None else GUARDED
    cells, at = 0, 0
    try:
        with CARD:
            extender = DeviceExtender(unit.target_codes, unit.query_codes, unit.bounds, unit.costs)
        while at < len(t) and not budget.spent(cells):
            beat(at)
            stop = min(at + at_once, len(t))
            with CARD:
                below, boxes = extender.inspect(t[at:stop], q[at:stop])
                left = np.flatnonzero(~below)
                known = extender.extend(t[at:stop][left], q[at:stop][left], distinct=True)
            boxes[left] = known.boxes
            cells += int((boxes[:, 0] * boxes[:, 1] + boxes[:, 2] * boxes[:, 3]).sum()) // 2
            unit.counts["extended by the host for the card"] = extender.taken_by_host
            unit.counts["cells"] = cells
            yield stop, _moved(known.extensions, at + left[known.extensions.anchor])
            at = stop
    except (DeviceLimit, MemoryError):
        unit.counts["tiles extended by the host for lack of room"] += 1
        first = at
        for at, found in _here(unit, t[first:], q[first:], budget, lambda place: beat(first + place)):
            yield first + at, _moved(found, first + found.anchor)


def _moved(found: Extensions, anchors: Any) -> Extensions:
    """The same of other anchors."""
    return Extensions(**{**found.to_arrays(), "anchor": anchors})


def unique(rows: Any) -> Any:
    """The first row in order of arrival of those with the same ends."""
    first = rows.select([*ENDS, "anchor"]).group_by(ENDS).aggregate([("anchor", "min")])["anchor_min"]
    return rows.filter(pc.is_in(rows["anchor"], first))
