"""Launches of gapped extension on the current CUDA device and the memory behind them: sequences and records of sweeps."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension.costs import Costs, Integers
from tidalign.kernels.extension.sweep import ROOM
from tidalign.kernels.letters.nucleotides import ALPHABET, Codes
from tidalign.kernels.letters.uploads import uploaded
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.errors import DeviceLimit

SOURCE = "extension/extension.cu"

SOURCES = {
    "extension_sweep": "extension/sweep_warp.cu",
    "extension_sweep_block": "extension/sweep_block.cu",
    "extension_cut": "extension/sweep_block.cu",
    "extension_trace": "extension/trace.cu",
    "extension_trace_block": "extension/trace.cu",
}
"""Files of the entry points that are not in SOURCE: what takes long to compile, so that it is compiled side by side."""
CHECKPOINT_ROWS = 64
"""Rows between checkpoints (record.cuh)."""

UNIT_BYTES, FIRST_UNIT = 128, 2
FRESH_UNITS = -(-(32 + 2 * CHECKPOINT_ROWS) // 32)
"""Units of a record without columns."""

CELL = (1 << 16) - 1
"""The largest value a record's cell holds."""

LARGEST_GAP, LOWEST_SCORE = 1 << 15, -(1 << 27)
"""Of a gap's further letter: a whole window of them must be far from overflow. Scores below are as good as this one."""

POOL_BYTES, RANGE_BYTES, MEMORY_SHARE = 16 << 30, 1 << 30, 4
"""At most for records and ranges; of the memory that is free when they are asked for, no more than 1 / MEMORY_SHARE each."""

LEAST_POOL, LETTER_BYTES = 2 << 30, 512
"""For records: of small sides, and for each letter of larger ones. What is full is forgotten, which costs time alone."""

_INDICES = 1 << 25
"""Letters that are translated at a time."""

QUIET, NEVER = 16, (1 << 31) - 1
"""Rows without a best value after which a proof is tried that there is none to come (inspection/tail.cuh): fewer are often between two best values."""

PROVABLE_YDROP, PROVABLE_GAP, PROVABLE_LETTER = 24_000, 8_000, 1_000
"""The y-drop, a gap's first letter and another one that 16 bits hold there, beside 4,096 for what is under the line."""

BATCH_RECORDS = 256
"""Of a sweep at a time: all have been begun before any of them goes on, and meets them."""

WARP_TEAMS, BLOCK, THREADS = 128, 128, 256
"""Threads of a block: four sweeps with a warp each, one sweep, and what has a thread for each side."""

PLACE = np.dtype([(name, np.int64) for name in ("target", "query", "stop", "onward")])
"""The struct Place of extension.cu."""

_SIDE = (
    *("record", "row", "column", "total", "end_row", "end_column", "border", "at_border"),
    *("rows", "widest", "cells", "cut", "state", "records", "passed", "unused"),
)
"""The struct Side of side.cuh."""

FETCHED = ("total", "end_row", "end_column", "border", "at_border", "rows", "widest", "cut", "state", "records")
"""What the host wants to know of a side."""

Sides = dict[str, Integers]

DONE, STUCK = 1, 3
"""States of a side."""


def fits(costs: Costs) -> bool:
    """Tell whether the kernels can do with these costs: values above the line in 16 bits, gaps that cost something."""
    return 0 < costs.gap_extend < LARGEST_GAP and costs.gap_open < 1 << 24 and costs.ydrop + bias(costs) <= CELL


def provable(costs: Costs) -> bool:
    """Tell whether it can be proven with these costs that a sweep finds nothing more, where letters score in bytes."""
    return costs.trim and costs.ydrop <= PROVABLE_YDROP and costs.gap_open + costs.gap_extend <= PROVABLE_GAP and costs.gap_extend <= PROVABLE_LETTER


def bias(costs: Costs) -> int:
    """Give one more than the largest score."""
    return max(int(costs.plain.max()), 0) + 1


def needed(costs: Costs, *, general: bool = False) -> list[tuple[str, dict[str, object]]]:
    """List the sources that sweeps and paths need, with their macros, for `compiler.ready`. general: whether letters score in 32 bits (`_letters`)."""
    return [(name, macros(costs, general)) for name in (SOURCE, *dict.fromkeys(SOURCES.values()))]


def macros(costs: Costs, general: bool) -> dict[str, object]:
    """Give the macros that all sources of this folder are compiled with."""
    return {
        "EXTENSION_OPENED": costs.gap_open + costs.gap_extend,
        "EXTENSION_EXTENDED": costs.gap_extend,
        "EXTENSION_YDROP": costs.ydrop,
        "EXTENSION_BIAS": bias(costs),
        "EXTENSION_TRIM": int(costs.trim),
        "EXTENSION_GENERAL": int(general),
        "EXTENSION_ROWS": CHECKPOINT_ROWS,
    }


