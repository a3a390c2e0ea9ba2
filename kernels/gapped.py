"""Gapped extension of anchors on the host: LASTZ's y-drop, each anchor on its own."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tidalign.kernels import extension_host, gapped_host, inspection_host
from tidalign.kernels.fences_host import Kept, empty, room
from tidalign.kernels.nucleotides import ALPHABET, Codes
from tidalign.kernels.workspace_host import Memory
from tidalign.kernels.ydrop_vectors_host import LANES

Integers = npt.NDArray[np.int64]

UNLIMITED = 1 << 60
"""Cells of a traceback buffer that no extension fills."""

SEGMENT = 96 << 20
"""Bytes of a trail (a byte a cell) before an extension is swept in segments: LASTZ's own buffer of 80 MiB fits."""


@dataclass(frozen=True, eq=False)
class Costs:
    """What gapped extension needs to know.

    plain: int32[64, 64], scores of letters (scoring.Scoring.plain). A gap of n letters costs gap_open + n * gap_extend. threshold: least score of an
    alignment. trim: ends are cut back to the best cell. traceback: bytes of LASTZ's buffer at which an extension is cut; None: never.
    """

    plain: npt.NDArray[np.int32]
    gap_open: int = 400
    gap_extend: int = 30
    ydrop: int = 9400
    threshold: int = 3000
    trim: bool = True
    traceback: int | None = None
    segment: int = SEGMENT

    def __post_init__(self) -> None:
        for name in ("gap_open", "gap_extend", "ydrop"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}: a cost cannot be below 0")
        if self._headroom(np.int32(0)) is None:
            raise ValueError(f"y-drop {self.ydrop}, gap costs {self.gap_open}, {self.gap_extend} and scores up to {self.plain.max()} pass 32 bits together")

    def _headroom(self, null: np.signedinteger[Any]) -> int | None:
        """How far above its base a best value may grow in lanes of the type of `null`; None where the costs do not fit.

        Within a row the best value grows by one score; a lane's gap is raised by what LANES letters cost, which must not overflow, nor bring what is
        dead above the line.
        """
        top = int(np.iinfo(null.dtype).max)
        best = max(int(self.plain.max()), 0)
        raised = best + LANES * self.gap_extend + 1
        headroom = top - raised
        if self.ydrop + raised > top or self.gap_open + self.gap_extend > top or headroom < best:
            return None
        return headroom

    @cached_property
    def inspected(self) -> npt.NDArray[np.int16] | None:
        """Scores of ACGT for inspection_host; None where its 16 bits and its columns cannot hold what these costs reach."""
        headroom = self._headroom(np.int16(0))
        columns = self.ydrop // self.gap_extend if self.gap_extend > 0 else inspection_host.COLUMNS
        if headroom is None or not 0 < self.threshold <= headroom - int(self.plain.max()) or 8 * columns > 3 * inspection_host.COLUMNS:
            return None
        return np.ascontiguousarray(self.plain[:4, :4].clip(-(1 << 15)), np.int16)

    @cached_property
    def compiled(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32], Integers, np.signedinteger[Any]]:
        """(class of each target letter, scores of each class against every query letter, costs as gapped_host takes them, the lanes' type)."""
        null: np.signedinteger[Any] = np.int16(0) if self._headroom(np.int16(0)) is not None else np.int32(0)
        rows, inverse = np.unique(self.plain[: len(ALPHABET)], axis=0, return_inverse=True)
        classes = np.zeros(len(self.plain), np.uint8)
        classes[: len(ALPHABET)] = inverse.reshape(-1)
        costs = np.zeros(gapped_host.COSTS, np.int64)
        costs[gapped_host.OPENED], costs[gapped_host.EXTENDED] = self.gap_open + self.gap_extend, self.gap_extend
        costs[gapped_host.YDROP], costs[gapped_host.TRIM] = self.ydrop, self.trim
        # LASTZ leaves seven bytes of its buffer unused.
        costs[gapped_host.ROOM] = UNLIMITED if self.traceback is None else self.traceback - 7
        costs[gapped_host.SEGMENT], costs[gapped_host.HEADROOM] = self.segment, self._headroom(null) or 0
        return classes, np.ascontiguousarray(np.maximum(rows, np.iinfo(null.dtype).min), np.int32), costs, null


