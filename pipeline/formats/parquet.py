"""Write Parquet: the table of the rows, its schema and all; threads encode row groups."""

from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.formats.row_groups import File, encoded
from tidalign.pipeline.in_turn import in_turn

GROUP_BYTES = 1 << 25
"""Most bytes of rows of a row group, before they are encoded."""


def write(request: Request[Any], sink: BinaryIO) -> int:
    """Write all rows of a request; returns how many. Memory: a piece of the rows, and a row group, for each thread."""
    rows = request.rows
    file, count = File(sink), 0
    for groups in in_turn((tables.then(_encoded) for tables in rows.groups(GROUP_BYTES)), rows.threads):
        count += sum(map(file.append, groups))
    if not count:
        file.append(encoded(rows.schema.empty_table()))
    file.close()
    return count


def _encoded(tables: Callable[[], Iterable[Any]]) -> list[Any]:
    return [encoded(table) for table in tables()]
