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
        pa.field("query", pa.large_binary(), nullable=False),  # 4 bases a byte, the first in the top bits; or, of an alphabet other than DNA's, the letters
        pa.field("query_ambiguous", pa.large_binary()),  # 8 letters a byte, the first in the top bit; null: only ACGT
        pa.field("target", pa.large_binary(), nullable=False),
        pa.field("target_ambiguous", pa.large_binary()),
    ]
)
"""A chunk file: pairs of one length bin, sorted by length."""

LETTERS = pa.schema(
    [
        pa.field("ordinal", pa.int64(), nullable=False),
        pa.field("query", pa.large_binary(), nullable=False),  # as the input has them: case and all
        pa.field("target", pa.large_binary(), nullable=False),
        pa.field("query_quality", pa.large_binary()),  # of FASTQ, as there
    ]
)
"""Letters of a block of the input, in its order, as they were read: what formats write that have them, and what a chunk does not hold (EXECUTION.md 13)."""

COUNTS = [
    ("matches", pa.int64()),  # letter pairs in =; in genomes these are two equal ACGT letters, case-blind
    ("mismatches", pa.int64()),  # letter pairs in X; in genomes of two ACGT letters only: a pair with another letter is an X that neither counts
    ("gap_openings", pa.int64()),  # runs of I or of D
    ("gap_letters", pa.int64()),  # letters in I and in D; so all columns of the CIGAR are (query span + target span + gap_letters) / 2
]
"""What is counted of a row's CIGAR where that is made (`pipeline.text.counted`): columns of both tables of alignments."""

ALIGNMENTS = pa.schema(
    [
        pa.field("ordinal", pa.int64(), nullable=False),
        pa.field("query_name", pa.string(), nullable=False),
        pa.field("query_length", pa.int64(), nullable=False),
        pa.field("query_start", pa.int64()),  # 0-based, half open; null in a rejected row, as all that follow, and with --report score
        pa.field("query_end", pa.int64()),
        pa.field("target_name", pa.string(), nullable=False),
        pa.field("target_length", pa.int64(), nullable=False),
        pa.field("target_start", pa.int64()),
        pa.field("target_end", pa.int64()),
        pa.field("strand", pa.string()),  # of the query: + or, where its reverse complement is aligned, -; null in a rejected row
        pa.field("penalty", pa.int64()),  # null in a row that is scored
        pa.field("score", pa.int64()),  # of --scoring and --matrix; null in a row that has a penalty
        pa.field("cigar", pa.string()),  # letters = X I D as in SAM, of [start, end) only; null with --penalty-only and without --report cigar
        *(pa.field(name, type_) for name, type_ in COUNTS),  # null where the CIGAR is
        pa.field("identity", pa.float64()),  # matches / (matches + mismatches + gap_letters); null where these are, and of two empty sequences
        pa.field("status", pa.string(), nullable=False),  # STATUSES
        pa.field("reason", pa.string()),  # why a row is capped or rejected
    ]
)
"""A part file, and the table a run gives: one row for each pair, in input order."""

SEQUENCES = pa.schema(
    [
        pa.field("ordinal", pa.int64(), nullable=False),  # place in the input, from 0
        pa.field("name", pa.string(), nullable=False),
        pa.field("length", pa.int64(), nullable=False),
        pa.field("letters", pa.large_binary(), nullable=False),  # as they were read
    ]
)
"""Queries of a search, or its database, as they are packed."""

SEARCH_HITS = pa.schema(
    [
        pa.field("ordinal", pa.int64(), nullable=False),  # of the query
        pa.field("query_name", pa.string(), nullable=False),
        pa.field("query_length", pa.int64(), nullable=False),
        pa.field("query_start", pa.int64()),  # 0-based, half open, on the forward strand; null in a rejected row, as all that follow, and with --report score
        pa.field("query_end", pa.int64()),
        pa.field("rank", pa.int64()),  # among the hits of the query, from 1; in a part among those of its slice
        pa.field("target_ordinal", pa.int64()),  # of the sequence in the database
        pa.field("target_name", pa.string()),
        pa.field("target_length", pa.int64()),
        pa.field("target_start", pa.int64()),
        pa.field("target_end", pa.int64()),
        pa.field("strand", pa.string()),  # of the query, + or -
        pa.field("score", pa.int64()),
        pa.field("bits", pa.float64()),  # null where the matrix and its gap have no known statistics, as evalue
        pa.field("evalue", pa.float64()),
        pa.field("cigar", pa.string()),  # as in ALIGNMENTS, along the target; null without --report cigar
        *(pa.field(name, type_) for name, type_ in COUNTS),
        pa.field("identity", pa.float64()),
        pa.field("status", pa.string(), nullable=False),  # STATUSES
        pa.field("reason", pa.string()),
    ]
)
"""Hits of a search: queries in the order of the input, and of each the best first. A part has the best of one slice of the database."""

