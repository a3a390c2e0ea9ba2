"""Gapped alignments of a unit: the sequential stage of exact mode as it begins, and rows of the results table."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.kernels.commit.walk import Commit
from tidalign.kernels.extension.costs import Integers
from tidalign.kernels.gapped.alignments import Extended, Extensions
from tidalign.kernels.gapped.extender import read_only
from tidalign.kernels.letters.nucleotides import ALPHABET, Codes, encode
from tidalign.kernels.text.columns import spell
from tidalign.pipeline import text
from tidalign.pipeline.genome.input.sequences import Genome, Queries
from tidalign.pipeline.genome.stages.seeding import given_up
from tidalign.pipeline.in_turn import Call, in_turn
from tidalign.pipeline.schema import GENOME_ALIGNMENTS
from tidalign.pipeline.text import Operations, counted

if TYPE_CHECKING:
    from tidalign.pipeline.genome.stages.unit import Unit

_UPPER = encode(ALPHABET.upper())
"""The upper-case code of each code."""

OPERATION_BYTES, ROW_BYTES = 16, 256
"""Of memory for an operation, and for a row beside its operations, at most: what tables of rows are cut by."""

MARKED = 32
"""Letters by which pieces are told apart before they are compared whole."""

_CAPITAL = np.uint8(0xDF)
"""Bits of a letter but that of its case."""

TRIVIAL = -1
"""The anchor of an alignment of a sequence with itself: it has none."""


def commit(unit: "Unit") -> Commit:
    """Begin the walk of a unit before its first anchor: alignments of a sequence with itself are there already, and fence all others."""
    begun = Commit(unit.target_codes, unit.query_codes, unit.bounds, unit.costs, query_bounds=unit.query_bounds, threads=unit.device.helpers)
    for one in trivial(unit):
        begun.keep(one)
    return begun


def trivial(unit: "Unit") -> list[Extended]:
    """Make the alignments of a unit's pieces with equal ones (`equal_pieces`). A query that is given up for its many HSPs has none."""
    queries = queries_of(unit)
    found = [moved(one, int(queries.starts[i])) for i, ones in equal_pieces(unit, queries).items() for one in ones]
    limited = unit.parameters.query_hsp_limit is not None
    return [] if found and limited and given_up(unit.words_here(), unit.query_codes, unit.parameters) else found


def equal_pieces(unit: "Unit", queries: Queries) -> dict[int, list[Extended]]:
    """Align pieces of a query with equal ones of the target, case apart, as LASTZ does whatever the thresholds; on the strand + only. By strand.

    The score is what the letters give, or the threshold where that is more. Places are counted from the strand's first letter. Where all sequences of a query
    are one ([multiple]), the two arrays have to be equal as they are, and each sequence is aligned with that in its place.
    """
    together = _together(unit)
    if together and not np.array_equal(unit.target.letters & _CAPITAL, unit.query.letters & _CAPITAL):
        return {}
    which, pieces = _pieces(unit.query, queries)
    lengths = unit.bounds[:, 1] - unit.bounds[:, 0]
    likely = unit.bounds[np.isin(lengths, pieces[:, 1] - pieces[:, 0])]
    marks = _marks(unit.target_codes, likely)
    order = np.argsort(marks, kind="stable")
    firsts, ends = (np.searchsorted(marks[order], _marks(queries.codes, pieces), side) for side in ("left", "right"))  # of all at once: there may be millions
    found: dict[int, list[Extended]] = {}
    for i in np.flatnonzero(ends > firsts).tolist():
        strand, (q, end) = int(which[i]), pieces[i]
        piece = _UPPER[queries.codes[q:end]]
        alike = likely[order[firsts[i] : ends[i]], 0]
        t = next(
            (t for t in (alike[alike == unit.bounds[i, 0]] if together else alike) if np.array_equal(_UPPER[unit.target_codes[t : t + end - q]], piece)), None
        )
        if t is not None:
            score = max(int(unit.costs.plain[piece, piece].sum(dtype=np.int64)), unit.least)
            places = np.array([t, t + end - q, q - queries.starts[strand], end - queries.starts[strand]], np.int64)
            found.setdefault(strand, []).append(Extended(TRIVIAL, score, places, False, np.zeros(1, np.uint8), np.array([end - q], np.int64)))
    return found


