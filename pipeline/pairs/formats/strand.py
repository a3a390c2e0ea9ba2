"""Turn rows whose query is aligned as its reverse complement: letters, qualities and places as SAM has them, on the strand of the target."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.letters import packing
from tidalign.pipeline.text import content_of


def turned(rows: Any) -> Any:
    """Give rows in `schema.ALIGNMENTS` with `schema.LETTERS`, those of strand - with letters, qualities and places of the query's other strand."""
    reverse = pc.fill_null(pc.equal(rows["strand"], "-"), False)
    if not pc.any(reverse).as_py():
        return rows
    chosen = reverse.to_numpy(zero_copy_only=False)
    columns = {name: rows[name] for name in rows.schema.names}
    columns["query"] = _reversed(rows["query"], chosen, packing.COMPLEMENT)
    columns["query_quality"] = _reversed(rows["query_quality"], chosen, packing.SAME)
    for here, there in (("query_start", "query_end"), ("query_end", "query_start")):
        columns[here] = pc.if_else(reverse, pc.subtract(rows["query_length"], rows[there]), rows[here])
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def _reversed(column: Any, chosen: Any, table: Any) -> Any:
    letters, places = content_of(column)
    letters, places = letters[places[0] : places[-1]], np.ascontiguousarray(places - places[0])
    written = np.empty(len(letters), np.uint8)
    packing.reverse_letters(letters, places, chosen, table, written)
    bits = None
    if column.null_count:
        bits = pa.py_buffer(np.packbits(column.is_valid().to_numpy(zero_copy_only=False), bitorder="little"))
    return pa.Array.from_buffers(pa.large_binary(), len(column), [bits, pa.py_buffer(places), pa.py_buffer(written)])
