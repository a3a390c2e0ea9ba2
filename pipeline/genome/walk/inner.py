"""Search again between the alignments of a strand (`--inner`), with a light seed and a lower threshold, and put what is found among them (LASTZ.md 22)."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tidalign.kernels.anchors.points import anchor_points, lastz_order
from tidalign.kernels.commit.walk import Commit
from tidalign.kernels.extension.costs import Costs, Integers
from tidalign.kernels.gapped.alignments import Extensions
from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.seed.index import SeedPattern, build_index, hits
from tidalign.kernels.ungapped.hsps import HitFilter, Segments
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages import gapped
from tidalign.pipeline.genome.stages.covering import LEAST
from tidalign.pipeline.genome.stages.filters import asked, passed
from tidalign.pipeline.genome.stages.guards import CUT_SECONDS, Budget
from tidalign.pipeline.genome.stages.seeding import chained
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.walk import checkpoints
from tidalign.pipeline.genome.walk.gaps import rectangles

SEED = SeedPattern.parse("match7")

STAGE = "inner"
"""Names the file of a checkpoint."""

FOUND = -2
"""The anchor of an alignment in the first rectangle; one less in each that follows."""


class Between:
    """The search between a strand's alignments, of which `kept` are all, in LASTZ's order.

    sides: codes of both. bounds: int64[m, 2] each, their pieces.
    """

    def __init__(self, sides: tuple[Codes, Codes], bounds: tuple[Integers, Integers], parameters: GenomeParameters, costs: Costs, kept: Extensions) -> None:
        self._target, self._query = sides
        self._bounds = bounds
        self._parameters, self._costs = parameters, replace(costs, threshold=LEAST if parameters.all_bounds else parameters.inner or 0)
        self._kept = kept
        whole = rectangles(kept.ends(), len(self._target), len(self._query))
        self._rectangles = [part for one in whole.tolist() for part in _apart(one, bounds)]

    def __len__(self) -> int:
        """Count the rectangles."""
        return len(self._rectangles)

    def find(self, number: int) -> tuple[Extensions, int]:
        """Find the alignments in a rectangle, and count the cells that were looked at."""
        t, t_end, q, q_end = self._rectangles[number]
        commit = self._walk(self._target[t:t_end], self._query[q:q_end], _within(self._bounds[0], t, t_end) - t, _within(self._bounds[1], q, q_end) - q)
        if commit is None:
            return Extensions.empty(), 0
        one = commit.alignments()
        if self._parameters.all_bounds:
            one = one.take(np.flatnonzero((one.score >= (self._parameters.inner or 0)) | (one.anchor == gapped.TRIVIAL)))
        if self._parameters.notrivial:
            one = one.take(np.flatnonzero(one.anchor != gapped.TRIVIAL))
        ends = one.ends() + np.array([t, t, q, q])
        columns = dict(zip(("target_start", "target_end", "query_start", "query_end"), ends.T.copy(), strict=True))
        found = Extensions(**{**one.to_arrays(), "anchor": np.full(len(one), FOUND - number), **columns})
        return found.take(np.flatnonzero(~self._itself(found, self._rectangles[number]))), commit.cells

    def _itself(self, found: Extensions, rectangle: tuple[int, int, int, int]) -> Any:
        """Tell which alignments are of a whole sequence with itself: LASTZ does not show these, unless a letter of another one is in what it searched there."""
        t, t_end, q, q_end = rectangle
        sides = [_within(each, begin, end) for each, begin, end in zip(self._bounds, (t, q), (t_end, q_end), strict=True)]
        if not self._parameters.with_itself or any(len(each) == 2 and each[0, 1] - each[0, 0] == 1 for each in sides):
            return np.zeros(len(found), np.bool_)
        piece = np.searchsorted(self._bounds[0][:, 0], found.target_start, "right") - 1
        return ((found.ends() == self._bounds[0][piece][:, [0, 1, 0, 1]]).all(axis=1)) & (np.diff(found.run_offsets) == 1)

    def _walk(self, target: Codes, query: Codes, bounds: Integers, query_bounds: Integers) -> Commit | None:
        """Walk the best chains of what is found in a rectangle; None where there is nothing."""
        parameters = self._parameters
        if min(len(target), len(query)) < SEED.span:
            return None
        used = HitFilter(target, query, SEED.span, parameters.scoring, exact=False)
        index = build_index(target, SEED)
        segments = Segments.concat([used.hsps(*tile, parameters.xdrop, parameters.inner or 0, False) for tile in hits(index, query, 0)])
        segments = chained(bounds, query, segments, parameters, parameters.chain or (0, 0))
        if not len(segments):
            return None
        t, q = anchor_points(target, query, segments, self._costs.plain)
        order = lastz_order(t, q, segments.score)
        # One sequence of the query after the other: which of two that begin at one place was found last depends on it.
        order = order[np.argsort(np.searchsorted(query_bounds[:, 0], q[order], "right"), kind="stable")]
        commit = Commit(target, query, bounds, self._costs, query_bounds=query_bounds)
        if gapped.alike(target, query):
            commit.keep(gapped.whole(target, query, self._costs.plain, parameters.inner or 0))
        commit.walk(t[order], q[order])
        return commit

    def among(self, found: Extensions) -> Extensions:
        """Merge those that were there and those that were found, in LASTZ's order: by target start, what was there first, then what was found last."""
        every = Extensions.concat([self._kept, found])
        return every.take(np.lexsort((np.minimum(every.anchor, FOUND + 1), every.anchor <= FOUND, every.target_start)))


