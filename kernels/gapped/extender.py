"""Gapped extension of anchors on the host: LASTZ's y-drop, each anchor on its own."""

import threading
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension import host as extension_host
from tidalign.kernels.extension import sweep as gapped_host
from tidalign.kernels.extension.costs import Costs, Integers
from tidalign.kernels.fences.kept import KeptAlignments, empty, room
from tidalign.kernels.gapped.alignments import Extended, Extensions
from tidalign.kernels.inspection import host as inspection_host
from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.runtime.workspace import Memory


@dataclass(frozen=True, eq=False)
class Explored:
    """Hold what an extension looked at. box: rows and columns left and right. cells: how many. left, right: int32[rows, 2], of each row."""

    box: Integers
    cells: int
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]


NOTHING_KEPT = empty()


class Extender:
    """Extends anchors of one query strand on one target: memory and arguments of the compiled sweep, of one thread at a time.

    query_bounds: int64[m, 2], of the sequences of the query where it is an array of several, none of which an extension leaves.
    """

    def __init__(self, target: Codes, query: Codes, bounds: Integers, costs: Costs, query_bounds: Integers | None = None) -> None:
        self.target, self.query = read_only(target), read_only(query)
        self.bounds = np.ascontiguousarray(bounds, np.int64).reshape(-1, 2)
        whole = np.array([[0, len(query)]], np.int64)
        self.query_bounds = whole if query_bounds is None else np.ascontiguousarray(query_bounds, np.int64).reshape(-1, 2)
        self.costs = costs
        self._result = np.zeros(extension_host.RESULT, np.int64)
        self._state = np.zeros(gapped_host.STATE, np.int64)
        self._free = room(NOTHING_KEPT)

    def another(self) -> "Extender":
        """Make one for another thread."""
        return Extender(self.target, self.query, self.bounds, self.costs, self.query_bounds)

    def limits(self, t: int, q: int) -> tuple[np.int64, np.int64, np.int64, np.int64]:
        """Give start and end of the target sequence that a place lies in, and of the query sequence."""
        low, high, query_low, query_high = self.limits_of(np.array([t]), np.array([q]))[0]
        return low, high, query_low, query_high

    def limits_of(self, t: Integers, q: Integers) -> Integers:
        """Give the limits of several places, int64[n, 4]."""
        pairs = ((self.bounds, t), (self.query_bounds, q))
        return np.concatenate([bounds[np.searchsorted(bounds[:, 0], places, "right") - 1] for bounds, places in pairs], axis=1)

    def inspect(self, t: Any, q: Any) -> tuple[npt.NDArray[np.bool_], Integers]:
        """Reject anchors at once, free of fences: (whether each is sure to stay below the threshold, its box as in `Explored`); boxes only where it is sure.

        Several times as fast as `extend`, which the others are left to; all of them where `costs.of_hsps`.
        """
        t, q = np.ascontiguousarray(t, np.int64), np.ascontiguousarray(q, np.int64)
        known, boxes = np.zeros(len(t), np.uint8), np.zeros((len(t), 4), np.int64)
        scores = None if self.costs.of_hsps else self.costs.inspected
        if scores is not None and len(t):
            limits = self.bounds[np.searchsorted(self.bounds[:, 0], t, "right") - 1]
            _, _, costs, _ = self.costs.compiled
            threshold = np.int64(self.costs.threshold)
            inspection_host.inspect(memory().lanes, self.target, self.query, t, q, limits, scores, costs, threshold, known, boxes)
        return known == inspection_host.BELOW, boxes

    def extend(
        self,
        anchor: int,
        t: int,
        q: int,
        *,
        fences: tuple[KeptAlignments, int, int, Integers, Integers] | None = None,
        ranges: bool = False,
    ) -> tuple[Extended | None, Explored]:
        """Extend an anchor at target t, query q: its alignment, if it reaches the threshold, and what was looked at.

        fences: (alignments kept, pieces left and right of the anchor, fence and masks as `fences.kept.room` makes them), or None for a free extension.
        """
        (*memory_and_sides, classes, scores, costs), result, null = self.parts()
        kept, left, right, fence, holes = (NOTHING_KEPT, -1, -1, *self._free) if fences is None else fences
        ops, lengths, left_ranges, right_ranges = extension_host.extend_anchor(
            *(*memory_and_sides, (np.int64(t), np.int64(q), np.int64(left), np.int64(right))),
            *(self.limits(t, q), classes, scores, costs, kept, fence, holes, fences is not None, ranges, result, null),
        )
        looked = Explored(result[extension_host.LEFT_ROWS :].copy(), int(result[extension_host.VISITED]), left_ranges, right_ranges)
        if result[extension_host.SCORE] == extension_host.NO_SCORE or result[extension_host.SCORE] < self.costs.threshold:
            return None, looked
        return self.extended(anchor, ops, lengths), looked

    def parts(self) -> tuple[tuple[Any, ...], Integers, Any]:
        """Give what `extend_anchor` takes of an extender: (this thread's memory, the sequences, costs), the array of its result, and a null of its lanes."""
        held = memory()
        *costs, null = self.costs.compiled
        return (held.work, held.spare, self._state, self.target, self.query, *costs), self._result, null

    def extended(self, anchor: int, ops: npt.NDArray[np.uint8], lengths: Integers) -> Extended:
        """Hold the alignment that the last call of a kernel found, whose runs it returned."""
        found = self._result
        ends = found[extension_host.TARGET_START : extension_host.QUERY_END + 1].copy()
        return Extended(anchor, int(found[extension_host.SCORE]), ends, bool(found[extension_host.CAPPED]), ops, lengths)


def read_only(codes: Any) -> Codes:
    """View codes as one type, whether they are mapped or not, may be written to or not: each type is compiled for."""
    view = np.ascontiguousarray(codes, np.uint8).view(np.ndarray)
    view.flags.writeable = False
    return view


_thread = threading.local()


class ThreadMemory(Memory):
    """Holds the memory that a thread extends anchors in: two workspaces, and the columns of inspections."""

    def __init__(self) -> None:
        super().__init__()
        self.lanes = np.zeros(inspection_host.MEMORY_WORDS, np.int16)


def memory() -> ThreadMemory:
    """Give this thread its memory."""
    if not hasattr(_thread, "memory"):
        _thread.memory = ThreadMemory()
    return cast("ThreadMemory", _thread.memory)


def extend(target: Codes, query: Codes, bounds: Any, t: Any, q: Any, costs: Costs) -> Extensions:
    """Extend every anchor on its own: no fences; cut only where `costs` has a traceback.

    target, query: codes (nucleotides.encode), the target's sequences in one array, the query one strand. bounds: int64[k, 2], start and end of each
    target sequence, ascending. t, q: places of the anchors. At most one row for an anchor, in their order: those that reach the threshold.
    """
    extender = Extender(target, query, bounds, costs)
    below, _ = extender.inspect(t, q)
    found = [extender.extend(int(i), int(t[i]), int(q[i]))[0] for i in np.flatnonzero(~below)]
    return Extensions.of([one for one in found if one is not None])
