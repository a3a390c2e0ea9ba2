"""Columns to lines of text, a whole batch at a time."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def strings(values: Any) -> Any:
    """A column as large_string, for offsets of 64 bits: long CIGARs of one batch may pass 2 GiB."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return array if array.type == pa.large_string() else array.cast(pa.large_string())


def empty() -> Any:
    return pa.scalar("", pa.large_string())


def joined(*pieces: Any) -> Any:
    """One large_string for each row: columns (a null is an empty text) and constant texts (str) one after the other."""
    columns = [pa.scalar(piece, pa.large_string()) if isinstance(piece, str) else strings(piece) for piece in pieces]
    return pc.binary_join_element_wise(*columns, empty(), null_handling="replace", null_replacement="")


def content(lines: Any) -> memoryview:
    """The bytes of a large_string array, one row after the other, without a copy."""
    _, offset_buffer, data = lines.buffers()
    if len(lines) == 0 or data is None:
        return memoryview(b"")
    offsets = np.frombuffer(offset_buffer, np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(data)[offsets[0] : offsets[-1]]


def two_kinds(batch: Any, first: Any, first_lines: Any, second_lines: Any) -> Any:
    """Lines of a batch whose rows are of two kinds: those where `first` holds and the others, each written by its own function, in the order of the rows."""
    if pc.all(first).as_py() is not False:
        return first_lines(batch)
    mask = first.to_numpy(zero_copy_only=False)
    lines = pa.concat_arrays([first_lines(batch.filter(first)), second_lines(batch.filter(pc.invert(first)))])
    # Place of every row among the lines of its kind, those of the second kind after all of the first.
    places = np.where(mask, np.cumsum(mask) - 1, mask.sum() + np.cumsum(~mask) - 1)
    return lines.take(pa.array(places))


def status_tags(batch: Any) -> Any:
    """SAM and PAF tags `st:Z` (status) and `rs:Z` (reason) of the rows that are not exact: a column, or an empty text when all are."""
    exact = pc.equal(batch["status"], "exact")
    if pc.all(exact).as_py() is not False:
        return ""
    # Z takes printable ASCII only.
    reason = pc.replace_substring_regex(batch["reason"], "[^ -~]", " ")
    tag = pc.if_else(pc.is_valid(reason), pa.scalar("\trs:Z:", pa.large_string()), empty())
    return pc.if_else(exact, empty(), joined("\tst:Z:", batch["status"], tag, reason))
