"""Gapped extension of anchors on the current CUDA device: the rows of gapped.Extender, free of fences (FastZ's executor, with LASTZ's own rule).

Gundabolu, Vijaykumar, Thottethodi 2021, FastZ: accelerating gapped whole genome alignment on GPUs (SC '21): first scores and end cells without a trace, then
traces, trimmed to the end cells, of what reaches the threshold. Beyond it: sweeps that come to the same live row are one from there on
(extension/record.cuh), so that the anchors of one alignment share nearly all of their rows; traces are made from checkpoints a few rows apart, all at once;
paths are gone once where they are one (extension/walk.cuh); nothing is allotted by length beforehand; and what a sweep looks at after its best cell is
inspected as well, where nobody asks for it (inspection/tail.cuh). What does not fit the kernels or the memory is done by the host and counted.

FastZ's eager traceback of alignments of 16 letters is left out: with HOXD70 two such sides score 3,200 at most, so only those without a single difference
could reach the threshold of 3,000, and what stays below needs no trace at all. Of 25,000 alignments of three million seeds none would have been served.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension import host as extension_host
from tidalign.kernels.extension import launches
from tidalign.kernels.extension.costs import Costs, Integers
from tidalign.kernels.extension.launches import DONE, PLACE, STUCK, Launches, Sides, fits
from tidalign.kernels.extension.runs import runs
from tidalign.kernels.gapped.alignments import Extensions, best_of_equals
from tidalign.kernels.gapped.extender import Extender
from tidalign.kernels.gapped.folded import Folded
from tidalign.kernels.gapped.speculated import ABOVE, BELOW, Speculated
from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.runtime.errors import DeviceLimit, guarded

Flags = npt.NDArray[np.bool_]

NO_COLUMNS = np.empty((0, 2), np.int32)

BATCH_ANCHORS = 1 << 17
"""Of a batch."""

LENGTH_BINS = (512, 2048, 8192, 32768)
"""Lengths of alignments by which FastZ sorts its work."""


def needed(costs: Costs) -> list[tuple[str, dict[str, object]]]:
    """List the sources that extensions need, with their macros, for `compiler.ready`."""
    from tidalign.kernels.inspection import device as inspection

    return [(inspection.SOURCE, inspection.MACROS), *launches.needed(costs)] if fits(costs) else []


class DeviceExtender:
    """Extends anchors of one query strand on one target on the current device; arguments as `gapped.Extender`. turn: held while the device works.

    taken_by_host: anchors that the host extended. above_by_length: int64[5], alignments by FastZ's bins (LENGTH_BINS) and longer ones.
    """

    def __init__(self, target: Codes, query: Codes, bounds: Any, costs: Costs, turn: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self._turn = turn
        self._host = Extender(target, query, bounds, costs)
        self._costs = costs
        self._launches: Launches | None = None
        self._inspector: Any = None
        self.taken_by_host = 0
        self.above_by_length = np.zeros(len(LENGTH_BINS) + 1, np.int64)

    @property
    def tails(self) -> tuple[int, int]:
        """Count how often the end of a sweep was proven without the rest of it, and how often that was tried in vain."""
        return self._launches.tails if self._launches else (0, 0)

    def inspect(self, t: Any, q: Any) -> tuple[npt.NDArray[np.bool_], Integers]:
        """Reject anchors as `gapped.Extender.inspect` does; a box may be larger than what the exact rule looks at."""
        from tidalign.kernels.inspection.device import Inspector

        with self._turn():
            if self._inspector is None:
                self._inspector = Inspector(self._host.target, self._host.query, self._host.bounds, self._costs)
            below, boxes = self._inspector.inspect(t, q)
        return below, boxes

    def speculate(self, t: Any, q: Any, *, ranges: bool = True) -> Speculated:
        """Extend anchors as `commit.speculate` does: what cannot be rejected is extended exactly."""
        t, q = np.ascontiguousarray(t, np.int64), np.ascontiguousarray(q, np.int64)
        below, boxes = self.inspect(t, q)
        undecided = np.flatnonzero(~below)
        exact = self.extend(t[undecided], q[undecided], ranges=ranges, boxes=ranges)
        known = np.full(len(t), BELOW, np.uint8)
        known[undecided], boxes[undecided] = exact.known, exact.boxes
        found = Extensions(**{**exact.extensions.to_arrays(), "anchor": undecided[exact.extensions.anchor]})
        return Speculated(known, boxes, found, exact.range_offsets, exact.ranges)

    def folded(self, t: Any, q: Any) -> Folded:
        """Find the alignments of `speculate`, runs held once: those of many anchors on one alignment take no more memory or time than those of a few."""
        t, q = np.ascontiguousarray(t, np.int64), np.ascontiguousarray(q, np.int64)
        below, _ = self.inspect(t, q)
        undecided = np.flatnonzero(~below)
        found = self._exact(t[undecided], q[undecided], ranges=False, distinct=False, whole=False).folded()
        return replace(found, anchor=undecided[found.anchor])

    def extend(self, t: Any, q: Any, *, ranges: bool = False, distinct: bool = False, boxes: bool = True) -> Speculated:
        """Extend every anchor exactly and free of fences, none of them inspected before; the columns looked at only with `ranges`.

        boxes: what was looked at is told as the host tells it; else boxes may be larger, and sweeps end where no more can come.
        distinct: of alignments with the same ends the best, of equal ones the first anchor's, is enough; others may be left out (they pass for BELOW).
        """
        return self._exact(np.ascontiguousarray(t, np.int64), np.ascontiguousarray(q, np.int64), ranges, distinct, boxes or ranges).speculated()

    def _exact(self, t: Integers, q: Integers, ranges: bool, distinct: bool, whole: bool) -> "_Found":
        found = _Found(len(t))
        waiting = [np.arange(len(t))]
        while waiting:
            anchors = waiting.pop()
            size = self._batch_size()
            if size == 0:
                self._by_host(t, q, anchors, ranges, found)
            elif len(anchors) > size:
                waiting += [anchors[size:], anchors[:size]]
            elif len(anchors):
                done, wide = self._batch(t, q, anchors, ranges, distinct, whole, found)
                self._by_host(t, q, anchors[wide], ranges, found)
                left = anchors[~done & ~wide]
                if len(left) < len(anchors):
                    waiting.append(left)
                elif len(left) == 1:
                    self._by_host(t, q, left, ranges, found)
                else:
                    waiting += [left[len(left) // 2 :], left[: len(left) // 2]]
        return found

    def _batch_size(self) -> int:
        """Say how many anchors are extended together; 0 where the kernels cannot do with these costs or sequences."""
        if not fits(self._costs) or min(len(self._host.query), len(self._host.target)) == 0:
            return 0
        if self._launches is None:
            with self._turn(), guarded("gapped extension"):
                self._launches = Launches(self._host.target, self._host.query, self._costs)
        return min(BATCH_ANCHORS, self._launches.most_sides // 2)

    def _by_host(self, t: Integers, q: Integers, anchors: Integers, ranges: bool, found: "_Found") -> None:
        self.taken_by_host += len(anchors)
        for i in anchors.tolist():
            one, looked = self._host.extend(i, int(t[i]), int(q[i]), ranges=ranges)
            found.boxes[i] = looked.box
            if one is not None:
                found.add(Folded.of(Extensions.of([one])), np.concatenate([looked.left, looked.right]), np.array([len(looked.left), len(looked.right)]))

    def _batch(self, t: Integers, q: Integers, anchors: Integers, ranges: bool, distinct: bool, whole: bool, found: "_Found") -> tuple[Flags, Flags]:
        """Extend anchors at once. Returns which are done and which are too wide for the kernels; for the others there was no memory."""
        import cupy

        launches = self._launches
        assert launches is not None
        nothing = np.zeros(len(anchors), np.bool_)
        try:
            with self._turn(), guarded("gapped extension"):
                swept = launches.sweep(self._places(t[anchors], q[anchors]), whole=whole)
            sides = {name: column.reshape(-1, 2) for name, column in swept.items()}
            wide, done = (sides["state"] == STUCK).any(axis=1), (sides["state"] == DONE).all(axis=1)
            score = np.where(sides["at_border"] != 0, sides["border"], sides["total"]).sum(axis=1)
            # Gaps at the ends are cut off, and then they cost nothing; there are some only beside a side without a path.
            empty = (sides["end_row"] + sides["end_column"] == 0).any(axis=1)
            spared = np.where(empty, self._costs.ydrop + 2 * (self._costs.gap_open + self._costs.gap_extend), 0)
            rows = np.flatnonzero(done & (score + spared >= self._costs.threshold))
            if distinct:
                rows = rows[_best_of_ends(anchors[rows], score[rows], t[anchors[rows]], q[anchors[rows]], sides["end_row"][rows], sides["end_column"][rows])]
            with self._turn(), guarded("gapped extension"):
                words, pieces = runs(launches, _sides_of(rows))
            above_sides = {name: column[rows] for name, column in sides.items()}
            aligned = self._join(t[anchors[rows]], q[anchors[rows]], anchors[rows], above_sides, score[rows], words, pieces)
            columns, heights = NO_COLUMNS, np.zeros(2 * len(aligned), np.int64)
            if ranges:
                which = _sides_of(np.searchsorted(anchors, aligned.anchor))
                heights = swept["rows"][which]
                with self._turn(), guarded("gapped extension"):
                    columns = launches.ranges(which)
        except DeviceLimit:
            cupy.get_default_memory_pool().free_all_blocks()
            return nothing, nothing
        found.boxes[anchors[done]] = np.stack([sides[name][done, side] for side in range(2) for name in ("rows", "widest")], axis=1)
        found.add(aligned, columns, heights)
        lengths = np.maximum(aligned.target_end - aligned.target_start, aligned.query_end - aligned.query_start)
        self.above_by_length += np.bincount(np.searchsorted(LENGTH_BINS, lengths), minlength=len(LENGTH_BINS) + 1)
        return done, wide

    def _places(self, t: Integers, q: Integers) -> npt.NDArray[np.void]:
        """Place the left and right side of each anchor, whose own letters belong to the left one."""
        bounds = self._host.bounds[np.searchsorted(self._host.bounds[:, 0], t, "right") - 1]
        places = np.zeros((len(t), 2), PLACE)
        places["target"] = np.stack([t, t + 1], axis=1)
        places["query"] = np.stack([q + 1, q], axis=1)
        places["stop"] = np.stack([bounds[:, 0] - 1, bounds[:, 1]], axis=1)
        places["onward"] = -1, 1
        return places.reshape(-1)

    def _join(self, t: Integers, q: Integers, anchors: Integers, sides: Sides, score: Integers, words: npt.NDArray[np.uint32], pieces: Integers) -> Folded:
        """Join both sides' paths to alignments, those that reach the threshold."""
        found = Folded(
            anchor=anchors,
            score=score,
            target_start=t + 1 - sides["end_row"][:, 0],
            target_end=t + 1 + sides["end_row"][:, 1],
            query_start=q + 1 - sides["end_column"][:, 0],
            query_end=q + 1 + sides["end_column"][:, 1],
            capped=(sides["cut"] != 0).any(axis=1),
            words=words,
            pieces=pieces.reshape(-1, 2, 2, 2),
        )
        # The end of a side is a pair of letters: gaps to be cut off are only where a path begins at its anchor.
        begun = (sides["end_row"] + sides["end_column"] == 0).any(axis=1)
        if not begun.any():
            return found
        kept = found.select(np.flatnonzero(~begun & (score >= self._costs.threshold)))
        joined = Folded.concat([kept, Folded.of(self._cut_back(found.take(np.flatnonzero(begun))))])
        return joined.select(np.argsort(joined.anchor, kind="stable"))  # before columns are read: those of a wave may take a gigabyte

    def _cut_back(self, found: Extensions) -> Extensions:
        """Cut off gaps at the ends, and keep those that then reach the threshold."""
        classes, scores, costs, _ = self._costs.compiled
        results = np.zeros((len(found), extension_host.RESULT), np.int64)
        results[:, extension_host.SCORE] = found.score
        results[:, extension_host.TARGET_START : extension_host.QUERY_END + 1] = found.ends()
        words = found.run_lengths << 2 | found.run_ops
        offsets = np.repeat(found.run_offsets, 2)[1:]  # all runs are a left side's
        operations, lengths, counts = np.empty(len(words), np.uint8), np.empty(len(words), np.int64), np.zeros(len(found), np.int64)
        extension_host.join_all(self._host.target, self._host.query, words, offsets, classes, scores, costs, results, operations, lengths, counts)
        final = results[:, extension_host.SCORE]
        above = np.flatnonzero((final != extension_host.NO_SCORE) & (final >= self._costs.threshold))
        run_offsets = np.concatenate([[0], np.cumsum(counts[above])]).astype(np.int64)
        places = np.arange(run_offsets[-1]) + np.repeat(found.run_offsets[:-1][above] - run_offsets[:-1], counts[above])
        return Extensions(
            anchor=found.anchor[above],
            score=final[above],
            target_start=results[above, extension_host.TARGET_START],
            target_end=results[above, extension_host.TARGET_END],
            query_start=results[above, extension_host.QUERY_START],
            query_end=results[above, extension_host.QUERY_END],
            capped=found.capped[above],
            run_offsets=run_offsets,
            run_ops=operations[places],
            run_lengths=lengths[places],
        )


