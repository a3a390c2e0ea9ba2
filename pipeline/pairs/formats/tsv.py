"""TSV: a header line and columns of `schema.ALIGNMENTS`; a missing value is an empty field."""

from collections.abc import Callable
from typing import Any, BinaryIO

from tidalign.pipeline.pairs.results import Results
from tidalign.pipeline.text import content, joined

COLUMNS = (
    *("ordinal", "query_name", "query_length", "query_start", "query_end", "target_name", "target_length", "target_start", "target_end"),
    *("penalty", "cigar", "status", "reason"),
)
"""Those that every version writes, in this order: who reads TSV may count on their places."""


def write(results: Results, sink: BinaryIO, cigar: str, notice: Callable[[str], None]) -> None:
    """Write the header line and every row to `sink`."""
    sink.write(("\t".join(COLUMNS) + "\n").encode())
    for made in results.map(lines):
        sink.write(content(made))


def lines(batch: Any) -> Any:
    """A large_string column: the line of each row of a batch in `schema.ALIGNMENTS`, with its newline."""
    pieces = [piece for name in COLUMNS for piece in (batch[name], "\t")]
    return joined(*pieces[:-1], "\n")
