"""BAM (SAM's specification, section 4.2): the records of SAM, packed; the bytes of many rows are put together at once, as those of lines are.

What it cannot hold of them: case and letters other than the IUPAC codes. A CIGAR of more than 65,535 operations is in the tag CG (section 4.2.2).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.text import bam
from tidalign.kernels.text.writing import CS, MD
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.formats.bgzf import BLOCK_BYTES
from tidalign.pipeline.formats.request import Request, Rows
from tidalign.pipeline.pairs.formats import sam
from tidalign.pipeline.pairs.formats.bam_index import BinIndex
from tidalign.pipeline.pairs.formats.cigars import cigar_words
from tidalign.pipeline.text import Words, alignment_score, content_of, differences, joined, two_kinds

Numbers = npt.NDArray[np.int64]

MAX_OPERATIONS = 65_535
"""Of a record's own field."""

_UNPLACED = 4680
"""reg2bin(-1, 0), as the specification has it for records without a place."""


check, check_contigs = sam.check, sam.check_contigs


def check_alphabet(alphabet: str) -> None:
    """Raise InputError for letters that BAM does not have."""
    if alphabet != "dna":
        raise InputError("format bam", "DNA, whose letters BAM has in four bits each", "proteins", "write .sam, .paf or .tsv")


def header(request: Request[Rows]) -> Iterator[bytes]:
    """Give the text of SAM's header and the targets, whose numbers the records have. InputError where there are too many."""
    check_alphabet(request.rows.parameters.alphabet)
    references = sam.references(request)
    text = b"".join(map(bytes, sam.header_lines(request, references)))
    if len(text) >= 1 << 31:
        raise InputError("BAM header", "text of fewer than 2^31 bytes", f"{len(text):,}", "export .paf.gz")
    yield b"BAM\1" + struct.pack("<i", len(text)) + text + struct.pack("<i", len(references))
    yield from references.each(_target)


def index(request: Request[Rows], blocks: int, rest: int) -> BinIndex:
    """Begin the index of records that are sorted, behind a header of so many full blocks and bytes of the next."""
    lengths = request.found["references"].each(lambda names, lengths: lengths)
    return BinIndex(np.concatenate([np.empty(0, np.int64), *lengths]), blocks * BLOCK_BYTES + rest)


def _target(names: Any, lengths: Numbers) -> bytes:
    """Make the bytes of some targets."""
    return _bytes(joined(Words(pc.add(pc.binary_length(names), 1).to_numpy().astype(np.int64)), names, "\0", Words(lengths)))


def _bytes(column: Any) -> bytes:
    letters, places = content_of(column)
    return letters[places[0] : places[-1]].tobytes()


def records(batch: Any, request: Request[Rows]) -> Any:
    """Make a column of bytes: the record of each row of a batch in `schema.ALIGNMENTS` with `schema.LETTERS`. Raises InputError for what SAM cannot hold."""
    rows = sam.prepared(batch, request)
    return two_kinds(rows, rows["placed"], lambda rows: _records(rows, request, _placed(rows, request)), lambda rows: _records(rows, request, _unplaced(rows)))


@dataclass(frozen=True, slots=True)
class _Alignment:
    """Holds what differs between records with a place on the target and those without: its number, where it begins, its bin, operations (how many, and their
    words), tags, and what follows all tags."""

    number: Numbers
    place: Numbers
    bins: Numbers
    operations: Numbers
    cigar: Any
    tags: tuple[Any, ...] = ()
    long: tuple[Any, ...] = ()


def _records(rows: Any, request: Request[Rows], at: _Alignment) -> Any:
    lengths = rows["query_length"].to_numpy()
    names = pc.binary_length(rows["query_name"]).to_numpy().astype(np.int64) + 1
    quality = np.where(at.number < 0, 0, 255)
    body = joined(
        *(Words(at.number), Words(at.place), Words(names | quality << 8 | at.bins << 16), Words(at.operations | rows["flag"].to_numpy() << 16), Words(lengths)),
        *(b"\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", rows["query_name"], "\0", at.cigar, _sequences(rows["query"]), _qualities(rows, lengths)),
        *(*at.tags, *_tags(rows, request), *at.long),
    )
    return joined(Words(pc.binary_length(body.cast(pa.large_binary())).to_numpy()), body)


