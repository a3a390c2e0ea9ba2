"""PAF (https://github.com/lh3/miniasm/blob/master/PAF.md) as LASTZ writes it, and with the tags of minimap2's that other tools look for: the query first,
0-based half-open ranges on the forward strand."""

from typing import Any

import pyarrow as pa

from tidalign.pipeline.formats.divergence import divergence
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows
from tidalign.pipeline.genome.formats.measures import columns, continuity
from tidalign.pipeline.text import joined

_NAMES = ("query_name", "query_length", "query_start", "query_end", "strand", "target_name", "target_length", "target_start", "target_end")


def lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: the line of each row, its CIGAR with M."""
    return _lines(block, "AS:i:", block.rows["score"], "\tcg:Z:", block.operations.merged().text())


def exact_lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a column as `lines`, with = and X."""
    return _lines(block, "AS:i:", block.rows["score"], "\tcg:Z:", block.rows["cigar"])


def tagged_lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a column as `exact_lines`, with `NM` (columns that do not match, letters of gaps included), `tp` (P, as every alignment is one by itself) and `de`
    (see `divergence`)."""
    matches, (gapless, length) = block.numbers("matches"), continuity(block)
    apart = divergence(matches, gapless - matches, block.numbers("gap_openings"))
    edits = pa.array(length - matches)
    return _lines(block, "NM:i:", edits, "\tAS:i:", block.rows["score"], "\ttp:A:P\tde:f:", apart, "\tcg:Z:", block.rows["cigar"])


def _lines(block: AlignmentBlock, *tags: Any) -> Any:
    tabbed = [piece for name in _NAMES for piece in (block.rows[name], "\t")]
    return joined(*tabbed, block.rows["matches"], "\t", pa.array(columns(block)), "\t255\t", *tags, "\n")
