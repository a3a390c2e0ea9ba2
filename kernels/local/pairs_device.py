"""Alignment of pairs by scores on the current CUDA device: the rows of `pairs.align`, by the same rules.

Pairs go in launches of like lengths. Local ones are scored in 16 bits, two a team of lanes, and again in 32 where that was too few; all other spans in 32 bits.
The way back makes the cells around the path again from what the lanes have kept. Extensions are global alignments up to their ends. What fits no
memory is left to the host twin and counted.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.local import extension, host, pairs
from tidalign.kernels.local.bars import Bars
from tidalign.kernels.local.coding import Batch, Coding
from tidalign.kernels.local.columns import by_letters
from tidalign.kernels.local.device import extensions, forms, launches
from tidalign.kernels.local.memory import MAX_LETTERS
from tidalign.kernels.local.uploaded import PAIRS_SOURCE, Uploaded, uploaded
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.runtime.gpu import room_beside
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.wavefront.alignments import Alignments

MAX_BYTES = 1 << 35
"""Memory of a launch for what the way back needs, at most; and half of what is free for each of the calls beside each other."""

FEW_PAIRS = 4096
"""Pairs that are not enough to keep the device busy with a team for each."""

MAX_SCORE = 1 << 29
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
    band: int | None = None,
) -> Alignments:
    """Give what `pairs.align` gives, from the current device; `by_host` of it counts the pairs that the host took.

    Raises ValueError as `pairs.align` does, and KernelError where the device fails: this process cannot use it any more then.
    """
    if len(queries) != len(targets):
        raise ValueError(f"as many queries as targets are needed, not {len(queries)} and {len(targets)}")
    coding = Coding(scoring, ambiguous)
    options: dict[str, Any] = {"span": span, "report": report, "zdrop": zdrop, "end_bonus": end_bonus, "band": band}
    return align_uploaded(uploaded(queries, coding), uploaded(targets, coding), coding, **options)


def align_uploaded(
    query: Uploaded,
    target: Uploaded,
    coding: Coding,
    *,
    span: str = "local",
    report: str = "cigar",
    zdrop: int | None = None,
    end_bonus: int = 0,
    band: int | None = None,
    bars: Bars | None = None,
) -> Alignments:
    """Align as `align` does sequences that are on the device. bars: as of `pairs.align_coded`, of the device."""
    import cupy

    device = cupy.cuda.runtime.getDevice()
    try:
        if span == "extension":
            return _extended(query, target, coding, report, zdrop, end_bonus, band)
        return _Work(query, target, coding, span, report, bars).alignments()
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
        raise KernelError(f"device {device} failed on {len(query)} pairs: {error}") from error


def _extended(query: Uploaded, target: Uploaded, coding: Coding, report: str, zdrop: int | None, end_bonus: int, band: int | None) -> Alignments:
    """Extend pairs; those whose scores do not fit are left to the host, up to the ends."""
    import cupy

    work = extensions.Extensions(coding, zdrop, end_bonus, band)
    found, possible = np.zeros((3, len(query)), np.int64), work.possible(query, target)
    rows, left = np.flatnonzero(possible), np.flatnonzero(~possible)
    if len(rows):
        fitting = (query.at(rows), target.at(rows)) if len(left) else (query, target)
        found[:, rows] = work.ends(*fitting, room()).get()
    score, ends = found[0], found[1:]
    if len(left):
        sides = query.on_host(coding, 0, left), target.on_host(coding, 1, left)
        score[left], ends[:, left] = extension.ends(*sides, coding, zdrop, end_bonus, band)
    none, heuristic = np.zeros(len(query), np.int64), zdrop is not None or band is not None
    if report != "cigar":
        q, t = (ends[0], ends[1]) if report == "ends" else (none, none)
        return Alignments(none, none, q, none, t, score=score, placed=report == "ends", heuristic=heuristic, by_host=len(left))
    cut = [np.append(lengths, lengths.max(initial=0)).astype(np.int32) for lengths in ends]
    inside = [replace(side, lengths=cupy.asarray(each[:-1]), longest=cupy.asarray(each[-1:])) for side, each in zip((query, target), cut, strict=True)]
    aligned = _Work(inside[0], inside[1], coding, "global", report).alignments()
    return replace(aligned, heuristic=heuristic, by_host=max(aligned.by_host, len(left)))


def beside() -> int:
    """Tell how many other calls of `align` the current device has memory for beside one: the host's part of one goes on while another's kernels run."""
    return room_beside(1)


class _Work:
    """Take pairs on their way to `Alignments`."""

    def __init__(self, query: Uploaded, target: Uploaded, coding: Coding, span: str, report: str, bars: Bars | None = None) -> None:
        import cupy

        flags = pairs.span_flags(span)
        self._query, self._target, self._coding, self._report = query, target, coding, report
        self._keep, self._bars = report != "score", bars
        ends = tuple(bool(flags & flag) for flag in (host.BEGIN_QUERY, host.BEGIN_TARGET, host.END_QUERY, host.END_TARGET, host.END_CORNER))
        self._span = span
        self._kernels = launches.Kernels(coding, ends, keep=self._keep)
        count = len(query)
        self._score = cupy.zeros(count, np.int32)
        self._ends = cupy.zeros((4, count), np.int32)
        self._counts = cupy.zeros(count, np.int32)
        self._operations: list[tuple[Any, Any, Any, Any]] = []  # pairs, how many each has, where those begin, and all of them
        self._left: list[Any] = []

    def alignments(self) -> Alignments:
        """Align all pairs."""
        import cupy

        n, m, how = self._query.lengths, self._target.lengths, (self._coding, self._span, self._kernels.lifted)
        narrow, wide = widths(np.int64(int(self._query.longest[0])), np.int64(int(self._target.longest[0])), *how)
        if narrow or (wide and not widths(np.int64(0), np.int64(0), *how)[0]):
            self._launched(None, wide=bool(wide))  # as the longest, so all: CuPy need not compile what tells it of each
            again = np.zeros(0, np.int64) if wide else np.flatnonzero(self._score.get() >= launches.OVER)
        else:
            narrow, wide = widths(n.astype(np.int64), m.astype(np.int64), *how)
            self._left.append(cupy.flatnonzero(~(narrow | wide)))
            self._launched(cupy.flatnonzero(narrow), wide=False)
            again = cupy.flatnonzero(wide | (narrow & (self._score >= launches.OVER)))
        self._launched(cupy.asarray(again), wide=True)
        left = np.zeros(len(n), np.bool_)
        for rows in self._left:
            left[rows.get()] = True
        return self._gathered(np.flatnonzero(left))

    def _launched(self, rows: Any, *, wide: bool) -> None:
        """Align these pairs, None: all, with scores of 16 or 32 bits."""
        import cupy

        query, target = (self._query, self._target) if rows is None else (self._query.at(rows), self._target.at(rows))
        if not len(query):
            return
        gangs, tabled = self._keep or len(query) < FEW_PAIRS, self._coding.scoring.letters[:4] != "ACGT"
        planned = list(forms.planned(query, target, tabled=tabled, wide=wide, gangs=gangs, low=self._bars is not None))
        self._kernels.ready((form, 0) for form, _ in planned)
        for form, places in planned:
            most, pairs_at_once, start = room(), len(places), 0
            while start < len(places):
                taken = places[start : start + pairs_at_once]
                try:
                    sides, kept = (query.at(taken), target.at(taken)), None
                    if self._keep or form.gang > 1:
                        kept = self._kernels.kept_cells(form, *sides)
                        if int(kept[-1]) * self._kernels.cell_bytes > most:
                            taken = taken[: form.pairs * (int(cupy.searchsorted(kept, most // self._kernels.cell_bytes, side="right")) - 1)]
                            sides = query.at(taken), target.at(taken)
                    if len(taken):
                        self._one(form, *sides, kept, taken if rows is None else rows[taken], most)
                except cupy.cuda.memory.OutOfMemoryError:
                    cupy.get_default_memory_pool().free_all_blocks()
                    most //= 2
                    pairs_at_once = len(taken) // 2 // form.pairs * form.pairs
                    continue
                if not len(taken):
                    taken = places[start : start + form.pairs]
                    pairs_at_once = max(pairs_at_once, form.pairs)  # others may fit
                    self._left.append(taken if rows is None else rows[taken])
                start += len(taken)

    def _one(self, form: forms.Form, query: Uploaded, target: Uploaded, kept: Any, rows: Any, most: int) -> None:
        """Launch pairs, which are these rows, and take in what is found."""
        import cupy

        scored = self._kernels.score(form, query, target, kept, most, self._bars and self._bars.at(rows))
        if self._keep:
            self._kernels.trace(scored, self._report == "cigar")
        found = (scored.score, scored.ends, scored.counts), (self._score, self._ends, self._counts)
        compiler.launch_each(PAIRS_SOURCE, "results_placed", len(rows), rows, len(rows), np.int64(len(self._score)), *found[0], *found[1])
        if self._report == "cigar":
            places = _places(scored.counts)
            operations = cupy.empty(int(places[-1]), np.uint32)
            _gather(scored.operations, scored.operation_ends, scored.counts, None, places, operations)
            self._operations.append((rows, scored.counts, places, operations))

    def _gathered(self, left: Integers) -> Alignments:
        """Put everything in order on the host, where pairs that are left are aligned."""
        import cupy

        count = len(self._query)
        score, ends = self._score.get().astype(np.int64), self._ends.get().astype(np.int64)
        by_host = self._on_host(left) if len(left) else None
        if by_host is not None and by_host.score is not None:
            score[left] = by_host.score
            ends[:, left] = by_host.query_start, by_host.query_end, by_host.target_start, by_host.target_end
        found = Alignments(np.zeros(count, np.int64), *_four(ends), score=score, placed=self._keep, by_host=len(left))
        if self._report != "cigar":
            return found
        offsets = _places(self._counts)
        operations = cupy.empty(int(offsets[-1]), np.uint32)
        for rows, counts, places, pieces in self._operations:
            _gather(pieces, places[1:], counts, rows, offsets, operations)
        found = replace(found, cigar=operations.get(), cigar_offsets=offsets.get())
        found = found if by_host is None else _filled(found, left, by_host)
        return by_letters(found, *(side.spelled(self._coding) for side in (self._query, self._target)))

    def _on_host(self, rows: Integers) -> Alignments:
        sides = [side.on_host(self._coding, place, rows) for place, side in enumerate((self._query, self._target))]
        return pairs.align_coded(sides[0], sides[1], self._coding, span=self._span, report=self._report)


def widths(n: Any, m: Any, coding: Coding, span: str, lifted: bool) -> tuple[Any, Any]:
    """Tell which pairs to try in 16 bits, and which to align in 32; others the device cannot. n, m: lengths, int64."""
    costs = [int(cost) for cost in coding.costs]
    least = n + (m - n) * (m < n)
    highest = int(coding.matrix.max()) * least
    sound = (highest < MAX_SCORE) & ((n + m) * max(costs[1::2]) + 2 * sum(costs) < MAX_SCORE) & (n + m < MAX_LETTERS)
    narrow = sound & (highest < 8 * launches.OVER) & (span == "local" and lifted)
    return narrow, sound & ~narrow


def room() -> int:
    """Tell how many bytes of the device a launch may take, if as many go on beside it as may."""
    import cupy

    free = cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes()
    return int(min(MAX_BYTES, free // (2 * (1 + beside()))))


def _places(counts: Any) -> Any:
    """Say where the operations of each pair go, and where all end: int64 on the device."""
    import cupy

    places = cupy.empty(len(counts) + 1, np.int64)
    compiler.launch_block(PAIRS_SOURCE, "places_of_operations", counts, len(counts), places)
    return places


def _gather(operations: Any, ends: Any, counts: Any, rows: Any, places: Any, out: Any) -> None:
    """Copy the operations of pairs, which lie in front of `ends`, to the places of these rows; None: of all in order."""
    compiler.launch_each(PAIRS_SOURCE, "operations_gathered", 32 * len(counts), operations, ends, counts, rows, places, len(counts), out)


def _four(ends: Integers) -> tuple[Integers, Integers, Integers, Integers]:
    return ends[0], ends[1], ends[2], ends[3]


def _filled(found: Alignments, rows: Integers, others: Alignments) -> Alignments:
    """Put the operations of `others` in place of those of these rows, which have none."""
    from tidalign.kernels.local import walk

    assert found.cigar is not None and found.cigar_offsets is not None and others.cigar is not None and others.cigar_offsets is not None
    places = np.stack([found.cigar_offsets[:-1], found.cigar_offsets[1:]], axis=1)
    places[rows] = np.stack([others.cigar_offsets[:-1], others.cigar_offsets[1:]], axis=1) + len(found.cigar)
    offsets = np.zeros(len(places) + 1, np.int64)
    np.cumsum(places[:, 1] - places[:, 0], out=offsets[1:])
    operations = np.empty(int(offsets[-1]), np.uint32)
    walk.gathered(np.concatenate([found.cigar, others.cigar]), places, offsets, operations)
    return replace(found, cigar=operations, cigar_offsets=offsets)
