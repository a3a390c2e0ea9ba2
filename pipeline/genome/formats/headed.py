"""Write rows with heads: what stands once before all rows of one pair of sequences and strand."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.export import refuse_names
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows
from tidalign.pipeline.in_turn import in_turn
from tidalign.pipeline.text import content, joined

Values = tuple[Any, ...]
"""A row's values in the columns that rows under one head have in common."""

Head = Callable[[AlignmentBlock, Request[GenomeRows], int, Values | None], str]
"""Makes the head that stands before a row of a block; also given the values of the row before it, None before the first."""


def write(
    request: Request[GenomeRows], sink: BinaryIO, names: tuple[str, ...], head: Head, lines: Callable[[AlignmentBlock], Any]
) -> tuple[int, Values | None]:
    """Write all rows of a request; returns how many, and the last one's values. names: columns that rows under one head have in common. Whether a row is of
    others than the one before it is found out in their order."""
    count, before = 0, None
    for blocks in in_turn((piece.then(partial(_made, request, lines)) for piece in request.rows.pieces()), request.rows.threads):
        for block, paragraphs in blocks:
            heads = [""] * len(block)
            for row in _others(block, names, before):
                heads[row] = head(block, request, row, values(block, names, row - 1) if row else before)
            sink.write(content(joined(_column(heads), paragraphs)))
            before = values(block, names, len(block) - 1)
            count += len(block)
    return count, before


def _column(heads: list[str]) -> Any:
    """Make a column of texts, some of which may name a file whose name is no UTF-8."""
    try:
        return pa.array(heads, pa.large_string())
    except UnicodeEncodeError:
        return pa.array([head.encode(errors="surrogateescape") for head in heads], pa.large_binary()).cast(pa.large_string(), safe=False)


def values(block: AlignmentBlock, names: tuple[str, ...], row: int) -> Values:
    """Give a row's values in some columns."""
    return tuple(block[name][row].as_py() for name in names)


def _others(block: AlignmentBlock, names: tuple[str, ...], before: Values | None) -> list[int]:
    """Find the rows whose values in some columns are not those of the row before."""
    others = np.zeros(len(block), np.bool_)
    others[0] = before is None or before != values(block, names, 0)
    for name in names:
        column = block[name].combine_chunks() if isinstance(block[name], pa.ChunkedArray) else block[name]
        others[1:] |= pc.not_equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False)
    return np.flatnonzero(others).tolist()


def _made(request: Request[GenomeRows], lines: Callable[[AlignmentBlock], Any], piece: Callable[[], Iterable[Any]]) -> list[tuple[AlignmentBlock, Any]]:
    """Make the blocks of a piece, with the lines of each row."""
    blocks = []
    for block in piece():
        refuse_names(block, request.format)
        blocks.append((block, lines(block)))
    return blocks
