"""Exact mode's sequential stage: LASTZ extends anchors in falling score, and what it keeps fences those that follow.

Anchors that lie on a kept alignment are passed over. Free extensions made elsewhere ("speculated") stand where no fence or mask reaches what they looked
at; the others are done again between fences (LASTZ.md 12, 15: speculate and commit). The result does not depend on what was speculated.
"""

from dataclasses import replace
from functools import cache
from time import monotonic
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.commit import host as commit_host
from tidalign.kernels.commit.ahead import Ahead
from tidalign.kernels.commit.paths import Paths
from tidalign.kernels.extension.costs import Costs, Integers
from tidalign.kernels.extension.host import CAPPED, QUERY_END, RESULT, SCORE, TARGET_START
from tidalign.kernels.extension.sweep import STATE
from tidalign.kernels.gapped.alignments import Extended, Extensions
from tidalign.kernels.gapped.extender import Extender, memory, read_only
from tidalign.kernels.gapped.speculated import ABOVE, BELOW, REJECTED, UNDECIDED, UNKNOWN, FreeExtensions, Speculated
from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.runtime.vectors import VECTOR_LANES

AHEAD = 4 * VECTOR_LANES
"""Anchors inspected at once."""

FIRST_RUNS = 16
"""Runs of an alignment of a small query that there is room for; where they are more, room is made for twice as many."""

ENDLESS = 1 << 62
"""Cells that no walk looks at."""


@cache
def _nothing_free() -> FreeExtensions:
    """Free extensions of anchors of which nothing is known: none."""
    return Speculated.nothing(0).free()


class Commit:
    """The sequential stage of one query strand on a target; arguments as `gapped.extend`. paths: those of an earlier walk on this target, which is over.
    query_bounds: as `Extender` has them. threads: that extend between fences.

    `walk` takes anchors in LASTZ's order (anchors.lastz_order), in as many calls as one likes; `alignments` gives what is kept. Counts of anchors:
    skipped (on a kept alignment), stood (their free extension, kept), below (the threshold by a free extension that stands), extended (between fences). Of
    the extended ones `again` were speculated: their free extension did not stand; `stood_ahead` were made ahead by threads, and stood though something was
    kept since. fenced_seconds: what the walk waited for all of these.
    """

    def __init__(self, target: Codes, query: Codes, bounds: Any, costs: Costs, paths: Paths | None = None, query_bounds: Any = None, threads: int = 1) -> None:
        self._extender = Extender(target, query, bounds, costs, query_bounds)
        self._kept = Paths() if paths is None else paths
        self._kept.clear()
        self._ahead = Ahead(self._extender, self._kept, threads)
        self._found: list[Extensions] = []
        self.consumed = 0
        self.skipped = self.stood = self.below = self.extended = self.again = self.stood_ahead = 0
        self.fenced_seconds = 0.0
        self.cells = 0

    def walk(self, t: Any, q: Any, speculated: Speculated | None = None, *, cells: int | None = None, seconds: float | None = None) -> int:
        """Walk anchors, int64[n] places on target and query, until none is left or the walk has looked at so many cells or seconds.

        Returns how many were consumed; the next call goes on with the others.
        """
        t, q = np.ascontiguousarray(t, np.int64), np.ascontiguousarray(q, np.int64)
        if speculated is None:
            known, boxes, free = np.full(len(t), UNKNOWN), np.zeros((len(t), 4), np.int64), _nothing_free()
        else:
            known, boxes, free = speculated.known.copy(), np.array(speculated.boxes, np.int64, order="C"), speculated.free()
        last_cell = ENDLESS if cells is None else self.cells + cells
        deadline = None if seconds is None else monotonic() + seconds
        chosen, counts = np.empty(len(t), np.int64), np.zeros(commit_host.COUNTS, np.int64)
        counts[commit_host.CELLS] = self.cells
        extended: list[Extended] = []
        self._ahead.start(t, q, known, boxes, free)
        done = 0
        while counts[commit_host.CELLS] < last_cell and (deadline is None or monotonic() < deadline):
            stop = self._ahead.look_over(done)
            kept, fence, holes = self._kept.kept, self._kept.fence, self._kept.holes
            where = np.int64(done), np.int64(stop), np.int64(last_cell)
            done, outcome, left, right = commit_host.advance(kept, fence, holes, *self._ahead.anchors, *where, chosen, counts)
            if outcome == commit_host.FULL:
                row = free.row[done]
                self._kept.grow(free.ends[row], int(free.run_offsets[row + 1] - free.run_offsets[row]))
                continue
            if outcome == commit_host.AT_END:
                if done == len(t):
                    break
                continue
            if known[done] == UNKNOWN and self._inspect(t, q, known, boxes, done):
                continue
            began = monotonic()
            one, looked_at, still = self._ahead.extend(done, left, right)
            self.fenced_seconds += monotonic() - began
            counts[commit_host.AGAIN] += speculated is not None and speculated.known[done] in (BELOW, ABOVE, REJECTED)
            counts[commit_host.CELLS] += looked_at
            counts[commit_host.EXTENDED] += 1
            counts[commit_host.STILL] += still
            if one is not None:
                self._ahead.keep(one)
                extended.append(one)
            done += 1
        stood = None if speculated is None else speculated.extensions.take(free.row[chosen[: counts[commit_host.STOOD]]])
        self._note(extended, stood)
        self.stood += int(counts[commit_host.STOOD])
        self.below += int(counts[commit_host.PASSED])
        self.skipped += int(counts[commit_host.SKIPPED])
        self.extended += int(counts[commit_host.EXTENDED])
        self.again += int(counts[commit_host.AGAIN])
        self.stood_ahead += int(counts[commit_host.STILL])
        self.cells = int(counts[commit_host.CELLS])
        self.consumed += done
        return int(done)

    def counts(self) -> dict[str, float]:
        """Say what the walk did, for a report: anchors of each kind, seconds of those done again between fences, cells (of a free extension half its box)."""
        return {
            "passed over": self.skipped,
            "stood": self.stood + self.below,
            "extended in the walk": self.extended - self.again,
            "extended again between fences": self.again,
            "seconds between fences": round(self.fenced_seconds, 3),
            "cells": self.cells,
        }

    def _inspect(self, t: Integers, q: Integers, known: npt.NDArray[np.uint8], boxes: Integers, i: int) -> bool:
        """Inspect the next anchors all at once; tells whether the i-th is below the threshold."""
        next_ones = commit_host.ahead(self._kept.kept, t, q, known, i, np.int64(AHEAD))
        below, boxes[next_ones] = self._extender.inspect(t[next_ones], q[next_ones])
        known[next_ones] = np.where(below, BELOW, UNDECIDED)
        return bool(below[0])

    def _note(self, extended: list[Extended], stood: Extensions | None) -> None:
        """Note the alignments that a call of `walk` has kept, made here and made before, each in their order."""
        found = Extensions.of(extended)
        if stood is not None and len(stood):
            found = Extensions.concat([found, stood])
            found = found.take(np.argsort(found.anchor))
        if len(found):
            self._found.append(replace(found, anchor=found.anchor + self.consumed))

    def alignments(self) -> Extensions:
        """Give what is kept, in LASTZ's order of output: by target start, of equal ones the newest first. `anchor` counts all anchors consumed."""
        kept = self.state()
        return kept.take(np.lexsort((-np.arange(len(kept)), kept.target_start)))

    def state(self) -> Extensions:
        """Give what is kept in the order it was kept; with `consumed` all that `restore` needs."""
        if len(self._found) != 1:
            self._found = [Extensions.concat(self._found)]
        return self._found[0]

    def restore(self, kept: Extensions, consumed: int) -> None:
        """Set the walk to where another one was."""
        self._found = []
        self._kept.clear()
        for one in kept:
            self.keep(one)
        self.consumed = consumed

    def keep(self, one: Extended) -> None:
        """Add an alignment: it fences all that follow."""
        self._kept.keep(one.ends, one.ops, one.lengths)
        self._found.append(Extensions.of([one]))