STATUSES = ("exact", "heuristic", "capped", "rejected")

HITS = pa.schema(
    [
        pa.field("target", pa.int64(), nullable=False),  # first letter of the seed window in the target's array (all its sequences in one)
        pa.field("query", pa.int64(), nullable=False),  # the same on the strand of the query sequence
    ]
)
"""Seed hits of one query sequence and strand, in LASTZ's order of arrival."""

HSPS = pa.schema(
    [
        pa.field("target", pa.int64(), nullable=False),  # as in HITS: start in the target's array
        pa.field("query", pa.int64(), nullable=False),
        pa.field("length", pa.int64(), nullable=False),
        pa.field("score", pa.int64(), nullable=False),  # after entropy
    ]
)
"""Gap-free segments of one query sequence and strand, in order of discovery. Bare seeds (without gap-free extension) have the same columns."""

ANCHORS = pa.schema(
    [
        pa.field("target", pa.int64(), nullable=False),  # the anchor base, as in HITS
        pa.field("query", pa.int64(), nullable=False),
        pa.field("score", pa.int64(), nullable=False),  # of its segment
    ]
)
"""Where gapped extension starts."""

KEPT = {
    stage: pa.schema([("job", pa.int64()), ("query_name", pa.string()), ("strand", pa.string()), *((field.name, field.type) for field in schema)])
    for stage, schema in (("hits", HITS), ("hsps", HSPS), ("anchors", ANCHORS))
}
"""What `--keep` keeps of each stage: its columns, after those that say of which pair of genomes, query and strand a row is."""

GENOME_ALIGNMENTS = pa.schema(
    [
        pa.field("job", pa.int64(), nullable=False),  # which pair of genomes of the run, from 0
        pa.field(
            "target_number", pa.int64(), nullable=False
        ),  # place of the sequence on its side (of those with letters), from 0: names may occur more than once
        pa.field("target_name", pa.string(), nullable=False),
        pa.field("target_length", pa.int64(), nullable=False),  # of the full sequence, also where a subrange was asked for
        pa.field("target_start", pa.int64(), nullable=False),  # 0-based, half open, in the full sequence
        pa.field("target_end", pa.int64(), nullable=False),
        pa.field("query_number", pa.int64(), nullable=False),
        pa.field("query_name", pa.string(), nullable=False),
        pa.field("query_length", pa.int64(), nullable=False),
        pa.field("query_start", pa.int64(), nullable=False),  # 0-based, half open, on the forward strand
        pa.field("query_end", pa.int64(), nullable=False),
        pa.field("strand", pa.string(), nullable=False),  # of the query, + or -
        pa.field("score", pa.int64(), nullable=False),
        pa.field("cigar", pa.string(), nullable=False),  # letters = X I D as in SAM; a column with a letter other than ACGT is an X
        *(pa.field(name, type_, nullable=False) for name, type_ in COUNTS),
        pa.field("status", pa.string(), nullable=False),  # STATUSES
        pa.field("reason", pa.string()),  # why a row is capped
    ]
)
"""Alignments of a genome run in LASTZ's order: queries in file order, + before -, then by target start."""

EXTENDED = GENOME_ALIGNMENTS.append(pa.field("anchor", pa.int64(), nullable=False))
"""Rows of independent mode before duplicates are taken out; `anchor`: place of theirs in order of arrival."""

RECORDS = pa.schema(
    [
        pa.field("page", pa.int64(), nullable=False),
        pa.field("records", pa.large_binary(), nullable=False),
    ]
)
"""Checkpoint of the seeding of a query strand: the arrays of `kernels.ungapped.hsps.HitFilter.state`, a row a page."""

WALK = pa.schema(
    [
        ("anchor", pa.large_list(pa.int64())),
        ("score", pa.large_list(pa.int64())),
        ("target_start", pa.large_list(pa.int64())),
        ("target_end", pa.large_list(pa.int64())),
        ("query_start", pa.large_list(pa.int64())),
        ("query_end", pa.large_list(pa.int64())),
        ("capped", pa.large_list(pa.bool_())),
        ("run_offsets", pa.large_list(pa.int64())),
        ("run_ops", pa.large_list(pa.uint8())),
        ("run_lengths", pa.large_list(pa.int64())),
    ]
)
"""Checkpoint of a walk of exact mode: the arrays of a `kernels.gapped.alignments.Extensions`, in one row."""

AHEAD = pa.schema(
    [
        ("known", pa.large_list(pa.uint8())),
        ("boxes", pa.large_list(pa.int64())),
        ("range_offsets", pa.large_list(pa.int64())),
        ("ranges", pa.large_list(pa.int32())),
        *((f"extensions_{field.name}", field.type) for field in WALK),
    ]
)
"""What was extended ahead of a walk: the arrays of a `kernels.gapped.speculated.Speculated`, flat, in one row."""
