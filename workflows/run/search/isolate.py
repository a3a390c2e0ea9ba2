"""Isolate the queries that kill their process (isolate.py): each gets a row that says so."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tidalign.pipeline.search.hits import rejected
from tidalign.pipeline.search.manifest import read_manifest, read_queries
from tidalign.pipeline.store.parts import part_path, read_part
from tidalign.workflows.run.child import try_in_child
from tidalign.workflows.run.isolate import isolate
from tidalign.workflows.run.search.tasks import QueryRange, patience, search_ranges, warm_up, write


def isolate_range(directory: str, run: str, chunk: str, start: int, stop: int, floor: float, most: int) -> int:
    """Write parts for all queries [start, stop) of a chunk, each range in a child process; ranges hang after `patience(.., floor)`.

    Returns the number of queries rejected; TooManyRejected where there are more than `most`.
    """
    manifest = read_manifest(directory)
    queries, number = manifest.halves(chunk)
    table, database = read_queries(directory, queries.id), manifest.slice_of(number)
    sums = np.append(0, np.cumsum(table["length"].to_numpy() * float(database.letters * len(manifest.parameters.strands))))

    def attempt(a: int, b: int) -> str | None:
        if read_part(part_path(f"{directory}/parts", chunk, a, b), run):
            return None
        return try_in_child("queries", [directory, run, chunk, a, b], patience(float(sums[b] - sums[a]), floor))

    def reject(a: int, reason: str) -> None:
        against = f"{reason}, against sequences {database.first + 1} to {database.first + database.sequences} of the database"
        write(directory, run, QueryRange(chunk, a, a + 1), rejected(table.slice(a, 1), against))

    return isolate(start, stop, attempt, reject, most, directory, "queries")


def do(order: Any, begun: Callable[[], object]) -> None:
    """Search one range of queries and write its part; in a child."""
    directory, run, chunk, start, stop = order
    warm_up(read_manifest(directory))
    begun()
    search_ranges(directory, run, [QueryRange(chunk, start, stop)])