def _together(unit: "Unit") -> bool:
    """Tell whether the query's sequences, or its only one, are an array to LASTZ ([multiple])."""
    return unit.query.together and not unit.job.each


def _pieces(query: Genome, queries: Queries) -> tuple[Integers, Integers]:
    """Find the pieces of the strands +: which strand each is of, int64[m], and where it lies in their array, int64[m, 2]."""
    plus = np.flatnonzero(~queries.minus)
    begins = query.starts[queries.numbers[plus]]
    first, stop = (np.searchsorted(query.pieces[:, 0], places) for places in (begins, begins + query.lengths[queries.numbers[plus]]))
    which = np.repeat(np.arange(len(plus)), stop - first)
    rows = np.arange(len(which)) - np.repeat(np.cumsum(stop - first) - stop, stop - first)
    return plus[which], query.pieces[rows] + (queries.starts[plus] - begins)[which, None]


def alike(target: Codes, query: Codes) -> bool:
    """Tell whether two pieces are equal, case apart."""
    return len(target) == len(query) and np.array_equal(_UPPER[target], _UPPER[query])


def whole(target: Codes, query: Codes, plain: Any, least: int) -> Extended:
    """Align two equal pieces from end to end. The score is what the letters give (plain: `Costs.plain`), or `least` where that is more."""
    score = max(int(plain[target, query].sum(dtype=np.int64)), least)
    return Extended(TRIVIAL, score, np.array([0, len(target), 0, len(query)], np.int64), False, np.zeros(1, np.uint8), np.array([len(target)], np.int64))


def marked(found: Extensions, unit: "Unit", queries: Queries | None = None) -> Extensions:
    """Mark as `TRIVIAL` what --notrivial leaves out besides, of a side that is an array of several sequences: whole sequences of one name, letter by letter
    the same, which on the strand - are palindromes. Where `trivial` ones are there LASTZ does not ask. queries: as `rows` has them."""
    if not (unit.parameters.notrivial and (unit.bounds[0, 0] or _together(unit))):
        return found
    target, query, queries = unit.target, unit.query, queries or queries_of(unit)
    strand = queries.at(found.query_start)
    likely = np.flatnonzero((np.diff(found.run_offsets) == 1) & ~np.isin(strand, strand[found.anchor == TRIVIAL]))
    ends = found.ends()[likely]
    sequence, number = target.sequence_at(ends[:, 0]), queries.numbers[strand[likely]]
    length = ends[:, 1] - ends[:, 0]
    anchor = found.anchor.copy()
    for i in np.flatnonzero((length == target.full_lengths[sequence]) & (length == query.full_lengths[number])).tolist():
        t, t_end, q, q_end = ends[i].tolist()
        if target.names[sequence[i]] == query.names[number[i]] and np.array_equal(unit.target_codes[t:t_end], queries.codes[q:q_end]):
            anchor[likely[i]] = TRIVIAL
    return replace(found, anchor=anchor)


