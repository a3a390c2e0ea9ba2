"""Which seed hits are used, and their gap-free x-drop extension, on the current CUDA device: the rows of ungapped.HitFilter over seed.hits.

A sieve tells of each hit, where it is found, whether its score may be enough (seed/sieve.cuh); few are. A tile's hits are sorted by diagonal (in exact mode
by LASTZ's 65,536 slots of them); one lane goes along a diagonal's hits, in their order, and scans those that passed to the right, which is what the record
depends on, and of the others those that may hide one of them; then the scans to the left are done, and the few hits whose score is enough are scanned again
for where their HSPs begin and end. A scan that goes far has a whole warp (ungapped.cu). Hits never leave the device. A tile is fetched while the next one is
worked on.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.errors import DeviceLimit, guarded
from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.seed.device import FLIP_BITS, LEAST_TILE, SLOT_BITS, TILE, Chunk, DeviceIndex, Strand
from tidalign.kernels.seed.index import Positions
from tidalign.kernels.seed.sort import SOURCE as SORT
from tidalign.kernels.seed.sort import sort
from tidalign.kernels.ungapped import host as ungapped_host
from tidalign.kernels.ungapped.hsps import Segments, highest_of_kinds
from tidalign.kernels.ungapped.records import Records as Records

SOURCE = "ungapped/ungapped.cu"

NEEDED: list[tuple[str, dict[str, object]]] = [(SOURCE, {}), (SORT, {})]
"""Sources with their macros, for `compiler.ready`."""

LARGEST_SCORE = 1 << 22
"""X-drop, and scores that a scan gains by, at most: 256 of them have room in 32 bits."""

BARE_TILE = TILE >> 2
"""Hits of a tile without gap-free extension: all that are used come to the host, 32 bytes each, and while they are looked at the next tile's."""

_WORD = 8
"""Columns scored at a time."""

_THREADS, _SLOT_BIT = 128, {True: 47, False: 31}  # ungapped.cu, hit_keys.cuh

_LEAST, _MOST = -(1 << 13), (1 << 13) - 1
"""Of a column's score in the sieve: four of them have 16 bits."""


def segments(
    index: DeviceIndex,
    query: Codes,
    *,
    transitions: int,
    seed_filter: tuple[int, int | None] | None,
    scoring: Scoring,
    exact: bool,
    gapfree: tuple[int, int, bool] | None,
    tile: int | None = None,
    start: int = 0,
    records: Records | None = None,
) -> Iterator[tuple[Segments, Positions]]:
    """Tile by tile, the segments of a query strand's used hits in the order of hits, and where in the query each one's hit starts.

    gapfree: (xdrop, threshold, entropy) as in HitFilter.hsps, which gives the same; None: the used hits themselves, as HitFilter.seeds. The index must be of
    the current device. tile: hits of a tile, at most. start: the query place of the first hits; records: what is known of diagonals there, and becomes known.
    Raises DeviceLimit where lengths, scores or `xdrop` are more than the kernels take, or where there is no
    memory for a small tile (what was given before is then to be thrown away), KernelError where the device fails.
    """
    with guarded(f"hits of {len(query)} letters"):
        known = records or Records(index.target, query, index.pattern.span, scoring, exact=exact, xdrop=gapfree and gapfree[0])
        sieve = gapfree and _sieve(scoring, *gapfree[:2])
        search = _Search(Strand(index, query, transitions, seed_filter, sieve), scoring, exact, gapfree, known)
        for begun in search.tiles(tile or (TILE if gapfree else BARE_TILE), start):
            before, known.waiting = known.waiting, begun
            if before is not None:
                yield before.fetch()
            if known.due() and (last := known.rest()):
                yield last
        if last := known.rest():
            yield last


def _sieve(scoring: Scoring, xdrop: int, threshold: int) -> tuple[Any, int, int]:
    """Make what seed/sieve.cuh needs of the scores; with a threshold of 0, by which every hit passes, where they are too high for it."""
    import cupy

    highest = highest_of_kinds(scoring.masked())
    bytes_ = np.arange(256)
    columns = np.maximum(highest, _LEAST)[np.stack([bytes_ >> bit & 3 for bit in (0, 2, 4, 6)])]
    halves = []
    for order in (columns, columns[::-1]):
        sums = order.cumsum(axis=0)
        halves.append(sums.max(axis=0) << 16 | sums[-1] & 0xFFFF)
    return cupy.asarray(np.concatenate(halves).astype(np.int32)), xdrop, 0 if highest.max() > _MOST else int(np.clip(threshold, 0, LARGEST_SCORE))