class Launches:
    """Launch the kernels for one query strand on one target."""

    def __init__(self, target: Codes, query: Codes, costs: Costs) -> None:
        import cupy

        self._target, self._query, self._scores, general = _letters(target, query, costs.plain)
        self._macros = macros(costs, general)
        compiler.ready(needed(costs, general=general))
        self._provable = provable(costs) and not general
        self._room = np.int64(costs.compiled[2][ROOM])
        wanted = min(POOL_BYTES, max(LEAST_POOL, LETTER_BYTES * (len(target) + len(query))))
        units: int = min(wanted, cupy.cuda.runtime.memGetInfo()[0] // MEMORY_SHARE) // UNIT_BYTES
        self._units = min(units, (1 << 32) - 1)
        self._pool = cupy.empty(self._units * UNIT_BYTES // 4, np.uint32)
        self._table = cupy.zeros(1 << max(10, (self._units // 32).bit_length()), np.uint64)
        self._counters = cupy.zeros(5, np.uint64)  # units taken, whether the pool is full; lengths of lists
        self._tails = cupy.zeros(2, np.uint64)
        memory = (
            *(pointer(self._pool), pointer(self._counters), self._units, pointer(self._table), len(self._table), pointer(self._counters[1:])),
            *(pointer(self._target), pointer(self._query), len(query), pointer(self._scores), 1 | 2 << 32, 1 << 29),
        )
        self._memory = cupy.asarray(np.array(memory, np.uint64))
        self._beside = cupy.cuda.Stream(non_blocking=True)
        self.epoch = 0
        self.clear()

    def clear(self) -> None:
        """Forget all records."""
        self._table[:] = 0
        self._counters[0] = FIRST_UNIT
        self._counters[1] = 0

    @property
    def tails(self) -> tuple[int, int]:
        """Count how often it was proven that a sweep finds nothing more, and how often that was tried in vain."""
        proven, failed = (int(count) for count in self._tails.get())
        return proven, failed

    @property
    def most_sides(self) -> int:
        """Sides that may be swept together."""
        return int(max(self._units // (8 * FRESH_UNITS), 1))

    def sweep(self, places: npt.NDArray[np.void], *, whole: bool = True) -> Sides:
        """Sweep sides from their anchors on, FETCHED of each of PLACE[n]. State DONE, STUCK (too wide for the kernels), or PENDING where there was no room.

        whole: up to where LASTZ stops; else no further than to where a proof says that the end is known: `rows` and `widest` are no less than true then.
        """
        import cupy

        count = len(places)
        first, full = (int(counter) for counter in cupy.asnumpy(self._counters[:2]))
        if full or first > self._units // 2:
            self.clear()
            first = FIRST_UNIT
        if first + count * FRESH_UNITS > self._units:
            raise DeviceLimit(f"{count} sides of extensions: {self._units} units of {UNIT_BYTES} bytes for their records are too few")
        self._counters[0] = first + count * FRESH_UNITS
        self.starts = cupy.asarray((first + FRESH_UNITS * np.arange(count)).astype(np.uint32))
        self.sides = cupy.zeros((count, len(_SIDE)), np.int64)
        on_device = cupy.asarray(places.view(np.int64))
        self.launch("extension_begin", -(-count // THREADS), THREADS, on_device, count, np.uint32(first), self.sides)
        jobs, wide_jobs, cuts = (cupy.empty(count, kind) for kind in (np.uint32, np.uint32, np.int32))
        quiet = NEVER if whole or not self._provable else QUIET
        while True:
            self.epoch += 1
            self._counters[2:] = 0
            blocks = -(-count // THREADS)
            counts = self._counters[2:]
            self.launch("extension_follow", blocks, THREADS, self.sides, count, self._room, self.epoch, quiet, jobs, wide_jobs, cuts, counts)
            _, full, pending, wide, at_room = (int(counter) for counter in cupy.asnumpy(self._counters))
            if at_room:
                self.launch("extension_cut", at_room, BLOCK, self.sides, cuts, at_room, self._room)
            elif full or pending + wide == 0:
                break
            if wide:
                with self._beside:
                    self.launch_queue("extension_sweep_block", wide, BLOCK, wide_jobs, wide, BATCH_RECORDS)
            if pending:
                self.launch_queue("extension_sweep", pending, WARP_TEAMS, jobs, pending, BATCH_RECORDS, quiet, self._tails)
            self._beside.synchronize()
        wanted = cupy.asarray(np.array([_SIDE.index(name) for name in FETCHED]))
        self.found: Sides = dict(zip(FETCHED, cupy.asnumpy(cupy.ascontiguousarray(self.sides.T[wanted])), strict=True))
        return self.found

    def ranges(self, which: Integers) -> npt.NDArray[np.int32]:
        """Fetch the columns looked at in every row of these sides, one side after the other."""
        import cupy

        offsets = offsets_of(self.found["rows"][which])
        parts = [np.empty((0, 2), np.int32)]
        begin = 0
        while begin < len(which):
            stop = max(begin + 1, int(np.searchsorted(offsets, offsets[begin] + RANGE_BYTES // 8, "right")) - 1)
            mine = cupy.asarray(offsets[begin : stop + 1] - offsets[begin])
            found = cupy.empty((int(offsets[stop] - offsets[begin]), 2), np.int32)
            sides = cupy.asarray(which[begin:stop].astype(np.int32))
            self.launch_queue("extension_ranges", stop - begin, WARP_TEAMS, self.sides, self.starts, sides, stop - begin, mine, found)
            parts.append(cupy.asnumpy(found))
            begin = stop
        return parts[1] if len(parts) == 2 else np.concatenate(parts)

    def _kernel(self, entry: str) -> Any:
        return compiler.kernel(SOURCES.get(entry, SOURCE), entry, self._macros)

    def launch(self, entry: str, blocks: int, threads: int, *arguments: Any, memory: bool = True) -> None:
        """Launch a kernel of these sources; memory: it takes all that lies behind these launches first."""
        compiler.launch(self._kernel(entry), blocks, threads, *((self._memory,) if memory else ()), *arguments)

    def launch_queue(self, entry: str, jobs: int, threads: int, *arguments: Any) -> None:
        """Launch blocks that stay until no job is left; the last argument of the kernel is the queue's."""
        import cupy

        function = self._kernel(entry)
        blocks = min(compiler.resident(function, threads, 0), -(-jobs // (WARP_TEAMS // 32)) if threads == WARP_TEAMS else jobs)
        compiler.launch(function, blocks, threads, self._memory, *arguments, cupy.zeros(1, np.int32))


def pointer(array: Any) -> int:
    """Give the address of an array on the device."""
    return int(array.data.ptr)


def offsets_of(counts: Any) -> Integers:
    """Add counts up to offsets: where each begins, and the end of the last."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)


def _letters(target: Codes, query: Codes, plain: npt.NDArray[np.int32]) -> tuple[Any, Any, Any, bool]:
    """Send both sides' letters and their scores to the device: (target, query: a byte a letter; scores, whether they are 32 bits of every letter of the query).

    Letters that occur are put into classes that score alike. Where the query has at most eight and scores are bytes, a class of target letters has eight.
    """
    import cupy

    uploads = [uploaded(np.ascontiguousarray(side, np.uint8)) for side in (target, query)]
    sides = [upload.codes for upload in uploads]
    seen = []
    for codes in sides:
        present = cupy.zeros(len(plain), np.bool_)
        for piece in _pieces(codes):
            present[piece] = True
        seen.append(np.flatnonzero(cupy.asnumpy(present)[: len(ALPHABET)]))
    table = np.maximum(plain[np.ix_(*seen)], LOWEST_SCORE)
    rows, of_target = np.unique(table, axis=0, return_inverse=True)
    columns, of_query = np.unique(rows, axis=1, return_inverse=True)
    general = columns.shape[1] > 8 or bool(columns.size and (columns.min() < -128 or columns.max() > 127))
    scores: npt.NDArray[Any]
    if general:
        scores = np.zeros((64, 64), np.int32)
        scores[: columns.shape[0], : columns.shape[1]] = columns
    else:
        scores = np.zeros((64, 8), np.int8)
        scores[: columns.shape[0], : columns.shape[1]] = columns
    found = []
    for codes, letters, classes in zip(sides, seen, (of_target, of_query), strict=True):
        translation = np.zeros(256, np.uint8)
        translation[letters] = classes.reshape(-1)
        on_device, classed = cupy.asarray(translation), cupy.empty(len(codes), np.uint8)
        for piece, of_piece in zip(_pieces(codes), _pieces(classed), strict=True):
            of_piece[:] = on_device[piece]
        found.append(classed)
    return found[0], found[1], cupy.asarray(scores.view(np.int32).reshape(-1)), general


def _pieces(array: Any) -> list[Any]:
    """Cut an array on the device: CuPy makes eight bytes of each index."""
    return [array[begin : begin + _INDICES] for begin in range(0, len(array), _INDICES)]
