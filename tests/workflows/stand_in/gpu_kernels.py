"""Kernels of the host behind the functions that a GPU's have: the same rows, and as loud about a GPU that is not held."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import genome_rejection
import numpy as np

from tidalign.kernels.gapped import extender as gapped
from tidalign.kernels.gapped.speculated import Speculated, speculate
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS
from tidalign.kernels.seed import index as seed
from tidalign.kernels.ungapped.hsps import HitFilter


def _held() -> None:
    assert GPU_OF_PROCESS.held
    if {"TIDALIGN_TEST_BROKEN", "TIDALIGN_TEST_EXCLUSIVE"} & {*os.environ}:
        import cupy

        cupy.take()
        if cupy.broken():
            raise cupy.CUDARuntimeError("cudaErrorECCUncorrectable: uncorrectable ECC error encountered")


@dataclass(frozen=True)
class DeviceIndex:
    index: seed.WordIndex

    @property
    def target(self) -> Any:
        return self.index.target

    @property
    def pattern(self) -> seed.SeedPattern:
        return self.index.pattern


def build_index(*arguments: Any) -> DeviceIndex:
    _held()
    return DeviceIndex(seed.build_index(*arguments))


def hits(index: DeviceIndex, query: Any, transitions: int = 1, seed_filter: Any = None, tile: int = 5000, start: int = 0) -> Iterator[tuple[Any, Any]]:
    for targets, queries in seed.hits(index.index, query[start:], transitions, seed_filter, tile):
        _held()
        yield targets.copy(), queries + start


class Records:
    """A tile is begun before the one before it is given, unless it is time to look at what is known."""

    def __init__(self, target: Any, query: Any, span: int, scoring: Any, *, exact: bool, xdrop: int | None) -> None:
        self.used = HitFilter(target, query, span, scoring, exact=exact)
        self.dtype, self.waiting, self.due = self.used.dtype, None, lambda: False

    @property
    def ahead(self) -> bool:
        return self.waiting is not None

    def rest(self) -> Any:
        _held()
        last, self.waiting = self.waiting, None
        return last

    def state(self) -> Any:
        _held()
        return self.used.state()

    def restore(self, *state: Any) -> None:
        _held()
        self.used.restore(*state)


def segments(
    index: DeviceIndex, query: Any, *, transitions: int, seed_filter: Any, scoring: Any, exact: bool, gapfree: Any, start: int = 0, records: Any = None
) -> Iterator[tuple[Any, Any]]:
    known = records or Records(index.target, query, index.pattern.span, scoring, exact=exact, xdrop=None)
    for targets, queries in hits(index, query, transitions, seed_filter, start=start):
        if gapfree:
            found = known.used.hsps_of_hits(targets, queries, *gapfree)
        else:
            seeds = known.used.seeds(targets, queries)
            found = seeds, seeds.query
        before, known.waiting = known.waiting, found
        if before is not None:
            yield before
        if known.due() and (last := known.rest()):
            yield last
    if last := known.rest():
        yield last


class DeviceExtender:
    def __init__(self, target: Any, query: Any, bounds: Any, costs: Any, turn: Any) -> None:
        self.taken_by_host = 0
        self._arguments, self._turn = (target, query, bounds, costs), turn

    def inspect(self, t: Any, q: Any) -> tuple[Any, Any]:
        with self._turn():
            _held()
            below, boxes = gapped.Extender(*self._arguments).inspect(t, q)
            sure = np.flatnonzero(below)
            below[sure], boxes[sure] = genome_rejection.reject(*self._arguments[:3], t[sure], q[sure], self._arguments[3])
            return below, boxes

    def extend(self, t: Any, q: Any, *, ranges: bool = False, distinct: bool = False, boxes: bool = True) -> Speculated:
        with self._turn():
            _held()
            *sides, costs = self._arguments
            return speculate(*sides, t, q, costs)
