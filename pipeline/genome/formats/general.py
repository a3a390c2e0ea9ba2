"""LASTZ's `general` tables: tab-separated fields of the user's choice."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.letters.nucleotides import Codes, encode
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.formats.table import Format
from tidalign.pipeline.genome.formats import measures
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows, Numbers, spelled, text_column
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.text import joined, strings

Field = Callable[[AlignmentBlock], Any]

DEFAULT = ["score", "name1", "strand1", "size1", "zstart1", "end1", "name2", "strand2", "size2", "zstart2", "end2", "identity", "coverage"]
MAPPING = ["name1", "zstart1", "end1", "name2", "strand2", "zstart2+", "end2+", "identity", "coverage", "cigarx-"]


def fields(names: Sequence[str]) -> list[str]:
    """Give field names as LASTZ's spelling has them. Raises ValueError for one that does not exist here."""
    names = [_OTHER_SPELLINGS.get(name, name) for name in names]
    for name in names:
        if name not in FIELDS and name not in _SHARES:
            raise ValueError(f"no general field {name!r}: use some of {', '.join([*FIELDS, *_SHARES])}")
    return list(names)


def check(role: str, file: str, genome: Genome, format: Format) -> None:
    """Raise InputError for a side without the qualities that fields are of. role: target or query."""
    for name in format.fields or ():
        if genome.qualities is None and _QUALITIES.get(name) == role:
            raise _without(file, name)


def _without(file: str, name: str) -> InputError:
    return InputError(file, f"FASTQ, whose qualities are the general field {name}", "no qualities", "leave the field out")


def header(request: Request[GenomeRows]) -> list[bytes]:
    """Name the columns of `general`: those chosen, or LASTZ's."""
    return _header(request.format.fields or DEFAULT)


def mapping_header(request: Request[GenomeRows]) -> list[bytes]:
    """Name the columns of `mapping`."""
    return _header(MAPPING)


def lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: the line of each row in `general`."""
    return _lines(block, request.format.fields or DEFAULT)


def mapping_lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: the line of each row in `mapping`."""
    return _lines(block, MAPPING)


def _header(names: Sequence[str]) -> list[bytes]:
    """Write the header line; a share has two columns."""
    titles = [title for name in names for title in ((name, _SHARES[name][1]) if name in _SHARES else (name,))]
    return [("#" + "\t".join(titles) + "\n").encode()]


def _lines(block: AlignmentBlock, names: Sequence[str]) -> Any:
    columns = []
    for name in names:
        if name in _SHARES:
            value = _SHARES[name][0](block)
            columns += [measures.fractions(value), measures.percents(value)]
        else:
            columns.append(FIELDS[name](block))
    pieces = [piece for column in columns for piece in (pa.array(column) if isinstance(column, np.ndarray) else column, "\t")]
    return joined(*pieces[:-1], "\n")


def _numbers(name: str) -> Field:
    return lambda block: block.numbers(name)


def _column(name: str) -> Field:
    return lambda block: block.rows[name]


def _constant(text: str) -> Field:
    return lambda block: pa.array([text] * len(block))


def _percents(share: Callable[[AlignmentBlock], measures.Fraction], form: str) -> Field:
    return lambda block: measures.percents(share(block), form)


def _fractions(share: Callable[[AlignmentBlock], measures.Fraction]) -> Field:
    return lambda block: measures.fractions(share(block))


def _diagonal(block: AlignmentBlock) -> Numbers:
    return block.numbers("target_start") - block.strand_start


def _shingle(block: AlignmentBlock) -> Any:
    """Count the letters by which one sequence, laid along the alignment's diagonal, reaches past an end of the target: negative at its start; NA where it
    does not. Of a target that is read in pieces ([separator=C]) the end is as far from its begin as the piece is long, as LASTZ has it."""
    diagonal, number = _diagonal(block), block.numbers("target_number")
    start = block.target.starts[number] + block.numbers("target_start") - block.target.offsets[number]
    pieces = block.target.pieces[np.searchsorted(block.target.pieces[:, 0], start, "right") - 1]
    length, query = pieces[:, 1] - pieces[:, 0], block.query.lengths[block.numbers("query_number")]
    reach = diagonal + query
    after = (diagonal > 0) & (reach > length)
    before = (diagonal < 0) & (reach < length)
    value = np.where(after, length - diagonal, -reach)
    return pc.if_else(pa.array((after | before) & (value != 0)), strings(pa.array(value)), "NA")


def differences(block: AlignmentBlock) -> Any:
    """Write for each column a dot (match), a colon (transition), x (transversion), X (a letter other than ACGT) or - (gap)."""
    target, query = block.texts
    offsets = np.frombuffer(target.buffers()[1], np.int64)
    pair = [_code_of(np.frombuffer(text.buffers()[2], np.uint8)) for text in (target, query)]
    return text_column(_DIFFERENCE[(pair[0] << 3) | pair[1]], offsets)


def _code_of(text: Codes) -> Codes:
    """Encode text: 0..3 for ACGT in either case, 4 for other letters, 5 for a gap."""
    codes = encode(text)
    return np.where(text == ord("-"), np.uint8(5), np.where(codes < 8, codes & 3, np.uint8(4)))


