"""Hold gapped alignments of anchors as arrays: ends, scores, and runs of pairs and gaps."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension.costs import Integers


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
        """Stack the ends, int64[n, 4]: target start, target end, query start, query end."""
        return np.stack([self.target_start, self.target_end, self.query_start, self.query_end], axis=1)

    def columns(self, rows: Any = slice(None)) -> dict[str, npt.NDArray[Any]]:
        """Give all columns but the runs, of the rows at these indices."""
        return {field.name: getattr(self, field.name)[rows] for field in fields(Alignments)}


@dataclass(frozen=True, eq=False)
class Extensions(Alignments):
    """Runs of alignment i are [run_offsets[i], run_offsets[i + 1]): run_ops 0 pairs of letters, 1 query letters against a gap (I), 2 target letters against a
    gap (D)."""

    run_offsets: Integers
    run_ops: npt.NDArray[np.uint8]
    run_lengths: Integers

    def runs(self) -> tuple[Integers, npt.NDArray[np.uint8], Integers]:
        """Give the runs: run_offsets, run_ops, run_lengths."""
        return self.run_offsets, self.run_ops, self.run_lengths

    def take(self, rows: Any) -> "Extensions":
        """Take the rows at these indices, in their order."""
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
        """Join the rows of several, one after the other."""
        parts = [*parts] or [cls.empty()]
        joined = {field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls) if field.name != "run_offsets"}
        counts = np.concatenate([np.diff(part.run_offsets) for part in parts])
        return cls(**joined, run_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

    @classmethod
    def empty(cls) -> "Extensions":
        return cls.of([])

    @classmethod
    def of(cls, found: "list[Extended]") -> "Extensions":
        """Make one row for each alignment found."""
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


def best_of_equals(anchor: Integers, score: Integers, *keys: Integers) -> Integers:
    """Find of places 0.. whose keys are all equal the one with the best score, of equal scores the first anchor's; ascending. All arrays: int64[n]."""
    order = np.lexsort((anchor, -score, *keys))
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    return np.sort(order[new])
