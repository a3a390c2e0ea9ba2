"""TSV: a header line and the columns of `schema.ALIGNMENTS`; a missing value is an empty field."""

from typing import Any

from tidalign.pipeline.formats.request import Request, Rows
from tidalign.pipeline.text import joined


def header(request: Request[Rows]) -> list[bytes]:
    """Name the columns."""
    return [("\t".join(request.rows.schema.names) + "\n").encode()]


def lines(batch: Any, request: Request[Rows]) -> Any:
    """Make a large_string column: the line of each row of a batch in `schema.ALIGNMENTS`, with its newline."""
    pieces = [piece for name in batch.schema.names for piece in (batch[name], "\t")]
    return joined(*pieces[:-1], "\n")
