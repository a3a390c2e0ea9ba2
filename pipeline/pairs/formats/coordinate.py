"""Sort records of SAM and BAM by coordinate: by contig as in the header, by place, and of equal places as in the input; those without a place last."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.request import Request, Rows
from tidalign.pipeline.in_turn import ahead
from tidalign.pipeline.pairs.formats.lift import place
from tidalign.pipeline.store.sorted_runs import in_order
from tidalign.pipeline.text import content

RECORDS = pa.schema(
    [
        pa.field("target", pa.int64()),  # number of the contig; of a record without a place how many there are
        pa.field("start", pa.int64()),  # on the contig; 0 without a place, as `end`
        pa.field("end", pa.int64()),
        pa.field("ordinal", pa.int64()),
        pa.field("record", pa.large_binary()),  # a line of SAM or a record of BAM
    ]
)


SORTERS = 4
"""Say how many threads sort, at most: each holds BATCH_BYTES of records three times, as they come, sorted, and as they are written."""


def records(batch: Any, lines: Any, request: Request[Rows]) -> Any:
    """Make a table of RECORDS of a batch's rows, lifted where places are, and their lines."""
    references = request.found["references"]
    start, end = (pc.fill_null(place(batch, name), 0).to_numpy() for name in ("target_start", "target_end"))
    placed = start < end
    columns = [
        np.where(placed, references.numbers(batch["target_name"]), len(references)),
        np.where(placed, start, 0),
        np.where(placed, end, 0),
        batch["ordinal"],
        lines.cast(pa.large_binary()),
    ]
    return pa.table(columns, schema=RECORDS)


def texts(tables: Iterable[Any], request: Request[Rows]) -> Iterator[Callable[[], tuple[int, list[Any]]]]:
    """Give what makes the text of RECORDS in their order: how many they are, and their bytes; the index of the request, if it has one, learns of them."""
    index = request.found.get("index")
    threads = min(SORTERS, request.rows.threads)
    for table in ahead(in_order(tables, _keys, request.folder, threads), threads):
        lines = table["record"].combine_chunks()
        if index is not None:
            index.add(*(table[name].to_numpy() for name in ("target", "start", "end")), pc.binary_length(lines).to_numpy())
        yield partial(_text, lines)


def _text(lines: Any) -> tuple[int, list[Any]]:
    return len(lines), [content(lines)]


def _keys(table: Any) -> npt.NDArray[np.int64]:
    return np.stack([table[name].to_numpy() for name in ("target", "start", "ordinal")], axis=1)
