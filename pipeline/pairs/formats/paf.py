"""PAF: one line of twelve columns and tags for each pair or hit (https://github.com/lh3/miniasm/blob/master/PAF.md).

Positions are 0-based and half-open. Tags: NM:i (letters in X, I and D), AS:i (the score, or minus the penalty), tp:A (P, or S for hits after a query's best),
de:f (divergence with a gap as one event), cg:Z (CIGAR), with --cs cs:Z (the letters that differ, minimap2's short form); and, where a row is not exact, st:Z
(status) and rs:Z (reason). Without CIGARs columns 10 and 11 are 0 and the longer aligned side, and NM, de, cg and cs are left out.
A rejected pair is a line as minimap2 writes it for a query without a hit (`--paf-no-hit`): no target, `*` for the strand.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.divergence import divergence, kind
from tidalign.pipeline.formats.request import Request, Rows
from tidalign.pipeline.pairs.formats.lift import place
from tidalign.pipeline.text import alignment_score, differences, joined, status_tags, two_kinds


def lines(batch: Any, request: Request[Rows]) -> Any:
    """Make a large_string column: the line of each row of a batch in `schema.ALIGNMENTS` or `schema.SEARCH_HITS`, with its newline."""
    return two_kinds(batch, pc.is_valid(batch["query_start"]), lambda rows: _aligned(rows, request), _rejected)


def _aligned(rows: Any, request: Request[Rows]) -> Any:
    tags: tuple[Any, ...]
    if rows["cigar"].null_count:
        spans = [rows[f"{side}_end"].to_numpy() - rows[f"{side}_start"].to_numpy() for side in ("query", "target")]
        matches, letters = "0", pa.array(np.maximum(*spans))
        tags = ("\tAS:i:", alignment_score(rows), "\ttp:A:", _kind(rows))
    else:
        matches, edits = rows["matches"], pc.add(rows["mismatches"], rows["gap_letters"])
        letters = pc.add(matches, edits)
        text = rows["cigar"]
        if request.cigar == "M":
            from tidalign.pipeline.pairs.formats.cigars import merged_text

            text = merged_text(text)
        apart = divergence(*(rows[name].to_numpy() for name in ("matches", "mismatches", "gap_openings")))
        tags = ("\tNM:i:", edits, "\tAS:i:", alignment_score(rows), "\ttp:A:", _kind(rows), "\tde:f:", apart, "\tcg:Z:", text)
        if request.cs:
            from tidalign.kernels.text.writing import CS
            from tidalign.pipeline.pairs.formats.strand import turned

            tags += ("\tcs:Z:", differences(CS, turned(rows), request.rows.parameters.alphabet)[0])
    return joined(
        *_tabbed(rows, "query_name", "query_length", "query_start", "query_end"),
        *(rows["strand"], "\t"),
        *_tabbed(rows, "target_name", "target_length"),
        *(place(rows, "target_start"), "\t", place(rows, "target_end"), "\t"),
        *(matches, "\t", letters, "\t255"),
        *(*tags, status_tags(rows), "\n"),
    )


def _kind(rows: Any) -> Any:
    return kind(rows["rank"].to_numpy() == 1) if "rank" in rows.schema.names else "P"


def _rejected(rows: Any) -> Any:
    return joined(*_tabbed(rows, "query_name", "query_length"), "0\t0\t*\t*\t0\t0\t0\t0\t0\t0", status_tags(rows), "\n")


def _tabbed(rows: Any, *names: str) -> list[Any]:
    """Give the named columns, a tab after each."""
    return [piece for name in names for piece in (rows[name], "\t")]
