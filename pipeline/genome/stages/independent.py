"""Extend every anchor of a unit on its own (independent mode), in the form of its device, and make rows of many at a time."""

from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.kernels.gapped.alignments import Extensions, best_of_equals
from tidalign.pipeline.genome.stages import gapped
from tidalign.pipeline.genome.stages.anchors_file import places
from tidalign.pipeline.genome.stages.guards import Beat, Budget, Done
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.schema import EXTENDED

ENDS = ["target_number", "target_start", "target_end", "query_start", "query_end"]


def extend(unit: Unit, anchors: Any, first: int, beat: Beat) -> Done:
    """Rows (`EXTENDED`) of some of a unit's anchors, which are numbered from `first`; of rows with the same ends the best, then the first one."""
    budget = Budget(unit.parameters)
    tables = [EXTENDED.empty_table()]
    if first == 0 and not unit.parameters.notrivial:
        tables.append(_rows(Extensions.of(gapped.trivial(unit)), unit, 0))
    t, q = places(anchors)
    at = 0
    for stop, found in unit.forms.extend(unit, t, q, budget, lambda place: beat(first + place)):
        at = stop
        if len(found):
            tables.append(_rows(found, unit, first))
    shortfalls = [budget.shortfall(unit, first + at, first + len(t))] if at < len(t) else []
    return unique(pa.concat_tables(tables)), shortfalls


def _rows(found: Extensions, unit: Unit, first: int) -> Any:
    found = _distinct(found)
    return gapped.rows(found, unit).append_column(EXTENDED.field("anchor"), pa.array(found.anchor + first))


def _distinct(found: Extensions) -> Extensions:
    """Of alignments with the same ends the best, then the first: the anchors of one alignment mostly find the same one, whose CIGAR need not be written each
    time."""
    return found.take(best_of_equals(found.anchor, found.score, found.target_start, found.target_end, found.query_start, found.query_end))


def unique(rows: Any) -> Any:
    """Rows of which no two have the same ends: those of the best score, and of equal scores of the first anchor in order of arrival."""
    anchor, score, *ends = (rows[name].to_numpy() for name in ("anchor", "score", *ENDS))
    best = np.zeros(len(rows), np.bool_)
    best[best_of_equals(anchor, score, *ends)] = True
    return rows.filter(pa.array(best))
