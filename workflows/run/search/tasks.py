"""What runs on a worker: ranges of queries and a slice of the database in, parts out; queries that kill their process get a row that says so.

The run directory says everything else.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.cluster.worker import inject, logged
from tidalign.kernels.local.pairs import SHARED_PAIRS
from tidalign.kernels.runtime.errors import KernelError
from tidalign.pipeline.device import CPU, DEVICES, Device, DeviceName
from tidalign.pipeline.schema import SEARCH_HITS
from tidalign.pipeline.search.hits import LoadedSlice, search
from tidalign.pipeline.search.manifest import SearchManifest, read_manifest, read_queries, read_slices
from tidalign.pipeline.search.records import sequences
from tidalign.pipeline.search.statistics import DatabaseSize
from tidalign.pipeline.store import claims
from tidalign.pipeline.store.parts import part_path, read_part, write_part
from tidalign.pipeline.text import TABLE_BYTES, cuts, in_batches
from tidalign.workflows.run import handover

SECONDS_PER_CELL = 5e-11
"""Nominal speed of one core."""


@dataclass(frozen=True, slots=True)
class QueryRange:
    """Queries [start, stop) of a chunk. claim: path of the file that says which of them are being searched, kept if the process dies at it; None where someone
    else watches."""

    chunk: str
    start: int
    stop: int
    claim: str | None = None

    @property
    def stage(self) -> str:
        """Name the only sort of work that there is."""
        return "search"

    def cut(self, start: int, stop: int, claim: str | None) -> "QueryRange":
        """Cut out queries [start, stop) alone."""
        return QueryRange(self.chunk, start, stop, claim)


def search_ranges(directory: str, run: str, pieces: Sequence[QueryRange], device: DeviceName = CPU.name) -> float:
    """Search ranges of queries in slices of the database, all of them at once, and write a part for each; returns the seconds it took. A part that is there
    already is left alone. In several slices together no more of a query is found than in one: its best, of which each slice's part gets its own."""
    began = time.perf_counter()
    try:
        _search_ranges(directory, run, pieces, DEVICES[device])
    finally:
        if DEVICES[device].takes_gpu:
            handover.give_back()
    return time.perf_counter() - began


def _search_ranges(directory: str, run: str, pieces: Sequence[QueryRange], device: Device) -> None:
    pieces = [each for each in pieces if not read_part(part_path(f"{directory}/parts", each.chunk, each.start, each.stop), run)]
    if not pieces:
        return
    manifest = read_manifest(directory)
    ranges: dict[tuple[str, int, int], list[QueryRange]] = {}
    for piece in sorted(pieces, key=lambda each: (each.chunk, each.start)):
        ranges.setdefault((manifest.halves(piece.chunk)[0].id, piece.start, piece.stop), []).append(piece)
    numbers = tuple(sorted({manifest.halves(each.chunk)[1] for each in pieces}))
    together = list(ranges.values())
    rows = [read_queries(directory, chunk).slice(start, stop - start) for chunk, start, stop in ranges]
    table, edges = pa.concat_tables(rows), np.cumsum([0, *map(len, rows)])
    _read(directory, run, numbers)
    with device.turn(), _LOADING:
        database = _loaded(directory, run, numbers, device.name)
    cells = table["length"].to_numpy() * float(sum(manifest.slice_of(each).letters for each in numbers) * len(manifest.parameters.strands))
    found: list[Any] = []
    written = 0
    with logged(f"{directory}/logs", f"{pieces[0].chunk}.{pieces[0].start}-{pieces[0].stop} and {len(pieces) - 1} more"):
        for start, stop in cuts(cells, database.form.cells[manifest.database.alphabet], database.form.queries):
            at = [(same, max(start, a) - a, min(stop, b) - a) for same, (a, b) in zip(together, pairwise(edges), strict=True)]
            claimed = [(each, each.start + a, each.start + b) for same, a, b in at if a < b for each in same]
            found.append(_found(table.slice(start, stop - start), database, manifest, claimed, device))
            while written < len(together) and edges[written + 1] <= stop:
                found = _written(directory, run, together[written], rows[written], manifest, found)
                written += 1


def _written(directory: str, run: str, pieces: list[QueryRange], queries: Any, manifest: SearchManifest, found: list[Any]) -> list[Any]:
    """Write the parts of a range of queries, whose rows come first in what was found; the rows of others."""
    table = pa.concat_tables(found)
    stop = int(np.searchsorted(table["ordinal"].to_numpy(), queries["ordinal"][-1].as_py(), side="right"))
    own = table.slice(0, stop)
    targets = own["target_ordinal"].to_numpy()
    for piece in pieces:
        part = manifest.slice_of(manifest.halves(piece.chunk)[1])
        inside = (targets >= part.first) & (targets < part.first + part.sequences)
        write(directory, run, piece, own.filter(pa.array(inside)))
        _withdraw(piece)
    return [table.slice(stop)]


def _found(rows: Any, database: LoadedSlice, manifest: SearchManifest, claimed: Sequence[tuple[QueryRange, int, int]], device: Device) -> Any:
    """Search some queries, and claim them meanwhile, which are these [start, stop) of chunks."""
    for piece, start, stop in claimed:
        if piece.claim:
            claims.write(piece.claim, start, stop)
    try:
        inject(partial(map, str, rows["ordinal"].to_pylist()))
        return search(rows, database, manifest.parameters, device.turn)
    except KernelError:
        handover.give_way()  # the claim stays
        raise
    except MemoryError:
        raise  # the claim stays: these queries are to blame
    except BaseException:
        for piece, _, _ in claimed:
            _withdraw(piece)
        raise


def _withdraw(piece: QueryRange) -> None:
    if piece.claim:
        claims.remove(piece.claim)


_READING, _LOADING = Lock(), Lock()


def _read(directory: str, run: str, numbers: tuple[int, ...]) -> Any:
    """Read slices of a run's database, while another task may have the GPU: the next task mostly wants the same."""
    with _READING:
        return _slices(directory, run, numbers)


@lru_cache(maxsize=1)
def _slices(directory: str, run: str, numbers: tuple[int, ...]) -> Any:
    return read_slices(directory, read_manifest(directory), numbers)


@lru_cache(maxsize=1)
def _loaded(directory: str, run: str, numbers: tuple[int, ...], device: DeviceName) -> LoadedSlice:
    """Give slices of a run's database, ready to be searched as one."""
    manifest: SearchManifest = read_manifest(directory)
    return LoadedSlice.of(_read(directory, run, numbers), manifest.database.size, manifest.parameters, device)


handover.KEPT.append(_loaded.cache_clear)


def write(directory: str, run: str, piece: QueryRange, table: Any) -> None:
    write_part(f"{directory}/parts", run, piece.chunk, piece.start, piece.stop, SEARCH_HITS, in_batches([table], TABLE_BYTES))


def patience(cells: float, floor: float) -> float:
    """Tell the seconds of CPU time after which a search of so many cells counts as hanging."""
    return max(floor, 100 * SECONDS_PER_CELL * cells)


def warm_up(manifest: SearchManifest) -> None:
    """Compile what a search needs, or load it from the cache, by searching for a sequence in as many as fill the vectors of the largest slice."""
    letters = b"ACGTACGT" if manifest.parameters.alphabet == "dna" else b"ARNDWYRL"
    count = min(SHARED_PAIRS, max(each.sequences for each in manifest.database.slices))
    table = sequences(None, pa.array([letters] * count, pa.large_binary()), 0)
    search(table.slice(0, 1), LoadedSlice.of(table, DatabaseSize(len(letters) * count, count), manifest.parameters), manifest.parameters)
