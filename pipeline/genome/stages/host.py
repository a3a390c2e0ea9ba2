"""Run the stages of a unit on a core: the target's words, the search for them, and anchors extended one by one."""

import time
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from tidalign.kernels.gapped.alignments import Extended, Extensions
from tidalign.kernels.gapped.extender import Extender
from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.seed.index import Positions, WordIndex, build_index, hits
from tidalign.kernels.ungapped.hsps import HitFilter, Segments, packed
from tidalign.pipeline.genome.input.index import load
from tidalign.pipeline.genome.manifest import indexed, read_manifest
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages.guards import Budget, Heartbeat
from tidalign.pipeline.genome.stages.strands import Strands

INSPECTED = 256
"""Anchors that are looked at together, before those that may reach the threshold are extended."""

FOUND_AT_ONCE, FOUND_SECONDS = 256, 1.0
"""Alignments that become rows at once, and seconds after which those that there are do."""

Target = tuple[str, str, int, int | None]
"""Directory, run, side and sequence of it."""


class HostWords:
    """Holds a target's words in memory of the host (`unit.Words`)."""

    def __init__(self, index: WordIndex) -> None:
        self.index, self.target, self.pattern = index, index.target, index.pattern

    @cached_property
    def _packed(self) -> npt.NDArray[np.uint8]:
        """The target as the sieve takes it, for all queries."""
        return packed(self.target)

    def hits(self, query: Codes, parameters: GenomeParameters, start: int = 0, **tile: int) -> Iterator[tuple[Positions, Positions]]:
        """Find all seed hits from query place `start` on. A tile's arrays are overwritten by the next one."""
        for targets, queries in hits(self.index, query[start:], parameters.transitions, parameters.seed_filter, **tile):
            queries += start
            yield targets, queries

    def records(self, query: Codes, parameters: GenomeParameters) -> HitFilter:
        """Make what is known of the diagonals before the first hit."""
        exact = parameters.mode == "exact"
        return HitFilter(self.target, query, self.pattern.span, parameters.scoring, exact=exact, packed_target=lambda: self._packed)

    def segments(
        self, query: Codes, parameters: GenomeParameters, start: int = 0, records: HitFilter | None = None
    ) -> Iterator[tuple[Segments, Positions, int]]:
        """Extend used hits without gaps, or leave them as they are without `gfextend`; from query place `start` on, where diagonals are as `records` say."""
        used = records or self.records(query, parameters)
        for targets, queries in self.hits(query, parameters, start):
            if parameters.matching is not None:
                segments, places = used.matches_of_hits(targets, queries, *parameters.matching)
            elif parameters.gfextend:
                segments, places = used.hsps_of_hits(targets, queries, parameters.xdrop, parameters.hspthresh, parameters.entropy)
            else:
                segments = used.seeds(targets, queries)
                places = segments.query
            yield segments, places, int(queries[-1])


_making: defaultdict[Target, Lock] = defaultdict(Lock)
_used: WeakValueDictionary[Target, HostWords] = WeakValueDictionary()
_last: list[HostWords] = []
"""Keeps what the last unit used for the next one; what others still use they keep themselves."""


def words(directory: str, run: str, side: int, sequence: int | None) -> HostWords:
    """Index the words of a target side, or of one sequence of it, or map those of the side that an index has. Threads that ask for the same share them."""
    target = (directory, run, side, sequence)
    with _making[target]:
        found = _used.get(target) or _words(*target)
        _used[target], _last[:] = found, [found]
    return found


def forget() -> None:
    """Keep no words for the next unit."""
    _last.clear()


def _words(directory: str, run: str, side: int, sequence: int | None) -> HostWords:
    target, record = indexed(directory, run, side, sequence), read_manifest(directory).side(side)
    found = load(record, *target) if sequence is None and "index" in record else None
    return HostWords(found or build_index(*target))


def extend(unit: Strands, t: Any, q: Any, budget: Budget, beat: Heartbeat) -> Iterator[tuple[int, Extensions]]:
    """Extend anchors at (t, q): (anchors that are done, alignments of some of them) until there are no more, or the budget is spent."""
    extender = Extender(unit.target_codes, unit.query_codes, unit.bounds, unit.costs, unit.query_bounds)
    found: list[Extended] = []
    cells, at, before, since = 0, 0, unit.counts["cells"], time.monotonic()
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
            if len(found) >= FOUND_AT_ONCE or time.monotonic() - since >= FOUND_SECONDS:
                unit.counts["cells"] = before + cells
                yield i + 1, Extensions.of(found)
                found, since = [], time.monotonic()
        at = stop
    unit.counts["cells"] = before + cells
    yield at, Extensions.of(found)
