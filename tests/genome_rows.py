"""Tables of alignments made from LASTZ's own `general` output, so that writers and filters are tested without an aligner."""

import oracle
import pyarrow as pa

from tidalign.pipeline.schema import GENOME_ALIGNMENTS

FIELDS = {
    "number1": "target_number",
    "name1": "target_name",
    "size1": "target_length",
    "zstart1": "target_start",
    "end1": "target_end",
    "number2": "query_number",
    "name2": "query_name",
    "size2": "query_length",
    "zstart2+": "query_start",
    "end2+": "query_end",
    "strand2": "strand",
    "score": "score",
    "cigarx1": "cigar",
    "nmatch": "matches",
    "nmismatch": "mismatches",
}
FORMAT = f"--format=general-:{','.join(FIELDS)}"
"""What LASTZ is asked for."""


def rows_of(general: str, **columns: list[object]) -> pa.RecordBatch:
    """Read the alignments of a table in FORMAT, in `schema.GENOME_ALIGNMENTS`; columns: instead of LASTZ's."""
    lines = [line.split("\t") for line in general.splitlines() if not line.startswith("#")]
    table: dict[str, list[object]] = {name: [line[i] for line in lines] for i, name in enumerate(FIELDS.values())}
    table |= {name: [oracle.counts(str(cigar))[name] for cigar in table["cigar"]] for name in ("gap_openings", "gap_letters")}
    table |= {"job": [0] * len(lines), "status": ["exact"] * len(lines), "reason": [None] * len(lines)} | columns
    arrays = [pa.array(table[field.name]).cast(field.type) for field in GENOME_ALIGNMENTS]
    return pa.RecordBatch.from_arrays(arrays, schema=GENOME_ALIGNMENTS)