def _sides_of(anchors: Integers) -> Integers:
    """Number the left and right side of each anchor."""
    return (2 * anchors[:, None] + np.arange(2)).reshape(-1)


def _best_of_ends(anchor: Integers, score: Integers, t: Integers, q: Integers, end_row: Integers, end_column: Integers) -> Integers:
    """Find the best of those with the same ends, ascending. A path that begins at its anchor may yet lose a gap: those are all different."""
    apart = np.where((end_row > 0).all(axis=1), -1, np.arange(len(t)))
    return best_of_equals(anchor, score, t - end_row[:, 0], q - end_column[:, 0], t + end_row[:, 1], q + end_column[:, 1], apart)


class _Found:
    """Free extensions of anchors, in whatever order they come."""

    def __init__(self, anchors: int) -> None:
        self.boxes = np.zeros((anchors, 4), np.int64)
        self._extensions: list[Folded] = []
        self._columns: list[npt.NDArray[np.int32]] = []
        self._heights: list[Integers] = []

    def add(self, extensions: Folded, columns: npt.NDArray[np.int32], heights: Integers) -> None:
        """Add extensions; columns: int32[., 2], looked at in the rows of the left and the right side of each; heights: how many rows, int64[2 * n]."""
        if len(extensions):
            self._extensions.append(extensions)
            self._columns.append(columns)
            self._heights.append(heights)

    def speculated(self) -> Speculated:
        """Give all that was found, by anchor."""
        folded = Folded.concat(self._extensions)
        order = np.argsort(folded.anchor, kind="stable")
        extensions = folded.take(order)
        known = np.full(len(self.boxes), BELOW, np.uint8)
        known[extensions.anchor] = ABOVE
        columns = self._columns[0] if len(self._columns) == 1 else np.concatenate([NO_COLUMNS, *self._columns])
        heights = np.concatenate([np.empty(0, np.int64), *self._heights])
        if (np.diff(order) != 1).any():
            sides = _sides_of(order)
            starts = (np.cumsum(heights) - heights)[sides]
            heights = heights[sides]
            columns = columns[np.arange(heights.sum()) + np.repeat(starts - (np.cumsum(heights) - heights), heights)]
        return Speculated(known, self.boxes, extensions, np.concatenate([[0], np.cumsum(heights)]).astype(np.int64), columns)

    def folded(self) -> Folded:
        """Give the alignments alone, by anchor."""
        found = Folded.concat(self._extensions)
        return found.select(np.argsort(found.anchor, kind="stable"))


def extend(target: Codes, query: Codes, bounds: Any, t: Any, q: Any, costs: Costs) -> Extensions:
    """Extend anchors as `gapped.extend` does, on the current device."""
    return DeviceExtender(target, query, bounds, costs).speculate(t, q, ranges=False).extensions
