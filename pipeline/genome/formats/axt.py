"""AXT as LASTZ writes it (https://genome.ucsc.edu/goldenPath/help/axt.html): numbered from 0, 1-based closed ranges, `-` counted on the reverse strand."""

from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows
from tidalign.pipeline.genome.formats.comments import measured, program, seeding, settings
from tidalign.pipeline.text import joined


def header(request: Request[GenomeRows]) -> list[bytes]:
    """Say what made the file, and with which scores."""
    return [f"# {program()}\n{settings(request.rows.parameters)}".encode()]


def commented_header(request: Request[GenomeRows]) -> list[bytes]:
    """Say what `header` says, and how hits were found."""
    return [*header(request), seeding(request.rows.parameters).encode()]


def lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: the paragraph of each row."""
    return _paragraphs(block, "")


def commented_lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a column as `lines`, with LASTZ's `axt+` comments before each paragraph."""
    return _paragraphs(block, measured(block, continuity=False))


def _paragraphs(block: AlignmentBlock, comments: Any) -> Any:
    rows = block.rows
    target_text, query_text = block.texts
    return joined(
        *(comments, pa.array(block.first + np.arange(len(block))), " "),
        *(rows["target_name"], " ", pa.array(block.numbers("target_start") + 1), " ", rows["target_end"], " "),
        *(rows["query_name"], " ", pa.array(block.strand_start + 1), " ", pa.array(block.strand_end), " ", rows["strand"], " ", rows["score"], "\n"),
        *(target_text, "\n", query_text, "\n\n"),
    )
