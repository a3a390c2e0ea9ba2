"""Search of queries against a database by scores on the current CUDA device: the hits of `best.search`, by the same rules.

Each query goes with all sequences in one launch, and scores stay on the device, where the best of each query are chosen.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.local import host, pairs, pairs_device
from tidalign.kernels.local.bars import Bars, worth_on_device
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.device import forms, launches
from tidalign.kernels.local.uploaded import Uploaded
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.search import best, words_device
from tidalign.kernels.search.rows_device import best_of_rows

MAX_SCORES = 1 << 27
"""Scores that the device holds at a time, or those of one query if that is more."""

LOWEST = -(1 << 31)
"""A score of 32 bits that no pair has."""

OVER_ROOM = 1 << 16
"""Pairs for which there is room at first, of those that are scored again."""

GIVEN_UP = 0.3
"""Part of what a query scores at best that the bar of its pairs must be, so that most of them are given up soon enough."""


def search(strands: list[Uploaded], database: Uploaded, coding: Coding, *, top: int, least: int, span: str = "local") -> best.Hits:
    """Find what `best.search` finds. What the device cannot score in 32 bits is left to the host. KernelError where the device fails."""
    import cupy

    if not len(database) or not len(strands[0]):
        return best.NO_HITS
    device = cupy.cuda.runtime.getDevice()
    try:
        return best.best(best.joined(_found(strands, database, coding, top, least, span)), top)
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
        raise KernelError(f"device {device} failed on a search of {len(strands[0])} queries: {error}") from error


def _found(strands: list[Uploaded], database: Uploaded, coding: Coding, top: int, least: int, span: str) -> list[best.Hits]:
    import cupy

    width = len(database) * len(strands)
    order = np.argsort(strands[0].lengths.get())  # those of a launch share a form
    at_once = max(1, MAX_SCORES // width)
    letters = _letters(database) * len(strands)
    groups = _groups(database, coding)
    worths = [worth_on_device(strand.codes, coding) for strand in strands] if span == "local" else []
    found = []
    for start in range(0, len(order), at_once):
        queries = order[start : start + at_once]
        sides = [strand.at(queries) for strand in strands]
        scores = cupy.full((len(queries), width), LOWEST, np.int32)
        bars = cupy.full(len(queries), max(least, LOWEST), np.int32)
        rows = None  # all
        if words_device.counted(len(database), letters * _letters(sides[0]), coding, top, span):
            rows = words_device.likeliest_first(sides, database, coding, top, bars, worths, scores)
            rows = None if len(rows) == len(queries) else cupy.asarray(rows)
        if rows is None or len(rows):
            part = scores if rows is None else cupy.empty((len(rows), width), np.int32)
            for number, strand in enumerate(sides):
                bounds = Bars(bars, worths[number]) if worths else None
                query = strand if rows is None else strand.at(rows)
                _score(query, database, groups, coding, span, part, number, len(strands), bounds if rows is None else bounds and bounds.at(rows))
            if rows is not None:
                words_device.put_columns(part, rows, None, scores)
        counts, places, values = best_of_rows(scores, top, least)
        taken = np.arange(places.shape[1]) < counts.get()[:, None]
        row, place = np.nonzero(taken)[0], places.get()[taken].astype(np.int64)
        found.append(best.Hits(queries[row].astype(np.int64), place // len(strands), place % len(strands), values.get()[taken].astype(np.int64)))
    return found


def _letters(side: Uploaded) -> float:
    """Count letters; on the host, as CuPy would compile a kernel for such a sum."""
    return float(side.lengths.get().sum(dtype=np.int64))


def _groups(database: Uploaded, coding: Coding) -> list[tuple[bool, npt.NDArray[np.int64], Uploaded]]:
    """Put the sequences whose scores can come from registers, and those that need a table, in order of length: with each their places."""
    order = np.argsort(database.lengths.get(), kind="stable")
    tabled = database.others.get()[order] if coding.scoring.letters[:4] == "ACGT" else np.ones(len(order), np.bool_)
    return [(table, places, database.at(places)) for table in (False, True) if len(places := order[tabled == table])]


def _score(
    query: Uploaded,
    target: Uploaded,
    groups: list[tuple[bool, npt.NDArray[np.int64], Uploaded]],
    coding: Coding,
    span: str,
    scores: Any,
    strand: int,
    strands: int,
    bars: Bars | None,
) -> None:
    """Score every query with every target: scores[query, target * strands + strand], of local pairs those that come to the bar of their query."""
    import cupy

    flags = pairs.span_flags(span)
    ends = tuple(bool(flags & flag) for flag in (host.BEGIN_QUERY, host.BEGIN_TARGET, host.END_QUERY, host.END_TARGET, host.END_CORNER))
    kernels = launches.Kernels(coding, ends, keep=False)
    narrow, wide = pairs_device.widths(np.int64(int(query.longest[0])), np.int64(int(target.longest[0])), coding, span, kernels.lifted)
    for table, places, taken in groups:
        slots = cupy.asarray((places * strands + strand).astype(np.int32))
        low = cupy.asnumpy(bars.least) > GIVEN_UP * query.lengths.get() * int(coding.matrix.max()) if bars else np.zeros(len(query), np.bool_)
        planned = [(form, query.at(rows), rows) for form, rows in forms.of_product(query, table=table, wide=not narrow, letters=coding.size + 1, low=low)]
        kernels.ready((form, int(side.longest[0])) for form, side, _ in planned if form)
        for form, side, rows in planned:
            if form is None or not (narrow or wide):
                _one_by_one(side, taken, coding, span, scores, rows, slots)
                continue
            part = cupy.empty((len(rows), scores.shape[1]), np.int32) if len(rows) < len(query) else scores
            kernels.product(form, side, taken, slots, part, bars and bars.at(rows), pairs_device.room())
            if part is not scores:
                words_device.put_columns(part, rows, slots, scores)
    if narrow:
        places = _over(scores, strands, strand)
        if len(places):
            which, row, sequence, _ = words_device.of_strand(places, scores.shape[1], strands, strand)
            again = pairs_device.align_uploaded(query.at(row), target.at(sequence), coding, span=span, report="score")
            assert again.score is not None
            words_device.put(places[which], cupy.asarray(again.score.astype(np.int32)), scores)


def _over(scores: Any, strands: int, strand: int) -> Any:
    """Find the places of the pairs of a strand whose scores may not have fitted 16 bits: int64 on the device."""
    import cupy

    count, room = scores.size // strands, OVER_ROOM
    while True:
        found, places = cupy.zeros(1, np.uint64), cupy.empty(room, np.int64)
        given = scores, np.int64(count), strands, strand, launches.OVER, np.int64(room)
        compiler.launch_each(words_device.SOURCE, "scores_over", count, *given, found, places)
        if (many := int(found[0])) <= room:
            return places[:many]
        room = many


def _one_by_one(query: Uploaded, target: Uploaded, coding: Coding, span: str, scores: Any, rows: Any, slots: Any) -> None:
    """Score queries whose tables fit no block, or that the device cannot score."""
    import cupy

    for place, row in enumerate(rows.get().tolist()):
        alone = query.at(cupy.full(len(target), place, np.int64))
        found = pairs_device.align_uploaded(alone, target, coding, span=span, report="score")
        scores[row, slots] = cupy.asarray(found.score).astype(np.int32)
