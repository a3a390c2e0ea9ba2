"""Pairs aligned together on the device: a narrow pass over all, then passes as wide as it found necessary."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.device import MAX_SHORT_LETTERS, Parcel
from tidalign.kernels.letters.words import LETTERS, WORDS
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.errors import DeviceLimit
from tidalign.kernels.runtime.lanes import MAX_LANES, Lane, Steps
from tidalign.kernels.scoring.heuristic import Heuristic
from tidalign.kernels.wavefront.model import NARROW_DIAGONALS, TRIM_STEPS, WIDTHS, Model, team

SHORT_RUNS = 4095
"""Letters of the longer side whose runs fit 16 bits, length << 4 | code."""

COLUMNS = ("penalty", "query_start", "query_end", "target_start", "target_end")

NOWHERE = 0x7FFFFFFF
"""The penalty, in units, of a pair that a heuristic gave up, or that is above its limit."""

ALIGNED, OUTGROWN, NO_ROOM, BOUNDED, OTHER_LETTERS, TOO_LONG, ABOVE = range(7)

MATCH = 2
"""Tells a launch that letters other than ACGT equal every letter."""

DEEP_SHARE = 4
"""Where fewer blocks than so many fit a multiprocessor, rows of M that are read once more long after lie in memory."""

SMALL = 1 << 28
"""Bytes of scratch that need no look at how much memory is free."""


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Hold what all pairs of a call share."""

    model: Model
    ends: tuple[int, int, int, int]
    cigar: bool
    ambiguous: int
    heuristic: Heuristic | None = None
    limited: bool = False

    @property
    def free(self) -> bool:
        return any(self.ends)

    def counted(self, ambiguous: int) -> bool:
        """Tell whether a launch counts words of the query that the target does not have, for what they cost."""
        return not self.free and ambiguous != MATCH and self.heuristic is None

    @property
    def directions(self) -> bool:
        """The start of an ends-free alignment is known only by walking back."""
        return self.cigar or self.free


@dataclass(frozen=True, slots=True)
class BatchRows:
    """Hold what a batch gives, in the lane's memory: columns by name (int32; the penalty in units of the model), operations of all pairs (16 or 32 bits each)
    and how many each pair has, and which pairs are left over."""

    columns: dict[str, npt.NDArray[np.int32]]
    cigar: npt.NDArray[Any]
    counts: npt.NDArray[np.uint16]
    left: npt.NDArray[np.int64]

    @classmethod
    def none(cls) -> "BatchRows":
        """Make the rows of one pair that is left over."""
        return cls(dict.fromkeys(COLUMNS, np.zeros(1, np.int32)), np.empty(0, np.uint16), np.zeros(1, np.uint16), np.zeros(1, np.int64))


