"""UCSC's PSL (https://genome.ucsc.edu/FAQ/FAQformat.html#format2): a line of 21 columns for each alignment, without a header.

Ranges are 0-based and half open, on the forward strand; the starts of blocks of an alignment on - are counted on the query's reverse strand. Of letters that
match those are `repMatches` of which one at least is in lower case; columns with an N are neither matches nor mismatches but `nCount`.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows, Numbers
from tidalign.pipeline.text import Operations, content_of, empty, joined

_GAP, _N, _CASE = ord("-"), ord("N"), 0x20

_BASE = np.zeros(256, np.bool_)
_BASE[np.frombuffer(b"ACGT", np.uint8)] = True


def lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: the line of each row."""
    rows, runs = block.rows, block.operations.merged()
    letters, gaps, (sizes, query_starts, target_starts, count) = _letters(block), _gaps(runs), _blocks(block, runs)
    places = [rows[name] for side in ("query", "target") for name in (f"{side}_name", f"{side}_length", f"{side}_start", f"{side}_end")]
    columns = [*letters, *gaps, rows["strand"], *places, count, sizes, query_starts, target_starts]
    return joined(*[piece for place, column in enumerate(columns) for piece in (("\t",) if place else ()) + (column,)], "\n")


def _letters(block: AlignmentBlock) -> list[Any]:
    """Count matches, mismatches, matches in repeats and columns with N of each row."""
    (target, offsets), (query, _) = (content_of(text) for text in block.texts)
    target, query = target[: offsets[-1]], query[: offsets[-1]]
    both = (target != _GAP) & (query != _GAP)
    upper = [side & ~np.uint8(_CASE) for side in (target, query)]
    unknown = both & ((upper[0] == _N) | (upper[1] == _N))
    equal = both & ~unknown & (upper[0] == upper[1]) & _BASE[upper[0]]
    lower = (target | query) & np.uint8(_CASE) != 0
    kinds = (equal & ~lower, both & ~unknown & ~equal, equal & lower, unknown)
    return [_sums(kind, offsets) for kind in kinds]


def _gaps(runs: Operations) -> list[Any]:
    """Count the runs of letters that the query alone has, and those letters; then the target's."""
    found = []
    for letter in "ID":
        mine = runs.letters == ord(letter)
        for values in (mine, np.where(mine, runs.lengths, 0)):
            found.append(_sums(values, runs.offsets))
    return found


def _sums(values: Any, offsets: Numbers) -> Any:
    """Add up what each row has of some values."""
    sums, some = np.zeros(len(offsets) - 1, np.int64), offsets[:-1] < offsets[1:]
    sums[some] = np.add.reduceat(values, offsets[:-1][some], dtype=np.int64)  # of no values it is one value
    return pa.array(sums)


def _blocks(block: AlignmentBlock, runs: Operations) -> tuple[Any, Any, Any, Any]:
    """Give the blocks without a gap: their sizes and their starts in query and target, a comma after each; and how many there are."""
    at = np.flatnonzero(runs.letters == ord("M"))
    offsets = np.searchsorted(at, runs.offsets)
    row = np.repeat(np.arange(len(block)), np.diff(offsets))

    def starts(other: str, first: Numbers) -> Any:
        taken = np.concatenate(([0], np.cumsum(np.where(runs.letters == ord(other), 0, runs.lengths))))
        return _listed(first[row] + taken[at] - taken[runs.offsets[row]], offsets)

    lists = _listed(runs.lengths[at], offsets), starts("D", block.strand_start), starts("I", block.numbers("target_start"))
    return (*lists, pa.array(np.diff(offsets)))


def _listed(values: Numbers, offsets: Numbers) -> Any:
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(offsets), joined(pa.array(values), ",")), empty())
