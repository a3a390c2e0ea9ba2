"""Write rows with heads: what stands once before all rows of one pair of sequences and strand."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.export import in_turn, refuse_names
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import Block, GenomeRows
from tidalign.pipeline.text import content, joined

Head = Callable[[Block, Request[GenomeRows], int], str]
"""Makes the head that stands before a row of a block."""


def write(request: Request[GenomeRows], sink: BinaryIO, names: tuple[str, ...], head: Head, lines: Callable[[Block], Any]) -> int:
    """Write all rows of a request; returns how many. names: columns that rows under one head have in common. Whether a row is of others than the one before
    it is found out in their order."""
    count, before = 0, tuple("" if name == "strand" else -1 for name in names)
    for blocks in in_turn((partial(_made, piece, request, lines) for piece in request.rows.pieces()), request.rows.threads):
        for block, paragraphs in blocks:
            others = np.zeros(len(block), np.bool_)
            for name, value in zip(names, before, strict=True):
                column = block[name].combine_chunks() if isinstance(block[name], pa.ChunkedArray) else block[name]
                last = pa.concat_arrays([pa.array([value], column.type), column[:-1]])
                others |= pc.not_equal(column, last).to_numpy(zero_copy_only=False)
            heads = pa.array([head(block, request, row) if other else "" for row, other in enumerate(others.tolist())], pa.large_string())
            sink.write(content(joined(heads, paragraphs)))
            before = tuple(block[name][-1].as_py() for name in names)
            count += len(block)
    return count


def _made(piece: Callable[[], Iterable[Any]], request: Request[GenomeRows], lines: Callable[[Block], Any]) -> list[tuple[Block, Any]]:
    """Make the blocks of a piece, with the lines of each row."""
    blocks = []
    for block in piece():
        refuse_names(block, request.format)
        blocks.append((block, lines(block)))
    return blocks