@dataclass(frozen=True, eq=False)
class Alignments:
    """An element of each array for an alignment, places as the kernels have them (target's array, query strand); how the runs lie is the subclasses' matter.

    anchor: index of its anchor. Ends are half open. capped: a side was cut where LASTZ's traceback buffer ends.
    """

    anchor: Integers
    score: Integers
    target_start: Integers
    target_end: Integers
    query_start: Integers
    query_end: Integers
    capped: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.anchor)

    def ends(self) -> Integers:
        """int64[n, 4]: target start, target end, query start, query end."""
        return np.stack([self.target_start, self.target_end, self.query_start, self.query_end], axis=1)

    def columns(self, rows: Any = slice(None)) -> dict[str, npt.NDArray[Any]]:
        """All but the runs, of the rows at these indices."""
        return {field.name: getattr(self, field.name)[rows] for field in fields(Alignments)}


@dataclass(frozen=True, eq=False)
class Extensions(Alignments):
    """Runs of alignment i are [run_offsets[i], run_offsets[i + 1]): run_ops 0 pairs of letters, 1 query letters against a gap (I), 2 target letters against a
    gap (D).
    """

    run_offsets: Integers
    run_ops: npt.NDArray[np.uint8]
    run_lengths: Integers

    def runs(self) -> tuple[Integers, npt.NDArray[np.uint8], Integers]:
        """run_offsets, run_ops, run_lengths."""
        return self.run_offsets, self.run_ops, self.run_lengths

    def take(self, rows: Any) -> "Extensions":
        """The rows at these indices, in their order."""
        rows = np.asarray(rows, np.int64)
        counts = np.diff(self.run_offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        places = np.arange(offsets[-1]) + np.repeat(self.run_offsets[:-1][rows] - offsets[:-1], counts)
        return Extensions(**self.columns(rows), run_offsets=offsets, run_ops=self.run_ops[places], run_lengths=self.run_lengths[places])

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "Extensions":
        return cls(**{field.name: np.ascontiguousarray(arrays[field.name]) for field in fields(cls)})

    @classmethod
    def concat(cls, parts: "list[Extensions]") -> "Extensions":
        """Rows of several, one after the other."""
        parts = [*parts] or [cls.empty()]
        joined = {field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls) if field.name != "run_offsets"}
        counts = np.concatenate([np.diff(part.run_offsets) for part in parts])
        return cls(**joined, run_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

    @classmethod
    def empty(cls) -> "Extensions":
        return cls.of([])

    @classmethod
    def of(cls, found: "list[Extended]") -> "Extensions":
        """One row for each."""
        ends = np.array([one.ends for one in found], np.int64).reshape(-1, 4)
        return cls(
            anchor=np.array([one.anchor for one in found], np.int64),
            score=np.array([one.score for one in found], np.int64),
            target_start=ends[:, 0].copy(),
            target_end=ends[:, 1].copy(),
            query_start=ends[:, 2].copy(),
            query_end=ends[:, 3].copy(),
            capped=np.array([one.capped for one in found], np.bool_),
            run_offsets=np.concatenate([[0], np.cumsum([len(one.ops) for one in found])]).astype(np.int64),
            run_ops=np.concatenate([np.empty(0, np.uint8), *(one.ops for one in found)]),
            run_lengths=np.concatenate([np.empty(0, np.int64), *(one.lengths for one in found)]),
        )

    def __iter__(self) -> "Iterator[Extended]":
        ends = self.ends()
        for i in range(len(self)):
            runs = slice(self.run_offsets[i], self.run_offsets[i + 1])
            yield Extended(int(self.anchor[i]), int(self.score[i]), ends[i], bool(self.capped[i]), self.run_ops[runs], self.run_lengths[runs])


@dataclass(frozen=True, eq=False)
class Extended:
    """One alignment; ends: target start, target end, query start, query end."""

    anchor: int
    score: int
    ends: Integers
    capped: bool
    ops: npt.NDArray[np.uint8]
    lengths: Integers


@dataclass(frozen=True, eq=False)
class Looked:
    """What an extension looked at. box: rows and columns left, rows and columns right. cells: how many. left, right: int32[rows, 2], columns of each row."""

    box: Integers
    cells: int
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]


NOTHING_KEPT = empty(target=0)


