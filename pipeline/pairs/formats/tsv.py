"""TSV: a header line and columns of `schema.ALIGNMENTS`; a missing value is an empty field."""

from typing import Any

from tidalign.pipeline.formats.request import Request, Rows
from tidalign.pipeline.text import joined

COLUMNS = (
    *("ordinal", "query_name", "query_length", "query_start", "query_end", "target_name", "target_length", "target_start", "target_end"),
    *("penalty", "cigar", "status", "reason"),
)
"""Those that every version writes, in this order: who reads TSV may count on their places."""


def header(request: Request[Rows]) -> list[bytes]:
    """Name the columns."""
    return [("\t".join(COLUMNS) + "\n").encode()]


def lines(batch: Any, request: Request[Rows]) -> Any:
    """Make a large_string column: the line of each row of a batch in `schema.ALIGNMENTS`, with its newline."""
    pieces = [piece for name in COLUMNS for piece in (batch[name], "\t")]
    return joined(*pieces[:-1], "\n")
