"""Keep the best HSPs of a query that cover so many letters (`--hspthresh=top..`, LASTZ.md 26), in the order that LASTZ's heap leaves them in."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.ungapped.hsps import Segments
from tidalign.pipeline.genome.input.scores import MOST_SCORE
from tidalign.pipeline.genome.parameters import GenomeParameters

Hsp = tuple[int, int, int, int, bool]
"""Score, length, places in query and target, and whether it is of the strand -: in the order that equal scores are sorted by."""

LEAST = -MOST_SCORE
"""A threshold that everything reaches."""


def limit(parameters: GenomeParameters, letters: int) -> int:
    """Say how many letters are to be covered, of a target of so many."""
    top = parameters.hsp_cover or "0"
    return int(float(top[:-1]) / 100 * letters + 0.5) if top.endswith("%") else int(top)


def every_hsp(parameters: GenomeParameters) -> GenomeParameters:
    """Give parameters by which all used hits are HSPs, with their scores as they are."""
    return replace(parameters, hspthresh=LEAST, entropy=False, hsp_cover=None)


class Covering:
    """Holds the best HSPs, of both strands of a query, and drops the worst, all of one score, as long as the others cover `limit` letters (0: none).

    entropy: whether scores that are not below the lowest here are scaled when they come.
    """

    def __init__(self, limit: int, *, entropy: bool) -> None:
        self._limit, self._entropy = limit, entropy
        self._heap: list[Hsp] = []
        self._tied: list[int] = []
        """Of each place of the heap, the letters of those below it, and of itself, that have its score."""
        self._coverage, self._low = 0, 0

    @property
    def _full(self) -> bool:
        return 0 < self._limit <= self._coverage

    def add(self, target: Codes, query: Codes, segments: Segments, *, minus: bool, images: npt.NDArray[np.bool_] | None = None) -> None:
        """Take a tile's HSPs of a strand, in their order, with their scores as they are. images: which are mirror images of those before them (--self): of one
        score with these, which is scaled or not as they come."""
        rows = np.flatnonzero(segments.score >= self._low) if self._full else np.arange(len(segments))
        score = 0
        for row in rows.tolist():
            length, t, q = int(segments.length[row]), int(segments.target[row]), int(segments.query[row])
            image = images is not None and bool(images[row])
            score = score if image else int(segments.score[row])
            if not image and self._entropy and self._heap and 0 < score >= self._low:
                score = int(score * _entropy(target[t : t + length], query[q : q + length]))
            if self._heap and self._full and score < self._low:
                continue
            self._add((score, length, q, t, minus))

    def strand(self, *, minus: bool) -> Segments:
        """Give what is left of a strand."""
        found = [one for one in self._heap if one[4] == minus]
        score, length, q, t = (np.array([one[i] for one in found], np.int64) for i in range(4))
        return Segments(t, q, length, score)

    def lowest(self) -> int:
        """Give the score that alignments must have at least: the lowest of both strands, any where one of them has none."""
        strands = [self.strand(minus=minus).score for minus in (False, True)]
        return min(int(score.min()) if len(score) else LEAST for score in strands)

    def _add(self, one: Hsp) -> None:
        full = self._full
        self._coverage += one[1]
        self._low = one[0] if not self._heap else min(self._low, one[0])
        self._heap.append(one)
        self._tied.append(one[1])
        if not self._full:
            return
        if full:
            self._rise()
        else:
            self._heap.sort()
            for at in range(len(self._heap) - 1, -1, -1):
                self._tie(at)
        if self._coverage - self._tied[0] < self._limit:
            return
        while self._coverage - self._tied[0] >= self._limit:
            score = self._heap[0][0]
            while self._heap[0][0] == score:
                self._remove()
        self._low = self._heap[0][0]

    def _tie(self, at: int) -> None:
        """Count the letters at and below a place that have its score."""
        score, total = self._heap[at][0], self._heap[at][1]
        for below in (2 * at + 1, 2 * at + 2):
            if below < len(self._heap) and self._heap[below][0] == score:
                total += self._tied[below]
        self._tied[at] = total

    def _rise(self) -> None:
        """Bring the last one up to its place."""
        at = len(self._heap) - 1
        while at and self._heap[at][0] < self._heap[(at - 1) // 2][0]:
            above = (at - 1) // 2
            self._heap[at], self._heap[above] = self._heap[above], self._heap[at]
            self._tie(at)
            at = above
        self._tie(at)
        while at:
            at = (at - 1) // 2
            self._tie(at)

    def _remove(self) -> None:
        """Take the first one out: the last one goes down from there to its place."""
        self._coverage -= self._heap[0][1]
        last = self._heap.pop()
        self._tied.pop()
        if not self._heap:
            return
        at = len(self._heap)  # where the last one was
        while at:
            at = (at - 1) // 2
            self._tie(at)
        at = 0
        while (below := 2 * at + 1) < len(self._heap):
            if below + 1 < len(self._heap) and self._heap[below + 1][0] < self._heap[below][0]:
                below += 1
            if last[0] <= self._heap[below][0]:
                break
            self._heap[at] = self._heap[below]
            at = below
        self._heap[at] = last
        while True:
            self._tie(at)
            if not at:
                break
            at = (at - 1) // 2


def _entropy(target: Codes, query: Codes) -> float:
    """Measure the entropy of the identical upper-case columns, in units of two bits; 1 where there are fewer than 20 of them (LASTZ.md 7)."""
    counts = np.bincount(target[(target == query) & (target < 4)], minlength=4)
    if counts.sum() < 20:
        return 1.0
    total = 0.0
    for count in counts.tolist():
        if count:
            total += count / len(target) * math.log(count / len(target))
    return -total / math.log(4.0)
