"""Exact mode's sequential stage: LASTZ extends anchors in falling score, and what it keeps fences those that follow.

Anchors that lie on a kept alignment are passed over. Free extensions made elsewhere ("speculated") stand where no fence or mask reaches what they looked
at; the others are done again between fences (LASTZ.md of the design calls it speculate and commit). The result does not depend on what was speculated.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from time import monotonic
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels import commit_host
from tidalign.kernels.fences_host import BIN_BITS, empty, room
from tidalign.kernels.gapped import Costs, Extended, Extender, Extensions, Integers
from tidalign.kernels.nucleotides import Codes
from tidalign.kernels.vectors_host import LANES

AHEAD = 4 * LANES
"""Anchors inspected at once."""


@dataclass(frozen=True, eq=False)
class Speculated:
    """Free extensions of anchors, an element of each array for one of them.

    known: commit_host.BELOW or ABOVE the threshold (UNKNOWN: not extended). boxes: int64[n, 4], rows and columns looked at left and right.
    extensions: those above, `anchor` being the index among these anchors. Rows of ranges, int32[., 2], are the columns looked at:
    [range_offsets[2 * i], range_offsets[2 * i + 1]) are those of the left side of extension i, up to range_offsets[2 * i + 2] of its right side.
    """

    known: npt.NDArray[np.uint8]
    boxes: Integers
    extensions: Extensions
    range_offsets: Integers
    ranges: npt.NDArray[np.int32]

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "extensions"}
        return {**arrays, **{f"extensions_{name}": values for name, values in self.extensions.to_arrays().items()}}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "Speculated":
        extensions = Extensions.from_arrays({name.removeprefix("extensions_"): values for name, values in arrays.items() if name.startswith("extensions_")})
        return cls(extensions=extensions, **{field.name: np.ascontiguousarray(arrays[field.name]) for field in fields(cls) if field.name != "extensions"})

    @classmethod
    def concat(cls, parts: "list[Speculated]") -> "Speculated":
        """Of consecutive ranges of anchors."""
        before = np.cumsum([0, *(len(part.known) for part in parts)])
        moved = [Extensions(**{**part.extensions.to_arrays(), "anchor": part.extensions.anchor + n}) for part, n in zip(parts, before, strict=False)]
        counts = np.concatenate([np.diff(part.range_offsets) for part in parts])
        return cls(
            np.concatenate([part.known for part in parts]),
            np.concatenate([part.boxes for part in parts]),
            Extensions.concat(moved),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate([part.ranges for part in parts]),
        )


def speculate(target: Codes, query: Codes, bounds: Any, t: Any, q: Any, costs: Costs) -> Speculated:
    """Extends anchors free of fences, with what `Commit` must know to tell whether the results stand. Arguments as `gapped.extend`."""
    extender = Extender(target, query, bounds, costs)
    below, boxes = extender.inspect(t, q)
    known = np.full(len(t), commit_host.BELOW, np.uint8)
    found: list[Extended] = []
    ranges: list[npt.NDArray[np.int32]] = [np.empty((0, 2), np.int32)]
    for i in np.flatnonzero(~below).tolist():
        one, looked = extender.extend(i, int(t[i]), int(q[i]), ranges=True)
        boxes[i] = looked.box
        if one is not None:
            known[i] = commit_host.ABOVE
            found.append(one)
            ranges += [looked.left, looked.right]
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in ranges[1:]])]).astype(np.int64)
    return Speculated(known, boxes, Extensions.of(found), offsets, np.concatenate(ranges))


class Commit:
    """The sequential stage of one query strand on a target; arguments as `gapped.extend`.

    `walk` takes anchors in LASTZ's order (anchors.lastz_order), in as many calls as one likes; `alignments` gives what is kept. Counts of anchors:
    skipped (on a kept alignment), stood (their free extension), extended (between fences).
    """

    def __init__(self, target: Codes, query: Codes, bounds: Any, costs: Costs) -> None:
        self._extender = Extender(target, query, bounds, costs)
        self._found: list[Extended] = []
        self.consumed = 0
        self.skipped = self.stood = self.extended = 0
        self.cells = 0
        self._kept = empty(len(self._extender.target))
        self._fence, self._holes = room(self._kept)

    def walk(self, t: Any, q: Any, speculated: Speculated | None = None, *, cells: int | None = None, seconds: float | None = None) -> int:
        """Goes through anchors, int64[n] places on target and query, until none is left or the walk has looked at so many cells or seconds.

        Returns how many were consumed; the next call goes on with the others.
        """
        t, q = np.ascontiguousarray(t, np.int64), np.ascontiguousarray(q, np.int64)
        known, boxes = np.zeros(len(t), np.uint8), np.zeros((len(t), 4), np.int64)
        if speculated is not None:
            known, boxes = speculated.known.copy(), speculated.boxes.copy()
        rows = {} if speculated is None else {int(anchor): row for row, anchor in enumerate(speculated.extensions.anchor)}
        last_cell = None if cells is None else self.cells + cells
        deadline = None if seconds is None else monotonic() + seconds
        passed = np.zeros(2, np.int64)
        done = 0
        while (last_cell is None or self.cells < last_cell) and (deadline is None or monotonic() < deadline):
            i, outcome, left, right = commit_host.advance(self._kept, t, q, known, boxes, np.int64(done), passed)
            self.stood += int(passed[0])
            self.cells += int(passed[1])
            passed[:] = 0
            done = i
            if outcome == commit_host.EXTEND and known[i] == commit_host.UNKNOWN and self._inspect(t, q, known, boxes, i):
                continue
            done = i + 1
            if outcome == commit_host.AT_END:
                done = i
                break
            if speculated is not None and (
                outcome == commit_host.STANDS or (outcome == commit_host.COMPARE and self._untouched(speculated, rows[i], (t[i], q[i], left, right)))
            ):
                [found] = speculated.extensions.take([rows[i]])
                self.keep(replace(found, anchor=self.consumed + i))
                self.stood += 1
                continue
            one, looked = self._extender.extend(self.consumed + i, t[i], q[i], fences=(self._kept, left, right, self._fence, self._holes))
            self.cells += looked.cells
            self.extended += 1
            if one is not None:
                self.keep(one)
        self.consumed += done
        return int(done)

    def _inspect(self, t: Integers, q: Integers, known: npt.NDArray[np.uint8], boxes: Integers, i: int) -> bool:
        """Looks at the next anchors all at once; whether the i-th is below the threshold."""
        next_ones = commit_host.ahead(self._kept, t, q, known, i, np.int64(AHEAD))
        below, boxes[next_ones] = self._extender.inspect(t[next_ones], q[next_ones])
        known[next_ones] = np.where(below, commit_host.BELOW, commit_host.UNDECIDED)
        return bool(below[0])

    def alignments(self) -> Extensions:
        """What is kept, in LASTZ's order of output: by target start, of equal ones the newest first. `anchor` counts all anchors consumed."""
        kept = self.state()
        return kept.take(self._kept.by_start[: len(kept)])

    def state(self) -> Extensions:
        """What is kept in the order it was kept; with `consumed` all that `restore` needs."""
        return Extensions.of(self._found)

    def restore(self, kept: Extensions, consumed: int) -> None:
        """Sets the walk to where another one was."""
        self._found = []
        self._kept = empty(len(self._extender.target))
        self._fence, self._holes = room(self._kept)
        for one in kept:
            self.keep(one)
        self.consumed = consumed

    def _untouched(self, speculated: Speculated, row: int, anchor: tuple[Any, Any, Any, Any]) -> bool:
        offsets = speculated.range_offsets[2 * row : 2 * row + 3]
        sides = ((True, speculated.ranges[offsets[0] : offsets[1]]), (False, speculated.ranges[offsets[1] : offsets[2]]))
        return all(commit_host.untouched(self._kept, self._fence, self._holes, leftward, anchor, ranges) for leftward, ranges in sides)

    def keep(self, one: Extended) -> None:
        """Adds an alignment: it fences all that follow."""
        pieces, alignments, entries = self._kept.counts
        blocks = int((one.ends[1] >> BIN_BITS) - (one.ends[0] >> BIN_BITS)) + 1
        self._kept = self._kept._replace(
            pieces=_larger(self._kept.pieces, pieces + 2 * len(one.ops) + 1), entries=_larger(self._kept.entries, entries + blocks)
        )
        if alignments == len(self._kept.alignments):
            self._kept = self._kept._replace(**{name: _larger(getattr(self._kept, name), alignments + 1) for name in ("alignments", "by_start", "by_end")})
            self._fence, self._holes = room(self._kept)
        commit_host.keep(self._kept, one.ends, one.ops, one.lengths)
        self._found.append(one)


def _larger(array: Integers, count: int) -> Integers:
    """The array, or a copy twice as long where it has not `count` rows."""
    if count <= len(array):
        return array
    longer = np.full((max(count, 2 * len(array)), *array.shape[1:]), -1, np.int64)
    longer[: len(array)] = array
    return longer