class Walks:
    """Walks of many query strands on a target, each of few anchors: all in one call, each strand by itself. Arguments as `gapped.extend`.

    query: an array in which the strands lie. counts: as those of `Commit`, of all that were walked.
    """

    def __init__(self, target: Codes, query: Codes, bounds: Any, costs: Costs) -> None:
        self._sides, self._bounds = (read_only(target), read_only(query)), np.ascontiguousarray(bounds, np.int64).reshape(-1, 2)
        classes, scores, prices, self._null = costs.compiled
        self._costs = classes, scores, prices, np.int64(costs.threshold)
        self.paths = Paths()
        self._counts = np.zeros(commit_host.COUNTS, np.int64)

    def walk(self, strands: Integers, begins: Integers, t: Integers, q: Integers) -> Extensions:
        """Give what `Commit` keeps of each strand, in LASTZ's order, one strand after the other; `anchor` counts nothing.

        strands: int64[k, 2], where each begins and ends in the array. begins: int64[k + 1], of each strand's anchors in (t, q), int64[n] places on the target
        and in the array; a strand's are in LASTZ's order.
        """
        held, state, limits = memory(), np.zeros(STATE, np.int64), self._bounds[np.searchsorted(self._bounds[:, 0], t, "right") - 1]
        fixed = (held.work, held.spare, state), *self._sides, strands, begins, t, q, limits, self._costs
        parts, at, size = [Extensions.empty()], 0, len(t)
        while at < len(strands):
            found, owner, offsets = np.empty((size, RESULT), np.int64), np.empty(size, np.int64), np.zeros(size + 1, np.int64)
            ops, lengths = np.empty(FIRST_RUNS * size, np.uint8), np.empty(FIRST_RUNS * size, np.int64)
            room = self.paths.kept, self.paths.fence, self.paths.holes
            at, n, short = commit_host.walk_few(*fixed, *room, np.int64(at), found, offsets, ops, lengths, owner, self._counts, self._null)
            order = np.lexsort((-np.arange(n), found[:n, TARGET_START], owner[:n]))
            parts.append(_of_results(found[:n], offsets[: n + 1], ops, lengths).take(order))
            if short:
                self.paths.double()
            else:
                size *= 2
        return Extensions.concat(parts)

    def counts(self) -> dict[str, float]:
        """Say what the walks did, for a report."""
        skipped, extended, cells = (int(self._counts[i]) for i in (commit_host.SKIPPED, commit_host.EXTENDED, commit_host.CELLS))
        return {"passed over": skipped, "extended in the walk": extended, "cells": cells}


def _of_results(found: Integers, offsets: Integers, ops: npt.NDArray[np.uint8], lengths: Integers) -> Extensions:
    """Make alignments of rows of results and of their runs."""
    t, end, q, query_end = (found[:, i] for i in range(TARGET_START, QUERY_END + 1))
    runs = slice(0, int(offsets[-1]))
    return Extensions(np.arange(len(found)), found[:, SCORE], t, end, q, query_end, found[:, CAPPED] != 0, offsets, ops[runs], lengths[runs])