def _marks(codes: Codes, pieces: Integers) -> npt.NDArray[np.uint64]:
    """Compute a number for each piece of an array, uint64[m], which those share that are equal, case apart: of the length, and of letters that are spread
    over it."""
    starts, lengths = pieces[:, 0], pieces[:, 1] - pieces[:, 0]
    marks = lengths.astype(np.uint64)
    for i in range(MARKED):
        marks = marks * np.uint64(len(ALPHABET)) + _UPPER[codes[starts + (lengths - 1) * i // (MARKED - 1)]]
    return marks


def queries_of(unit: "Unit") -> Queries:
    """Hold the strand of a unit alone; of a query that is several sequences in one, those."""
    if not unit.joint:
        return Queries.of(unit.query_index, unit.strand, unit.query_codes)
    numbers = np.arange(len(unit.query))
    return Queries(unit.query_codes, unit.query.starts, numbers, np.full(len(numbers), unit.strand == "-"))


def moved(one: Extended, places: int) -> Extended:
    """Give the same alignment where the query is so much further on."""
    return replace(one, ends=one.ends + np.array([0, 0, places, places]))


def tables(extensions: Extensions, unit: "Unit", queries: Queries | None = None) -> Iterator[Any]:
    """Make rows of alignments as `rows` does, in tables of bounded bytes: text is made of some at a time, by as many threads as the device has helpers."""
    return in_turn((Call(partial(rows, part, unit, queries)) for part in in_parts(extensions)), unit.device.helpers)


def in_parts(extensions: Extensions) -> Iterator[Extensions]:
    """Cut alignments into parts whose rows have bounded bytes."""
    columns = np.concatenate([[0], np.cumsum(np.where(extensions.run_ops == 0, extensions.run_lengths, 0))])[extensions.run_offsets]
    # A column is an operation at most, of which `spell` takes 9 bytes, and its text 2 where it is of one letter; a longer gap is one, too.
    room = OPERATION_BYTES * (np.diff(columns) + np.diff(extensions.run_offsets)) + ROW_BYTES
    ranges = text.cuts(room, text.TABLE_BYTES, len(extensions))
    for start, stop in ranges:
        yield extensions if len(ranges) == 1 else extensions.take(np.arange(start, stop))


def rows(extensions: Extensions, unit: "Unit", queries: Queries | None = None) -> Any:
    """Make rows (`GENOME_ALIGNMENTS`) of alignments, in their order: names and numbers of sequences, places in the full ones on the forward strand.

    queries: those of many units like this one, in whose array the alignments' query places are; None: of the unit alone.
    """
    queries = queries or queries_of(unit)
    if unit.parameters.notrivial:
        extensions = extensions.take(np.flatnonzero(extensions.anchor != TRIVIAL))
    n = len(extensions)
    starts = np.stack([extensions.target_start, extensions.query_start], axis=1)
    counts = np.empty((4, n), np.int64)
    room = int(extensions.run_lengths[extensions.run_ops == 0].sum()) + len(extensions.run_ops)
    runs = (np.require(values, None, ["C", "W"]) for values in (extensions.run_offsets, extensions.run_ops, extensions.run_lengths))
    operations = Operations(*spell(read_only(unit.target_codes), read_only(queries.codes), starts, *runs, room, counts))

    target, query = unit.target, unit.query
    sequence, strand = target.sequence_at(extensions.target_start), queries.at(extensions.query_start)
    into_target = target.offsets[sequence] - target.starts[sequence]
    number, minus = queries.numbers[strand], queries.minus[strand]
    query_start, query_end = (places - queries.starts[strand] for places in (extensions.query_start, extensions.query_end))
    query_start, query_end = (
        np.where(minus, query.lengths[number] - turned, places) for places, turned in ((query_start, query_end), (query_end, query_start))
    )
    buffer = f"LASTZ's traceback buffer ends there: --allocate:traceback={unit.parameters.traceback_bytes}"
    columns: dict[str, Any] = {
        "job": np.broadcast_to(unit.job.row_job(number), n),
        "target_number": sequence + (unit.job.sequence or 0),
        "target_name": [target.names[i] for i in sequence.tolist()],
        "target_length": target.full_lengths[sequence],
        "target_start": extensions.target_start + into_target,
        "target_end": extensions.target_end + into_target,
        "query_number": number,
        "query_name": [query.names[i] for i in number.tolist()],
        "query_length": query.full_lengths[number],
        "query_start": query_start + query.offsets[number],
        "query_end": query_end + query.offsets[number],
        "strand": np.where(minus, "-", "+"),
        "score": extensions.score,
        "cigar": text.narrow(operations.text()),
        **counted(counts),
        "status": np.where(extensions.capped, "capped", "exact"),
        "reason": [buffer if capped else None for capped in extensions.capped],
    }
    typed = {field.name: pa.array(columns[field.name], field.type) for field in GENOME_ALIGNMENTS if field.name != "cigar"}
    return pa.table({**columns, **typed}, schema=GENOME_ALIGNMENTS)
