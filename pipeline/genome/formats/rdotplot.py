"""LASTZ's tables for R's plot: two points and a line of NA for each gap-free run, under the names of the sequences where these change; positions from 1."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.export import in_turn, refuse_names
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import Block, GenomeRows
from tidalign.pipeline.text import content, empty, joined

_NAMES = ("target_name", "query_name")

_TOGETHER = "seq1"
"""What LASTZ calls a target of several sequences, or that is read as such: its places are those in the array of them."""


def write(request: Request[GenomeRows], sink: BinaryIO) -> int:
    """Write all rows of a request; returns how many. Whether a row stands under other names than the one before it is found out in their order."""
    count, before = 0, ("", "")
    for blocks in in_turn((partial(_made, piece, request) for piece in request.rows.pieces()), request.rows.threads):
        for block, points in blocks:
            columns = [block[name].combine_chunks() if isinstance(block[name], pa.ChunkedArray) else block[name] for name in _NAMES]
            if block.target.starts[0]:
                columns[0] = pa.array([_TOGETHER]).take(pa.array(np.zeros(len(block), np.int64)))
            others = np.zeros(len(block), np.bool_)
            for i, column in enumerate(columns):
                others |= pc.not_equal(column, pa.concat_arrays([pa.array([before[i]]), column[:-1]])).to_numpy(zero_copy_only=False)
            sink.write(content(joined(pc.if_else(pa.array(others), joined(columns[0], "\t", columns[1], "\n"), empty()), points)))
            before = (columns[0][-1].as_py(), columns[1][-1].as_py())
            count += len(block)
    sink.write(request.format.footer.encode() if request.markend else b"")
    return count


def _made(piece: Callable[[], Iterable[Any]], request: Request[GenomeRows]) -> list[tuple[Block, Any]]:
    """Make the blocks of a piece, with the points of each row."""
    blocks = []
    for block in piece():
        refuse_names(block, request.format)
        blocks.append((block, _points(block)))
    return blocks


def _points(block: Block) -> Any:
    """For each row the first and the last pair of each gap-free run: a large_string column."""
    runs = block.operations.merged()
    at = np.flatnonzero(runs.letters == ord("M"))
    row = np.repeat(np.arange(len(block)), np.diff(runs.offsets))
    numbers, places = block.numbers("target_number"), []
    moved = block.target.starts[numbers] - block.target.offsets[numbers] if block.target.starts[0] else 0
    for start, gap in ((block.numbers("target_start") + moved, "I"), (block.strand_start, "D")):
        taken = np.concatenate(([0], np.cumsum(np.where(runs.letters == ord(gap), 0, runs.lengths))))
        places.append(start[row[at]] + taken[at] - taken[runs.offsets[row[at]]])
    (first, query), length = places, runs.lengths[at]
    reverse, letters = block.reverse[row[at]], block.numbers("query_length")[row[at]]
    begin = np.where(reverse, letters - query, query + 1)
    end = np.where(reverse, letters - query - length + 1, query + length)
    lines = joined(pa.array(first + 1), "\t", pa.array(begin), "\n", pa.array(first + length), "\t", pa.array(end), "\nNA\tNA\n")
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(np.searchsorted(at, runs.offsets)), lines), empty())
