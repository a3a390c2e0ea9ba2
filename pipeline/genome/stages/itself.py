"""Align a genome with itself (`--self`, LASTZ.md 24): seed hits of one half of the square alone, and what is found there turned over to the other half."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension.costs import Costs, Integers
from tidalign.kernels.gapped.alignments import Extended, Extensions
from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.seed.index import Positions
from tidalign.kernels.ungapped.hsps import Segments
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages.host import HostWords

_TURNED = np.array([0, 2, 1], np.uint8)
"""Of each run, what it is with the sides changed."""


@dataclass(frozen=True)
class Square:
    """A genome against a strand of itself.

    starts, lengths: of its sequences in the target's array. shift: places in it are so much further on than in the strand's. minus: of the strand.
    """

    starts: Integers
    lengths: Integers
    shift: int
    minus: bool

    def other_strand(self) -> "Square":
        """Give the same of the other strand."""
        return replace(self, minus=not self.minus)

    def sums(self, places: Integers) -> Integers:
        """Give what a place and the same letter's on the strand - add up to, less one, by any place of the sequence: begins and ends change with each other."""
        sequence = np.searchsorted(self.starts, places, "right") - 1
        return np.asarray(2 * self.starts[sequence] + self.lengths[sequence])

    def above(self, t: Positions, q: Positions) -> npt.NDArray[np.bool_]:
        """Tell which hits, by their begins, come before the diagonal on the target: of each hit and its mirror image one, of those on it none."""
        there = q + self.shift
        if not self.minus:
            return np.asarray(t < there)
        mine, other = (np.searchsorted(self.starts, places, "right") for places in (t, there))
        return np.asarray(np.where(mine == other, t < self.sums(there) - 1 - there, mine < other))


class SelfWords(HostWords):
    """Holds the words of a genome that is aligned with itself (`unit.Words`). mirrors: whether segments come with their mirror images."""

    def __init__(self, words: HostWords, square: Square, *, mirrors: bool) -> None:
        super().__init__(words.index)
        self.target, self._words, self._square, self._mirrors = words.target, words, square, mirrors

    def other_strand(self) -> "SelfWords":
        """Give the same for the other strand."""
        return SelfWords(self._words, self._square.other_strand(), mirrors=self._mirrors)

    def hits(self, query: Codes, parameters: GenomeParameters, start: int = 0, **tile: int) -> Iterator[tuple[Positions, Positions]]:
        """Find the seed hits before the diagonal from query place `start` on."""
        for targets, queries in self._words.hits(query, parameters, start, **tile):
            kept = self._square.above(targets, queries)
            if kept.any():
                yield targets[kept], queries[kept]

    def mirrored(self, segments: Segments, places: Positions) -> tuple[Segments, Positions]:
        """Give segments, each with its mirror image behind it where these are wanted and it is not its own; and the places that go with them."""
        if not self._mirrors:
            return segments, places
        rows = np.repeat(np.arange(len(segments)), 2)
        doubled = segments.take(rows)
        doubled.target[1::2], doubled.query[1::2] = self._turned(segments)
        own = (doubled.target[1::2] == doubled.target[::2]) & (doubled.query[1::2] == doubled.query[::2]) & self._square.minus
        kept = np.ones(len(rows), np.bool_)
        kept[1::2] = ~own
        return doubled.take(kept), places[rows[kept]]

    def images(self, segments: Segments) -> npt.NDArray[np.bool_]:
        """Tell which of segments, as `mirrored` gives them, are the mirror images of those before them."""
        found = np.zeros(len(segments), np.bool_)
        if self._mirrors:
            t, q = self._turned(segments)
            for row in (np.flatnonzero((t[:-1] == segments.target[1:]) & (q[:-1] == segments.query[1:])) + 1).tolist():
                found[row] = not found[row - 1]
        return found

    def _turned(self, segments: Segments) -> tuple[Positions, Positions]:
        """Give where mirror images of segments begin, on the target and in the strand."""
        t, q, length = segments.target, segments.query + self._square.shift, segments.length
        if self._square.minus:  # of one sequence
            t, q = self._square.sums(t) - t - length, self._square.sums(q) - q - length
        return q, t - self._square.shift


def mirrored(found: Extensions, square: Square, costs: Costs, sides: tuple[Codes, Codes]) -> Extensions:
    """Give alignments before the diagonal, and their mirror images behind them. sides: codes of the target and of the query strand.

    On strand - what crosses the diagonal is cut there and goes on as its own mirror image; what begins on it or behind is left out.
    """
    if not square.minus:
        swapped = replace(
            found,
            target_start=found.query_start + square.shift,
            target_end=found.query_end + square.shift,
            query_start=found.target_start - square.shift,
            query_end=found.target_end - square.shift,
            run_ops=_TURNED[found.run_ops],
        )
        return Extensions.concat([found, swapped])
    kept: list[Extended] = []
    images: list[Extended] = []
    for one in found:
        t, t_end, q, q_end = (int(place) for place in one.ends)
        sums = [int(square.sums(np.array([place]))[0]) for place in (t, q + square.shift)]
        far, near = (sums[1] - square.shift - place for place in (q, q_end))  # the same letters, on the target
        if t >= far:
            continue
        if t_end >= near:
            kept.append(_folded(one, t, far, costs, sides))
            continue
        kept.append(one)
        ends = np.array([near, far, sums[0] - square.shift - t_end, sums[0] - square.shift - t], np.int64)
        images.append(replace(one, ends=ends, ops=_TURNED[one.ops[::-1]], lengths=one.lengths[::-1].copy()))
    return Extensions.of([*kept, *images])


def _folded(one: Extended, t: int, far: int, costs: Costs, sides: tuple[Codes, Codes]) -> Extended:
    """Give an alignment up to the diagonal, and from there its own mirror image. t, far: places of its begin on the target, by either side."""
    runs: list[list[int]] = []
    odd = 0
    for op, length in zip(one.ops.tolist(), one.lengths.tolist(), strict=True):
        begin = t, far
        t, far = t + (op != 1) * length, far - (op != 2) * length
        runs.append([op, length])
        if t > far or (op and t == far):
            apart = begin[1] - begin[0]
            runs[-1][1] = (apart + 1) // 2 if op == 0 else apart
            odd = apart % 2 if op == 0 else 0
            break
    image = [[int(_TURNED[op]), length] for op, length in reversed(runs)]
    image[0][1] -= odd
    merged: list[list[int]] = []
    for op, length in [*runs, *image]:
        if length and merged and merged[-1][0] == op:
            merged[-1][1] += length
        elif length:
            merged.append([op, length])
    ops, lengths = np.array([op for op, _ in merged], np.uint8), np.array([length for _, length in merged], np.int64)
    start, query_start = int(one.ends[0]), int(one.ends[2])
    ends = np.array([start, start + lengths[ops != 1].sum(), query_start, query_start + lengths[ops != 2].sum()], np.int64)
    return replace(one, ends=ends, ops=ops, lengths=lengths, score=_score(ops, lengths, start, query_start, costs, sides))


def _score(ops: Any, lengths: Integers, t: int, q: int, costs: Costs, sides: tuple[Codes, Codes]) -> int:
    """Add up what an alignment's columns score, and its gaps cost."""
    score = 0
    for op, length in zip(ops.tolist(), lengths.tolist(), strict=True):
        if op == 0:
            score += int(costs.plain[sides[0][t : t + length], sides[1][q : q + length]].sum(dtype=np.int64))
        else:
            score -= costs.gap_open + length * costs.gap_extend
        t, q = t + (op != 1) * length, q + (op != 2) * length
    return score