class _Search:
    """Hold what the tiles of a query strand share."""

    def __init__(self, strand: Strand, scoring: Scoring, exact: bool, gapfree: tuple[int, int, bool] | None, known: Records) -> None:
        import cupy

        table = scoring.masked()
        if gapfree is not None:
            if gapfree[0] > LARGEST_SCORE or table.max() > LARGEST_SCORE:
                raise DeviceLimit(f"an x-drop of {gapfree[0]} and scores of {table.max()}; the device's kernels take {LARGEST_SCORE}")
            table = np.maximum(table, -max(gapfree[0], 0) - 1)  # less stops a scan no sooner
            self.after_stop = int((_WORD - 1) * table.max() > gapfree[0])
        self.strand, self.exact, self.gapfree = strand, exact, gapfree
        # What is no hit is behind all others: in exact mode by a bit above those of a slot, else as there is no diagonal of ones alone.
        self.slot_bits = SLOT_BITS + strand.checked if exact else (len(strand.index.target) + len(strand.query) + 1).bit_length()
        self.table = cupy.asarray(table.ravel())
        self._known = known
        if exact:
            known.make()
        self.aside = cupy.cuda.Stream(non_blocking=True)

    @property
    def records(self) -> Any:
        """What is known of diagonals, if anybody asks afterwards."""
        return self._known.array

    def tiles(self, tile: int, start: int) -> Iterator["_Seeds | _Hsps"]:
        """Do the work of all of them, one begun after the other."""
        import cupy

        for chunk in self.strand.chunks(start):
            begin = 0
            while begin < chunk.total:
                end = min(begin + tile, chunk.total)
                begun = self._prepared(chunk, begin, end, tile)
                if begun is None:
                    cupy.get_default_memory_pool().free_all_blocks()
                    tile //= 2
                    continue
                begun.work()
                begin = end
                yield begun

    def _prepared(self, chunk: Chunk, begin: int, end: int, tile: int) -> "_Seeds | _Hsps | None":
        """Prepare hits [begin, end) of a chunk with all the memory they need; None where there is not enough."""

        try:
            if self.records is None and (end - begin < chunk.total or chunk.windows < self.strand.windows):
                self._known.make()
            hits = _Hits(self, chunk, begin, end)
            return _Hsps(self, hits) if self.gapfree else _Seeds(self, hits)
        except MemoryError:  # CuPy's is one, too; its sort has Python's
            if tile <= LEAST_TILE:
                raise
            return None


class _Hits:
    """Hits of a tile, sorted, and where the runs of one diagonal begin."""

    def __init__(self, search: _Search, chunk: Chunk, begin: int, end: int) -> None:
        import cupy

        self.first, self.count = np.uint32(chunk.first), np.uint32(end - begin)
        keys, low = chunk.keys(begin, end, exact=search.exact), _SLOT_BIT[search.exact]
        self.keys = sort(keys, cupy.empty(len(keys), np.uint64), low, low + search.slot_bits)
        self.layout = int(search.exact), self.first, np.uint32(len(search.strand.query))
        self.runs, self.counts = cupy.empty(end - begin, np.uint32), cupy.zeros(4, np.uint32)

    def find_runs(self, kept: Any) -> None:
        """See hit_runs."""
        _launch("hit_runs", int(self.count), self.keys, self.count, *self.layout, self.counts, self.runs, kept)


class _Seeds:
    """A tile's used hits. All memory is found before `work` begins, which changes the records."""

    def __init__(self, search: _Search, hits: _Hits) -> None:
        import cupy

        self._search, self._hits = search, hits
        self._kept = cupy.empty(len(hits.keys), np.uint64)
        self._columns = [cupy.empty(len(hits.keys), np.int64) for _ in range(3)]

    def work(self) -> None:
        """Begin it."""
        hits, strand = self._hits, self._search.strand
        hits.find_runs(self._kept)
        span = strand.index.pattern.span
        records = hits.runs, hits.counts[:1], span, self._search.records
        _launch_resident("use_seeds", len(hits.keys), hits.keys, hits.count, *hits.layout, *records, self._kept, hits.counts[2:])
        self._kept.sort()
        sides = strand.index.letters.packed, strand.query.packed, self._search.table
        _launch("seed_segments", len(hits.keys), self._kept, hits.count, hits.first, span, *sides, *self._columns)
        self._done = _event()

    def fetch(self) -> tuple[Segments, Positions]:
        """Fetch the segments and their places in the query, when all is done."""
        aside = self._search.aside
        aside.wait_event(self._done)
        count = int(_fetched(self._hits.counts, aside)[2])
        target, query, score = (_fetched(column[:count], aside) for column in self._columns)
        return Segments(target, query, np.full(count, self._search.strand.index.pattern.span, np.int64), score), query