def _difference_table() -> Codes:
    table = np.full(64, ord("-"), np.uint8)
    for one in range(5):
        for other in range(5):
            letter = "X" if 4 in (one, other) else "." if one == other else ":" if one ^ other == 2 else "x"
            table[one << 3 | other] = ord(letter)
    return table


_DIFFERENCE = _difference_table()


def _whole(side: str) -> Field:
    """Make the field of all letters of a sequence, on its forward strand; of the target's as they were masked then."""

    def field(block: AlignmentBlock) -> Any:
        if side == "query":
            return _of_pieces(block, side, block.query.letters)
        return _of_pieces(block, side, block.target.letters) if block.masks is None else block.masked_wholes(block.masks)

    return field


def _of_pieces(block: AlignmentBlock, side: str, values: npt.NDArray[np.uint8]) -> Any:
    """Give what an array beside the letters of a side has of the pieces that alignments are in: with [separator=C] not of whole sequences, as LASTZ."""
    pieces = (block.target if side == "target" else block.query).pieces
    places = block.pieces(side).tolist()
    texts = {i: pa.scalar(values[slice(*pieces[i])].tobytes().decode(), pa.large_string()) for i in set(places)}
    return pa.array([texts[i] for i in places], pa.large_string())


def _qualities(name: str, *, aligned: bool) -> Field:
    """Make the field of the qualities of alignments, as `align1` and `align2` have their letters, or of whole sequences."""
    side = _QUALITIES[name]

    def field(block: AlignmentBlock) -> Any:
        genome = block.target if side == "target" else block.query
        if genome.qualities is None:
            raise _without("format general", name)
        if aligned:
            return block.quality_texts[side == "query"]
        return _of_pieces(block, side, genome.qualities)

    return field


_QUALITIES = {f"{word}{i}": side for i, side in ((1, "target"), (2, "query")) for word in ("quals", "qalign")}
"""Fields of qualities, and whose."""


def _cigar(*, merged: bool, ones: bool, lower: bool) -> Field:
    return lambda block: spelled(block.operations.merged() if merged else block.operations, ones=ones, lower=lower)


FIELDS: dict[str, Field] = {
    "score": _column("score"),
    **{f"name{i}": _column(f"{side}_name") for i, side in ((1, "target"), (2, "query"))},
    "number1": lambda block: block.target.numbers[block.numbers("target_number")],
    "number2": lambda block: block.query.numbers[block.numbers("query_number")],
    "strand1": _constant("+"),
    "strand2": _column("strand"),
    **{f"size{i}": _numbers(f"{side}_length") for i, side in ((1, "target"), (2, "query"))},
    "start1": lambda block: block.numbers("target_start") + 1,
    "zstart1": _numbers("target_start"),
    "end1": _numbers("target_end"),
    "length1": lambda block: block.numbers("target_end") - block.numbers("target_start"),
    "start2": lambda block: block.strand_start + 1,
    "zstart2": lambda block: block.strand_start,
    "end2": lambda block: block.strand_end,
    "start2+": lambda block: block.numbers("query_start") + 1,
    "zstart2+": _numbers("query_start"),
    "end2+": _numbers("query_end"),
    "length2": lambda block: block.strand_end - block.strand_start,
    **{f"{word}1": lambda block: block.texts[0] for word in ("align", "text")},
    **{f"{word}2": lambda block: block.texts[1] for word in ("align", "text")},
    "nucs1": _whole("target"),
    "nucs2": _whole("query"),
    **{name: _qualities(name, aligned=name.startswith("qalign")) for name in _QUALITIES},
    "nmatch": _numbers("matches"),
    "nmismatch": _numbers("mismatches"),
    "npair": measures.pairs,
    "ncolumn": lambda block: measures.continuity(block)[1],
    "ngap": _numbers("gap_openings"),
    "cgap": _numbers("gap_letters"),
    "diff": differences,
    "cigar": _cigar(merged=True, ones=True, lower=False),
    "cigar-": _cigar(merged=True, ones=True, lower=True),
    "cigarx": _cigar(merged=False, ones=False, lower=False),
    "cigarx-": _cigar(merged=False, ones=False, lower=True),
    "cigarx1": _cigar(merged=False, ones=True, lower=False),
    "cigarx1-": _cigar(merged=False, ones=True, lower=False),  # LASTZ 1.04.22 does not make it lower case
    "diagonal": _diagonal,
    "shingle": _shingle,
    "id%": _percents(measures.identity, "{:.1f}%"),
    "idfrac": _fractions(measures.identity),
    "blastid%": _percents(measures.blast_identity, "{:.2f}"),
    "cov%": _percents(measures.coverage, "{:.1f}%"),
    "covfrac": _fractions(measures.coverage),
    "con%": _percents(measures.continuity, "{:.1f}%"),
    "confrac": _fractions(measures.continuity),
    "number": lambda block: block.first + 1 + np.arange(len(block)),
    "znumber": lambda block: block.first + np.arange(len(block)),
    "chore": _constant("NA"),
}
"""Fields of one column."""

_SHARES: dict[str, tuple[Callable[[AlignmentBlock], measures.Fraction], str]] = {
    "identity": (measures.identity, "idPct"),
    "coverage": (measures.coverage, "covPct"),
    "continuity": (measures.continuity, "conPct"),
    "gaprate": (measures.gap_rate, "gapPct"),
}
"""Fields of two columns, n/m and percent, with the second one's title."""

_OTHER_SPELLINGS = {"id": "identity"}
