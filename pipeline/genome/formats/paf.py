"""PAF as LASTZ writes it (https://github.com/lh3/miniasm/blob/master/PAF.md): the query first, 0-based half-open ranges on the forward strand."""

from typing import Any

import pyarrow as pa

from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import Block, GenomeRows
from tidalign.pipeline.genome.formats.measures import blast_identity
from tidalign.pipeline.text import joined


def lines(block: Block, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: the line of each row, its CIGAR with M."""
    return _lines(block, block.operations.merged().text())


def exact_lines(block: Block, request: Request[GenomeRows]) -> Any:
    """Make a column as `lines`, with = and X."""
    return _lines(block, block.rows["cigar"])


def _lines(block: Block, cigar: Any) -> Any:
    matches, columns = blast_identity(block)
    names = ["query_name", "query_length", "query_start", "query_end", "strand", "target_name", "target_length", "target_start", "target_end"]
    tabbed = [piece for name in names for piece in (block.rows[name], "\t")]
    return joined(*tabbed, pa.array(matches), "\t", pa.array(columns), "\t255\tAS:i:", block.rows["score"], "\tcg:Z:", cigar, "\n")
