"""Every table's Arrow schema, written once."""

import pyarrow as pa

PAIRS = pa.schema(
    [
        pa.field("ordinal", pa.int64(), nullable=False),  # place of the pair in the input, from 0
        pa.field("query_name", pa.string(), nullable=False),
        pa.field("target_name", pa.string(), nullable=False),
        pa.field("query", pa.large_binary(), nullable=False),  # the input's letters
        pa.field("target", pa.large_binary(), nullable=False),
    ]
)
"""Pairs as read: what `read_block` returns."""

CHUNK = pa.schema(
    [
        pa.field("ordinal", pa.int64(), nullable=False),
        pa.field("query_name", pa.string(), nullable=False),
        pa.field("target_name", pa.string(), nullable=False),
        pa.field("query_length", pa.int64(), nullable=False),
        pa.field("target_length", pa.int64(), nullable=False),
        pa.field("query", pa.large_binary(), nullable=False),  # 4 bases a byte, the first in the top bits
        pa.field("query_ambiguous", pa.large_binary()),  # 8 letters a byte, the first in the top bit; null: only ACGT
        pa.field("target", pa.large_binary(), nullable=False),
        pa.field("target_ambiguous", pa.large_binary()),
    ]
)
"""A chunk file: pairs of one length bin, sorted by length."""

ALIGNMENTS = pa.schema(
    [
        pa.field("ordinal", pa.int64(), nullable=False),
        pa.field("query_name", pa.string(), nullable=False),
        pa.field("query_length", pa.int64(), nullable=False),
        pa.field("query_start", pa.int64()),  # 0-based, half open; null in a rejected row, as all that follow
        pa.field("query_end", pa.int64()),
        pa.field("target_name", pa.string(), nullable=False),
        pa.field("target_length", pa.int64(), nullable=False),
        pa.field("target_start", pa.int64()),
        pa.field("target_end", pa.int64()),
        pa.field("penalty", pa.int64()),
        pa.field("cigar", pa.string()),  # letters = X I D as in SAM, of [start, end) only; null with --penalty-only
        pa.field("status", pa.string(), nullable=False),  # STATUSES
        pa.field("reason", pa.string()),  # why a row is capped or rejected
    ]
)
"""A part file, and the table a run gives: one row for each pair, in input order."""

STATUSES = ("exact", "heuristic", "capped", "rejected")