def _unplaced(rows: Any) -> _Alignment:
    none = np.full(len(rows), -1)
    return _Alignment(none, none, np.full(len(rows), _UNPLACED), np.zeros(len(rows), np.int64), "")


def _placed(rows: Any, request: Request[Rows]) -> _Alignment:
    start, stop = (pc.add(rows[f"target_{end}"], rows["offset"]).to_numpy() for end in ("start", "end"))
    counts, cigar, long = _cigars(rows, stop - start, request)
    alphabet = request.rows.parameters.alphabet
    places, edits = differences(MD, rows, alphabet)
    tags = ["NMi", Words(edits), "MDZ", places, "\0"] + (["csZ", differences(CS, rows, alphabet)[0], "\0"] if request.cs else [])
    return _Alignment(request.found["references"].numbers(rows["target_name"]), start, _bins(start, stop), counts, cigar, tuple(tags), long)


def _cigars(rows: Any, spans: Numbers, request: Request[Rows]) -> tuple[Numbers, Any, tuple[Any, ...]]:
    """Make CIGARs: how many words they have, the column of these, and what follows the tags: CIGARs that are too long."""
    lengths = rows["query_length"].to_numpy()
    words, ends = cigar_words(rows["cigar"], rows["query_start"].to_numpy(), lengths - rows["query_end"].to_numpy(), request.cigar == "M")
    counts = np.diff(ends)
    column = _column(words.view(np.uint8), 4 * ends)
    if counts.max(initial=0) <= MAX_OPERATIONS:
        return counts, column, ()
    many = pa.array(counts > MAX_OPERATIONS)
    whole = joined("CGBI", Words(counts), column).cast(pa.large_binary())
    short = joined(Words(lengths << 4 | 4), Words(spans << 4 | 3)).cast(pa.large_binary())
    return np.where(counts > MAX_OPERATIONS, 2, counts), pc.if_else(many, short, column), (pc.if_else(many, whole, _NONE),)


_NONE = pa.scalar(None, pa.large_binary())


def _column(values: npt.NDArray[np.uint8], places: Numbers) -> Any:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(places, np.int64)), pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.large_binary(), len(places) - 1, buffers)


def _sequences(column: Any) -> Any:
    """Pack letters as four bits each."""
    letters, places = content_of(column)
    ends = np.concatenate(([0], np.cumsum((np.diff(places) + 1) // 2)))
    packed = np.empty(ends[-1], np.uint8)
    bam.pack_nibbles(letters, places, packed, ends)
    return _column(packed, ends)


def _qualities(rows: Any, lengths: Numbers) -> Any:
    """Make qualities from 0; where there are none, 255 for each letter."""
    known = rows["query_quality"]
    letters, places = content_of(known)
    column = _column(letters[places[0] : places[-1]] - np.uint8(33), places - places[0])
    if not known.null_count:
        return column
    ends = np.concatenate(([0], np.cumsum(lengths)))
    none = _column(np.full(ends[-1], 255, np.uint8), ends)
    return pc.if_else(known.is_valid(), column, none)


def _tags(rows: Any, request: Request[Rows]) -> Iterator[Any]:
    """Make the tags of SAM's records that need no place."""

    def where(mask: Any, *pieces: Any) -> Any:
        made = joined(*pieces).cast(pa.large_binary())
        return made if pc.all(mask).as_py() is not False else pc.if_else(mask, made, _NONE)

    score = alignment_score(rows)
    yield where(score.is_valid(), "ASi", Words(score.fill_null(0).to_numpy()))
    if request.rg:
        yield f"RGZ{sam.group_name(request.rg)}\0"
    exact = pc.equal(rows["status"], "exact")
    if pc.all(exact).as_py() is False:
        yield where(pc.invert(exact), "stZ", rows["status"], "\0")
        yield where(pc.and_(pc.invert(exact), rows["reason"].is_valid()), "rsZ", pc.replace_substring_regex(rows["reason"], "[^ -~]", " "), "\0")


def _bins(start: Numbers, stop: Numbers) -> Numbers:
    """Find the bin of each place (section 5.3): the smallest that holds all of it. Beyond 2^29 there is none, and no index needs it."""
    last = np.maximum(stop, start + 1) - 1
    found = np.zeros(len(start), np.int64)
    for shift, first in ((26, 1), (23, 9), (20, 73), (17, 585), (14, 4681)):
        found = np.where(start >> shift == last >> shift, first + (start >> shift), found)
    return found & 0xFFFF
