"""The wavefront kernels on the current CUDA device: the rows of `wavefront.align`, by the same rules.

Edit distances of short pairs have a pass of their own, a thread a pair (device_edit.py). Every other pair first has a narrow pass, a warp each with its rows on
chip: exact where leaving its diagonals and coming back would cost more than what it found, as for close pairs, and else an upper bound of the penalty. The
bound says how wide the rows of the second pass must be and how many cells it can leave out (the diamond of Castells-Rufas 2023, 10.1016/j.future.2022.09.010),
so its memory is allotted exactly, and nothing is transferred twice. Pairs over 32,768 letters are cut to pieces afterwards (bidirectional/device.py). What fits
nowhere is left to the host twin and counted.
"""

from bisect import bisect_right
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tidalign.kernels.bidirectional import device as bidirectional_device
from tidalign.kernels.letters import staging as host
from tidalign.kernels.letters.device import MAX_SHORT_LETTERS, Integers, Letters, Parcel
from tidalign.kernels.letters.sequences import Sequences, one
from tidalign.kernels.pairwise import wavefront
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.runtime.lanes import MAX_LANES, Lane, Steps, run
from tidalign.kernels.scoring.heuristic import Heuristic
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments
from tidalign.kernels.wavefront.device import COLUMNS, NOWHERE, Batch, BatchRows, CallSettings
from tidalign.kernels.wavefront.device_edit import EditBatch
from tidalign.kernels.wavefront.device_pruned import PrunedBatch
from tidalign.kernels.wavefront.model import Model

COPIERS = 14
"""Threads between the caller's arrays and pinned memory, where letters are packed and results widened: they, not the bus, limit short reads."""

CORES = 8
"""Threads that align what the device cannot."""

MAX_BATCH_LETTERS = 1 << 26
"""Letters of both sides that a batch takes at most: enough to fill the GPU, small enough for its copies to hide behind the kernels of others."""

MIN_BATCH_LETTERS = 1 << 25
"""... and at least, where there are as many: launching takes as long as aligning these."""


def align(
    queries: Letters,
    targets: Letters,
    penalties: Penalties,
    *,
    ends_free: tuple[int, int, int, int] | None = None,
    cigar: bool = True,
    ambiguous: Literal["mismatch", "match"] = "mismatch",
    heuristic: Heuristic | None = None,
    limits: Integers | None = None,
) -> Alignments:
    """Give what `wavefront.align` gives, on the current device. The host's cores take the pairs that the device cannot, `by_host` of the result: those whose
    wavefronts fit no variant or no memory. limits: as of `penalties_within`; the penalty of a pair above its own is any higher one.

    Batches go through lanes, so that copies of one hide behind the kernels of others and behind the pairs the host takes. Invariant: operations of batches
    before `result.turn` are in their place, in pair order, whatever the order in which lanes end.

        pairs:   [ batch 0 ][ batch 1 ] ... no memory: halves, in order
        lane:    stage -> send -> kernels -> fetch -> its turn -> deliver
        left:    short ones to the host's cores, long ones to the bidirectional kernels, then to the cores
    Raises ValueError as `wavefront.align` does, and KernelError where the device fails: this process cannot use it any more then.
    """
    import cupy

    free = wavefront.checked(queries, targets, ends_free, ambiguous)
    settings = CallSettings(Model.of(penalties), free, cigar, {"mismatch": 1, "match": 2}[ambiguous], heuristic, limits is not None)
    device = cupy.cuda.runtime.getDevice()
    cut = bounds(queries, targets)
    result = _Result(queries, targets, settings)

    def on_host(row: int) -> Alignments:
        options: Any = {"ends_free": ends_free, "cigar": cigar, "ambiguous": ambiguous, "heuristic": heuristic}
        return wavefront.align(one(queries, row), one(targets, row), penalties, **options)

    def batch(turn: int, mine: Lane) -> Steps[None]:
        parts = [(cut[turn], cut[turn + 1])]
        while parts:
            start, stop = parts.pop()
            try:
                rows = yield from _aligned(mine, copiers, queries, targets, start, stop, result, limits)
            except cupy.cuda.memory.OutOfMemoryError:
                mine.stream.synchronize()
                cupy.get_default_memory_pool().free_all_blocks()
                middle = (start + stop) // 2
                if middle > start:
                    parts += [(middle, stop), (start, middle)]
                    continue
                rows = BatchRows.none()
            for row in (rows.left + start).tolist():
                if limits is not None and limits[row] < 0:
                    continue  # see `penalties_within`
                if heuristic is None and max(bidirectional_device.length(side, row) for side in (queries, targets)) > wavefront.BIDIRECTIONAL_ABOVE:
                    long.append(row)
                else:
                    by_host[row] = cores.submit(on_host, row)
            yield lambda: result.turn == turn
            delivered = copiers.submit(result.put, start, stop, rows, result.place(rows))
            result.turn += not parts
            yield delivered.done
            delivered.result()

    by_host: dict[int, Future[Alignments]] = {}
    long: list[int] = []
    with ThreadPoolExecutor(CORES) as cores, ThreadPoolExecutor(COPIERS) as copiers:
        try:
            run(partial(batch, turn) for turn in range(len(cut) - 1))
            apart, left = bidirectional_device.align(queries, targets, long, settings)
        except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
            raise KernelError(f"device {device} failed on {len(queries)} pairs: {error}") from error
        by_host |= {row: cores.submit(on_host, row) for row in left}
        apart |= {row: alignment.result() for row, alignment in by_host.items()}
        return replace(_filled(result.alignments(), dict(sorted(apart.items()))), by_host=len(by_host))


