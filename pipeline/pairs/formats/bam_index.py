"""Index a BAM file that is sorted by coordinate: BAI (SAM's specification, section 5.2), or CSI (hts-specs, CSIv1) where a contig is longer than BAI can say.

A place in the file is known by the bytes of the stream before it: blocks are of one size there, so where they begin in the file is wanted at the end only.
"""

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.pipeline.formats.bgzf import BLOCK_BYTES, block, cut, ended

Numbers = npt.NDArray[np.int64]

SHIFT = 14
"""Letters of the smallest bins and of windows, as a power of two."""

BAI_DEPTH = 5
"""Levels of bins below the one that holds a contig of 2^29 letters, the longest of BAI."""

MAX_FRESH = 1 << 16
"""Chunks that are gathered before they are joined with those known, or as many as are known if that is more."""

_NONE = np.iinfo(np.int64).max


class BinIndex:
    """Gather where the records of each bin of each contig lie. lengths: of the contigs, int64[n]; header: bytes before the first record.

    blocks: the size in the file of each block, in order, the empty one at the end too; who writes them adds them.
    Memory: some bytes for each block, each run of records of one bin, and each window of 16,384 letters."""

    def __init__(self, lengths: Numbers, header: int) -> None:
        self.blocks: list[int] = []
        self._place = header
        self.depth = BAI_DEPTH
        while lengths.max(initial=0) > 1 << SHIFT + 3 * self.depth:
            self.depth += 1
        self._windows = np.concatenate(([0], np.cumsum((lengths + (1 << SHIFT) - 1) >> SHIFT)))  # of each contig the first
        self._first = np.full(self._windows[-1], _NONE)  # of each window the first record on it
        self._counts = np.zeros((len(lengths), 3), np.int64)  # of each contig records, where the first begins and the last ends
        self._unplaced = 0
        self._chunks = np.empty((4, 0), np.int64)  # contig, bin, begin, end
        self._fresh: list[Numbers] = []  # the same, not joined to them yet

    @property
    def suffix(self) -> str:
        """What the file's name has behind that of the BAM file."""
        return ".csi" if self.depth > BAI_DEPTH else ".bai"

    def add(self, target: Numbers, start: Numbers, end: Numbers, sizes: Numbers) -> None:
        """Add the next records in order, [start, end) of contigs, and how many bytes each has; those without a place have the number after the last contig."""
        places = self._place + np.concatenate(([0], np.cumsum(sizes)))
        self._place = int(places[-1])
        kept = int(np.searchsorted(target, len(self._counts)))
        self._unplaced += len(target) - kept
        if not kept:
            return
        target, start, last, begin, stop = target[:kept], start[:kept], end[:kept] - 1, places[:kept], places[1 : kept + 1]
        first = np.flatnonzero(np.diff(target, prepend=-1))
        fresh = self._counts[target[first], 0] == 0
        self._counts[target[first[fresh]], 1] = begin[first[fresh]]
        self._counts[target[first], 2] = stop[np.append(first[1:], kept) - 1]
        self._counts[target[first], 0] += np.diff(np.append(first, kept))
        windows = (last >> SHIFT) - (start >> SHIFT) + 1
        each = np.repeat(np.arange(kept), windows)
        window = self._windows[target][each] + (start >> SHIFT)[each] + np.arange(len(each)) - np.repeat(np.cumsum(windows) - windows, windows)
        np.minimum.at(self._first, window, begin[each])
        self._fresh.append(_joined(np.stack([target, self._bins(start, last), begin, stop])))
        if sum(len(chunks[0]) for chunks in self._fresh) > max(MAX_FRESH, len(self._chunks[0])):
            self._join()

    def _join(self) -> None:
        self._chunks, self._fresh = _joined(np.concatenate([self._chunks, *self._fresh], axis=1)), []

    def _bins(self, start: Numbers, last: Numbers) -> Numbers:
        """Find the smallest bin that holds all of each record."""
        found = np.zeros(len(start), np.int64)
        for level in range(1, self.depth + 1):
            shift = SHIFT + 3 * (self.depth - level)
            found = np.where(start >> shift == last >> shift, _first_bin(level) + (start >> shift), found)
        return found

    def content(self) -> bytes:
        """Give the index's file, when all blocks are known."""
        blocks = np.cumsum([0, *self.blocks[:-1]])
        if self.suffix == ".bai":
            return b"".join(self._written(blocks))
        whole, rest = cut(self._written(blocks))
        return b"".join([*map(block, whole), *ended(rest)])

    def _written(self, blocks: Numbers) -> Iterator[bytes]:
        self._join()
        contigs, bai = len(self._counts), self.suffix == ".bai"
        yield struct.pack("<4si", b"BAI\1", contigs) if bai else struct.pack("<4s4i", b"CSI\1", SHIFT, self.depth, 0, contigs)
        target, bins = self._chunks[:2]
        chunks = np.stack([_virtual(places, blocks).astype("<u8") for places in self._chunks[2:]], axis=1)
        fresh = np.flatnonzero((np.diff(target, prepend=-1) != 0) | (np.diff(bins, prepend=-1) != 0))
        of_contig = np.searchsorted(target[fresh], np.arange(contigs + 1)).tolist()
        numbers, first = bins[fresh].tolist(), [*fresh.tolist(), len(target)]  # of each bin its number and the first of its chunks
        begin, windows, used = self._linear(blocks)
        ends, counts = _virtual(self._counts[:, 1:], blocks).tolist(), self._counts[:, 0].tolist()
        counted = struct.Struct("<IQi4Q" if not bai else "<Ii4Q")  # the bin of what is counted: where a contig's records lie, how many have places, and not
        for contig in range(contigs):
            linear = windows[begin[contig] : begin[contig] + used[contig]]
            inside = range(of_contig[contig], of_contig[contig + 1])
            yield struct.pack("<i", len(inside) + (counts[contig] > 0))
            for place in inside:
                least = () if bai else (self._least(numbers[place], linear),)
                yield struct.pack("<Ii" if bai else "<IQi", numbers[place], *least, first[place + 1] - first[place])
                yield chunks[first[place] : first[place + 1]].tobytes()
            if counts[contig]:
                yield counted.pack(_first_bin(self.depth + 1) + 1, *(() if bai else (0,)), 2, *ends[contig], counts[contig], 0)
            if bai:
                yield struct.pack("<i", len(linear)) + linear.tobytes()
        yield struct.pack("<Q", self._unplaced)

    def _linear(self, blocks: Numbers) -> tuple[list[int], Any, list[int]]:
        """Lay out the linear index: where the windows of each contig begin; where the first record on each window lies, of one without any that of the window
        before; how many windows each contig has, up to the last with a record."""
        begin = self._windows[:-1]
        known = np.flatnonzero(self._first != _NONE)
        if not len(known):
            return begin.tolist(), np.empty(0, "<u8"), [0] * len(begin)
        before = np.maximum(np.searchsorted(known, np.arange(len(self._first)), "right") - 1, 0)
        # Before a contig's first record there is none: there its first one counts.
        before += known[before] < np.repeat(begin, np.diff(self._windows))
        windows = _virtual(self._first[known[np.minimum(before, len(known) - 1)]], blocks).astype("<u8")
        at = np.searchsorted(known, self._windows[1:]) - 1
        last = np.where(at < 0, -1, known[at])
        return begin.tolist(), windows, np.maximum(last + 1 - begin, 0).tolist()

    def _least(self, number: int, windows: Any) -> int:
        """Find where the first record on the first window of a bin lies."""
        level = next(level for level in range(self.depth + 1) if number < _first_bin(level + 1))
        window = (number - _first_bin(level)) << 3 * (self.depth - level)
        return int(windows[window]) if window < len(windows) else 0


def _first_bin(level: int) -> int:
    return ((1 << 3 * level) - 1) // 7


def _virtual(places: Numbers, blocks: Numbers) -> Numbers:
    """Write places of the stream as a block's place in the file and that in the block, in one number."""
    number = places // BLOCK_BYTES
    return blocks[number] << 16 | places - number * BLOCK_BYTES


def _joined(chunks: Numbers) -> Numbers:
    """Sort chunks by contig, bin and place; join those of a bin that have a block in common."""
    target, bins, begin, stop = chunks[:, np.lexsort((chunks[2], chunks[1], chunks[0]))]
    fresh = np.ones(len(target), np.bool_)
    fresh[1:] = (np.diff(target) != 0) | (np.diff(bins) != 0) | (stop[:-1] // BLOCK_BYTES < begin[1:] // BLOCK_BYTES)
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(target))[: len(first)] - 1
    return np.stack([target[first], bins[first], begin[first], stop[last]])