class _Hsps:
    """A tile's HSPs. All memory is found before `work` begins, which changes the records."""

    def __init__(self, search: _Search, hits: _Hits) -> None:
        import cupy

        assert search.gapfree is not None
        self._search, self._hits = search, hits
        self._xdrop, self._threshold, self._entropy = search.gapfree
        self._extensions = cupy.empty(len(hits.keys), np.uint64)
        self._used, self._candidates = (cupy.empty(len(hits.keys), np.uint32) for _ in range(2))
        sides = search.strand.index.letters, search.strand.query
        self._letters = *(side.packed for side in sides), *(side.codes for side in sides)
        self._lengths = tuple(np.uint32(len(side)) for side in sides)
        self._span = search.strand.index.pattern.span

    def work(self) -> None:
        """Begin it."""
        hits, search = self._hits, self._search
        hits.find_runs(None)
        records = hits.runs, hits.counts, self._span, search.records
        sides = *self._letters, *self._lengths, search.table
        scans = self._xdrop, search.after_stop
        _launch_resident("extend_right", len(hits.keys), hits.keys, hits.count, *hits.layout, *records, *sides, *scans, self._used, self._extensions)
        sides = self._span, *self._letters, search.table
        found = np.int64(self._threshold), self._used, self._extensions, hits.counts[2:], self._candidates
        _launch_resident("extend_left", len(hits.keys), hits.keys, *hits.layout, *sides, *scans, *found)
        self._done = _event()

    def fetch(self) -> tuple[Segments, Positions]:
        """Fetch the HSPs and where their hits start in the query, when all is done."""
        import cupy

        hits, search, aside = self._hits, self._search, self._search.aside
        aside.wait_event(self._done)
        count = int(_fetched(hits.counts, aside)[3])
        with aside:
            rows = cupy.empty((count, 5), np.int64)
            sides = self._span, *self._letters, *self._lengths, search.table, self._xdrop
            found = self._used, self._extensions, self._candidates, np.uint32(count)
            _launch("hsp_rows", 32 * count, hits.keys, *hits.layout, *sides, *found, rows)
        return self._segments(_fetched(rows, aside))

    def _segments(self, rows: npt.NDArray[np.int64]) -> tuple[Segments, Positions]:
        """Make segments of rows as hsp_rows has them. Scores are scaled by the host, so that they are the same to the last bit."""
        order, columns, score, ac, gt = rows[np.argsort(rows[:, 0])].T.copy()
        left, right = columns & 0xFFFFFFFF, columns >> 32
        if self._entropy:
            counts = np.stack([ac & 0xFFFFFFFF, ac >> 32, gt & 0xFFFFFFFF, gt >> 32], axis=1)
            ungapped_host.scale_by_entropy(counts, left + right, score, self._threshold)
        queries = (order >> 32 + FLIP_BITS) + int(self._hits.first)
        back = self._span - left
        found = Segments((~order & 0xFFFFFFFF) + back, queries + back, left + right, score)
        kept = score >= self._threshold
        return found.take(kept), queries[kept]


def _event() -> Any:
    import cupy

    event = cupy.cuda.Event(disable_timing=True)
    event.record()
    return event


def _fetched(array: Any, stream: Any) -> Any:
    import cupy

    return cupy.asnumpy(array, stream=stream)


def _kernel(entry: str) -> Any:
    return compiler.kernel(SOURCE, entry, {})


def _launch(entry: str, threads: int, *arguments: Any) -> None:
    """Launch a kernel with a thread each; nothing, if there are none."""
    if threads:
        compiler.launch(_kernel(entry), -(-threads // _THREADS), _THREADS, *arguments)


def _launch_resident(entry: str, threads: int, *arguments: Any) -> None:
    """Launch as many blocks as the device has room for at once, which share the work; fewer, if there are fewer threads."""
    function = _kernel(entry)
    blocks = min(compiler.resident(function, _THREADS, 0), -(-threads // _THREADS))
    compiler.launch(function, blocks, _THREADS, *arguments)
