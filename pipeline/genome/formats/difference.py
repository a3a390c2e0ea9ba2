"""LASTZ's `differences`: a line for each run of columns in which letters differ, and for each gap, with the whole alignment behind it or (`-`) without."""

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import COLUMNS, AlignmentBlock, GenomeRows, text_column, widths
from tidalign.pipeline.text import content_of, joined, strings

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
    part, parts = block.part
    chosen = np.array_split(np.flatnonzero(chosen), parts)[part]
    starts, stops = starts[chosen], stops[chosen]
    row = np.searchsorted(offsets, starts, "right") - 1
    columns: list[Any] = []
    for side, text, at in (("target", target, block.numbers("target_start")), ("query", query, block.strand_start)):
        taken = np.concatenate(([0], np.cumsum(text != ord("-"))))
        places = [pa.array(at[row] + taken[cut] - taken[offsets[row]]) for cut in (starts, stops)]
        name, length, strand = (strings(block[column]).take(pa.array(row)) for column in (f"{side}_name", f"{side}_length", "strand"))
        columns += [name, "\t", places[0], "\t", places[1], "\t", strand if side == "query" else "+", "\t", length, "\t"]
    runs = [_parts(text, starts, stops) for text in (target, query)]
    made = joined(*columns, runs[0], "\t", runs[1], "\t" if whole else "\n")
    ends = np.concatenate(([0], np.cumsum(widths(made) + (2 * np.diff(offsets) + 2)[row] * whole)))
    cuts = ends[np.searchsorted(row, np.arange(len(block) + 1))]
    if not whole:
        return text_column(content_of(made)[0], cuts)
    lines = np.empty(ends[-1], np.uint8)  # far more than all else, so it is filled bit by bit
    bounds = np.unique(np.append(np.searchsorted(ends, np.arange(0, ends[-1], COLUMNS)), len(row)))
    for first, last in pairwise(bounds.tolist()):
        behind = [text.take(pa.array(row[first:last])) for text in texts]
        lines[ends[first] : ends[last]] = content_of(joined(made[first:last], behind[0], "\t", behind[1], "\n"))[0]
    return text_column(lines, cuts)


def _parts(text: Any, starts: Any, stops: Any) -> Any:
    """Cut runs out of a text: a large_string column."""
    lengths = stops - starts
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    return text_column(text[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)], offsets)
