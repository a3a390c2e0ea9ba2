"""Extend anchors free of fences, and hold what is known of them before exact mode's walk comes to them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension.costs import Costs, Integers
from tidalign.kernels.gapped.alignments import Extended, Extensions
from tidalign.kernels.gapped.extender import Extender
from tidalign.kernels.letters.nucleotides import Codes

# What is known of an anchor before it is committed: nothing; its free extension stays below the threshold; reaches it; or has to be made to know. REJECTED:
# an extension between fences stays below the threshold, too, if these leave the anchor's diagonal free for REJECTION_LETTERS letters (inspection/device.py).
UNKNOWN, BELOW, ABOVE, UNDECIDED, REJECTED = (np.uint8(known) for known in range(5))

REJECTION_LETTERS = np.int64(32)
"""Letters of the anchor's diagonal on each side that a rejection counts on."""


class FreeExtensions(NamedTuple):
    """Free extensions as `advance` takes them. row: int64[n], of each anchor in the other arrays, -1: none. ends: int64[k, 4]; runs as in
    gapped.Extensions; range_offsets: int64[2 k + 1], ranges: int32[., 2] as in commit.Speculated."""

    row: Integers
    ends: Integers
    run_offsets: Integers
    run_ops: npt.NDArray[np.uint8]
    run_lengths: Integers
    range_offsets: Integers
    ranges: npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Speculated:
    """Free extensions of anchors, an element of each array for one of them.

    known: BELOW or ABOVE the threshold, REJECTED as below it whatever is kept beside its diagonal (UNKNOWN: not extended).
    boxes: int64[n, 4], rows and columns looked at left and right.
    extensions: those above, `anchor` being the index among these anchors. Rows of ranges, int32[., 2], are the columns looked at:
    [range_offsets[2 * i], range_offsets[2 * i + 1]) are those of the left side of extension i, up to range_offsets[2 * i + 2] of its right side.
    """

    known: npt.NDArray[np.uint8]
    boxes: Integers
    extensions: Extensions
    range_offsets: Integers
    ranges: npt.NDArray[np.int32]

    @classmethod
    def nothing(cls, count: int) -> "Speculated":
        """Make a Speculated of so many anchors of which nothing is known."""
        ranges = np.empty((0, 2), np.int32)
        return cls(np.zeros(count, np.uint8), np.zeros((count, 4), np.int64), Extensions.empty(), np.zeros(1, np.int64), ranges)

    def free(self) -> FreeExtensions:
        """Give the free extensions as the compiled walk takes them: arrays of one type whatever they were made from."""
        found = self.extensions
        row = np.full(len(self.known), -1, np.int64)
        ours = np.flatnonzero(found.anchor >= 0)
        row[found.anchor[ours]] = ours
        arrays: tuple[Any, ...] = (row, found.ends(), *found.runs(), self.range_offsets, self.ranges)
        return FreeExtensions(*(np.require(values, None, ["C", "W"]) for values in arrays))

    def after(self, first: int) -> "Speculated":
        """Drop the first anchors; `anchor` of their extensions is negative."""
        extensions = Extensions(**{**self.extensions.to_arrays(), "anchor": self.extensions.anchor - first})
        return Speculated(self.known[first:], self.boxes[first:], extensions, self.range_offsets, self.ranges)

    def spread(self, places: Integers, count: int) -> "Speculated":
        """Give what is known of some of `count` anchors, those at these places, as of all of them."""
        known, boxes = np.zeros(count, np.uint8), np.zeros((count, 4), np.int64)
        known[places], boxes[places] = self.known, self.boxes
        extensions = Extensions(**{**self.extensions.to_arrays(), "anchor": places[self.extensions.anchor]})
        return Speculated(known, boxes, extensions, self.range_offsets, self.ranges)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "extensions"}
        return {**arrays, **{f"extensions_{name}": values for name, values in self.extensions.to_arrays().items()}}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "Speculated":
        extensions = Extensions.from_arrays({name.removeprefix("extensions_"): values for name, values in arrays.items() if name.startswith("extensions_")})
        return cls(extensions=extensions, **{field.name: np.ascontiguousarray(arrays[field.name]) for field in fields(cls) if field.name != "extensions"})

    @classmethod
    def concat(cls, parts: "list[Speculated]") -> "Speculated":
        """Join those of consecutive ranges of anchors."""
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


def speculate(target: Codes, query: Codes, bounds: Any, t: Any, q: Any, costs: Costs, query_bounds: Any = None) -> Speculated:
    """Extend anchors free of fences, with what `Commit` must know to tell whether the results stand. Arguments as `gapped.extend` and `Extender` have them."""
    extender = Extender(target, query, bounds, costs, query_bounds)
    below, boxes = extender.inspect(t, q)
    known = np.full(len(t), BELOW, np.uint8)
    found: list[Extended] = []
    ranges: list[npt.NDArray[np.int32]] = [np.empty((0, 2), np.int32)]
    for i in np.flatnonzero(~below).tolist():
        one, looked = extender.extend(i, int(t[i]), int(q[i]), ranges=True)
        boxes[i] = looked.box
        if one is not None:
            known[i] = ABOVE
            found.append(one)
            ranges += [looked.left, looked.right]
    offsets = np.concatenate([[0], np.cumsum([len(rows) for rows in ranges[1:]])]).astype(np.int64)
    return Speculated(known, boxes, Extensions.of(found), offsets, np.concatenate(ranges))
