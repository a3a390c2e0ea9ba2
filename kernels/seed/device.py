"""Seeds on the current CUDA device: an index of a target's words that stays there, and a query's hits in tiles of bounded memory; the rows of index.py.

The index is sorted by word and falling place (the host's is by bucket and falling place: a word's entries come in the same order). A query's windows are
counted first, so that any share of the hits, a part of one window's as well, can be written where it belongs by as many blocks as it takes (seed.cu).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tidalign.kernels.letters.nucleotides import SEPARATOR, Codes
from tidalign.kernels.letters.uploads import uploaded
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.errors import DeviceLimit, guarded
from tidalign.kernels.seed.index import ROOMY, Positions, SeedPattern, read_only

SOURCE = "seed/seed.cu"

NEEDED: list[tuple[str, dict[str, object]]] = [(SOURCE, {})]
"""Sources with their macros, for `compiler.ready`."""

LONGEST_SEQUENCE = (1 << 32) - (1 << 13)
"""Letters of a sequence at most: places have 32 bits, and launches go beyond the end."""

TILE = 1 << 25
"""Hits of a tile: about 1.1 GB with what is made of them (without gap-free extension 1.8); half as many where that is too much."""

LEAST_TILE = 1 << 16

PLACE_BITS, FLIP_BITS, SLOT_BITS = 23, 7, 16
"""Of a hit's key (hit_keys.cuh)."""

CHUNK = 1 << PLACE_BITS
"""Query windows counted together: 20 bytes each."""

SORTED = 1 << 27
"""Windows of the target sorted together: 16 bytes each."""

PADDING, SIEVE_PADDING = 16, 128
"""Letters of four bits, and of two, before the first one and behind the last one."""

_THREADS, _BLOCK_HITS = 256, 2048  # seed.cu


