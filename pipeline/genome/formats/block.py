"""Rows of alignments on their way into a file, with what the formats ask of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.text.gapped import COMPLEMENT, gapped_texts
from tidalign.pipeline.formats.request import Rows
from tidalign.pipeline.formats.table import Format
from tidalign.pipeline.genome.census import Masks, keys
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.text import Operations, content_of, joined, strings

Numbers = npt.NDArray[np.int64]

COLUMNS = 1 << 22
"""Columns of alignment that a thread turns into text at a time; a single alignment may be longer."""

PARTS_OF = 1 << 4
"""Times COLUMNS of a single row from which on its text is made in parts of so much: of `differences` there is the whole alignment behind each of them."""


class GenomeRows(Rows, Protocol):
    """Give the rows of a genome run, in pieces that are blocks."""

    @property
    def targets(self) -> Sequence[Genome]:
        """All target sides of the rows."""

    @property
    def beside(self) -> bool:
        """Whether what is written stands beside the output of the run."""

    @property
    def job(self) -> int | None:
        """The pair of genomes that the rows are of, where they are of one alone."""

    def masks(self, job: int) -> Masks | None:
        """Give what was masked of the target of a pair of genomes; None without --masking."""

    def masked_strands(self) -> list[tuple[int, int]]:
        """List the query strands that --masking counts alignments of, in their order: the number of the pair of genomes, and `census.key`."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Some rows of `schema.GENOME_ALIGNMENTS`, by column."""

    rows: Any

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __getitem__(self, name: str) -> Any:
        """Give a column of the rows."""
        return self.rows[name]

    def numbers(self, name: str) -> Numbers:
        """Give a column of integers."""
        return np.asarray(self.rows[name].to_numpy())


