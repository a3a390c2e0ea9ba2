"""Segments, as LASTZ writes them and reads them back with --segments: one line for each gap-free alignment, 1-based closed, `-` on the reverse strand."""

from typing import Any

import pyarrow as pa

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows
from tidalign.pipeline.text import joined


def header(request: Request[GenomeRows]) -> list[bytes]:
    """Name the columns."""
    return [b"#name1\tstart1\tend1\tname2\tstart2\tend2\tstrand2\tscore\n"]


def lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: the line of each row. Raises InputError for alignments with gaps."""
    if block.numbers("gap_letters").any():
        raise InputError("segments", "alignments without gaps", "gaps", "use --nogapped")
    rows = block.rows
    return joined(
        *(rows["target_name"], "\t", pa.array(block.numbers("target_start") + 1), "\t", rows["target_end"], "\t"),
        *(rows["query_name"], "\t", pa.array(block.strand_start + 1), "\t", pa.array(block.strand_end), "\t", rows["strand"], "\t", rows["score"], "\n"),
    )