def penalties_within(
    queries: Letters,
    targets: Letters,
    penalties: Penalties,
    limits: Integers,
    *,
    ends_free: tuple[int, int, int, int] | None = None,
    ambiguous: Literal["mismatch", "match"] = "mismatch",
) -> Integers:
    """Give what `wavefront.penalties_within` gives, on the current device."""
    found = align(queries, targets, penalties, ends_free=ends_free, cigar=False, ambiguous=ambiguous, limits=limits).penalty
    return np.where(found <= limits, found, -1)  # nothing is below 0: so of a limit that is, what was not looked at is of no matter


def beside(shortest: int, heuristic: Heuristic | None = None) -> int:
    """Tell how many calls of `align` the current device may have beside one of pairs whose longer sides have at least so many letters: none, as one fills it,
    but of pairs that are cut to pieces."""
    return bidirectional_device.beside() if heuristic is None and shortest > wavefront.BIDIRECTIONAL_ABOVE else 0


def bounds(queries: Letters, targets: Letters) -> list[int]:
    """Choose where batches begin, and the end; at least one pair each. The first ones grow, so that the device has work soon and goes on having it, and the
    last ones shrink, so that all lanes end at about the same time."""
    total = len(queries)
    offsets = [side.offsets if isinstance(side, Sequences) else side.code_offsets for side in (queries, targets)]
    scales = [1 if isinstance(side, Sequences) else 4 for side in (queries, targets)]

    def letters(pair: int) -> int:
        return scales[0] * int(offsets[0][pair]) + scales[1] * int(offsets[1][pair])

    end = letters(total)
    found = [0]
    while found[-1] < total:
        begin = letters(found[-1])
        share = max(MIN_BATCH_LETTERS, min(MAX_BATCH_LETTERS, len(found) * MAX_BATCH_LETTERS // MAX_LANES, 2 * (end - begin) // MAX_LANES))
        found.append(max(found[-1] + 1, bisect_right(range(total + 1), begin + share, found[-1], key=letters) - 1))
    return found


def _aligned(
    mine: Lane, copiers: ThreadPoolExecutor, queries: Letters, targets: Letters, start: int, stop: int, result: "_Result", limits: Integers | None
) -> Steps[BatchRows]:
    """Align pairs [start, stop) on this lane; the rows are valid until its next batch."""
    lengths = result.lengths(start, stop)
    if stop - start == 1 and max(side.lengths[0] for side in (one(queries, start), one(targets, start))) > MAX_SHORT_LETTERS:
        return BatchRows.none()
    parcel = Parcel(mine, queries, targets, start, stop, lengths)
    staged = copiers.submit(parcel.stage)
    yield staged.done
    staged.result()
    if result.settings.heuristic is not None:
        return (yield from PrunedBatch(mine, parcel, result.settings).align())
    if EditBatch.takes(result.settings, parcel.longest):  # which no limit makes sooner
        return (yield from EditBatch(mine, parcel, replace(result.settings, limited=False)).align())
    return (yield from Batch(mine, parcel, result.settings, None if limits is None else limits[start:stop]).align())


class _Result:
    """The final arrays, filled by many threads: columns at once, operations in the order of batches."""

    def __init__(self, queries: Letters, targets: Letters, settings: CallSettings) -> None:
        total = len(queries)
        self.settings = settings
        # Without free ends, alignments begin at 0 and end at the lengths; zeros that nobody writes take no memory.
        self.columns: dict[str, Any] = {name: np.empty(total, np.int64) for name in ("penalty", "query_end", "target_end")}
        self.columns |= {name: np.zeros(total, np.int64) for name in ("query_start", "target_start")}
        # A run has a letter at least; what is not used takes no memory either, and is given back in the end.
        most = sum(len(side.letters) if isinstance(side, Sequences) else 4 * len(side.codes) for side in (queries, targets))
        self._runs = np.empty(most if settings.cigar else 0, np.uint32)
        self._offsets = np.empty(total + 1 if settings.cigar else 0, np.int64)
        self._offsets[:1] = 0
        self._used = 0
        self.turn = 0  # batch whose operations come next

    def lengths(self, start: int, stop: int) -> tuple[Integers, Integers]:
        """Give the arrays that the lengths of pairs [start, stop) go to: without free ends these are columns already."""
        if self.settings.free:
            return np.empty(stop - start, np.int64), np.empty(stop - start, np.int64)
        return self.columns["query_end"][start:stop], self.columns["target_end"][start:stop]

    def place(self, rows: BatchRows) -> int:
        """Take the place of the next batch's operations."""
        place = self._used
        self._used += len(rows.cigar)
        return place

    def put(self, start: int, stop: int, rows: BatchRows, place: int) -> None:
        """Put in pairs [start, stop), their operations from `place` on."""
        arrays = self.columns["penalty"][start:], rows.counts, self._offsets[start + 1 :], rows.cigar, self._runs[place:]
        penalty, counts, offsets, runs, cigar = (array.ctypes.data for array in arrays)
        units = rows.columns["penalty"].ctypes.data, self.settings.model.unit
        host.deliver(*units, stop - start, penalty, counts, place, offsets if self.settings.cigar else 0, runs, rows.cigar.itemsize, cigar)
        for name in COLUMNS[1:] if self.settings.free else ():
            self.columns[name][start:stop] = rows.columns[name]

    def alignments(self) -> Alignments:
        """Give the alignments, when all is put."""
        self._runs.resize(self._used, refcheck=False)
        dropped = None
        if self.settings.heuristic is not None:
            dropped = self.columns["penalty"] == NOWHERE * self.settings.model.unit
            for column in self.columns.values():
                column[dropped] = 0
        operations: Any = {"cigar": self._runs, "cigar_offsets": self._offsets} if self.settings.cigar else {}
        return Alignments(**self.columns, **operations, heuristic=dropped is not None, dropped=dropped)


def _filled(found: Alignments, rows: dict[int, Alignments]) -> Alignments:
    """Put the rows given, in their order, in place of those of `found` (which have no operations)."""
    for row, alignment in rows.items():
        for name in COLUMNS:
            getattr(found, name)[row] = getattr(alignment, name)[0]
        if found.dropped is not None and alignment.dropped is not None:
            found.dropped[row] = alignment.dropped[0]
    if not rows or found.cigar is None or found.cigar_offsets is None:
        return found
    pieces: list[npt.NDArray[np.uint32]] = []
    sizes = np.diff(found.cigar_offsets)
    before = 0
    for row, alignment in rows.items():
        assert alignment.cigar is not None
        place = int(found.cigar_offsets[row])
        pieces += [found.cigar[before:place], alignment.cigar]
        sizes[row], before = len(alignment.cigar), place
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return replace(found, cigar=np.concatenate([*pieces, found.cigar[before:]]), cigar_offsets=offsets)