class Extender:
    """Extends anchors of one query strand on one target: memory and arguments of the compiled sweep, of one thread at a time."""

    def __init__(self, target: Codes, query: Codes, bounds: Integers, costs: Costs) -> None:
        self.target, self.query = read_only(target), read_only(query)
        self.bounds = np.ascontiguousarray(bounds, np.int64).reshape(-1, 2)
        self.costs = costs
        self._result = np.zeros(extension_host.RESULT, np.int64)
        self._state = np.zeros(gapped_host.STATE, np.int64)
        self._free = room(NOTHING_KEPT)

    def limits(self, t: int) -> tuple[np.int64, np.int64]:
        """Start and end of the target sequence that a place lies in."""
        i = int(np.searchsorted(self.bounds[:, 0], t, "right")) - 1
        return self.bounds[i, 0], self.bounds[i, 1]

    def inspect(self, t: Any, q: Any) -> tuple[npt.NDArray[np.bool_], Integers]:
        """(whether an anchor is sure to stay below the threshold, its box as in `Looked`) of many anchors, free of fences; boxes only where it is sure.

        Several times as fast as `extend`, which the others are left to.
        """
        t, q = np.ascontiguousarray(t, np.int64), np.ascontiguousarray(q, np.int64)
        known, boxes = np.zeros(len(t), np.uint8), np.zeros((len(t), 4), np.int64)
        scores = self.costs.inspected
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
        fences: tuple[Kept, int, int, Integers, Integers] | None = None,
        ranges: bool = False,
    ) -> tuple[Extended | None, Looked]:
        """The alignment of an anchor at target t, query q, if it reaches the threshold, and what was looked at.

        fences: (alignments kept, pieces left and right of the anchor, fence and masks as `fences_host.room` makes them), or None for a free extension.
        """
        held = memory()
        classes, scores, costs, null = self.costs.compiled
        kept, left, right, fence, holes = (NOTHING_KEPT, -1, -1, *self._free) if fences is None else fences
        ops, lengths, left_ranges, right_ranges = extension_host.extend_anchor(
            *(held.work, held.spare, self._state, self.target, self.query, (np.int64(t), np.int64(q), np.int64(left), np.int64(right))),
            *(self.limits(t), classes, scores, costs, kept, fence, holes, fences is not None, ranges, self._result, null),
        )
        found = self._result
        looked = Looked(found[extension_host.LEFT_ROWS :].copy(), int(found[extension_host.VISITED]), left_ranges, right_ranges)
        if found[extension_host.SCORE] == extension_host.NOTHING or found[extension_host.SCORE] < self.costs.threshold:
            return None, looked
        score, *_ = found
        ends = found[extension_host.TARGET_START : extension_host.QUERY_END + 1].copy()
        return Extended(anchor, int(score), ends, bool(found[extension_host.CAPPED]), ops, lengths), looked


def read_only(codes: Any) -> Codes:
    """A view of one type, whether the codes are mapped or not, may be written to or not: each type is compiled for."""
    view = np.ascontiguousarray(codes, np.uint8).view(np.ndarray)
    view.flags.writeable = False
    return view


_thread = threading.local()


class ThreadMemory(Memory):
    """And the columns of inspections."""

    def __init__(self) -> None:
        super().__init__()
        self.lanes = np.zeros(inspection_host.WORDS, np.int16)


def memory() -> ThreadMemory:
    """This thread's memory."""
    if not hasattr(_thread, "memory"):
        _thread.memory = ThreadMemory()
    return cast("ThreadMemory", _thread.memory)


def first_of_equals(*keys: Integers) -> Integers:
    """Of places 0.. whose keys (int64[n] each) are all equal the first, ascending."""
    order = np.lexsort(keys)
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    return np.sort(order[new])


def extend(target: Codes, query: Codes, bounds: Any, t: Any, q: Any, costs: Costs) -> Extensions:
    """Extends every anchor on its own: no fences; cut only where `costs` has a traceback.

    target, query: codes (nucleotides.encode), the target's sequences in one array, the query one strand. bounds: int64[k, 2], start and end of each
    target sequence, ascending. t, q: places of the anchors. At most one row for an anchor, in their order: those that reach the threshold.
    """
    extender = Extender(target, query, bounds, costs)
    below, _ = extender.inspect(t, q)
    found = [extender.extend(int(i), int(t[i]), int(q[i]))[0] for i in np.flatnonzero(~below)]
    return Extensions.of([one for one in found if one is not None])
