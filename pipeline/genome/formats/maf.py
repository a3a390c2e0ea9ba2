"""MAF as LASTZ writes it (https://genome.ucsc.edu/FAQ/FAQformat.html#format5): the target's line first, 0-based starts, `-` counted on the reverse strand."""

from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows, Numbers, padded, spelled, widths
from tidalign.pipeline.genome.formats.comments import measured, program, seeding, settings
from tidalign.pipeline.text import joined, strings


def header(request: Request[GenomeRows]) -> list[bytes]:
    """Say what made the file, and with which scores."""
    return [f"##maf version=1 scoring={program()}\n{settings(request.rows.parameters)}".encode()]


def commented_header(request: Request[GenomeRows]) -> list[bytes]:
    """Say what `header` says, and how hits were found."""
    return [*header(request), seeding(request.rows.parameters).encode()]


def lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: the paragraph of each row."""
    return _paragraphs(block, "")


def commented_lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a column as `lines`, with LASTZ's `maf+` comments before each paragraph."""
    cigar = joined("# cigar=", spelled(block.operations.merged(), lower=True), "\n")
    return _paragraphs(block, joined(measured(block, continuity=request.rows.parameters.gapped), cigar))


def _paragraphs(block: AlignmentBlock, comments: Any) -> Any:
    rows, starts = block.rows, (block.numbers("target_start"), block.strand_start)
    sizes = (block.numbers("target_end") - starts[0], block.strand_end - starts[1])
    columns = [
        _aligned((rows["target_name"], rows["query_name"]), left=False),
        _aligned(starts, left=True, widest=(starts[0] + 1, starts[1] + 1)),  # LASTZ makes room for 1-based starts
        _aligned(sizes, left=True),
        ("+", rows["strand"]),
        _aligned((block.numbers("target_length"), block.numbers("query_length")), left=True),
        block.texts,
    ]
    target, query = ([piece for column in columns for piece in (" ", column[side])] for side in (0, 1))
    return joined(comments, "a score=", rows["score"], "\ns", *target, "\ns", *query, "\n\n")


def _aligned(values: tuple[Any, Any], *, left: bool, widest: tuple[Any, Any] | None = None) -> tuple[Any, Any]:
    """Pad values of both lines to one width, the wider one's (or that of `widest`)."""
    width: Numbers = np.maximum(*(widths(_text(one)) for one in widest or values))
    return padded(_text(values[0]), width, left=left), padded(_text(values[1]), width, left=left)


def _text(values: Any) -> Any:
    return strings(pa.array(values) if isinstance(values, np.ndarray) else values)