def _within(bounds: Integers, start: int, end: int) -> Integers:
    """Give the pieces in a range, as far as they are in it."""
    return np.clip(bounds[np.searchsorted(bounds[:, 1], start, "right") : np.searchsorted(bounds[:, 0], end)], start, end)


def _apart(whole: list[int], bounds: tuple[Integers, Integers]) -> list[tuple[int, int, int, int]]:
    """Cut a rectangle with several pieces of both sides into what LASTZ searches of it: where it has two of one, the last of one with the last of the other,
    and all before with all before; else also the first with the first, and those between."""
    t, t_end, q, q_end = whole
    sides = [_within(each, begin, end) for each, begin, end in zip(bounds, (t, q), (t_end, q_end), strict=True)]
    # The last letter of an alignment that ends where its sequence does is in the rectangle, but no piece of it.
    sides = [each[each[:, 1] > begin + 1] for each, begin in zip(sides, (t, q), strict=True)]
    if min(map(len, sides)) < 2:
        return [(t, t_end, q, q_end)]
    cuts = [slice(0, -1), slice(-1, None)] if min(map(len, sides)) == 2 else [slice(0, 1), slice(1, -1), slice(-1, None)]
    return [tuple(int(place) for side in sides for place in (side[cut][0, 0], side[cut][-1, 1])) for cut in cuts]  # type: ignore[misc]


def between(unit: Unit, kept: Extensions, budget: Budget, cells: int, beat: Callable[[], None], checkpoint: bool) -> tuple[Extensions, list[dict[str, Any]]]:
    """Find all alignments of a unit, in LASTZ's order: `kept`, which took so many cells, and those between them; and say what was not searched.

    checkpoint: whether to write from time to time how far this is, and to go on from there.
    """
    kept = passing(unit, kept)
    search = Between((unit.target_codes, unit.query_codes), (unit.bounds, unit.query_bounds), unit.parameters, unit.costs, kept)
    held, at, more = (checkpoint and checkpoints.saved(unit, STAGE)) or (Extensions.empty(), 0, 0)
    found, begun, saved = [held], at, time.monotonic()

    def save() -> None:
        found[:] = [Extensions.concat(found)]
        checkpoints.save_found(unit, STAGE, found[0], at, more)

    while at < len(search) and not budget.spent(cells + more):
        try:
            beat()
        except BaseException:  # a stop: nothing is lost by it
            if checkpoint and at > begun:
                save()
            raise
        one, looked = search.find(at)
        found += [one] if len(one) else []
        at, more = at + 1, more + looked
        if checkpoint and time.monotonic() - saved >= CUT_SECONDS:
            save()
            saved = time.monotonic()
    unit.counts.update({"searched between alignments": at - begun, "cells": more})
    left = budget.shortfall(unit, at, len(search), "rectangles between alignments", "searched")
    return search.among(Extensions.concat(found)), [left] if at < len(search) else []


def passing(unit: Unit, kept: Extensions) -> Extensions:
    """Give the alignments that pass the filters: LASTZ asks before it searches between them or mirrors them, and not again. --notrivial is one of them."""
    if unit.parameters.notrivial:
        kept = kept.take(np.flatnonzero(kept.anchor != gapped.TRIVIAL))
    filters = asked(unit.parameters)
    if not filters:
        return kept
    found = [passed(rows, filters) for rows in gapped.tables(kept, unit)]
    return kept.take(np.flatnonzero(np.concatenate([np.empty(0, np.bool_), *found])))
