"""LASTZ's tables for R's plot: two points and a line of NA for each gap-free run, under the names of the sequences where these change; positions from 1."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.export import refuse_names
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows, Numbers, gap_free
from tidalign.pipeline.in_turn import in_turn
from tidalign.pipeline.text import content, empty, joined

_NAMES = ("target_name", "query_name")

_TOGETHER = {"target": "seq1", "query": "seq2"}
"""What LASTZ calls a side of several sequences that is read as one."""


def write(request: Request[GenomeRows], sink: BinaryIO) -> int:
    """Write all rows of a request; returns how many. Whether a row stands under other names than the one before it is found out in their order."""
    count, before = 0, ("", "")
    parameters = request.rows.parameters
    limit = None if request.rows.beside else parameters.per_query or parameters.query_hsp_limit
    counted: dict[tuple[int, int], int] = {}
    for blocks in in_turn((piece.then(partial(_made, request)) for piece in request.rows.pieces()), request.rows.threads):
        for block, lines, offsets in blocks:
            points = _joined(lines, offsets if limit is None else _first(block, offsets, limit, counted))
            columns = [block[name].combine_chunks() if isinstance(block[name], pa.ChunkedArray) else block[name] for name in _NAMES]
            for i, (side, name) in enumerate(_TOGETHER.items()):
                if _together(block, side):
                    columns[i] = pa.array([name]).take(pa.array(np.zeros(len(block), np.int64)))
            others = np.zeros(len(block), np.bool_)
            for i, column in enumerate(columns):
                others |= pc.not_equal(column, pa.concat_arrays([pa.array([before[i]]), column[:-1]])).to_numpy(zero_copy_only=False)
            sink.write(content(joined(pc.if_else(pa.array(others), joined(columns[0], "\t", columns[1], "\n"), empty()), points)))
            before = (columns[0][-1].as_py(), columns[1][-1].as_py())
            count += len(block)
    sink.write(request.format.footer.encode() if request.markend else b"")
    return count


def _first(block: AlignmentBlock, offsets: Numbers, limit: int, counted: dict[tuple[int, int], int]) -> Numbers:
    """Leave out runs but the first `limit` of a query, as LASTZ does where it limits what it finds of one. counted: runs of queries so far."""
    kept = np.zeros(len(block), np.int64)
    queries = np.zeros(len(block), np.int64) if block.query.joint else block.numbers("query_number")
    for row, key in enumerate(zip(block.numbers("job").tolist(), queries.tolist(), strict=True)):
        kept[row] = min(int(offsets[row + 1] - offsets[row]), limit - counted.get(key, 0))
        counted[key] = counted.get(key, 0) + int(kept[row])
    return np.stack([offsets[:-1], offsets[:-1] + kept])


def _joined(lines: Any, offsets: Numbers) -> Any:
    """Join the lines of each row: all between two offsets, or those of a range."""
    if offsets.ndim == 1:
        return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(offsets), lines), empty())
    counts = offsets[1] - offsets[0]
    ends = np.concatenate(([0], np.cumsum(counts)))
    chosen = np.arange(ends[-1]) + np.repeat(offsets[0] - ends[:-1], counts)
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(ends), lines.take(pa.array(chosen))), empty())


def _made(request: Request[GenomeRows], piece: Callable[[], Iterable[Any]]) -> list[tuple[AlignmentBlock, Any, Numbers]]:
    """Make the blocks of a piece, with the points of each gap-free run, and where those of each row begin."""
    blocks = []
    for block in piece():
        refuse_names(block, request.format)
        blocks.append((block, *_points(block)))
    return blocks


def _points(block: AlignmentBlock) -> tuple[Any, Numbers]:
    """Write for each row the first and the last pair of each gap-free run, a large_string column; and where those of each row begin, int64[rows + 1]."""
    runs, starts, _ = gap_free(block)
    row = np.repeat(np.arange(len(block)), np.diff(runs.offsets))
    first, query = (block.numbers("target_start") + _moved(block, "target"))[row] + starts[0], block.strand_start[row] + starts[1]
    reverse, letters, moved, length = block.reverse[row], block.numbers("query_length")[row], _moved(block, "query")[row], runs.lengths
    begin = moved + np.where(reverse, letters - query, query + 1)
    end = moved + np.where(reverse, letters - query - length + 1, query + length)
    lines = joined(pa.array(first + 1), "\t", pa.array(begin), "\n", pa.array(first + length), "\t", pa.array(end), "\nNA\tNA\n")
    return lines, runs.offsets


def _together(block: AlignmentBlock, side: str) -> bool:
    """Tell whether LASTZ counts places in the array of all sequences: of a target that is read as several, or a query that several are."""
    return bool(block.target.starts[0]) if side == "target" else block.query.together


def _moved(block: AlignmentBlock, side: str) -> Numbers:
    """Tell how far places in that array are from those in the sequence."""
    genome, numbers = (block.target if side == "target" else block.query), block.numbers(f"{side}_number")
    if not _together(block, side):
        return np.zeros(len(block), np.int64)
    return np.asarray(genome.starts[numbers] - genome.offsets[numbers], np.int64)
