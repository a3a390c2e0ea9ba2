"""Write rows of aligned pairs as parts of a run, and the row that says why a pair has no alignment."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.schema import ALIGNMENTS
from tidalign.pipeline.store.parts import Part, write_part


def write_rows(directory: str, run: str, chunk: str, start: int, stop: int, table: Any) -> Part:
    """Write the alignments (`schema.ALIGNMENTS`) of rows [start, stop) of a chunk, sorted by ordinal, labelled with `bases`, the letters of both sides."""
    if len(table) != stop - start or table.schema != ALIGNMENTS:
        raise RuntimeError(f"chunk {chunk}: rows {start}..{stop} gave {len(table)} alignments")
    bases = sum(pc.sum(table[f"{side}_length"], min_count=0).as_py() for side in ("query", "target"))
    return write_part(f"{directory}/parts", run, chunk, start, stop, table.sort_by("ordinal"), bases=bases)


def rejected(pairs: Any, reason: str) -> Any:
    """Make rows of pairs (a table with the columns of `schema.CHUNK`) that say why these have no alignment."""
    kept = {name: pairs[name] for name in ("ordinal", "query_name", "query_length", "target_name", "target_length")}
    said = {"status": pa.repeat("rejected", len(pairs)), "reason": pa.repeat(reason, len(pairs))}
    return pa.table([(kept | said).get(field.name, pa.nulls(len(pairs), field.type)) for field in ALIGNMENTS], schema=ALIGNMENTS)
