"""LASTZ's `differences`: a line for each run of columns in which letters differ, and for each gap, with the whole alignment behind it or (`-`) without."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows, text_column
from tidalign.pipeline.text import empty, joined

_UPPER = np.arange(256, dtype=np.uint8)
_UPPER[ord("a") : ord("z") + 1] -= 32

_EQUAL, _OTHER, _IN_TARGET, _IN_QUERY = range(4)
"""Kinds of columns: letters that are equal whatever their case, or not; a gap in one of the two."""

_BASES = np.frombuffer(b"ACGT", np.uint8)


def lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: the lines of each row, none for one without differences."""
    return _lines(block, request, whole=True)


def bare_lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a column as `lines`, without the whole alignment (`differences-`)."""
    return _lines(block, request, whole=False)


def _lines(block: AlignmentBlock, request: Request[GenomeRows], *, whole: bool) -> Any:
    texts = block.texts
    target, query = (np.frombuffer(text.buffers()[2], np.uint8) for text in texts)
    offsets = np.frombuffer(texts[0].buffers()[1], np.int64)[: len(block) + 1]
    kind = np.where(_UPPER[target] == _UPPER[query], _EQUAL, _OTHER)
    if request.rows.parameters.scoring.ambiguous:  # any letter may be what another stands for
        kind[~(np.isin(_UPPER[target], _BASES) & np.isin(_UPPER[query], _BASES))] = _EQUAL
    kind[target == ord("-")], kind[query == ord("-")] = _IN_TARGET, _IN_QUERY
    begin = np.ones(len(kind), np.bool_)
    begin[1:] = kind[1:] != kind[:-1]
    begin[offsets[:-1]] = True
    starts = np.flatnonzero(begin)
    stops = np.append(starts[1:], len(kind))
    chosen = kind[starts] != _EQUAL
    starts, stops = starts[chosen], stops[chosen]
    row = np.searchsorted(offsets, starts, "right") - 1
    rows = block.rows.take(pa.array(row))
    columns: list[Any] = []
    for side, text, at in (("target", target, block.numbers("target_start")), ("query", query, block.strand_start)):
        taken = np.concatenate(([0], np.cumsum(text != ord("-"))))
        places = [pa.array(at[row] + taken[cut] - taken[offsets[row]]) for cut in (starts, stops)]
        strand = rows["strand"] if side == "query" else "+"
        columns += [rows[f"{side}_name"], "\t", places[0], "\t", places[1], "\t", strand, "\t", rows[f"{side}_length"], "\t"]
    runs = [_parts(text, starts, stops) for text in (target, query)]
    columns += [runs[0], "\t", runs[1]]
    if whole:
        columns += ["\t", texts[0].take(pa.array(row)), "\t", texts[1].take(pa.array(row))]
    made = joined(*columns, "\n")
    cuts = np.searchsorted(row, np.arange(len(block) + 1))
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(cuts), made), empty())


def _parts(text: Any, starts: Any, stops: Any) -> Any:
    """Cut runs out of a text: a large_string column."""
    lengths = stops - starts
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    return text_column(text[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)], offsets)
