"""Pairs aligned together on the device: a narrow pass over all, then passes as wide as it found necessary."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels import compiler
from tidalign.kernels.device_lane import LANES, PADDING, Lane, Steps
from tidalign.kernels.device_model import NARROW, WIDTHS, Model
from tidalign.kernels.errors import DeviceLimit
from tidalign.kernels.sequences import PackedSequences, Sequences

LONGEST = 32_767
"""Letters of the longer side that 16-bit offsets hold with room for a step (wavefront.cu)."""

Letters = Sequences | PackedSequences

COLUMNS = ("penalty", "query_start", "query_end", "target_start", "target_end")

ALIGNED, OUTGROWN, NO_ROOM, BOUNDED, OTHER_LETTERS = range(5)

SMALL = 1 << 28
"""Bytes of scratch that need no look at how much memory is free."""


@dataclass(frozen=True, slots=True)
class Span:
    """What all pairs of a call share."""

    model: Model
    ends: tuple[int, int, int, int]
    cigar: bool
    ambiguous: int

    @property
    def free(self) -> bool:
        return any(self.ends)

    @property
    def directions(self) -> bool:
        """The start of an ends-free alignment is known only by walking back."""
        return self.cigar or self.free


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a batch on the device: packed letters, where those of each pair begin (`base` more than in `codes`), masks of ambiguous letters."""

    codes: Any
    places: Any
    base: int
    lengths: Any
    masks: Any
    mask_places: Any


@dataclass(frozen=True, slots=True)
class Rows:
    """What a batch gives, in the lane's memory: columns by name, operations of all pairs and where each pair's begin, and which pairs are left over."""

    columns: dict[str, npt.NDArray[np.int64]]
    cigar: npt.NDArray[np.uint32]
    cigar_offsets: npt.NDArray[np.int64]
    left: npt.NDArray[np.int64]

    @classmethod
    def none(cls) -> "Rows":
        """Of one pair that is left over."""
        return cls({}, np.empty(0, np.uint32), np.zeros(2, np.int64), np.zeros(1, np.int64))


def sent(side: Letters, start: int, stop: int) -> list[npt.NDArray[Any]]:
    """The arrays of pairs [start, stop) that travel."""
    if isinstance(side, Sequences):
        return [side.letters[side.offsets[start] : side.offsets[stop]], side.offsets[start : stop + 1]]
    arrays: list[npt.NDArray[Any]] = [side.codes[side.code_offsets[start] : side.code_offsets[stop]], side.code_offsets[start:stop], side.lengths[start:stop]]
    masks = side.ambiguous[side.ambiguous_offsets[start] : side.ambiguous_offsets[stop]]
    return [*arrays, masks, side.ambiguous_offsets[start : stop + 1]] if len(masks) else arrays


