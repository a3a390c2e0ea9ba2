"""Search of queries against a database by scores on the current CUDA device: the hits of `best.search`, by the same rules.

Each query goes with all sequences in one launch, and scores stay on the device, where the best of each query are chosen.
"""

from typing import Any

import numpy as np

from tidalign.kernels.local import host, pairs, pairs_device
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.device import forms, launches
from tidalign.kernels.local.uploaded import Uploaded
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.search import best

MAX_SCORES = 1 << 27
"""Scores that the device holds at a time, or those of one query if that is more."""

THREADS = 256


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
    order = cupy.argsort(strands[0].lengths).get()  # those of a launch share a form
    at_once = max(1, MAX_SCORES // width)
    found = []
    for start in range(0, len(order), at_once):
        queries = order[start : start + at_once]
        scores = cupy.empty((len(queries), width), np.int32)
        for number, strand in enumerate(strands):
            _score(strand.at(queries), database, coding, span, scores, number, len(strands))
        most = min(top, width)
        counts, places, values = cupy.empty(len(queries), np.int32), *(cupy.empty((len(queries), most), np.int32) for _ in range(2))
        lowest = np.int32(max(least, -(1 << 31)))
        compiler.launch(
            compiler.kernel("search/best.cu", "best_of_rows", {}), len(queries), THREADS, scores, np.int64(width), most, lowest, counts, places, values
        )
        taken = np.arange(most) < counts.get()[:, None]
        rows, place = np.nonzero(taken)[0], places.get()[taken].astype(np.int64)
        found.append(best.Hits(queries[rows].astype(np.int64), place // len(strands), place % len(strands), values.get()[taken].astype(np.int64)))
    return found


def _score(query: Uploaded, target: Uploaded, coding: Coding, span: str, scores: Any, strand: int, strands: int) -> None:
    """Score every query with every target: scores[query, target * strands + strand]."""
    import cupy

    flags = pairs.span_flags(span)
    ends = tuple(bool(flags & flag) for flag in (host.BEGIN_QUERY, host.BEGIN_TARGET, host.END_QUERY, host.END_TARGET, host.END_CORNER))
    kernels = launches.Kernels(coding, ends, keep=False)
    narrow, wide = pairs_device.widths(np.int64(int(query.lengths.max())), np.int64(int(target.lengths.max())), coding, span, kernels.lifted)
    plain = coding.scoring.letters[:4] == "ACGT"
    order = cupy.argsort(target.lengths)
    others = target.others[order]
    for table in (False, True):
        taken = order[others | (not plain)] if table else order[~others & plain]
        if not len(taken):
            continue
        slots = (taken * strands + strand).astype(np.int32)
        planned = list(forms.of_product(query, table=table, wide=not narrow, letters=coding.size + 1))
        kernels.ready((form, query.lengths[rows]) for form, rows in planned if form)
        for form, rows in planned:
            if form is None or not (narrow or wide):
                _one_by_one(query.at(rows), target.at(taken), coding, span, scores, rows, slots)
                continue
            part = cupy.empty((len(rows), scores.shape[1]), np.int32) if len(rows) < len(query) else scores
            kernels.product(form, query.at(rows), target.at(taken), slots, part, pairs_device.room())
            if part is not scores:
                scores[rows[:, None], slots[None, :]] = part[:, slots]
    if narrow:
        row, slot = cupy.nonzero(scores[:, strand::strands] >= launches.OVER)
        if len(row):
            again = pairs_device.align_uploaded(query.at(row), target.at(slot), coding, span=span, report="score")
            scores[row, slot * strands + strand] = cupy.asarray(again.score).astype(np.int32)


def _one_by_one(query: Uploaded, target: Uploaded, coding: Coding, span: str, scores: Any, rows: Any, slots: Any) -> None:
    """Score queries whose tables fit no block, or that the device cannot score."""
    import cupy

    for place, row in enumerate(rows.get().tolist()):
        alone = query.at(cupy.full(len(target), place, np.int64))
        found = pairs_device.align_uploaded(alone, target, coding, span=span, report="score")
        scores[row, slots] = cupy.asarray(found.score).astype(np.int32)
