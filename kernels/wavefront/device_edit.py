"""Edit distances of short pairs on the device: a pass over all with a thread a pair, then the passes of every model for what is not close enough.

A pass that a pair outgrows costs it about a tenth of the narrow pass that follows, or less: a warp does 32 pairs at a time, and stops at the largest penalty.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.lanes import Steps
from tidalign.kernels.wavefront.device import OUTGROWN, Batch, BatchRows, CallSettings
from tidalign.kernels.wavefront.model import NARROW_DIAGONALS

LONGEST = 1024
"""Letters of the longer side: of longer pairs too few fit a multiprocessor's memory. Runs of up to 4,095 fit 16 bits."""

LIMITS = (8, 62)
"""Penalties a pass stops at, at least and at most; the operations of a path are held in 128 bits."""

LETTERS_A_DIFFERENCE = 8
"""Letters of the longest side for one of the limit: more differences are rare, and cells grow with the square of the limit."""

THREADS = 64
"""Threads a block: few, since a block's memory is free when all its pairs are done."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Hold what a thread keeps: words of a sequence, the largest penalty, the outermost diagonal, and words of directions."""

    words: int
    limit: int
    reach: int
    direction_words: int

    @classmethod
    def of(cls, longest: int, *, cigar: bool) -> "Shape":
        """Choose the shape for sequences of up to `longest` letters."""
        return cls.with_limit(longest, min(max(longest // LETTERS_A_DIFFERENCE, LIMITS[0]), LIMITS[1]), cigar=cigar)

    @classmethod
    def with_limit(cls, longest: int, limit: int, *, cigar: bool) -> "Shape":
        """Choose the shape for penalties up to `limit`. A pair whose lengths differ by half the limit fits. Directions are enough for a warp whose pairs'
        lengths differ by a fourth of it, to both sides, and for as many runs of 16 bits as a path has."""
        rows = np.arange(1, limit + 1)
        cells = 2 * int(np.minimum(rows, limit + limit // 4 - rows).sum()) + limit
        return cls(-(-longest // 16) + 1, limit, min(limit, limit * 3 // 4 + 1), max(limit + 1, -(-cells // 16)) if cigar else 0)

    @property
    def shared_bytes(self) -> int:
        """Count the bytes of shared memory of a thread."""
        return 4 * 2 * self.words + 2 * (2 * self.reach + 3)


class EditBatch(Batch):
    """The launches of one batch of short pairs."""

    _close = True

    @staticmethod
    def takes(settings: CallSettings, longest: int) -> bool:
        """Say whether a batch is for this."""
        return settings.model.edit and settings.heuristic is None and not settings.free and longest <= LONGEST

    def align(self) -> Steps[BatchRows]:
        """Launch until every pair is aligned or fits nothing."""
        yield from self._run(0, None, 0)
        self._close = False
        if self._outcome is not None:
            yield from self._run(NARROW_DIAGONALS, np.flatnonzero(self._outcome == OUTGROWN), 0, narrow=True)
            yield from self._widen()
        return (yield from self._gather())

    def _launch(self, width: int, rows: npt.NDArray[np.int64] | None, ambiguous: int, narrow: bool, bound: int | None) -> None:
        """Launch the pass of close pairs, or any other."""
        if not self._close:
            super()._launch(width, rows, ambiguous, narrow, bound)
            return
        import cupy

        cigar = self._settings.cigar
        shape = Shape.of(self._longest, cigar=cigar)
        shared = THREADS * shape.shared_bytes
        function = compiler.kernel("wavefront/edit.cu", "edit_align", {"EDIT_THREADS": THREADS, "EDIT_CIGAR": int(cigar)}, shared_bytes=shared)
        count = self._count if rows is None else len(rows)
        blocks = -(-count // THREADS)
        queries, targets = self._queries, self._targets
        compiler.launch(
            function,
            blocks,
            THREADS,
            *(queries.codes, queries.starts, queries.lengths, queries.mask_starts),
            *(targets.codes, targets.starts, targets.lengths, targets.mask_starts),
            None if rows is None else self._list(rows),
            count,
            *(shape.words, shape.limit, shape.reach),
            cupy.empty(blocks * THREADS * shape.direction_words, np.uint32) if cigar else None,
            shape.direction_words,
            self._status,
            self._columns[0],
            self._pool,
            np.uint64(len(self._pool)),
            self._totals,
            self._places,
            self._runs,
            shared_bytes=shared,
        )