def received(side: Letters, start: int, arrays: list[Any], count: int) -> Side:
    """From the arrays sent to what the kernels take."""
    import cupy

    if isinstance(side, Sequences):
        letters, offsets = arrays
        codes = cupy.empty(len(letters) // 4 + 4 * count + PADDING, np.uint8)
        masks = cupy.empty(len(letters) // 8 + count + 1, np.uint8)
        places, mask_places, lengths = cupy.empty((3, count), np.int64)
        pack = compiler.kernel("sequences.cu", "pack_letters", {})
        base = np.int64(side.offsets[start])
        compiler.launch(pack, _blocks(count), 256, letters, offsets, base, count, codes, places, masks, mask_places, lengths)
        return Side(codes, places, 0, lengths, masks, mask_places)
    codes, places, lengths = arrays[:3]
    masks = mask_places = None
    if len(arrays) > 3:
        masks, offsets = arrays[3:]
        mask_places = cupy.empty(count, np.int64)
        compiler.launch(compiler.kernel("sequences.cu", "place_masks", {}), _blocks(count), 256, offsets, count, mask_places)
    return Side(codes, places, int(side.code_offsets[start]), lengths, masks, mask_places)


def _blocks(items: int) -> int:
    """Blocks of eight warps for a warp an item, at most a few waves of them."""
    return max(1, min(-(-items // 8), 8192))


class Batch:
    """The launches of one batch and what they share on the device."""

    def __init__(self, lane: Lane, queries: Side, targets: Side, longest: npt.NDArray[np.int64], letters: int, span: Span) -> None:
        import cupy

        self._lane, self._queries, self._targets, self._longest, self._span = lane, queries, targets, longest, span
        count = len(longest)
        self._columns = cupy.empty((5 if span.free else 1, count), np.int64)
        self._status = cupy.empty(count, np.uint8)
        self._bound = cupy.empty(count, np.int32)
        self._places = cupy.empty(count, np.int64)
        self._runs = cupy.empty(count, np.int32)
        # As many runs as pairs with one difference in 16 letters have; the few batches with more get four times as much.
        self._pool = cupy.empty(letters // 8 + 4 * count + 1024 if span.directions else 1, np.uint32)
        self._totals = cupy.zeros(3, np.uint64)
        self._kept = self._unfinished = 0
        self._outcome = np.zeros(count, np.uint8)

    def align(self) -> Steps[Rows]:
        """Launch until every pair is aligned or fits nothing."""
        model, ends = self._span.model, sum(min(end, LONGEST) for end in self._span.ends)
        yield from self._run(NARROW, None, 0, narrow=True)
        if not (self._outcome == ALIGNED).all():
            lettered = self._outcome == OTHER_LETTERS
            yield from self._run(NARROW, np.flatnonzero(lettered), self._span.ambiguous, narrow=True)
            for ambiguous, among in ((0, ~lettered), (self._span.ambiguous, lettered)):
                rows = np.flatnonzero(among & (self._outcome == BOUNDED))
                if len(rows):
                    bound = (yield from self._lane.fetch(self._bound))[0][rows].astype(np.int64)
                    dearest = np.argsort(-bound)  # first, so that the last to end are short
                    rows, bound = rows[dearest], bound[dearest]
                    needed = model.width(bound) + ends
                    for smaller, width in zip((0, *WIDTHS), WIDTHS, strict=False):
                        due = (smaller < needed) & (needed <= width)
                        if due.any():
                            yield from self._run(width, rows[due], ambiguous, bound=int(bound[due][0]))
                for width in WIDTHS:
                    yield from self._run(width, np.flatnonzero(among & (self._outcome == OUTGROWN)), ambiguous)
        return (yield from self._gather())

    def _run(self, width: int, rows: npt.NDArray[np.int64] | None, ambiguous: int, *, narrow: bool = False, bound: int | None = None) -> Steps[None]:
        """Launch until no row lacks room for its CIGAR, and see which are aligned. `rows` None: all."""
        import cupy

        while rows is None or len(rows):
            try:
                self._launch(width, rows, ambiguous, narrow, bound)
            except DeviceLimit:
                return
            asked, kept, unfinished = (int(total) for total in (yield from self._lane.fetch(self._totals))[0])
            self._kept = kept
            if unfinished == self._unfinished:
                if rows is not None:
                    self._outcome[rows] = ALIGNED
                return
            self._unfinished = unfinished
            self._outcome = (yield from self._lane.fetch(self._status))[0].copy()
            rows = np.flatnonzero(self._outcome == NO_ROOM)
            if len(rows):
                larger = cupy.empty(4 * len(self._pool), np.uint32)
                used = min(asked, len(self._pool))
                larger[:used] = self._pool[:used]
                self._pool = larger
                self._totals[0] = used

    def _launch(self, width: int, rows: npt.NDArray[np.int64] | None, ambiguous: int, narrow: bool, bound: int | None) -> None:
        import cupy

        span, model = self._span, self._span.model
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
            "WAVEFRONT_CIGAR": int(span.directions),
            "WAVEFRONT_FREE": int(span.free),
            "WAVEFRONT_NARROW": int(narrow),
            "WAVEFRONT_AMBIGUOUS": ambiguous,
        }
        longest = self._longest if rows is None else self._longest[rows]
        words = (min(int(longest.max(initial=0)), LONGEST) // 16 + 3) // 2 * 2
        beside_rows = pairs_a_block * ((4 if ambiguous else 2) * words + 4) * 4
        row_bytes = 2 * model.rows * width
        shared = beside_rows + pairs_a_block * row_bytes
        if shared <= compiler.most_shared_bytes():
            row_bytes = 0
        else:
            shared = beside_rows
        function = compiler.kernel("wavefront.cu", "wavefront_align", macros, shared_bytes=shared)
        if narrow:
            steps, direction_bytes = model.narrow_budget()
        elif bound is not None:
            steps, direction_bytes = model.bounded_budget(bound, sum(min(end, LONGEST) for end in span.ends))
        else:
            steps, direction_bytes = model.budget(width)
        if not span.directions:
            direction_bytes = 0
        count = len(longest)
        scratch = row_bytes + direction_bytes + 13 * (steps + 1)
        blocks = min(compiler.resident(function, threads_a_pair * pairs_a_block, shared), -(-count // pairs_a_block))
        if blocks * pairs_a_block * scratch > SMALL:
            room = int(0.8 * (cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes())) // LANES
            blocks = min(blocks, max(room, SMALL) // (pairs_a_block * scratch))
        if blocks < 1 or direction_bytes >= 2**31:
            raise DeviceLimit(f"{scratch} bytes a pair are more than this device has free")
        slots = blocks * pairs_a_block
        queries, targets = self._queries, self._targets
        compiler.launch(
            function,
            blocks,
            threads_a_pair * pairs_a_block,
            *(queries.codes, queries.places, queries.lengths, queries.masks, queries.mask_places),
            *(targets.codes, targets.places, targets.lengths, targets.masks, targets.mask_places),
            *(np.int64(queries.base), np.int64(targets.base)),
            None if rows is None else self._list(rows),
            count,
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
            *(min(end, LONGEST) for end in span.ends),
            np.int64(model.unit),
            self._status,
            self._bound,
            *(self._columns if span.free else (self._columns[0], None, None, None, None)),
            self._pool,
            np.uint64(len(self._pool)),
            self._totals,
            self._places,
            self._runs,
            shared_bytes=shared,
        )

    def _list(self, rows: npt.NDArray[np.int64]) -> Any:
        staged = self._lane.stage([rows.astype(np.int32)])
        staged[0][:] = rows
        return self._lane.send(staged)[0]

    def _gather(self) -> Steps[Rows]:
        """To the host; CIGARs first to their place in pair order, so that the order of launches leaves no trace."""
        import cupy

        count = len(self._longest)
        arrays = [self._columns]
        if self._span.cigar:
            offsets = cupy.zeros(count + 1, np.int64)
            cupy.cumsum(self._runs, dtype=np.int64, out=offsets[1:])
            runs = cupy.empty(self._kept, np.uint32)
            compiler.launch(compiler.kernel("sequences.cu", "gather_runs", {}), _blocks(count), 256, self._pool, self._places, offsets, count, runs)
            arrays += [runs, offsets]
        fetched, *cigar = yield from self._lane.fetch(*arrays)
        columns = dict(zip(COLUMNS, fetched, strict=False))
        runs, offsets = cigar or (np.empty(0, np.uint32), np.zeros(count + 1, np.int64))
        return Rows(columns, runs, offsets, np.flatnonzero(self._outcome != ALIGNED))


def threads(width: int) -> tuple[int, int]:
    """(threads a pair, pairs a block): a warp a pair where rows are short, a block where they are long."""
    if width <= 512:
        return 32, 4 if width <= 128 else 2
    return min(width // 16, 512), 1