class Letters:
    """A sequence on the current device. codes: uint8[n]; packed: four bits each, eight in a uint32, PADDING more on both sides."""

    def __init__(self, codes: Codes) -> None:
        if len(codes) > LONGEST_SEQUENCE:
            raise DeviceLimit(f"a sequence of {len(codes)} letters; the device's kernels take {LONGEST_SEQUENCE}")
        self.on_host = read_only(codes)
        self._upload = uploaded(self.on_host)
        self.codes = self._upload.codes

    def __len__(self) -> int:
        return len(self.on_host)

    @cached_property
    def packed(self) -> Any:
        """Made when first needed."""
        import cupy

        packed = cupy.empty((len(self) + 2 * PADDING) // 8 + 2, np.uint32)
        _launch("seed_letters", len(packed), self.codes, np.uint32(len(self)), SEPARATOR, PADDING, packed, np.uint32(len(packed)))
        return packed

    @cached_property
    def bases(self) -> Any:
        """Two bits each, sixteen in a uint32, SIEVE_PADDING more on both sides; made when first needed."""
        import cupy

        bases = cupy.empty((len(self) + 2 * SIEVE_PADDING) // 16 + 2, np.uint32)
        _launch("seed_bases", len(bases), self.codes, np.uint32(len(self)), bases, np.uint32(len(bases)))
        return bases


@dataclass(frozen=True)
class DeviceIndex:
    """Where a target's words are, on the device that was current when it was built (see seed.Index).

    begins: uint32, of each bucket and the end; places: uint32, by word and falling; tags: their words (uint32) where a bucket holds several, else None.
    Memory: 1.5 bytes a letter, 4 (with tags 8) bytes a window, 4 bytes a bucket.
    """

    letters: Letters
    pattern: SeedPattern
    step: int
    begins: Any
    places: Any
    tags: Any
    shift: int

    @property
    def target(self) -> Codes:
        """Its codes on the host."""
        return self.letters.on_host


def build_index(target: Codes, pattern: SeedPattern, step: int = 1, max_word_count: str | None = None) -> DeviceIndex:
    """Index a target as `seed.build_index` does. Raises DeviceLimit for a target that is too long or finds no memory, KernelError where the device fails."""
    with guarded(f"index of {len(target)} letters"):
        return _built(Letters(target), pattern, step, max_word_count)


def _built(letters: Letters, pattern: SeedPattern, step: int, max_word_count: str | None) -> DeviceIndex:
    import cupy

    windows = max(0, len(letters) - pattern.span + 1)
    scale = (windows // step).bit_length()
    bucket_bits = min(pattern.bits, scale + 3, max(ROOMY, scale + 1))
    shift = pattern.bits - bucket_bits
    words = (letters.codes, np.uint32(len(letters)), np.uint32(windows), *_gather(pattern), step, shift)
    sizes = cupy.zeros((1 << bucket_bits) + 1, np.uint32)
    _launch("index_sizes", windows, *words, sizes)
    begins = cupy.cumsum(sizes, dtype=np.uint32)
    del sizes
    total = int(begins[-1])
    places = cupy.empty(total, np.uint32)
    tags = cupy.empty(total, np.uint32) if shift else None
    alike = None if max_word_count is None else cupy.empty(total, np.uint32)
    for low, high, begin, end in _shares(begins, total):
        keys, written = cupy.empty(end - begin, np.uint64), cupy.zeros(1, np.uint64)
        _launch("index_keys", windows, *words, np.uint32(low), np.uint32(high), written, keys)
        keys.sort()
        parts = (None if array is None else array[begin:end] for array in (places, tags, alike))
        _launch("index_places", end - begin, keys, np.uint64(end - begin), *parts)
    if max_word_count is not None:
        begins, places, tags = _limited(begins, places, tags, alike, max_word_count)
    return DeviceIndex(letters, pattern, step, begins, places, tags, shift)


def _shares(begins: Any, total: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut an index into buckets and entries to sort together, [low, high) and [begin, end) each: about SORTED entries, more where few buckets hold more."""
    import cupy

    buckets = len(begins) - 1
    if total <= SORTED:
        yield 0, buckets, 0, total
        return
    stride = max(1, buckets >> 12)
    borders = np.append(cupy.asnumpy(begins[:-1:stride]).astype(np.int64), total)
    low = 0
    while low < len(borders) - 1:
        high = max(low + 1, int(np.searchsorted(borders, borders[low] + SORTED, "right")) - 1)
        yield low * stride, min(high * stride, buckets), int(borders[low]), int(borders[high])
        low = high


def _limited(begins: Any, places: Any, tags: Any, alike: Any, max_word_count: str) -> tuple[Any, Any, Any]:
    """Drop words that occur too often."""
    import cupy

    total = len(places)
    if max_word_count.endswith("%"):
        # The least count such that words which occur no more often make up the share: that of the window up to which they do.
        rank = int(np.ceil(float(max_word_count[:-1]) / 100 * total))
        limit = 0 if rank <= 0 else int(cupy.sort(alike)[rank - 1]) if rank <= total else total
    else:
        limit = int(max_word_count)
    _launch("index_rare", total, alike, np.uint64(total), np.uint32(min(max(limit, 0), total)))
    kept = cupy.cumsum(alike, dtype=np.uint32)
    left = int(kept[-1]) if total else 0
    new_places = cupy.empty(left, np.uint32)
    new_tags = None if tags is None else cupy.empty(left, np.uint32)
    _launch("index_close_up", max(total, len(begins)), kept, np.uint64(total), places, tags, new_places, new_tags, begins, np.uint64(len(begins)))
    return begins, new_places, new_tags


class Chunk:
    """Up to CHUNK windows of a query strand, counted: `total` hits."""

    def __init__(self, strand: "Strand", first: int, windows: int) -> None:
        import cupy

        self._strand, self.first, self.windows = strand, first, windows
        self._words, counts = cupy.empty(windows, np.uint32), cupy.empty(windows, np.int64)
        codes = strand.query.codes, np.uint32(len(strand.query)), np.uint32(first), np.uint32(windows)
        _launch("seed_counts", windows, *codes, *_gather(strand.index.pattern), *strand.lookup, self._words, counts)
        self._sums = cupy.cumsum(counts, dtype=np.int64)
        self.total = int(self._sums[-1])

    def keys(self, begin: int, end: int, *, exact: bool) -> Any:
        """Make hits [begin, end) as keys (hit_keys.cuh), uint64, in LASTZ's order."""
        import cupy

        keys = cupy.empty(end - begin, np.uint64)
        self._write(begin, end, int(exact), np.uint32(len(self._strand.query)), keys, None, None)
        return keys

    def places(self, begin: int, end: int) -> tuple[Any, Any]:
        """Find where hits [begin, end) start: places in target and query, int64 each; in the target -1 for those that the pattern or the filter leaves out."""
        import cupy

        targets, queries = cupy.empty(end - begin, np.int64), cupy.empty(end - begin, np.int64)
        self._write(begin, end, 0, np.uint32(0), None, targets, queries)
        return targets, queries

    def _write(self, begin: int, end: int, exact: int, base: np.uint32, *out: Any) -> None:
        import cupy

        strand, which = self._strand, (np.int64(begin), np.int64(end))
        blocks = -(-(end - begin) // _BLOCK_HITS)
        firsts = cupy.empty(blocks + 1, np.uint32)
        _launch("seed_blocks", 32 * len(firsts), self._sums, np.uint32(self.windows), *which, firsts, np.uint32(len(firsts)))
        windows = self._words, self._sums, firsts, np.uint32(self.first)
        sides = strand.index.places, strand.index.letters.codes, strand.query.codes
        which = *which, exact, base, *strand.sieve
        compiler.launch(_kernel("seed_hits"), blocks, _THREADS, *windows, *strand.lookup, *sides, *strand.wanted, *which, *out)


class Strand:
    """A query strand on the device beside an index.

    sieve: table (on the device), x-drop and threshold of sieve.cuh, or None: no hit is said to be promising.
    """

    def __init__(
        self,
        index: DeviceIndex,
        query: Codes,
        transitions: int,
        seed_filter: tuple[int, int | None] | None,
        sieve: tuple[Any, int, int] | None = None,
    ) -> None:
        import cupy

        pattern = index.pattern
        self.index, self.query = index, Letters(query)
        self.windows = max(0, len(query) - pattern.span + 1)
        flips = pattern.flips(transitions)
        self.lookup = cupy.asarray(flips), len(flips), index.shift, index.begins, index.tags
        matches, most = seed_filter or (0, None)
        full = pattern.full.astype(np.uint8) if pattern.hashed != pattern.text else np.empty(0, np.uint8)
        self.checked = seed_filter is not None or len(full) > 0
        self.wanted = cupy.asarray(full), len(full), transitions, matches, pattern.span if most is None else most, pattern.span, int(self.checked)
        self.sieve = (None, None, None, 0, 0) if sieve is None else (index.letters.bases, self.query.bases, *sieve)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Cut all windows from a query place on into chunks."""
        for first in range(start, self.windows if len(self.index.places) else 0, CHUNK):
            yield Chunk(self, first, min(CHUNK, self.windows - first))


def hits(
    index: DeviceIndex, query: Codes, transitions: int = 1, seed_filter: tuple[int, int | None] | None = None, tile: int = TILE // 2, start: int = 0
) -> Iterator[tuple[Positions, Positions]]:
    """Find hits as `seed.hits` does, in tiles of at most `tile` hits. The index must be of the current device.

    Raises DeviceLimit for a query that is too long or where there is no memory for a tile, KernelError where the device fails.
    """
    import cupy

    with guarded(f"hits of {len(query)} letters"):
        for chunk in Strand(index, query, transitions, seed_filter).chunks(start):
            for begin in range(0, chunk.total, tile):
                targets, queries = (cupy.asnumpy(array) for array in chunk.places(begin, min(begin + tile, chunk.total)))
                kept = targets >= 0
                if kept.all():
                    yield targets, queries
                elif kept.any():
                    yield targets[kept], queries[kept]


def _gather(pattern: SeedPattern) -> tuple[Any, int, int, int]:
    import cupy

    *pieces, high_bits = pattern.gather()
    return cupy.asarray(np.concatenate(pieces).astype(np.uint32)), len(pieces[0]), int(high_bits), pattern.span


def _kernel(entry: str) -> Any:
    return compiler.kernel(SOURCE, entry, {})


def _launch(entry: str, threads: int, *arguments: Any) -> None:
    """Launch a kernel with a thread each; nothing, if there are none."""
    if threads:
        compiler.launch(_kernel(entry), -(-threads // _THREADS), _THREADS, *arguments)
