"""TSV: a header line and columns of `schema.ALIGNMENTS`; a missing value is an empty field."""

from typing import Any

from tidalign.pipeline.formats.request import Request, Rows
from tidalign.pipeline.pairs.formats.lift import place
from tidalign.pipeline.text import joined

COLUMNS = (
    *("ordinal", "query_name", "query_length", "query_start", "query_end", "target_name", "target_length", "target_start", "target_end"),
    *("penalty", "cigar", "status", "reason"),
)
"""Those that every version writes, in this order: who reads TSV may count on their places. A run that is scored has `score` behind them, one of both
strands `strand`."""


def columns(request: Request[Rows]) -> tuple[str, ...]:
    """Name the columns of a run: those of every one, and behind them score and strand where runs have them."""
    parameters = request.rows.parameters
    return COLUMNS + (("score",) if parameters.scored else ()) + (("strand",) if parameters.strand == "both" else ())


def header(request: Request[Rows]) -> list[bytes]:
    """Name the columns."""
    return [("\t".join(columns(request)) + "\n").encode()]


def lines(batch: Any, request: Request[Rows]) -> Any:
    """Make a large_string column: the line of each row of a batch in `schema.ALIGNMENTS`, with its newline."""
    pieces = [piece for name in columns(request) for piece in (place(batch, name) if name in ("target_start", "target_end") else batch[name], "\t")]
    return joined(*pieces[:-1], "\n")
