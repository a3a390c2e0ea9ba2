"""BLAST's tabular format (`-outfmt 6`, `-m 8`): twelve columns, query, target, identity in per cent, columns of the alignment, mismatches, gap openings, query
start and end, target start and end (from 1; of a hit on the query's other strand those of the target are turned round), E-value, bit score.

Where the matrix has no known statistics the E-value is `*` and the last column the score. A rejected query is a comment. A hit without a letter of both sides,
which only an empty sequence or a least score below 1 can bring, has no line: it has no begin and end counted from 1, and BLAST has no such hits.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.request import Request, Rows
from tidalign.pipeline.text import joined, two_kinds


def lines(batch: Any, request: Request[Rows]) -> Any:
    """Make a large_string column: the line of each row of a batch in `schema.SEARCH_HITS`, with its newline."""
    return two_kinds(batch, pc.is_valid(batch["query_start"]), _lines, _rejected)


def _lines(rows: Any) -> Any:
    both = pc.and_(pc.less(rows["query_start"], rows["query_end"]), pc.less(rows["target_start"], rows["target_end"]))
    return two_kinds(rows, both, _hits, left_out)


def left_out(rows: Any) -> Any:
    """Make a large_string column of no line for each row."""
    return pa.array([""] * len(rows), pa.large_string())


def _hits(rows: Any) -> Any:
    columns = pc.add(pc.add(rows["matches"], rows["mismatches"]), rows["gap_letters"])
    backward = pc.equal(rows["strand"], "-")
    start, end = pc.add(rows["target_start"], 1), rows["target_end"]
    places = (pc.add(rows["query_start"], 1), rows["query_end"], pc.if_else(backward, end, start), pc.if_else(backward, start, end))
    share = pa.array(_written("%.3f", 100 * rows["identity"].to_numpy(zero_copy_only=False)), pa.large_string())
    counts = (share, columns, rows["mismatches"], rows["gap_openings"])
    return joined(rows["query_name"], "\t", rows["target_name"], *(piece for value in (*counts, *places, *_quality(rows)) for piece in ("\t", value)), "\n")


def _quality(rows: Any) -> tuple[Any, Any]:
    """Give E-values and bit scores as BLAST writes them."""
    if rows["bits"].null_count:
        return "*", rows["score"]
    values, bits = (rows[name].to_numpy() for name in ("evalue", "bits"))
    evalues = _chosen(values, ((1e-180, "0.0"), (0.0009, "%.2e"), (0.1, "%.3f"), (1.0, "%.2f"), (10.0, "%.1f"), (np.inf, "%.0f")))
    return evalues, _chosen(bits, ((99.9, "%.1f"), (9999, "%d"), (np.inf, "%.3e")))


def _chosen(values: Any, formats: tuple[tuple[float, str], ...]) -> Any:
    """Write each number in the format of the first limit that it is not above."""
    texts = np.empty(len(values), object)
    before = -np.inf
    for limit, format in formats:
        rows = (values > before) & (values <= limit) if before > -np.inf else values <= limit
        texts[rows] = _written(format, values[rows]) if "%" in format else format
        before = limit
    return pa.array(texts, pa.large_string())


def _written(format: str, values: Any) -> list[str]:
    return [format % value for value in values.tolist()]  # a third of what np.char.mod takes


def _rejected(rows: Any) -> Any:
    reason = pc.replace_substring_regex(rows["reason"], "[^ -~]", " ")
    return joined("# ", rows["query_name"], " rejected: ", reason, "\n")
