"""SAM of hits: a record for each, the best of a query first and the others secondary (flag 256); those on the query's other strand have flag 16.

The header has an @SQ line for each target that was hit, in the order of the database. A hit without a letter of the target has no place: it is unmapped (flag
4) where it is the best of its query, which has one primary record so, and else left out. What says of a query with hits
that it was rejected in a part of the database is unmapped and secondary (flag 260). All else is as in that of pairs.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.errors import InputError, shown
from tidalign.pipeline.formats.request import Batches, Request, Rows
from tidalign.pipeline.pairs.formats.cigars import merged_text
from tidalign.pipeline.pairs.formats.sam import REVERSE, UNMAPPED, Where, check_queries, check_targets, clip, program, reference_lines
from tidalign.pipeline.search.formats.m8 import left_out
from tidalign.pipeline.text import alignment_score, content, joined, status_tags, two_kinds

SECONDARY = 256
"""Flag of the hits of a query after the best."""

TARGET = ("target_ordinal", "target_name", "target_length")


def header(request: Request[Rows]) -> Iterator[bytes | memoryview]:
    """Give the lines before the records. Raises InputError for targets that SAM cannot name, or that have one name. A target without a letter is not there: a
    length is at least 1."""
    targets = pa.table({name: pa.array([], type) for name, type in zip(TARGET, (pa.int64(), pa.string(), pa.int64()), strict=True)})
    for batch in request.rows.to_batches(list(TARGET)):
        held = pa.concat_tables([targets, pa.Table.from_batches([batch])]).filter(pc.field("target_length") > 0)
        _, firsts = np.unique(held["target_ordinal"].to_numpy(), return_index=True)
        targets = held.take(pa.array(firsts))
    counted = pc.value_counts(targets["target_name"].combine_chunks())
    twice = counted.field("values").filter(pc.greater(counted.field("counts"), 1))
    if len(twice):
        raise InputError(
            "SAM header", "one sequence of each name in the database", f"more of {shown(twice[0].as_py())}", "name them apart, or write .m8, .paf or .tsv"
        )
    yield b"@HD\tVN:1.6\tSO:unsorted\n"
    for batch in targets.combine_chunks().to_batches():
        yield content(reference_lines(batch["target_name"], batch["target_length"].to_numpy()))
    source = request.rows.source
    yield program(request, source["queries"]["path"], source["database"]["path"])


def check(batches: Batches, where: Where) -> None:
    """Raise InputError for names that SAM does not have, before anything is searched. batches: with `ordinal` and `query_name`, or `target_name`."""
    for batch in batches.to_batches():
        (check_queries if "query_name" in batch.schema.names else check_targets)(batch, where)


def lines(batch: Any, request: Request[Rows]) -> Any:
    """Make a large_string column: the record of each row of a batch in `schema.SEARCH_HITS`, with `first` of `search.results`, with its newline."""
    placed = pc.fill_null(pc.less(batch["target_start"], batch["target_end"]), False)
    flagged = batch.append_column("unmapped", pc.if_else(batch["first"], UNMAPPED, UNMAPPED + SECONDARY))
    return two_kinds(flagged, placed, lambda rows: _mapped(rows, request.cigar), _without_place)


def _without_place(rows: Any) -> Any:
    return two_kinds(rows, pc.less_equal(pc.fill_null(rows["rank"], 1), 1), _unmapped, left_out)  # what was rejected has no rank


def _mapped(rows: Any, cigar: str) -> Any:
    backward = pc.equal(rows["strand"], "-")
    before, behind = rows["query_start"], pc.subtract(rows["query_length"], rows["query_end"])
    flags = pc.add(pc.if_else(backward, REVERSE, 0), pc.if_else(pc.greater(rows["rank"], 1), SECONDARY, 0))
    text = rows["cigar"] if cigar == "=X" else merged_text(rows["cigar"])
    edits = pc.add(rows["mismatches"], rows["gap_letters"])
    return joined(
        *(rows["query_name"], "\t", flags, "\t", rows["target_name"], "\t", pc.add(rows["target_start"], 1), "\t255\t"),
        *(clip(pc.if_else(backward, behind, before)), text, clip(pc.if_else(backward, before, behind))),
        *("\t*\t0\t0\t*\t*\tNM:i:", edits, "\tAS:i:", alignment_score(rows), status_tags(rows), "\n"),
    )


def _unmapped(rows: Any) -> Any:
    return joined(rows["query_name"], "\t", rows["unmapped"], "\t*\t0\t0\t*\t*\t0\t0\t*\t*", status_tags(rows), "\n")
