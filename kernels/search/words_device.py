"""Words of DNA that queries share with sequences, counted on the current CUDA device: which pairs can have a score that is of use."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.words import LETTERS
from tidalign.kernels.local import pairs_device
from tidalign.kernels.local.bars import Bars
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.uploaded import Uploaded
from tidalign.kernels.runtime import compiler
from tidalign.kernels.search import words
from tidalign.kernels.search.rows_device import best_of_rows

SOURCE, THREADS = "search/product.cu", 256

COUNT_CELLS = 5e10
"""Cells of a batch of queries (15 ms) from which on words are counted."""

FEW = 1.25
"""Part of a query's pairs that are scored one by one if not more of them have words enough."""

PAIRS = 1 << 22
"""Pairs that are scored in one call."""


Rows = npt.NDArray[np.int64]


def counted(sequences: int, cells: float, coding: Coding, top: int, span: str) -> bool:
    """Tell whether to count the words of queries that have so many cells with so many sequences."""
    return cells >= COUNT_CELLS and words.possible(sequences, coding, top, span)


def likeliest_first(strands: list[Uploaded], database: Uploaded, coding: Coding, top: int, bars: Any, worths: list[Any], scores: Any) -> Rows:
    """Raise the bars of queries to the score of their `top`-th best among the likeliest sequences; score all pairs that can come to them, of queries that have
    few of these, and give the rows of the others.

    bars: int32[queries]. worths: of the codes of each strand. scores: int32[queries, sequences * strands], the strands of a sequence side by side.
    """
    import cupy

    shared, alike = (cupy.empty(scores.shape, np.int32) for _ in range(2))
    count, several = len(database), len(strands)
    kernel = compiler.kernel("search/words.cu", "count_shared", {"WORD_LETTERS": LETTERS})
    for number, strand in enumerate(strands):
        blocks = max(1, min(-(-count // THREADS), 16 * compiler.multiprocessors() // len(strand)))
        sides = (strand.codes, strand.starts, strand.lengths, database.codes, database.starts, database.lengths)
        compiler.launch(kernel, len(strand) * blocks, THREADS, *sides, count, blocks, number, several, shared, alike)
    _, columns, _ = best_of_rows(alike, words.likeliest(top), -(1 << 31))
    del alike
    columns, width = columns.get().astype(np.int64), scores.shape[1]
    likeliest = columns + np.arange(len(columns))[:, None] * width
    found = _scored(strands, database, coding, cupy.asarray(likeliest.ravel()), width, bars, worths).get().reshape(likeliest.shape)
    least = np.maximum(bars.get(), np.sort(found, axis=1)[:, found.shape[1] - top])
    bars.set(least)
    fewest = words.fewest(strands[0].lengths.get().astype(np.int64), least.astype(np.int64), coding)
    needed = cupy.asarray(np.clip(fewest, -(1 << 31), (1 << 31) - 1).astype(np.int32))
    counts = cupy.zeros(len(scores), np.int32)
    compiler.launch(compiler.kernel(SOURCE, "columns_enough", {}), len(scores), THREADS, shared, width, needed, counts)
    enough = counts.get().astype(np.int64)
    few = enough * FEW <= width
    if pairs := int(enough[few].sum()):
        rows, ends, places = np.flatnonzero(few), np.cumsum(enough[few]), cupy.empty(pairs, np.int64)
        starts = cupy.asarray(ends - enough[few])
        compiler.launch(compiler.kernel(SOURCE, "places_enough", {}), len(rows), THREADS, shared, width, needed, cupy.asarray(rows), starts, places)
        for start in range(0, pairs, PAIRS):
            part = places[start : start + PAIRS]
            put(part, _scored(strands, database, coding, part, width, bars, worths), scores)
    return np.flatnonzero(~few)


def _scored(strands: list[Uploaded], database: Uploaded, coding: Coding, places: Any, width: int, bars: Any, worths: list[Any]) -> Any:
    """Score pairs at these places of a table of scores so wide (product.cu); one that does not come to its query's bar has any score below it."""
    import cupy

    found = cupy.empty(len(places), np.int32)
    for number, strand in enumerate(strands):
        which, rows, sequences, least = of_strand(places, width, len(strands), number, bars)
        if len(which):
            of_pairs = Bars(least, worths[number])
            scored = pairs_device.align_uploaded(strand.at(rows), database.at(sequences), coding, report="score", bars=of_pairs)
            assert scored.score is not None
            put(which, cupy.asarray(scored.score.astype(np.int32)), found)
    return found


def of_strand(places: Any, width: int, strands: int, strand: int, bars: Any = None) -> tuple[Any, Any, Any, Any]:
    """Find the pairs of a strand among those at these places of a table of scores so wide, in any order: which they are, their rows and sequences, int64 on the
    device, and of bars (int32[rows]) theirs."""
    import cupy

    count = len(places)
    found, (which, rows, sequences) = cupy.zeros(1, np.uint64), (cupy.empty(count, np.int64) for _ in range(3))
    least = cupy.empty(count, np.int32)
    given = places, np.int64(count), np.int64(width), strands, strand, bars
    compiler.launch_each(SOURCE, "pairs_of_strand", count, *given, found, which, rows, sequences, least)
    taken = int(found[0])
    return which[:taken], rows[:taken], sequences[:taken], least[:taken]


def put_columns(part: Any, rows: Any, slots: Any, scores: Any) -> None:
    """Put the columns `slots` (int32, None: all) of rows of scores, which are as wide as all, where they belong: row i to rows[i]."""
    width = part.shape[1]
    blocks = max(1, min(1 << 14, len(rows)))
    given = part, np.int64(width), rows, len(rows), slots, width if slots is None else len(slots)
    compiler.launch(compiler.kernel(SOURCE, "columns_placed", {}), blocks, THREADS, *given, scores)


def put(places: Any, values: Any, scores: Any) -> None:
    """Put values (int32) at these places (int64) of scores, as if these were one row."""
    compiler.launch_each(SOURCE, "scores_placed", len(places), places, values, np.int64(len(places)), scores)