class Batch:
    """The launches of one batch and what they share on the device. limits: of penalties, where settings say so."""

    def __init__(self, lane: Lane, parcel: Parcel, settings: CallSettings, limits: npt.NDArray[np.int64] | None = None) -> None:
        import cupy

        self._lane, self._settings = lane, settings
        self._lengths, self._longest = parcel.lengths, parcel.longest
        self._ends = sum(min(end, MAX_SHORT_LETTERS) for end in settings.ends)
        self._queries, self._targets, self._masks = parcel.send()
        self._count = count = len(self._lengths[0])
        self._columns = cupy.empty((5 if settings.free else 1, count), np.int32)
        self._status = cupy.empty(count, np.uint8)
        self._bound, self._missing = cupy.empty(count, np.int32), cupy.empty(count, np.int32)
        if limits is not None:
            self._bound = cupy.asarray(np.clip(limits // settings.model.unit, -1, NOWHERE).astype(np.int32))
        self._places = cupy.empty(count, np.int64)
        self._runs = cupy.zeros(count, np.uint16)  # none of a pair that no launch has room for
        # As many runs as pairs with one difference in 16 letters have; the few batches with more get four times as much.
        self._pool = cupy.empty(parcel.letters // 8 + 4 * count + 1024 if settings.directions else 1, np.uint32)
        self._totals = cupy.zeros(3, np.uint64)
        self._kept = self._unfinished = 0
        self._outcome: npt.NDArray[np.uint8] | None = None  # of each pair, unless all are aligned

    def align(self) -> Steps[BatchRows]:
        """Launch until every pair is aligned or fits nothing."""
        yield from self._run(NARROW_DIAGONALS, None, 0, narrow=True)
        yield from self._widen()
        return (yield from self._gather())

    def _widen(self) -> Steps[None]:
        """Launch for what a narrow pass has left, as wide as it found necessary."""
        model, ends = self._settings.model, self._ends
        if self._outcome is not None:
            lettered = self._outcome == OTHER_LETTERS
            yield from self._run(NARROW_DIAGONALS, np.flatnonzero(lettered), self._settings.ambiguous, narrow=True)
            for ambiguous, among in ((0, ~lettered), (self._settings.ambiguous, lettered)):
                # A narrow pass of rows wide enough for sides that are far apart in length.
                rows = np.flatnonzero(among & (self._outcome == OUTGROWN))
                apart = abs(self._lengths[0][rows] - self._lengths[1][rows]) + ends + NARROW_DIAGONALS
                for width, due in _by_width(apart, NARROW_DIAGONALS):
                    yield from self._run(width, rows[due], ambiguous, narrow=True)
                rows = np.flatnonzero(among & (self._outcome == BOUNDED))
                if len(rows):
                    bound, missing = (column[rows].astype(np.int64) for column in (yield from self._lane.fetch(self._bound, self._missing)))
                    dearest = np.argsort(-bound)  # first, so that the last to end are short
                    rows, bound, missing = rows[dearest], bound[dearest], missing[dearest]
                    if self._settings.counted(ambiguous):
                        yield from self._run_bounded(rows, bound, model.likely_width(bound, missing), ambiguous)
                        outgrown = self._outcome[rows] == OUTGROWN
                        rows, bound = rows[outgrown], bound[outgrown]
                    yield from self._run_bounded(rows, bound, model.width(bound) + ends, ambiguous)
                for width in WIDTHS:
                    yield from self._run(width, np.flatnonzero(among & (self._outcome == OUTGROWN)), ambiguous)

    def _run_bounded(self, rows: npt.NDArray[np.int64], bound: npt.NDArray[np.int64], needed: npt.NDArray[np.int64], ambiguous: int) -> Steps[None]:
        """Launch for pairs whose penalties are at most these, the dearest first, each with as many diagonals as it needs."""
        for width, due in _by_width(needed, 0):
            yield from self._run(min(width, int(needed[due].max()) + 31 & -32), rows[due], ambiguous, bound=int(bound[due][0]))

    def _run(self, width: int, rows: npt.NDArray[np.int64] | None, ambiguous: int, *, narrow: bool = False, bound: int | None = None) -> Steps[None]:
        """Launch until no row lacks room for its CIGAR, and see which are aligned. `rows` None: all."""
        import cupy

        while rows is None or len(rows):
            try:
                self._launch(width, rows, ambiguous, narrow, bound)
            except DeviceLimit:
                if rows is None:
                    self._outcome = np.full(self._count, OUTGROWN, np.uint8)
                return
            asked, kept, unfinished = (int(total) for total in (yield from self._lane.fetch(self._totals))[0])
            self._kept = kept
            if unfinished == self._unfinished:
                if rows is not None and self._outcome is not None:
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
        """Launch the kernel over `rows` (None: all) with wavefronts of a width; the kernel says of each in `_status` what became of it.

        Invariant: a team of threads holds what its pair needs, and takes the next pair when it is done. A pair's rows lie on chip if they fit there:

            shared memory   letters of both sides [words] | missing words [counts] | rows [model.rows x width], or in global memory
            global memory   directions and where those of each step begin, up to `steps`; operations; status
        """
        import cupy

        settings, model = self._settings, self._settings.model
        longest = self._longest if rows is None else max(int(lengths[rows].max()) for lengths in self._lengths)
        words = (min(longest, MAX_SHORT_LETTERS) // 16 + 5) // 4 * 4
        counts = words // 2 if settings.counted(ambiguous) else 0
        row_bytes, deep_bytes = 2 * model.rows * width, 0
        if DEEP_SHARE * row_bytes > compiler.most_shared_bytes() and model.near_rows < model.rows and settings.heuristic is None:
            row_bytes, deep_bytes = 2 * model.near_rows * width, 2 * (model.deepest + 1) * width
        count = self._count if rows is None else len(rows)
        threads_a_pair, pairs_a_block = self._team(width, row_bytes, count)
        shared = pairs_a_block * (((4 if ambiguous else 2) * words + counts + 4) * 4 + self._held_bytes())
        if shared + pairs_a_block * row_bytes <= compiler.most_shared_bytes():
            shared, row_bytes = shared + pairs_a_block * row_bytes, 0
        told = ("NARROW", int(narrow)), ("AMBIGUOUS", ambiguous), ("SHARED", int(not row_bytes)), ("DEEP", int(deep_bytes > 0))
        function, resident = _compiled(cupy.cuda.runtime.getDevice(), settings, told, threads_a_pair, pairs_a_block, shared)
        steps, direction_bytes = self._budget(width, longest, narrow, bound)
        steps, direction_bytes = (min(steps, model.most), direction_bytes) if settings.directions else (steps, 0)
        # Until the way back, runs have the words of the target, with a bit for each word there is or eight for each letter.
        run_words = max(2 * steps + 3, min(WORDS, 8 << longest.bit_length()) // 32 if counts else 0)
        scratch = row_bytes + deep_bytes + direction_bytes + 5 * (steps + 1) + 4 * run_words
        blocks = min(resident, -(-count // pairs_a_block))
        if blocks * pairs_a_block * scratch > SMALL:
            room = int(0.8 * (cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes()))
            # One block may have more than its lane's share: few batches have pairs as far apart as that.
            blocks = min(blocks, max(room // MAX_LANES, SMALL) // (pairs_a_block * scratch)) or int(pairs_a_block * scratch <= room)
        if blocks < 1 or direction_bytes >= 2**31:
            raise DeviceLimit(f"{scratch} bytes a pair are more than this device has free")
        slots = blocks * pairs_a_block
        queries, targets = self._queries, self._targets
        compiler.launch(
            function,
            blocks,
            threads_a_pair * pairs_a_block,
            *(queries.codes, queries.starts, queries.lengths, queries.mask_starts),
            *(targets.codes, targets.starts, targets.lengths, targets.mask_starts),
            self._masks,
            None if rows is None else self._list(rows),
            count,
            cupy.zeros(1, np.int32),
            words,
            width,
            *(cupy.empty(slots * size // 2, np.int16) if size else None for size in (row_bytes, deep_bytes)),
            cupy.empty(slots * direction_bytes, np.uint8),
            np.int64(direction_bytes),
            cupy.empty(slots * (steps + 1), np.int32),
            cupy.empty(slots * (steps + 1), np.uint8),
            cupy.empty(slots * run_words, np.uint32),
            run_words,
            steps,
            *(min(end, MAX_SHORT_LETTERS) for end in settings.ends),
            self._status,
            self._bound,
            self._missing,
            *(self._columns if settings.free else (self._columns[0], None, None, None, None)),
            self._pool,
            np.uint64(len(self._pool)),
            self._totals,
            self._places,
            self._runs,
            shared_bytes=shared,
        )

    def _team(self, width: int, row_bytes: int, count: int) -> tuple[int, int]:
        """Choose (threads a pair, pairs a block) for so many pairs with rows of a width."""
        return team(width, row_bytes, count)

    def _held_bytes(self) -> int:
        """Give the bytes of shared memory that a pair needs besides letters and rows."""
        return 0

    def _budget(self, width: int, longest: int, narrow: bool, bound: int | None) -> tuple[int, int]:
        """Give the (largest penalty, direction bytes) that a pair may have in a launch."""
        model = self._settings.model
        if narrow:
            return model.narrow_budget(width)
        if bound is not None:
            return model.bounded_budget(bound, self._ends, width)
        return model.budget(width)

    def _list(self, rows: npt.NDArray[np.int64]) -> Any:
        staged = self._lane.stage([(len(rows), np.int32)])
        staged[0][:] = rows
        return self._lane.send(staged)[0]

    def _gather(self) -> Steps[BatchRows]:
        """Gather results to the host; CIGARs first to their place in pair order, so that the order of launches leaves no trace."""
        import cupy

        arrays = [self._columns]
        if self._settings.cigar:
            short = self._longest <= SHORT_RUNS
            gather = compiler.kernel("letters/sequences.cu", "gather_short_runs" if short else "gather_runs", {})
            ends = cupy.empty(self._count, np.int64)
            compiler.launch(compiler.kernel("letters/sequences.cu", "ends_of_runs", {}), 1, 1024, self._runs, self._count, ends)
            runs = cupy.empty(self._kept, np.uint16 if short else np.uint32)
            blocks = min(-(-self._count // 8), 8192)  # a warp a pair, at most a few waves
            compiler.launch(gather, blocks, 256, self._pool, self._places, ends, self._runs, self._count, runs)
            arrays += [runs, self._runs]
        fetched, *cigar = yield from self._lane.fetch(*arrays)
        runs, counts = cigar or (np.empty(0, np.uint16), np.zeros(self._count, np.uint16))
        left = np.empty(0, np.int64) if self._outcome is None else np.flatnonzero((self._outcome != ALIGNED) & (self._outcome != ABOVE))
        return BatchRows(dict(zip(COLUMNS, fetched, strict=False)), runs, counts, left)


def _by_width(needed: npt.NDArray[np.int64], above: int) -> Iterator[tuple[int, npt.NDArray[np.bool_]]]:
    """Tell for each of WIDTHS which pairs, that need so many diagonals and more than `above`, are due at it; the least first, none that has no pair."""
    for smaller, width in zip((above, *WIDTHS), WIDTHS, strict=False):
        due = (smaller < needed) & (needed <= width)
        if due.any():
            yield width, due


@cache
def _compiled(device: int, settings: CallSettings, told: tuple[tuple[str, int], ...], threads: int, pairs: int, shared: int) -> tuple[Any, int]:
    """Compile the kernel for the current device, which is `device`, and ask how many of its blocks run there at a time. told: macros of the launch."""
    model = settings.model
    macros: dict[str, int] = {"THREADS": threads, "PAIRS": pairs, "CIGAR": int(settings.directions), "FREE": int(settings.free)}
    macros |= {"LIMITED": int(settings.limited), "TRIM": TRIM_STEPS} | dict(told)
    macros |= dict(zip(("MISSING", "INSERTED", "DELETED"), model.shares, strict=True))
    if settings.heuristic is not None:
        macros |= dict(zip(("HEURISTIC", "FIRST", "SECOND", "STEPS"), settings.heuristic.cut(), strict=True))
        macros |= {"EDIT": int(model.edit), "UNIT": model.unit}
    named = model.macros | {"WORD_LETTERS": LETTERS} | {f"WAVEFRONT_{name}": value for name, value in macros.items()}
    function = compiler.kernel("wavefront/wavefront.cu", "wavefront_align", named, shared_bytes=shared)
    return function, compiler.resident(function, threads * pairs, shared)
