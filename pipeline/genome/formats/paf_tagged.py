"""PAF with the tags of minimap2's that other tools look for: `NM`, `AS`, `tp`, `de`, and `cg` with = and X.

`NM`: columns that do not match, letters of gaps included. `tp`: P, as every alignment is one by itself. `de`: see `divergence`.
"""

from typing import Any

import pyarrow as pa

from tidalign.pipeline.formats.divergence import divergence
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats.block import Block, GenomeRows
from tidalign.pipeline.genome.formats.measures import blast_identity, continuity
from tidalign.pipeline.text import joined

_NAMES = ("query_name", "query_length", "query_start", "query_end", "strand", "target_name", "target_length", "target_start", "target_end")


def lines(block: Block, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: the line of each row."""
    (matches, columns), (gapless, _) = blast_identity(block), continuity(block)
    tabbed = [piece for name in _NAMES for piece in (block.rows[name], "\t")]
    apart = divergence(matches, gapless - matches, block.numbers("gap_openings"))
    tags = ("\t255\tNM:i:", pa.array(columns - matches), "\tAS:i:", block.rows["score"], "\ttp:A:P\tde:f:", apart, "\tcg:Z:", block.rows["cigar"], "\n")
    return joined(*tabbed, pa.array(matches), "\t", pa.array(columns), *tags)
