"""BLAST's tabular output as LASTZ writes it (`blastn`): per cent of matches, bits and expectation from the score as BLASTZ's users have them, 1-based closed
ranges of the forward strand, those of the target turned around for a query on `-`."""

from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats import headed, measures
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows
from tidalign.pipeline.genome.formats.comments import program
from tidalign.pipeline.genome.input.actions import Specifier
from tidalign.pipeline.text import joined

_BITS, _SPACE = 0.0205, 3.0e9
"""Bits of a score's unit, and letters of target times query that an expectation is for, whatever they are: kent's, for HOXD70."""

_OF = ("job", "query_number", "strand")
_FIELDS = "query id, subject id, % identity, alignment length, mismatches, gap opens, q. start, q. end, s. start, s. end, evalue, bit score"


def write(request: Request[GenomeRows], sink: BinaryIO) -> int:
    """Write all rows of a request, comments before those of each query and strand; returns how many."""
    count, _ = headed.write(request, sink, _OF, _comments, lambda block: lines(block, request))
    sink.write(request.format.footer.encode() if request.markend else b"")
    return count


def _comments(block: AlignmentBlock, request: Request[GenomeRows], row: int, _: headed.Values | None) -> str:
    genomes = request.rows.source["genomes"]
    pair = genomes[0 if len(genomes) == 1 else block["job"][row].as_py()]
    name = block["query_name"][row].as_py()
    return f"# {program()} --format=blastn \n# Query: {name}\n# Database: {Specifier.parse(pair['target']).path}\n# Fields: {_FIELDS}\n"


def lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: the line of each row."""
    reverse, share = block.reverse, measures.blast_identity(block)
    start, end = block.numbers("target_start") + 1, block.numbers("target_end")
    bits = block.numbers("score") * _BITS
    expected = _SPACE * np.exp(-bits * np.log(2))
    columns = [
        *(block["query_name"], block["target_name"], measures.percents(share, "{:.2f}")),
        *(pa.array(measures.columns(block)), block["mismatches"], block["gap_openings"]),
        *(pa.array(block.numbers("query_start") + 1), block["query_end"], pa.array(np.where(reverse, end, start)), pa.array(np.where(reverse, start, end))),
        *(pa.array([f"{value:.2g}" for value in expected.tolist()]), pa.array([f"{value:.1f}" for value in bits.tolist()])),
    ]
    return joined(*(piece for column in columns[:-1] for piece in (column, "\t")), columns[-1], "\n")
