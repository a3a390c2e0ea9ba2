"""The wavefront kernels on the current CUDA device: the rows of `wavefront_host`, by the same rules.

Every pair first has a narrow pass, a warp each with its rows on chip: exact where the wavefront stayed inside it, as it does for short and close pairs,
and else an upper bound of the penalty. The bound says how wide the rows of the second pass must be and how many cells it can leave out (the diamond of
Castells-Rufas 2023, 10.1016/j.future.2022.09.010), so its memory is allotted exactly, and nothing is tried twice or transferred twice.
What fits nowhere is left to the host twin and counted.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tidalign.kernels import compiler
from tidalign.kernels.alignments import Alignments
from tidalign.kernels.errors import DeviceLimit
from tidalign.kernels.penalties import Penalties
from tidalign.kernels.sequences import PackedSequences, Sequences

LONGEST = 32_767
"""Letters of the longer side that 16-bit offsets hold with room for a step."""

BATCH_BASES = 1 << 27
"""Letters of both sides a launch takes: enough to fill the card, small enough for copies of one batch to hide behind the kernels of another."""

STREAMS = 4
"""Batches under way at a time: one copied in, one aligned, one copied out, one being staged by the host."""

STATUS_ALIGNED, STATUS_OUTGROWN, STATUS_NO_ROOM, STATUS_BOUNDED = range(4)
WAITING = 255
UNBOUNDED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Model:
    """Penalties divided by their greatest common divisor, and what follows from them (wavefront.cuh has the same formulas)."""

    pieces: int
    mismatch: int
    extend: tuple[int, int]
    open_extend: tuple[int, int]
    unit: int

    @classmethod
    def of(cls, penalties: Penalties) -> "Model":
        unit = penalties.unit()
        scaled = [(opening // unit, extension // unit) for opening, extension in penalties.pieces]
        first, second = scaled[0], scaled[-1]
        pieces = {"edit": 0, "linear": 0, "affine": 1, "affine2p": 2}[penalties.model]
        return cls(pieces, penalties.mismatch // unit, (first[1], second[1]), (sum(first), sum(second)), unit)

    @property
    def deepest(self) -> int:
        return max(self.mismatch, *self.open_extend[: max(self.pieces, 1)])

    @property
    def margin(self) -> int:
        least = min(self.extend[: max(self.pieces, 1)])
        return -(-self.deepest // least) + 1

    @property
    def rows(self) -> int:
        return self.deepest + 1 + 2 * sum(extension + 1 for extension in self.extend[: self.pieces])

    def reach(self, s: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Diagonals on either side at penalty s."""
        if self.pieces == 0:
            return s // self.extend[0]
        reached = np.zeros_like(s)
        for piece in range(self.pieces):
            reached = np.maximum(reached, np.where(s < self.open_extend[piece], 0, (s - self.open_extend[piece]) // self.extend[piece] + 1))
        return reached

    @property
    def narrow(self) -> int:
        """Diagonals of the first, narrow pass."""
        return 128 if self.margin <= 16 else 256

    def width(self, bound: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Diagonals the rows of a global pair need at most, its penalty being at most `bound`: a gap there and back."""
        return 2 * (bound // (2 * min(self.extend[: max(self.pieces, 1)])) + 2) + 1 + 2 * self.margin

    def budget(self, width: int) -> tuple[int, int]:
        """(largest penalty, direction bytes up to it) whose rows fit a width, for a global pair without a bound."""
        s = np.arange(1, width * max(self.extend) + self.deepest + 2, dtype=np.int64)
        widths = 2 * self.reach(s) + 1
        steps = int(np.searchsorted(widths + 2 * self.margin, width, side="right"))
        # Places in the directions are 32-bit; a pair that needs more is outgrown.
        return steps, min(int(widths[:steps].sum()), 2**31 - 1)


WIDTHS = tuple(1 << bits for bits in range(8, 17))
"""Diagonals a row may have: a launch takes the pairs whose wavefronts need no more."""


def threads(width: int) -> tuple[int, int]:
    """(threads a pair, pairs a block): a warp a pair where rows are short, a block where they are long."""
    if width <= 512:
        return 32, 4 if width <= 128 else 2
    return min(width // 16, 512), 1


def align(
    queries: Sequences | PackedSequences,
    targets: Sequences | PackedSequences,
    penalties: Penalties,
    *,
    ends_free: tuple[int, int, int, int] | None = None,
    cigar: bool = True,
    ambiguous: str = "mismatch",
) -> tuple[Alignments, npt.NDArray[np.int64]]:
    """Align pair i of both sides on the current device; also the indices of the pairs left to the host, whose rows mean nothing.

    Host arrays in and out. Batches of `BATCH_BASES` letters have streams of their own, so that copies of one hide behind the kernels of another.
    """
    import cupy

    sums = np.cumsum(_lengths(queries) + _lengths(targets))
    bounds = [0]
    while bounds[-1] < len(sums):
        base = sums[bounds[-1] - 1] if bounds[-1] else 0
        bounds.append(max(bounds[-1] + 1, int(np.searchsorted(sums, base + BATCH_BASES, side="right"))))
    device, model = cupy.cuda.Device(), Model.of(penalties)

    def batch(start: int, stop: int) -> Batch:
        with device, cupy.cuda.Stream(non_blocking=True):
            return Batch(_Side.send(queries, start, stop), _Side.send(targets, start, stop), model, ends_free or (0, 0, 0, 0), cigar, ambiguous)

    with ThreadPoolExecutor(STREAMS) as pool:
        batches = list(pool.map(batch, bounds[:-1], bounds[1:]))
        # Sizes are known now: each batch is copied once more, from pinned memory to its place.
        columns = {name: np.empty(len(sums), np.int64) for name in _COLUMNS}
        places = np.cumsum([0] + [len(batch.cigar) for batch in batches])
        runs = np.empty(int(places[-1]), np.uint32)
        offsets = np.zeros(len(sums) + 1, np.int64)

        def deliver(batch: Batch, start: int, stop: int, place: int) -> None:
            for name, column in columns.items():
                np.multiply(batch.cells[name], model.unit if name == "penalty" else 1, out=column[start:stop], casting="unsafe", dtype=np.int64)
            runs[place : place + len(batch.cigar)] = batch.cigar
            if cigar:
                np.add(batch.cigar_offsets[1:], place, out=offsets[start + 1 : stop + 1])

        list(pool.map(deliver, batches, bounds[:-1], bounds[1:], places[:-1].tolist()))
    left = np.flatnonzero(~np.concatenate([batch.done for batch in batches] or [np.zeros(0, bool)]))
    return Alignments(**columns, cigar=runs if cigar else None, cigar_offsets=offsets if cigar else None), left


_COLUMNS = ("penalty", "query_start", "query_end", "target_start", "target_end")


def _lengths(side: Sequences | PackedSequences) -> npt.NDArray[np.int64]:
    return side.lengths if isinstance(side, PackedSequences) else np.diff(side.offsets)


def _send(array: npt.NDArray[Any]) -> Any:
    """To the device on the current stream, through pinned memory (six times as fast as without)."""
    import cupy
    import cupyx

    pinned = cupyx.empty_pinned(array.shape, array.dtype)
    np.copyto(pinned, array)
    sent = cupy.empty(array.shape, array.dtype)
    sent.set(pinned)
    # The pinned block goes back to its pool on return, so the copy must be over; other streams go on meanwhile.
    cupy.cuda.get_current_stream().synchronize()
    return sent


def _fetch(array: Any) -> npt.NDArray[Any]:
    """To pinned memory of the host on the current stream, complete on return."""
    import cupy
    import cupyx

    pinned = cupyx.empty_pinned(array.shape, array.dtype)
    array.get(out=pinned, blocking=False)
    cupy.cuda.get_current_stream().synchronize()
    return cast("npt.NDArray[Any]", pinned)


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a batch: packed letters on the device, lengths and which have ambiguous letters on the host."""

    codes: Any
    places: Any
    masks: Any
    mask_places: Any
    lengths: npt.NDArray[np.int64]
    lengths_sent: Any
    ambiguous: npt.NDArray[np.bool_]

    @classmethod
    def send(cls, side: Sequences | PackedSequences, start: int, stop: int) -> "_Side":
        if isinstance(side, PackedSequences):
            codes, places = _cut(side.codes, side.code_offsets, start, stop)
            masks, mask_places = _cut(side.ambiguous, side.ambiguous_offsets, start, stop)
            lengths = side.lengths[start:stop]
            return cls(_send(codes), _send(places), _send(masks), _send(mask_places), lengths, _send(lengths), np.diff(mask_places) > 0)
        import cupy

        letters, offsets = _cut(side.letters, side.offsets, start, stop)
        lengths = np.diff(offsets)
        places, mask_places = (np.concatenate([[0], np.cumsum(-(-lengths // per_byte))]).astype(np.int64) for per_byte in (4, 8))
        codes, masks, found = (cupy.empty(int(size), np.uint8) for size in (places[-1], mask_places[-1], len(lengths)))
        places_sent, mask_places_sent = _send(places), _send(mask_places)
        pack = compiler.kernel("sequences.cu", "pack_letters", {})
        compiler.launch(pack, _warps(len(lengths)), 256, _send(letters), _send(offsets), len(lengths), codes, places_sent, masks, mask_places_sent, found)
        return cls(codes, places_sent, masks, mask_places_sent, lengths, _send(lengths), _fetch(found).astype(bool))


def _cut(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], start: int, stop: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    return data[offsets[start] : offsets[stop]], offsets[start : stop + 1] - offsets[start]


def _warps(items: int) -> int:
    """Blocks of eight warps for a warp an item, at most a few waves of them."""
    return max(1, min(-(-items // 8), 8192))


class Batch:
    """Pairs aligned together: launches variant by variant until every pair is aligned or has outgrown them all."""

    def __init__(self, queries: _Side, targets: _Side, model: Model, ends: tuple[int, int, int, int], cigar: bool, ambiguous: str) -> None:
        import cupy

        self._queries, self._targets, self._model, self._cigar = queries, targets, model, cigar
        self._ends = tuple(min(end, LONGEST) for end in ends)
        count = len(queries.lengths)
        self._status = cupy.full(count, WAITING, np.uint8)
        # The start of an ends-free alignment is known only by walking back.
        self._directions = cigar or any(ends)
        self._cells = {name: cupy.zeros(count, np.int32) for name in (*_COLUMNS, "runs")}
        self._places = cupy.zeros(count, np.int64)
        total = int(queries.lengths.sum() + targets.lengths.sum())
        self._pool = cupy.empty(total // 8 + 4 * count + 1024 if self._directions else 1, np.uint32)
        self._used = cupy.zeros(1, np.uint64)
        self._longest = np.maximum(queries.lengths, targets.lengths)
        self._letters = queries.ambiguous | targets.ambiguous
        self._ambiguous = {"mismatch": 1, "match": 2}[ambiguous]
        self._bound = cupy.full(count, UNBOUNDED, np.int32)
        self.done = np.zeros(count, bool)
        self._run(model.narrow, np.flatnonzero(self._longest <= LONGEST), narrow=True)
        waiting = np.flatnonzero(~self.done & (self._longest <= LONGEST))
        if len(waiting):
            bound = _fetch(self._bound)[waiting].astype(np.int64)
            needed = model.width(bound) + sum(self._ends)
            bounded = bound < UNBOUNDED
            for smaller, width in zip((0, *WIDTHS), WIDTHS, strict=False):
                due = waiting[bounded & (smaller < needed) & (needed <= width)]
                if len(due):
                    self._run(width, due, bound=int(bound[bounded & (needed <= width)].max()))
            waiting = waiting[~bounded]
        for width in WIDTHS:
            waiting = waiting[~self.done[waiting]]
            if len(waiting):
                self._run(width, waiting)
        self._gather()

    def _run(self, width: int, rows: npt.NDArray[np.int64], *, narrow: bool = False, bound: int | None = None) -> None:
        """Launch until no row lacks room for its CIGAR; then mark which are aligned."""
        import cupy

        letters = self._letters[rows]
        for some, ambiguous in ((rows[~letters], 0), (rows[letters], self._ambiguous)):
            while len(some):
                try:
                    self._launch(width, some, ambiguous, narrow, bound)
                except DeviceLimit:
                    break
                status = _fetch(self._status)[some]
                self.done[some] = status == STATUS_ALIGNED
                some = some[status == STATUS_NO_ROOM]
                if len(some):
                    larger = cupy.empty(4 * len(self._pool), np.uint32)
                    used = min(int(self._used.get()[0]), len(self._pool))
                    larger[:used] = self._pool[:used]
                    self._pool = larger
                    self._used[0] = used

    def _launch(self, width: int, rows: npt.NDArray[np.int64], ambiguous: int, narrow: bool, bound: int | None) -> None:
        import cupy

        model = self._model
        threads_a_pair, pairs_a_block = threads(width)
        macros = {
            "WAVEFRONT_THREADS": threads_a_pair,
            "WAVEFRONT_PAIRS": pairs_a_block,
            "WAVEFRONT_PIECES": model.pieces,
            "WAVEFRONT_X": model.mismatch,
            "WAVEFRONT_E1": model.extend[0],
            "WAVEFRONT_OE1": model.open_extend[0],
            "WAVEFRONT_E2": model.extend[1],
            "WAVEFRONT_OE2": model.open_extend[1],
            "WAVEFRONT_CIGAR": int(self._directions),
            "WAVEFRONT_FREE": int(any(self._ends)),
            "WAVEFRONT_NARROW": int(narrow),
            "WAVEFRONT_AMBIGUOUS": ambiguous,
        }
        words = (int(self._longest[rows].max()) // 16 + 3) // 2 * 2
        beside_rows = pairs_a_block * ((4 if ambiguous else 2) * words + 4) * 4
        row_bytes = 2 * model.rows * width
        shared = beside_rows + pairs_a_block * row_bytes
        if shared <= compiler.most_shared_bytes():
            row_bytes = 0
        else:
            shared = beside_rows
        function = compiler.kernel("wavefront.cu", "wavefront_align", macros, shared_bytes=shared)
        steps, direction_bytes = model.budget(width)
        if bound is not None:
            steps, direction_bytes = bound, (bound + 2) * (int(model.width(np.array(bound))) // 2 + 2 + sum(self._ends))
        if not self._directions:
            direction_bytes = 0
        scratch = row_bytes + direction_bytes + 13 * (steps + 1)
        room = int(0.8 * (cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes())) // STREAMS // scratch
        resident = compiler.resident(function, threads_a_pair * pairs_a_block, shared)
        blocks = min(resident, -(-len(rows) // pairs_a_block), room // pairs_a_block)
        if blocks < 1 or direction_bytes >= 2**31:
            raise DeviceLimit(f"{scratch} bytes a pair are more than this device has free")
        slots = blocks * pairs_a_block
        compiler.launch(
            function,
            blocks,
            threads_a_pair * pairs_a_block,
            *(self._queries.codes, self._queries.places, self._queries.lengths_sent, self._queries.masks, self._queries.mask_places),
            *(self._targets.codes, self._targets.places, self._targets.lengths_sent, self._targets.masks, self._targets.mask_places),
            _send(rows.astype(np.int32)),
            len(rows),
            cupy.zeros(1, np.int32),
            words,
            width,
            cupy.empty(slots * row_bytes // 2, np.int16) if row_bytes else None,
            cupy.empty(slots * direction_bytes, np.uint8),
            np.int64(direction_bytes),
            cupy.empty(slots * (steps + 1), np.int32),
            cupy.empty(slots * (steps + 1), np.uint8),
            cupy.empty(slots * (2 * steps + 3), np.uint32),
            steps,
            *self._ends,
            self._status,
            self._bound,
            *(self._cells[name] for name in _COLUMNS),
            self._pool,
            np.uint64(len(self._pool)),
            self._used,
            self._places,
            self._cells["runs"],
            shared_bytes=shared,
        )

    def _gather(self) -> None:
        """Rows to the host; CIGARs first to their place in pair order, so that the order of launches leaves no trace."""
        import cupy

        self.cigar = self.cigar_offsets = np.empty(0, np.uint32)
        if self._cigar:
            offsets = cupy.zeros(len(self._places) + 1, np.int64)
            cupy.cumsum(self._cells["runs"], dtype=np.int64, out=offsets[1:])
            self.cigar_offsets = _fetch(offsets)
            runs = cupy.empty(int(self.cigar_offsets[-1]), np.uint32)
            gather = compiler.kernel("sequences.cu", "gather_runs", {})
            compiler.launch(gather, _warps(len(self._places)), 256, self._pool, self._places, offsets, len(self._places), runs)
            self.cigar = _fetch(runs)
        self.cells = {name: _fetch(self._cells[name]) for name in _COLUMNS}
        # Device memory goes back to the pool now, not with the last batch.
        del self._queries, self._targets, self._pool, self._places, self._cells, self._status, self._bound
