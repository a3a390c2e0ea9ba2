"""Alignment of pairs by scores on the current CUDA device: the rows of `pairs.align`, by the same rules.

Pairs go in launches of like lengths. Local ones are scored in 16 bits, two a team of lanes, and again in 32 where that was too few; all other spans in 32 bits.
The way back makes the cells around the path again from what the lanes have kept. What fits no memory, and extensions, are left to the host twin and counted.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.local import host, launches, pairs
from tidalign.kernels.local.coding import Batch, Coding
from tidalign.kernels.local.uploaded import Uploaded, uploaded
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.wavefront.alignments import Alignments

MOST_BYTES = 1 << 34
"""Memory of a launch for what the way back needs, at most; and half of what is free."""

MOST_SCORE = 1 << 29
"""Scores that 32 bits hold with room for what is subtracted from them."""

Integers = npt.NDArray[np.int64]


def align(
    queries: Batch,
    targets: Batch,
    scoring: Substitution,
    *,
    span: str = "local",
    report: str = "cigar",
    ambiguous: str = "mismatch",
    zdrop: int | None = None,
    end_bonus: int = 0,
) -> Alignments:
    """Give what `pairs.align` gives, from the current device; `by_host` of it counts the pairs that the host took.

    Raises ValueError as `pairs.align` does, and KernelError where the device fails: this process cannot use it any more then.
    """
    if len(queries) != len(targets):
        raise ValueError(f"as many queries as targets are needed, not {len(queries)} and {len(targets)}")
    if span == "extension":
        given: dict[str, Any] = {"report": report, "ambiguous": ambiguous, "zdrop": zdrop, "end_bonus": end_bonus}
        return replace(pairs.align(queries, targets, scoring, span=span, **given), by_host=len(queries))
    coding = Coding(scoring, ambiguous)
    return align_uploaded(uploaded(queries, coding), uploaded(targets, coding), coding, span=span, report=report)


def align_uploaded(query: Uploaded, target: Uploaded, coding: Coding, *, span: str = "local", report: str = "cigar") -> Alignments:
    """Align as `align` does sequences that are on the device, in any span but extension."""
    import cupy

    work = _Work(query, target, coding, span, report)
    device = cupy.cuda.runtime.getDevice()
    try:
        return work.alignments()
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
        raise KernelError(f"device {device} failed on {len(query)} pairs: {error}") from error


class _Work:
    """Take pairs on their way to `Alignments`."""

    def __init__(self, query: Uploaded, target: Uploaded, coding: Coding, span: str, report: str) -> None:
        flags = pairs.span_flags(span)
        self._query, self._target, self._coding, self._report = query, target, coding, report
        self._keep = report != "score"
        ends = tuple(bool(flags & flag) for flag in (host.BEGIN_QUERY, host.BEGIN_TARGET, host.END_QUERY, host.END_TARGET, host.END_CORNER))
        self._span = span
        self._kernels = launches.Kernels(coding, ends, keep=self._keep)
        count = len(query)
        self._score = np.zeros(count, np.int64)
        self._ends = np.zeros((count, 4), np.int64)
        self._left: list[Integers] = []
        # Operations as they come, and where those of each pair lie among them.
        self._pieces: list[npt.NDArray[np.uint32]] = []
        self._used = 0
        self._operations = np.zeros((count, 2), np.int64)

    def alignments(self) -> Alignments:
        """Align all pairs."""
        narrow, wide = self._widths(self._query.lengths, self._target.lengths)
        self._launched(np.flatnonzero(narrow), wide=False)
        self._launched(np.flatnonzero(wide | (narrow & (self._score >= launches.OVER))), wide=True)
        left = np.unique(np.concatenate([np.flatnonzero(~(narrow | wide)), *self._left]))
        self._on_host(left)
        return self._gathered(len(left))

    def _widths(self, n: Integers, m: Integers) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Which pairs to try in 16 bits, and which to align in 32."""
        dearest, largest = max(map(int, self._coding.costs)), int(self._coding.matrix.max())
        both = n + m
        sound = (both * max(int(cost) for cost in self._coding.costs[1::2]) + 2 * sum(map(int, self._coding.costs)) < MOST_SCORE) & (both < 1 << 28)
        highest = largest * np.minimum(n, m)
        sound &= highest < MOST_SCORE
        narrow = sound & (highest < 8 * launches.OVER) & (self._span == "local") & (dearest < 1 << 14)
        return np.asarray(narrow), np.asarray(sound & ~narrow)

    def _launched(self, rows: Integers, *, wide: bool) -> None:
        """Align these pairs with scores of 16 or 32 bits, as many in a launch as fit."""
        query, target = self._query.at(rows), self._target.at(rows)
        letters = self._coding.scoring.letters[:4]
        table = np.full(len(rows), letters != "ACGT") | target.others
        shared = len(rows) > 1 and not self._keep and bool((query.rows == query.rows[0]).all()) and self._fits_shared(int(query.lengths[0]))
        for launch in launches.planned(query.lengths, target.lengths, table, wide=wide, shared=shared):
            self._cut(launch, query, target, rows)

    def _fits_shared(self, longest: int) -> bool:
        return (longest + 512) * (self._coding.size + 1) < compiler.most_shared_bytes() - 1024

    def _cut(self, launch: launches.Launch, query: Uploaded, target: Uploaded, rows: Integers) -> None:
        """Do what a launch takes in parts that fit the memory."""
        import cupy

        most, start, pairs_of = self._room(), 0, launch.form.pairs
        while start < len(launch.rows):
            taken = launch.rows[start:]
            if self._keep:
                n, m = query.lengths[taken], target.lengths[taken]
                cells = np.cumsum(self._kernels.kept_cells(launch.form, n, m))
                taken = taken[: pairs_of * int(np.searchsorted(cells * self._kernels.cell_bytes, most, side="right"))]
            try:
                if len(taken):
                    self._one(launch.form, query, target, taken, rows[taken], most)
            except cupy.cuda.memory.OutOfMemoryError:
                cupy.get_default_memory_pool().free_all_blocks()
                most //= 2
                continue
            if not len(taken):
                taken = launch.rows[start : start + pairs_of]
                self._left.append(rows[taken])
            start += len(taken)

    def _room(self) -> int:
        import cupy

        pool = cupy.get_default_memory_pool()
        free = cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes()
        return int(min(MOST_BYTES, free // 2))

    def _one(self, form: launches.Form, query: Uploaded, target: Uploaded, places: Integers, rows: Integers, most: int) -> None:
        """Launch the pairs at these places of both sides, which are these rows, and take in what is found."""
        import cupy

        scored = self._kernels.score(form, query, target, places, most)
        if self._keep:
            self._kernels.trace(scored, self._report == "cigar")
            self._ends[rows] = scored.ends.get()
        self._score[rows] = scored.score.get()
        if self._report != "cigar":
            return
        offsets = cupy.zeros(scored.count + 1, np.int64)
        cupy.cumsum(scored.counts, out=offsets[1:])
        compact = cupy.empty(int(offsets[-1]), np.uint32)
        gather = compiler.kernel("local/codes.cu", "operations_gathered", {})
        blocks = min(1 << 12, -(-scored.count // 8))
        compiler.launch(gather, blocks, 256, scored.operations, scored.operation_ends, scored.counts, offsets, scored.count, compact)
        self._put(rows, offsets.get(), compact.get())

    def _put(self, rows: Integers, offsets: Integers, operations: npt.NDArray[np.uint32]) -> None:
        """Take in operations of these rows; a row that is aligned again has its last ones."""
        self._operations[rows] = np.stack([offsets[:-1], offsets[1:]], axis=1) + self._used
        self._used += len(operations)
        self._pieces.append(operations)

    def _on_host(self, rows: Integers) -> None:
        if not len(rows):
            return
        sides = [self._coding.coded(side.batch, place).at(side.rows[rows]) for place, side in enumerate((self._query, self._target))]
        found = pairs.align_coded(sides[0], sides[1], self._coding, span=self._span, report=self._report)
        assert found.score is not None
        self._score[rows] = found.score
        self._ends[rows] = np.stack([found.query_start, found.query_end, found.target_start, found.target_end], axis=1)
        if found.cigar is not None and found.cigar_offsets is not None:
            self._put(rows, found.cigar_offsets, found.cigar)

    def _gathered(self, by_host: int) -> Alignments:
        from tidalign.kernels.local import walk

        count = len(self._score)
        query_start, query_end, target_start, target_end = np.ascontiguousarray(self._ends.T)
        found = Alignments(np.zeros(count, np.int64), query_start, query_end, target_start, target_end, score=self._score, placed=self._keep, by_host=by_host)
        if self._report != "cigar":
            return found
        offsets = np.zeros(count + 1, np.int64)
        np.cumsum(self._operations[:, 1] - self._operations[:, 0], out=offsets[1:])
        operations = np.empty(int(offsets[-1]), np.uint32)
        walk.gathered(np.concatenate([np.empty(0, np.uint32), *self._pieces]), self._operations, offsets, operations)
        return replace(found, cigar=operations, cigar_offsets=offsets)
