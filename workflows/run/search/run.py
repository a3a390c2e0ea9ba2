"""Run a search: pack the database and the queries, then search what the run's parts do not hold yet."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tidalign.cluster.stop import Stop
from tidalign.cluster.task import cores
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.precompile import Lists
from tidalign.pipeline.device import Device
from tidalign.pipeline.files.sniff import Input
from tidalign.pipeline.search.forms import FORMS
from tidalign.pipeline.search.manifest import Check, Queries, SearchManifest, packed, read_queries
from tidalign.pipeline.search.parameters import SearchParameters
from tidalign.pipeline.search.records import READERS
from tidalign.pipeline.search.results import counted
from tidalign.pipeline.store import layout
from tidalign.pipeline.store.parts import all_parts, gaps
from tidalign.pipeline.text import cuts
from tidalign.workflows.estimate import tiny
from tidalign.workflows.run import runner
from tidalign.workflows.run.crew import Crew, Readers
from tidalign.workflows.run.devices import DEFAULT, FEW_CORES, FEW_SECONDS, Gpus, Meanwhile, Resources, at_once
from tidalign.workflows.run.isolate import CHILD_HANG_SECONDS, HANG_SECONDS
from tidalign.workflows.run.report import Report
from tidalign.workflows.run.runner import RunKind
from tidalign.workflows.run.search.isolate import isolate_range
from tidalign.workflows.run.search.tasks import SECONDS_PER_CELL, QueryRange, patience, search_ranges, warm_up
from tidalign.workflows.run.shard import Shard, ShardDone
from tidalign.workflows.run.tracker import OnProgress, Tracker

if TYPE_CHECKING:
    from tidalign.workflows.estimate.forecast import Forecast

CORE_CELLS = 5e9, 1e11
"""Cells of a piece of work of a core, least and most: half a second to ten seconds."""

CORE_PIECES = 256
"""Pieces that the work is cut into within these bounds, about, so that many workers have some each."""

GPU_CELLS = 1e12
"""Cells of a task of a GPU from which on its launches are worth their begin and end."""

GROUPS = 4
"""Tasks that each GPU gets where they are worth it, at least, so that a stop, or another GPU, has something to take, and the next is read meanwhile."""

ROUNDED = 1 + 1 / 128
"""Times that tasks are as large as they need be, as each ends with a whole query."""

LOADED_SLICES = 16
"""Slices that a GPU searches together, at most."""


@dataclass(frozen=True, slots=True)
class SearchSource:
    """Says what a search reads: queries, and a database or its index."""

    queries: Input
    database: Input

    def to_json(self) -> dict[str, Any]:
        return {"queries": self.queries.to_json(), "database": self.database.to_json()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "SearchSource":
        return cls(Input(**values["queries"]), Input(**values["database"]))


class Searching(Tracker[QueryRange]):
    """Makes the tasks that search what a run's parts do not hold yet. Progress is told in cells."""

    stage = "search"
    scale = 1

    def __init__(
        self, directory: str, manifest: SearchManifest, stop: Stop, told: OnProgress, device: Device, shard: Shard | None = None, gpus: int = 1, beside: int = 0
    ) -> None:
        super().__init__(directory, manifest.run, stop, told, device, gpus, beside)
        self.manifest = manifest
        self._sums: dict[str, Any] = {}
        queries = sum(each.queries for each in manifest.queries)
        self.rejectable = max(100, queries // 10_000)
        pieces = {chunk: (count, self.amount(QueryRange(chunk, 0, count))) for chunk, count in manifest.chunks.items()}
        self._share = shard.ranges(pieces) if shard else {chunk: (0, count) for chunk, count in manifest.chunks.items()}
        self._total = sum(self.amount(QueryRange(chunk, *share)) for chunk, share in self._share.items() if share[0] < share[1])  # asked for with each task

    def missing(self) -> Iterable[QueryRange]:
        largest = max(each.letters for each in self.manifest.database.slices) * len(self.manifest.parameters.strands)  # ranges are the same in all slices
        letters = self._of_piece / largest
        for number in range(len(self.manifest.database.slices)):
            room = letters  # in the task of the last piece; on a core each is one
            for queries in self.manifest.queries:
                chunk = f"{queries.id}-d{number:05d}"
                done = [(part.start, part.stop) for part in self.parts.get(chunk, [])]
                for start, stop in gaps(*self._share[chunk], done):
                    for a, b in self._cut(queries, start, stop, letters, room if self.device.takes_gpu else letters):
                        yield QueryRange(chunk, a, b)
                        taken = self._letters(queries, a, b)
                        room = room - taken if taken <= room else letters - taken

    @cached_property
    def _of_gpu(self) -> float:
        """Tell the cells of a task of a GPU, at most: all GPUs have as many tasks, of as much."""
        total, of_call = self.total(), FORMS[self.device.name].cells[self.manifest.database.alphabet]
        most = min(of_call, max(GPU_CELLS, total / (GROUPS * self.gpus))) * self.gpus
        return max(GPU_CELLS, ROUNDED * total / (self.gpus * -(-ROUNDED * total // most)))

    @cached_property
    def _of_piece(self) -> float:
        """Tell the cells of a piece, at most."""
        if self.device.takes_gpu and not self.beside:
            return self._of_gpu
        return min(max(CORE_CELLS[0], self.total() / CORE_PIECES), CORE_CELLS[1])

    def _cut(self, queries: Queries, start: int, stop: int, letters: float, room: float) -> Iterable[tuple[int, int]]:
        """Cut a range of a chunk into those of at most so many letters, the first of them of no more than there is room for."""
        if self._letters(queries, start, stop) <= room:
            return [(start, stop)]
        before = self._before(queries)
        first = int(np.searchsorted(before[start : stop + 1], before[start] + room, side="right")) - 1 + start
        rest = [(first + a, first + b) for a, b in cuts(np.diff(before[first : stop + 1]), letters, stop - first)]
        return [(start, first), *rest] if first > start else rest

    def _letters(self, queries: Queries, start: int, stop: int) -> int:
        """Count the letters of a range of a chunk."""
        if (start, stop) == (0, queries.queries):
            return queries.letters
        before = self._before(queries)
        return int(before[stop] - before[start])

    def _before(self, queries: Queries) -> Any:
        """Count the letters before each query of a chunk, int64[n + 1], which is read once."""
        if queries.id not in self._sums:
            self._sums[queries.id] = np.append(0, np.cumsum(read_queries(self.directory, queries.id)["length"].to_numpy()))
        return self._sums[queries.id]

    def amount(self, piece: QueryRange) -> float:
        queries, number = self.manifest.halves(piece.chunk)
        letters = self._letters(queries, piece.start, piece.stop)
        return letters * self.manifest.slice_of(number).letters * len(self.manifest.parameters.strands) + 1.0

    def total(self) -> float:
        return self._total

    def weight(self, piece: QueryRange) -> float:
        return self.amount(piece) * SECONDS_PER_CELL

    def order(self, pieces: Sequence[QueryRange]) -> float:
        """Tell which task goes first: on cores those of one slice follow each other, as a process holds one; of these the longest."""
        weight = super().order(pieces)
        return weight if self.device.takes_gpu else weight / (1.0 + weight) - self.manifest.halves(pieces[0].chunk)[1]

    def patience(self, pieces: Sequence[QueryRange], device: Device) -> float:
        return patience(sum(map(self.amount, pieces)), HANG_SECONDS)

    def call(self, pieces: Sequence[QueryRange], device: Device) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return search_ranges, (self.directory, self.run, pieces, device.name)

    def grouped(self, pieces: list[QueryRange]) -> Iterable[list[QueryRange]]:
        """Make one task for each piece on a core; on a GPU several share one, which are little for it otherwise: of the same slices, ranges of queries."""
        if not self.device.takes_gpu:
            return super().grouped(pieces)
        pieces, alone = self.for_gpus(pieces)
        ranges: dict[tuple[Queries, int, int], list[QueryRange]] = {}
        for piece in pieces:
            ranges.setdefault((self.manifest.halves(piece.chunk)[0], piece.start, piece.stop), []).append(piece)
        alike: dict[tuple[int, ...], list[tuple[int, list[QueryRange]]]] = {}
        for at, same in ranges.items():  # mostly all are of all slices
            alike.setdefault(tuple(self.manifest.halves(each.chunk)[1] for each in same), []).append((self._letters(*at), same))
        groups: list[list[QueryRange]] = []
        for numbers, several in alike.items():
            letters = np.array([self.manifest.slice_of(number).letters for number in numbers])
            cells = max(1, sum(count for count, _ in several) * len(self.manifest.parameters.strands))  # of a letter of the database
            for first, last in cuts(letters, self._of_gpu / cells, LOADED_SLICES):
                together = [same[first:last] for _, same in several]
                weights = np.array([sum(map(self.amount, same)) for same in together])
                groups += [[each for same in together[a:b] for each in same] for a, b in cuts(weights, self._of_gpu, len(together))]
        return [*groups, *super().grouped(alone)]

    def isolation(self, piece: QueryRange, most: int) -> tuple[Callable[..., int], tuple[Any, ...]]:
        return isolate_range, (self.directory, self.run, piece.chunk, piece.start, piece.stop, CHILD_HANG_SECONDS, most)

    def counted(self, pieces: Sequence[QueryRange], result: Any) -> dict[str, Any]:
        return {"seconds": round(result, 3)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchReport(Report):
    """Holds what report.json of a search says.

    queries, query_letters, sequences, letters: what went in, queries and database. without_hits: queries without a row. cells: of all matrices.
    """

    queries: int
    query_letters: int
    sequences: int
    letters: int
    without_hits: int
    cells: int


class Search(RunKind[SearchManifest, Searching, SearchReport]):
    """Describes a search. Progress is told of the stages `database` and `queries`, in sequences, and `search`, in cells."""

    layout = layout.SEARCH
    module = search_ranges.__module__
    report = SearchReport
    reading_threads = 1
    forecast_from = 3.0

    def __init__(self, source: SearchSource, parameters: SearchParameters, check: Check | None = None, shard: Shard | None = None) -> None:
        self._shard = shard
        self._source, self._parameters, self._check = source, parameters, check

    def parameters(self) -> dict[str, Any]:
        return self._parameters.to_json()

    def source(self) -> dict[str, Any]:
        return self._source.to_json()

    def chosen(self, gpus: Gpus, resources: Resources) -> Gpus:
        return at_once(gpus, resources, lambda: tiny.of_search(self._source.queries, self._source.database, self._parameters)) or gpus

    def readers(self, resources: Resources, gpus: Gpus) -> Readers:
        return "here"

    def threads(self, resources: Resources, readers: Readers, gpus: Gpus) -> tuple[int, int]:
        return cores(), 0

    def small(self) -> float:
        return cores() * (FEW_SECONDS if cores() <= FEW_CORES else 3.0)

    def read(self, crew: Crew, told: OnProgress, readers: Readers, meanwhile: Meanwhile | None) -> SearchManifest:
        return packed(crew.directory, self._source.queries, self._source.database, told, self._check, min(READERS, cores()))

    def tracker(self, directory: str, manifest: SearchManifest, stop: Stop, told: OnProgress, gpus: Gpus) -> Searching:
        return Searching(directory, manifest, stop, told, gpus.device, self._shard, max(1, len(gpus.names)), gpus.cores)

    def much(self, gpus: Gpus) -> bool:
        cells = max(1, self._source.queries.size) * max(1, self._source.database.size)  # about, as far as they are known
        return cells * SECONDS_PER_CELL > self.hire_seconds * gpus.device.speed

    def start(self, gpus: Gpus) -> None:
        with suppress(Exception):
            compiler.begin()

    def compiles(self, gpus: Gpus) -> bool:
        return not gpus.device.takes_gpu

    def precompiled(self, gpus: Gpus) -> Lists:
        align: Lists = [("tidalign.kernels.local.precompiled", ())] if self.compiles(gpus) else []
        return [*align, ("tidalign.kernels.text.precompiled", (False,))]

    def compile(self, tracker: Searching) -> None:
        warm_up(tracker.manifest)

    def forecast(self) -> "Forecast | None":
        from tidalign.workflows.estimate import search as of_search

        sides = self._source.queries, self._source.database
        return None if self._shard or any(each.stream for each in sides) else of_search.forecast(*sides, self._parameters)

    def counted(self, manifest: SearchManifest, tracker: Searching) -> dict[str, Any]:
        done = sum(part.stop - part.start for part in all_parts(tracker.parts))
        if done < (wanted := sum(manifest.chunks.values())) and self._shard:
            raise ShardDone(self._shard, tracker.directory, done, wanted, "queries against a slice")
        statuses, hit = counted(manifest, tracker.parts)
        queries, letters = (sum(getattr(each, name) for each in manifest.queries) for name in ("queries", "letters"))
        if any(sum(part.stop - part.start for part in tracker.parts.get(chunk, [])) != wanted for chunk, wanted in manifest.chunks.items()):
            raise RuntimeError(f"{tracker.directory}: {queries} queries went in and not all of them were searched")
        return {
            "run": manifest.run,
            "statuses": dict(sorted(statuses.items())),
            "queries": queries,
            "query_letters": letters,
            "sequences": manifest.database.sequences,
            "letters": manifest.database.letters,
            "without_hits": queries - hit,
            "cells": letters * manifest.database.letters * len(manifest.parameters.strands),
        }


def run_search(
    directory: str | Path,
    source: SearchSource,
    parameters: SearchParameters,
    *,
    resources: Resources = DEFAULT,
    progress: OnProgress | None = None,
    check: Check | None = None,
    shard: Shard | None = None,
) -> SearchReport:
    """Search every query in the database into a run directory: see `runner.run`."""
    return runner.run(directory, Search(source, parameters, check, shard), resources, progress)
