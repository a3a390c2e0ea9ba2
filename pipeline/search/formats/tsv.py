"""TSV: a header line and the columns of `schema.SEARCH_HITS`; a missing value is an empty field."""

from typing import Any

from tidalign.pipeline.formats.request import Request, Rows
from tidalign.pipeline.schema import SEARCH_HITS
from tidalign.pipeline.text import joined


def header(request: Request[Rows]) -> list[bytes]:
    """Name the columns."""
    return [("\t".join(SEARCH_HITS.names) + "\n").encode()]


def lines(batch: Any, request: Request[Rows]) -> Any:
    """Make a large_string column: the line of each row of a batch, with its newline."""
    return joined(*(piece for place, name in enumerate(SEARCH_HITS.names) for piece in ("\t" if place else "", batch[name])), "\n")
