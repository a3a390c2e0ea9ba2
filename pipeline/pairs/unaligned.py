"""Make rows of pairs that have no alignment: those that a heuristic gave up, and those that were rejected."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.schema import ALIGNMENTS

INPUT_COLUMNS = ("ordinal", "query_name", "query_length", "target_name", "target_length")
"""Columns of the input."""

NO_PATH = "the heuristic left no path to the end of both sequences: widen it, or leave it out"


def without(columns: Mapping[str, Any], dropped: Any) -> dict[str, Any]:
    """Empty the columns of rows that were dropped, a boolean array, all but those of the input, and fill in their status and reason."""
    said = {"status": pa.scalar("capped"), "reason": pa.scalar(NO_PATH)}
    emptied = dict(columns)
    for name in columns.keys() - INPUT_COLUMNS:
        column = columns[name] if isinstance(columns[name], pa.Array | pa.ChunkedArray) else pa.array(columns[name])
        emptied[name] = pc.if_else(dropped, said.get(name, pa.scalar(None, ALIGNMENTS.field(name).type)), column)
    return emptied


def rejected(pairs: Any, reason: str) -> Any:
    """Make rows of pairs (a table with the columns of `schema.CHUNK`) that say why these have no alignment."""
    kept = {name: pairs[name] for name in ("ordinal", "query_name", "query_length", "target_name", "target_length")}
    said = {"status": pa.repeat("rejected", len(pairs)), "reason": pa.repeat(reason, len(pairs))}
    return pa.table([(kept | said).get(field.name, pa.nulls(len(pairs), field.type)) for field in ALIGNMENTS], schema=ALIGNMENTS)
