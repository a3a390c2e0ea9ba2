"""Gapped alignments of a unit: the sequential stage of exact mode as it begins, and rows of the results table."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tidalign.kernels.commit.walk import Commit
from tidalign.kernels.gapped.alignments import Extended, Extensions
from tidalign.kernels.gapped.extender import read_only
from tidalign.kernels.letters.nucleotides import ALPHABET, encode
from tidalign.kernels.text.columns import spell
from tidalign.pipeline import text
from tidalign.pipeline.genome.stages.seeding import given_up
from tidalign.pipeline.schema import GENOME_ALIGNMENTS
from tidalign.pipeline.text import Operations, counted

if TYPE_CHECKING:
    from tidalign.pipeline.genome.stages.unit import Unit

_UPPER = encode(ALPHABET.upper())
"""The upper-case code of each code."""

OPERATION_BYTES, ROW_BYTES = 16, 256
"""Of memory for an operation, and for a row beside its operations, at most: what tables of rows are cut by."""

BEGIN = 16
"""Letters by which a target's pieces are told apart before they are compared whole."""

TRIVIAL = -1
"""The anchor of an alignment of a sequence with itself: it has none."""


def commit(unit: "Unit") -> Commit:
    """The walk of a unit before its first anchor: alignments of a sequence with itself are there already, and fence all others."""
    begun = Commit(unit.target_codes, unit.query_codes, unit.bounds, unit.costs)
    for one in trivial(unit):
        begun.keep(one)
    return begun


def trivial(unit: "Unit") -> list[Extended]:
    """Where a piece of the query is equal to one of the target, case apart, LASTZ aligns them whatever the thresholds; on the strand + only.

    The score is what the letters give, or the threshold where that is more. A query that is given up for its many HSPs has none.
    """
    if unit.strand != "+":
        return []
    found = []
    lengths = unit.bounds[:, 1] - unit.bounds[:, 0]
    for q, end in unit.query.bounds(unit.query_index):
        piece = _UPPER[unit.query_codes[q:end]]
        alike = unit.bounds[lengths == end - q, 0]
        for place in range(min(BEGIN, end - q)):  # of all pieces at once: there may be a million
            alike = alike[_UPPER[unit.target_codes[alike + place]] == piece[place]]
        t = next((t for t in alike if np.array_equal(_UPPER[unit.target_codes[t : t + end - q]], piece)), None)
        if t is not None:
            score = max(int(unit.costs.plain[piece, piece].sum(dtype=np.int64)), unit.costs.threshold)
            ends = np.array([t, t + end - q, q, end], np.int64)
            found.append(Extended(TRIVIAL, score, ends, False, np.zeros(1, np.uint8), np.array([end - q], np.int64)))
    limited = unit.parameters.query_hsp_limit is not None
    return [] if found and limited and given_up(unit.words_here(), unit.query_codes, unit.parameters) else found


def tables(extensions: Extensions, unit: "Unit") -> Iterator[Any]:
    """Rows of a unit's alignments as `rows`, in tables of bounded bytes: text is made of some at a time."""
    columns = np.concatenate([[0], np.cumsum(np.where(extensions.run_ops == 0, extensions.run_lengths, 0))])[extensions.run_offsets]
    # A column is an operation at most, of which `spell` takes 9 bytes, and its text 2 where it is of one letter; a longer gap is one, too.
    room = OPERATION_BYTES * (np.diff(columns) + np.diff(extensions.run_offsets)) + ROW_BYTES
    ranges = text.cuts(room, text.TABLE_BYTES, len(extensions))
    for start, stop in ranges:
        yield rows(extensions if len(ranges) == 1 else extensions.take(np.arange(start, stop)), unit)


def rows(extensions: Extensions, unit: "Unit") -> Any:
    """Rows (`GENOME_ALIGNMENTS`) of a unit's alignments, in their order: names and numbers of sequences, places in the full ones on the forward strand."""
    if unit.parameters.notrivial:
        extensions = extensions.take(np.flatnonzero(extensions.anchor != TRIVIAL))
    n = len(extensions)
    starts = np.stack([extensions.target_start, extensions.query_start], axis=1)
    counts = np.empty((4, n), np.int64)
    room = int(extensions.run_lengths[extensions.run_ops == 0].sum()) + len(extensions.run_ops)
    runs = (np.require(values, None, ["C", "W"]) for values in (extensions.run_offsets, extensions.run_ops, extensions.run_lengths))
    operations = Operations(*spell(read_only(unit.target_codes), read_only(unit.query_codes), starts, *runs, room, counts))

    target, query, i = unit.target, unit.query, unit.query_index
    sequence = target.sequence_at(extensions.target_start)
    into_target = target.offsets[sequence] - target.starts[sequence]
    query_start, query_end = extensions.query_start, extensions.query_end
    if unit.strand == "-":
        query_start, query_end = query.lengths[i] - query_end, query.lengths[i] - query_start
    buffer = f"LASTZ's traceback buffer ends there: --allocate:traceback={unit.parameters.traceback_bytes}"
    columns: dict[str, Any] = {
        "job": np.full(n, unit.row_job),
        "target_number": sequence + (unit.job.sequence or 0),
        "target_name": [target.names[i] for i in sequence.tolist()],
        "target_length": target.full_lengths[sequence],
        "target_start": extensions.target_start + into_target,
        "target_end": extensions.target_end + into_target,
        "query_number": np.full(n, i),
        "query_name": [query.names[i]] * n,
        "query_length": np.full(n, query.full_lengths[i]),
        "query_start": query_start + query.offsets[i],
        "query_end": query_end + query.offsets[i],
        "strand": [unit.strand] * n,
        "score": extensions.score,
        "cigar": text.narrow(operations.text()),
        **counted(counts),
        "status": np.where(extensions.capped, "capped", "exact"),
        "reason": [buffer if capped else None for capped in extensions.capped],
    }
    typed = {field.name: pa.array(columns[field.name], field.type) for field in GENOME_ALIGNMENTS if field.name != "cigar"}
    return pa.table({**columns, **typed}, schema=GENOME_ALIGNMENTS)
