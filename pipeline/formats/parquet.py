"""Write Parquet: the table of the rows, its schema and all."""

from typing import Any, BinaryIO

import pyarrow.parquet as pq

from tidalign.pipeline.formats.request import Request


def write(request: Request[Any], sink: BinaryIO) -> int:
    """Write all rows of a request; returns how many."""
    count = 0
    with pq.ParquetWriter(sink, request.rows.schema, compression="zstd") as writer:
        for batch in request.rows.to_batches():
            writer.write_batch(batch)
            count += batch.num_rows
    return count