@dataclass(frozen=True, eq=False)
class AlignmentBlock(Columns):
    """Some rows, the two sides they are of, and how many rows of the file come before: what is added to a row's place here for its place there, int64[n] where
    rows are of several files. masks: of the target (--masking); hsps: whether they are HSPs, of a run without gaps. room: how many blocks of ordinary size take
    as much memory as its text. part: which of how many parts of its text are wanted, of a row that is alone and too long for one."""

    target: Genome
    query: Genome
    first: int | Numbers
    masks: Masks | None = None
    hsps: bool = False
    room: int = 1
    part: tuple[int, int] = (0, 1)

    @cached_property
    def operations(self) -> Operations:
        return Operations.parse(self.rows["cigar"])

    @cached_property
    def reverse(self) -> npt.NDArray[np.bool_]:
        return np.asarray(pc.equal(self.rows["strand"], "-").to_numpy(zero_copy_only=False))

    @cached_property
    def strand_start(self) -> Numbers:
        """Where alignments start on the query's strand, counted from that strand's first letter."""
        return np.where(self.reverse, self.numbers("query_length") - self.numbers("query_end"), self.numbers("query_start"))

    @cached_property
    def strand_end(self) -> Numbers:
        return np.where(self.reverse, self.numbers("query_length") - self.numbers("query_start"), self.numbers("query_end"))

    @cached_property
    def texts(self) -> tuple[Any, Any]:
        """Gapped text of target and query (on its strand), letters as they were read, or as they were masked then: two large_string columns."""
        target_text, query_text, offsets = self._gapped(self.target.letters, self.query.letters)
        if self.masks is not None:
            self.masks.write(target_text, offsets, self.places("target"), keys(self.rows, joint=self.query.joint))
        return text_column(target_text, offsets), text_column(query_text, offsets)

    def masked_wholes(self, masks: Masks) -> Any:
        """Give the letters of the target's piece that each alignment is in, as they were masked then: a large_string column."""
        found, strands, places = list[Any](), keys(self.rows, joint=self.query.joint), self.pieces("target")
        pieces = self.target.pieces
        for row, place in enumerate(places.tolist()):
            if row and place == places[row - 1] and strands[row] == strands[row - 1]:
                found.append(found[-1])
                continue
            text = self.target.letters[slice(*pieces[place])].copy()
            masks.write(text, np.array([0, len(text)]), pieces[place, :1], strands[row : row + 1])
            found.append(pa.scalar(text.tobytes().decode(), pa.large_string()))
        return pa.array(found, pa.large_string())

    @cached_property
    def quality_texts(self) -> tuple[Any, Any]:
        """The qualities of target and query in each alignment, a ~ for each letter of the other against a gap, as `texts`; None of a side without."""
        operations = self.operations
        sides = [side.qualities if side.qualities is not None else side.letters for side in (self.target, self.query)]
        target_text, query_text, offsets = self._gapped(*sides)
        self._turn_back(query_text, offsets)
        for text, gap in ((target_text, "I"), (query_text, "D")):
            text[np.repeat(operations.letters == ord(gap), operations.lengths)] = ord("~")
        return (
            None if self.target.qualities is None else text_column(target_text, offsets),
            None if self.query.qualities is None else text_column(query_text, offsets),
        )

    @cached_property
    def query_letters(self) -> Any:
        """The query's letters in each alignment, on its strand and without gaps: a large_string column."""
        return text_column(*self._aligned(self.query.letters))

    @cached_property
    def query_qualities(self) -> Any:
        """The qualities of `query_letters`; None where there are none."""
        if self.query.qualities is None:
            return None
        text, offsets = self._aligned(self.query.qualities)
        self._turn_back(text, offsets)
        return text_column(text, offsets)

    def _aligned(self, values: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], Numbers]:
        """Gather what alignments have of an array beside the query's letters, on the query's strand; where each begins."""
        spans = self.numbers("query_end") - self.numbers("query_start")
        starts, none = self.places("query"), np.zeros(len(self), np.int64)
        _, text, offsets = gapped_texts(np.zeros(0, np.uint8), values, none, none, starts, starts + spans, self.reverse, *content_of(joined(spans, "I")))
        return text, offsets

    def _gapped(self, target: npt.NDArray[np.uint8], query: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], Numbers]:
        """Write what alignments have of an array beside the target's letters and of one beside the query's; where each begins."""
        starts = [self.places(side) for side in ("target", "query")]
        ends = [start + self.numbers(f"{side}_end") - self.numbers(f"{side}_start") for side, start in zip(("target", "query"), starts, strict=True)]
        cigars, bounds = content_of(strings(self.rows["cigar"]).fill_null(""))
        return gapped_texts(target, query, starts[0], ends[0], starts[1], ends[1], self.reverse, cigars, bounds)

    def _turn_back(self, text: npt.NDArray[np.uint8], offsets: Numbers) -> None:
        """Take back the complement of what are no letters, on the strand -."""
        reverse = np.repeat(self.reverse, np.diff(offsets))
        text[reverse] = COMPLEMENT[text[reverse]]

    def pieces(self, side: str) -> Numbers:
        """Find the piece of a side that each alignment is in."""
        genome = self.target if side == "target" else self.query
        return np.searchsorted(genome.pieces[:, 0], self.places(side), "right") - 1

    def places(self, side: str) -> Numbers:
        """Find where alignments start in the letters of their side, on the forward strand."""
        genome = self.target if side == "target" else self.query
        sequences = self.numbers(f"{side}_number")
        return np.asarray(genome.starts[sequences] + self.numbers(f"{side}_start") - genome.offsets[sequences])


