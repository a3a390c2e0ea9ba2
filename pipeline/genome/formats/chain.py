"""UCSC's chain format (https://genome.ucsc.edu/goldenPath/help/chain.html), a chain for each alignment.

Ranges are 0-based and half open, those of `-` counted on the reverse strand.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows
from tidalign.pipeline.text import empty, joined


def lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: header line and gap-free pieces of each row; ids count from 1."""
    rows = block.rows
    return joined(
        *("chain ", rows["score"], " ", rows["target_name"], " ", rows["target_length"], " + ", rows["target_start"], " ", rows["target_end"], " "),
        *(rows["query_name"], " ", rows["query_length"], " ", rows["strand"], " ", pa.array(block.strand_start), " ", pa.array(block.strand_end), " "),
        *(pa.array(block.first + 1 + np.arange(len(block))), "\n", _pieces(block), "\n\n"),
    )


def _pieces(block: AlignmentBlock) -> Any:
    """Write for each row the lines `size dt dq`, the last of them `size` alone: a gap on either side, or on both, ends a piece."""
    runs = block.operations.merged()
    at = np.flatnonzero(runs.letters == ord("M"))
    rows_of = np.searchsorted(at, runs.offsets)
    gaps = [np.concatenate(([0], np.cumsum(np.where(runs.letters == ord(letter), runs.lengths, 0)))) for letter in "DI"]
    # What lies between a piece and the next one; after a row's last piece there is nothing, as alignments end in a column.
    following = np.append(at[1:], len(runs.letters))
    target_gap, query_gap = (pa.array(sums[following] - sums[at + 1]) for sums in gaps)
    last = np.zeros(len(at), bool)
    last[rows_of[1:] - 1] = True
    tails = pc.if_else(pa.array(last), empty(), joined("\t", target_gap, "\t", query_gap, "\n"))
    pieces = joined(pa.array(runs.lengths[at]), tails)
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(rows_of), pieces), empty())
