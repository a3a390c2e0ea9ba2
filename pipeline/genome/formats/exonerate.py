"""LASTZ's `cigar` format, which is exonerate's: ranges 0-based half open, on the forward strand, a `-` query's from its end to its start."""

from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows, spelled
from tidalign.pipeline.text import joined


def lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: the line of each row."""
    rows = block.rows
    ends = [block.numbers(name) for name in ("query_start", "query_end")]
    first, last = (pa.array(np.where(block.reverse, ends[1 - i], ends[i])) for i in (0, 1))
    return joined(
        *("cigar: ", rows["query_name"], " ", first, " ", last, " ", rows["strand"], " "),
        *(rows["target_name"], " ", rows["target_start"], " ", rows["target_end"], " + ", rows["score"]),
        *(spelled(block.operations.merged(), apart=True), "\n"),
    )