def blocks(
    rows: Any, target: Genome, query: Genome, first: int, masks: Masks | None = None, *, hsps: bool = False, format: Format | None = None
) -> Iterator[AlignmentBlock]:
    """Cut a batch into pieces of about COLUMNS columns of alignment each, or letters that the format writes beside them; a row is in one piece, or in parts."""
    sizes = _sizes(rows, format)
    parts = np.ones_like(sizes) if format is None or not _whole_behind(format) else np.maximum(1, -(-sizes // (PARTS_OF * COLUMNS)))
    groups, alone = np.cumsum(sizes) // COLUMNS, parts > 1
    cuts = [0, *(np.flatnonzero((np.diff(groups) > 0) | alone[1:] | alone[:-1]) + 1), len(groups)]
    for start, stop in zip(cuts, cuts[1:], strict=False):
        if start < stop:
            count = int(parts[start])
            room = max(1, int(sizes[start:stop].sum()) // count // COLUMNS)
            for part in range(count):
                yield AlignmentBlock(rows.slice(start, stop - start), target, query, first + int(start), masks, hsps, room, (part, count))


def counted_apart(block: AlignmentBlock, before: tuple[int, int]) -> tuple[AlignmentBlock, tuple[int, int]]:
    """Count the rows of a block from the first of their pair of genomes on. before: that of the row before the block, and its rows so far; so behind it."""
    jobs = block.numbers("job")
    starts = np.searchsorted(jobs, jobs)
    first = np.where(jobs == before[0], before[1], 0) - starts
    return replace(block, first=first), (int(jobs[-1]), int(first[-1]) + len(jobs))


_WHOLE = {f"{word}{i}": side for i, side in ((1, "target"), (2, "query")) for word in ("nucs", "quals")}
"""Fields of `general` that are of whole sequences, and of which side."""


def _sizes(rows: Any, format: Format | None) -> Numbers:
    """Count the columns of each alignment, about, with the letters that a format writes beside them: of whole sequences, or of the alignment behind each
    difference."""
    columns = np.asarray(np.maximum(*(rows[f"{side}_end"].to_numpy() - rows[f"{side}_start"].to_numpy() for side in ("target", "query"))))
    if format is None:
        return columns
    if _whole_behind(format):
        return np.asarray(columns * np.maximum(1, rows["mismatches"].to_numpy() + rows["gap_openings"].to_numpy()))
    wholes = ["query"] if format.lines == "soft_lines" else [_WHOLE[field] for field in format.fields or () if field in _WHOLE]
    return np.asarray(columns + sum(rows[f"{side}_length"].to_numpy() for side in wholes))


def _whole_behind(format: Format) -> bool:
    """Tell whether a format writes the whole alignment behind each of its differences."""
    return format.name.startswith("differences") and format.lines == "lines"


def within(block: AlignmentBlock, side: str) -> Numbers:
    """Find where alignments start in what was read of their sequence, on the query's strand."""
    genome = block.target if side == "target" else block.query
    number = block.numbers(f"{side}_number") if len(genome) > 1 else np.zeros(len(block), np.int64)
    start = block.numbers(f"{side}_start") - genome.offsets[number]
    if side == "target":
        return start
    end = block.numbers("query_end") - genome.offsets[number]
    return np.where(block.reverse, genome.lengths[number] - end, start)


def gap_free(block: AlignmentBlock) -> tuple[Operations, tuple[Numbers, Numbers], Numbers]:
    """Find the runs of alignments without a gap; where each begins, counted from its alignment's begin in target and query; and at which column of the block it
    ends.

    Between a gap of one side and one of the other that follows at once there is a run without letters, as LASTZ has it.
    """
    runs = block.operations.merged()
    row = np.repeat(np.arange(len(block)), np.diff(runs.offsets))
    gap = runs.letters != ord("M")
    between = np.flatnonzero(gap[1:] & gap[:-1] & (row[1:] == row[:-1])) + 1
    letters, lengths = np.insert(runs.letters, between, np.uint8(ord("M"))), np.insert(runs.lengths, between, 0)
    row = np.insert(row, between, row[between])
    at = np.flatnonzero(letters == ord("M"))
    offsets = np.searchsorted(row[at], np.arange(len(block) + 1))
    first = np.searchsorted(row, np.arange(len(block)))
    starts = []
    for other in "ID":
        taken = np.concatenate(([0], np.cumsum(np.where(letters == ord(other), 0, lengths))))
        starts.append(taken[at] - taken[first[row[at]]])
    return Operations(letters[at], lengths[at], offsets), (starts[0], starts[1]), np.cumsum(lengths)[at]


def text_column(text: npt.NDArray[np.uint8], offsets: Numbers) -> Any:
    """Make a large_string column over flat ASCII text, without a copy."""
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(text)])


def spelled(operations: Operations, *, ones: bool = True, lower: bool = False, apart: bool = False) -> Any:
    """Write CIGARs as text: without the 1 of single letters unless `ones`, in lower case, or (`apart`) as ` M 12 I 3`."""
    count = len(operations.letters)
    letters = operations.letters | np.uint8(32) if lower else operations.letters
    column = text_column(np.ascontiguousarray(letters), np.arange(count + 1))
    lengths = strings(pa.array(operations.lengths))
    if apart:
        words = joined(" ", column, " ", lengths)
    elif ones:
        words = joined(lengths, column)
    else:
        words = joined(pc.if_else(pa.array(operations.lengths == 1), pa.scalar("", pa.large_string()), lengths), column)
    return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(operations.offsets), words), pa.scalar("", pa.large_string()))


def padded(text: Any, width: Numbers, *, left: bool) -> Any:
    """Pad texts with blanks on the left or the right, up to a width of its own for each row."""
    blanks = pc.binary_repeat(pa.scalar(" ", pa.large_string()), pa.array(np.maximum(width - widths(text), 0)))
    return joined(blanks, text) if left else joined(text, blanks)


def widths(text: Any) -> Numbers:
    """Count the bytes of each text."""
    return np.asarray(pc.binary_length(strings(text)).to_numpy(), np.int64)
