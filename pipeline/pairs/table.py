"""Records of two sides to pairs: every query has its target, in order."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.schema import PAIRS


def split(records: Any) -> tuple[Any, Any]:
    """Queries and targets of interleaved records."""
    rows = np.arange(0, len(records), 2)
    return records.take(rows), records.take(rows + 1)


def count_pairs(files: Sequence[str], records: Sequence[int], *, interleaved: bool) -> int:
    """Pairs in files of so many records; InputError if a record has no mate."""
    if interleaved:
        if records[0] % 2:
            raise InputError(files[0], "an even number of records, queries and targets in turn", f"{records[0]}", "add what is missing")
        return records[0] // 2
    if len(set(records)) > 1:
        way_out = "the i-th records are a pair: remove or add what has no mate"
        raise InputError(files[0], f"as many records as in {files[1]} ({records[1]})", f"{records[0]}", way_out)
    return records[0]


def pair_table(file: str, first: int, query: Any, target: Any, *, same_names: bool = False) -> Any:
    """Two tables of `name` and `letters` as one in `schema.PAIRS`, from ordinal `first`; a side without names gets its ordinals.

    same_names: the names of a pair must agree, but for /1 and /2 at their ends. file: for messages.
    """
    if same_names:
        bare = [pc.replace_substring_regex(side["name"], "/[12]$", "") for side in (query, target)]
        others = np.flatnonzero(pc.not_equal(*bare).fill_null(False).to_numpy())
        if len(others):
            row = int(others[0])
            found = " and ".join(repr(side["name"][row].as_py()) for side in (query, target))
            raise InputError(file, f"one name in pair {first + row + 1}", found, "leave out --same-names if the order alone tells pairs")
    ordinals = pa.array(np.arange(first, first + len(query)))
    columns = {"ordinal": ordinals}
    for side, records in (("query", query), ("target", target)):
        columns[f"{side}_name"] = ordinals.cast(pa.string()) if records["name"].null_count else records["name"]
        columns[side] = records["letters"]
    return pa.table(columns, schema=PAIRS).combine_chunks()
