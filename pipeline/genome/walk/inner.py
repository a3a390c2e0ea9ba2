"""Search again between the alignments of a strand (`--inner`), with a light seed and a lower threshold, and put what is found among them (LASTZ.md 22)."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tidalign.kernels.anchors.chain import best_chain
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
from tidalign.pipeline.genome.stages.filters import asked_of, passed
from tidalign.pipeline.genome.stages.guards import CUT_SECONDS, Budget
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.walk import checkpoints
from tidalign.pipeline.genome.walk.gaps import rectangles

SEED = SeedPattern.parse("match7")

STAGE = "inner"
"""Names the file of a checkpoint."""

FOUND = -2
"""The anchor of an alignment in the first rectangle; one less in each that follows."""


Span = tuple[int, int, bool]
"""Holds the begin and end of what is searched of a side, and whether it is searched piece by piece."""


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
        spans = self._rectangles[number]
        (t, t_end, _), (q, q_end, _) = spans
        target, query = self._target[t:t_end], self._query[q:q_end]
        segments = self._segments(target, query)
        if not len(segments):
            return Extensions.empty(), 0
        pieces = [_within(bounds, begin, end) - begin for bounds, (begin, end, _) in zip(self._bounds, spans, strict=True)]
        commit = Commit(target, query, pieces[0], self._costs, query_bounds=pieces[1])
        self._walk(commit, target, query, pieces, [several for *_, several in spans], segments)
        one, parameters = commit.alignments(), self._parameters
        one = one.take(np.flatnonzero(np.where(one.anchor == gapped.TRIVIAL, not parameters.notrivial, one.score >= (parameters.inner or 0))))
        ends = one.ends() + np.array([t, t, q, q])
        columns = dict(zip(("target_start", "target_end", "query_start", "query_end"), ends.T.copy(), strict=True))
        return Extensions(**{**one.to_arrays(), "anchor": np.full(len(one), FOUND - number), **columns}), commit.cells

    def _walk(self, commit: Commit, target: Codes, query: Codes, pieces: list[Integers], several: list[bool], segments: Segments) -> None:
        """Walk the best chains of a rectangle's pieces with each other, one pair after the other: of what begins at one place what was found last is first.

        None reaches into another, so pairs are walked together up to one that is equal: its alignment from end to end is there before the others.
        """
        penalties = self._parameters.chain or (0, 0)
        sides = [np.searchsorted(each[:, 0], place, "right") - 1 for each, place in zip(pieces, (segments.target, segments.query), strict=True)]
        pairs, which = np.unique(np.stack(sides), axis=1, return_inverse=True)
        chains: list[Segments] = []

        def walk() -> None:
            held = Segments.concat(chains)
            t, q = anchor_points(target, query, held, self._costs.plain)
            order = lastz_order(t, q, held.score)
            order = order[np.argsort(np.repeat(np.arange(len(chains)), [len(each) for each in chains])[order], kind="stable")]
            commit.walk(t[order], q[order])
            chains.clear()

        for number, pair in enumerate(pairs.T):
            found = segments.take(which.ravel() == number)
            (begin, end), (query_begin, query_end) = (
                each[i].tolist() if apart else (0, len(codes)) for each, i, apart, codes in zip(pieces, pair, several, (target, query), strict=True)
            )
            there = replace(found, target=found.target - begin, query=found.query - query_begin)
            if gapped.alike(target[begin:end], query[query_begin:query_end]):
                walk()
                one = gapped.whole(target[begin:end], query[query_begin:query_end], self._costs.plain, self._parameters.inner or 0)
                commit.keep(replace(one, ends=one.ends + np.array([begin, begin, query_begin, query_begin])))
            chains.append(found.take(best_chain(there, self._parameters.overlap, *penalties, lastz=True)))
        walk()

    def _segments(self, target: Codes, query: Codes) -> Segments:
        """Find the segments in a rectangle."""
        if min(len(target), len(query)) < SEED.span:
            return Segments.concat([])
        used = HitFilter(target, query, SEED.span, self._parameters.scoring, exact=False)
        tiles = hits(build_index(target, SEED), query, 0)
        return Segments.concat([used.hsps(*tile, self._parameters.xdrop, self._parameters.inner or 0, False) for tile in tiles])

    def among(self, found: Extensions) -> Extensions:
        """Merge those that were there and those that were found, in LASTZ's order: by target start, what was there first, then what was found last."""
        every = Extensions.concat([self._kept, found])
        return every.take(np.lexsort((np.minimum(every.anchor, FOUND + 1), every.anchor <= FOUND, every.target_start)))


def _within(bounds: Integers, start: int, end: int) -> Integers:
    """Give the pieces in a range, as far as they are in it."""
    return np.clip(bounds[np.searchsorted(bounds[:, 1], start, "right") : np.searchsorted(bounds[:, 0], end)], start, end)


def _apart(whole: list[int], bounds: tuple[Integers, Integers]) -> list[tuple[Span, Span]]:
    """Cut a rectangle with pieces of both sides into what LASTZ searches of it: the first with the first, the last with the last, and those between, each with
    each; of a side that has none between, the first."""
    (pieces, spans), (query_pieces, query_spans) = (_spans(each, *ends) for each, ends in zip(bounds, (whole[:2], whole[2:]), strict=True))
    found, most = list(zip(spans, query_spans, strict=False)), max(pieces, query_pieces)
    return found[:1] if most == 1 else found[1 : min(most, 3) + 1]


def _spans(bounds: Integers, start: int, end: int) -> tuple[int, list[Span]]:
    """Count the pieces of a side of a rectangle, and tell what of it is searched: where there is one on both sides; the first, the last, those between."""
    pieces = _within(bounds, start, end)
    # The last letter of an alignment that ends where its sequence does is in the rectangle, but no piece of it.
    pieces = pieces[pieces[:, 1] > start + 1]
    if not len(pieces):
        return 0, []
    (begin, first), (last, stop) = pieces[0].tolist(), pieces[-1].tolist()
    if len(pieces) == 1:  # where the other side has several, separators stay in it, and that letter
        return 1, [(begin, stop, False), (begin, end, False), (start, stop, False), (begin, end, False)]
    ends = [(begin, first, False), (last, stop, False)]
    return len(pieces), [ends[0], *ends, (int(pieces[1, 0]), int(pieces[-2, 1]), True) if len(pieces) > 2 else ends[0]]


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
    filters = asked_of(unit)
    if not filters:
        return kept
    found = [passed(rows, filters) for rows in gapped.tables(kept, unit)]
    return kept.take(np.flatnonzero(np.concatenate([np.empty(0, np.bool_), *found])))
