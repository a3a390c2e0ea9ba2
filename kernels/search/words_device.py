"""Words of DNA that queries share with sequences, counted on the current CUDA device: which pairs can have a score that is of use."""

from typing import Any

import numpy as np

from tidalign.kernels.letters.words import LETTERS
from tidalign.kernels.local import pairs_device
from tidalign.kernels.local.bars import Bars
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.uploaded import Uploaded
from tidalign.kernels.runtime import compiler
from tidalign.kernels.search import words
from tidalign.kernels.search.rows_device import best_of_rows

THREADS = 256

COUNT_CELLS = 5e10
"""Cells of a batch of queries (15 ms) from which on words are counted."""

FEW = 1.25
"""Part of a query's pairs that are scored one by one if not more of them have words enough."""

PAIRS = 1 << 22
"""Pairs that are scored in one call."""


def counted(sequences: int, cells: float, coding: Coding, top: int, span: str) -> bool:
    """Tell whether to count the words of queries that have so many cells with so many sequences."""
    return cells >= COUNT_CELLS and words.possible(sequences, coding, top, span)


def likeliest_first(strands: list[Uploaded], database: Uploaded, coding: Coding, top: int, bars: Any, worths: list[Any], scores: Any) -> Any:
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
    _, places, _ = best_of_rows(alike, words.likeliest(top), -(1 << 31))
    del alike
    likeliest = places.shape[1]
    found = _scored(strands, database, coding, cupy.repeat(cupy.arange(len(places)), likeliest), places.ravel(), bars, worths)
    cupy.maximum(bars, cupy.sort(found.reshape(-1, likeliest), axis=1)[:, likeliest - top], out=bars)
    fewest = words.fewest(strands[0].lengths.get().astype(np.int64), bars.get().astype(np.int64), coding)
    enough = shared >= cupy.asarray(np.clip(fewest, -(1 << 31), (1 << 31) - 1).astype(np.int32))[:, None]
    few = enough.sum(axis=1) * FEW <= enough.shape[1]
    row, place = cupy.nonzero(enough & few[:, None])
    for start in range(0, len(row), PAIRS):
        part = slice(start, start + PAIRS)
        scores[row[part], place[part]] = _scored(strands, database, coding, row[part], place[part], bars, worths)
    return cupy.flatnonzero(~few)


def _scored(strands: list[Uploaded], database: Uploaded, coding: Coding, rows: Any, places: Any, bars: Any, worths: list[Any]) -> Any:
    """Score pairs, of a query each, and a sequence and strand; one that does not come to its query's bar has any score below it."""
    import cupy

    found = cupy.empty(len(rows), np.int32)
    for number, strand in enumerate(strands):
        of_strand = cupy.flatnonzero(places % len(strands) == number)
        if len(of_strand):
            targets = database.at(places[of_strand] // len(strands))
            of_pairs = Bars(bars[rows[of_strand]], worths[number])
            scored = pairs_device.align_uploaded(strand.at(rows[of_strand]), targets, coding, report="score", bars=of_pairs)
            found[of_strand] = cupy.asarray(scored.score).astype(np.int32)
    return found
