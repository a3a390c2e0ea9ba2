"""Where the records of a file lie, in cells of about a quarter megabyte, and how an input is cut into blocks while it is counted.

Lines are only counted, a cell at a time: no record's number is ever guessed, whatever its qualities look like.
A reader starts at the cell that holds its first record and skips what lies before it.
"""

import os
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.text.lines import count_file_marks
from tidalign.kernels.text.lines import count_marks as count_line_marks
from tidalign.pipeline.files.decompress import bgzf_blocks, changed, read_range
from tidalign.pipeline.files.sniff import Input
from tidalign.pipeline.pairs.input.records import FORMATS, Format, without_blanks

Positions = npt.NDArray[np.int64]

CELL_BYTES = 262_144
TASK_CELLS = 128
"""Cells counted by one task: 32 MB of text."""

_AT_ONCE = 8
"""Compressed cells counted in one call."""

BLOCK_BASES, MIN_BASES = 48_000_000, 8_000_000
"""Letters of a block, both sides together, about: at most, and at least where there are more."""

BLOCKS = 16
"""Blocks of an input that has enough for them, that all threads have something to do soon."""

BLOCK_PAIRS = 262_144

FREE_NAME = 100
"""Bytes of a name from which on they count as letters, so that names cannot fill the memory."""


@dataclass(frozen=True, slots=True)
class RecordSpan:
    """Records of one file: those of bytes [start, stop), or of its row groups, after the first `skip` and `records` of them.

    line_start: whether a line begins at `start`.
    """

    start: int
    stop: int
    skip: int
    records: int
    line_start: bool = True


@dataclass(frozen=True, slots=True)
class RecordIndex:
    """Marks (counted lines, or rows of a table) and letters before each cell of a file, and where it lies; all [cells + 1]."""

    marks: Positions
    letters: npt.NDArray[np.float64]
    positions: Positions
    line_starts: npt.NDArray[np.bool_]  # whether a line begins at the cell's first byte

    def cell(self, mark: int) -> int:
        """Find the cell that holds a mark; the number of cells if there are not as many marks."""
        # Not by NumPy, which lets go of the interpreter lock meanwhile: whoever gives out tasks would wait for it thousands of times.
        return bisect_right(self.marks, mark) - 1 if mark < self.marks[-1] else len(self.marks) - 1

    def letters_before(self, mark: int) -> float:
        """Count the letters before a mark, to the precision of a cell."""
        return float(self.letters[self.cell(mark)])

    def span(self, form: Format, first: int, records: int) -> RecordSpan:
        """Say how to read `records` records of a text from record `first`."""
        mark = first * form.marks
        start, stop = self.cell(mark), min(self.cell(mark + records * form.marks) + 1, len(self.positions) - 1)
        line_start = bool(self.line_starts[start])
        return RecordSpan(int(self.positions[start]), int(self.positions[stop]), int(mark - self.marks[start]), records, line_start)


def cells(source: Input) -> tuple[Positions, Positions]:
    """Lay cells over a text: where each begins in its file, and its end [cells + 1], and the bytes of text before each [cells + 1]."""
    if source.compression == "none":
        positions = np.append(np.arange(0, source.size, CELL_BYTES), source.size)
        return positions, positions
    positions, sizes = bgzf_blocks(source.path)
    before = np.concatenate([[0], np.cumsum(sizes)])
    # The block with which a cell's worth of text begins; empty blocks begin none, but for the file's first.
    chosen = np.unique(np.searchsorted(before, np.arange(0, before[-1] + 1, CELL_BYTES), "right") - 1)
    chosen = np.append(chosen[before[chosen] < before[-1]], len(sizes))
    return positions[chosen], before[chosen]


def count_marks(task: tuple[Input, Positions]) -> tuple[list[int], bool, list[bool]]:
    """Count, on a worker, the marks in each cell of a stretch of text that begins amid a line; whether its first byte is a mark if it begins a line; and
    whether each cell ends a line."""
    source, positions = task
    form = FORMATS[source.format]
    first, cells = ord(form.first) if form.first else 0, len(positions) - 1
    counts, begins, ended = np.zeros(cells, np.int64), np.zeros(cells, np.bool_), np.zeros(cells, np.bool_)
    if source.compression == "none":
        # In one call, without the interpreter lock, and through memory that a core's cache holds.
        with Path(source.path).open("rb", buffering=0) as file:
            piece = np.empty(int(np.diff(positions).max()), np.uint8)
            done = count_file_marks(file.fileno(), positions, first, piece, counts, begins, ended)
            if done < cells:
                os.pread(file.fileno(), 1, int(positions[done]))  # raises what a device says
                raise changed(source.path)
    else:
        for begin in range(0, cells, _AT_ONCE):
            places, taken = positions[begin : begin + _AT_ONCE + 1], slice(begin, begin + _AT_ONCE)
            texts = [read_range(source.path, source.compression, int(start), int(stop)) for start, stop in pairwise(places)]
            letters, bounds = np.frombuffer(b"".join(texts), np.uint8), np.cumsum([0, *map(len, texts)])
            count_line_marks(letters, bounds, first, counts[taken])
            begins[taken] = letters[bounds[:-1]] == first if first else True
            ended[taken] = letters[bounds[1:] - 1] == ord("\n")
    # A mark belongs to the cell that holds its first byte: the line after a cell's last byte is in the next.
    counts[1:] += begins[1:] & ended[:-1]
    return counts.tolist(), bool(begins[0]), ended.tolist()


def _blank_lines(source: Input, positions: Positions) -> tuple[int, int]:
    """Count the empty lines at the end of a text, and the cells before that with the end of its last other line."""
    text, cell = b"", len(positions) - 1
    while cell and not text.strip(b"\r\n"):
        cell -= 1
        text = read_range(source.path, source.compression, int(positions[cell]), int(positions[cell + 1])) + text
    return text[len(text.rstrip(b"\r\n")) : -1].count(b"\n"), cell


class Counted:
    """The index of a text that grows: of the cells that were counted so far. Of empty lines at its end none is counted.

    tasks: stretches of TASK_CELLS cells, each to be counted by `count_marks`.
    """

    def __init__(self, source: Input) -> None:
        positions, before = cells(source)
        self.tasks = [(source, positions[begin : begin + TASK_CELLS + 1]) for begin in range(0, len(positions) - 1, TASK_CELLS)]
        self._form = FORMATS[source.format]
        self._blank, self._certain = _blank_lines(source, positions) if self._form.lines else (0, 0)
        self._marks = np.zeros(len(positions), np.int64)
        self._line_starts = np.ones(len(positions), np.bool_)
        self._letters, self._positions = (before * self._form.weight).astype(np.float64), positions
        self._cells = 0

    def add(self, counted: tuple[list[int], bool, list[bool]]) -> None:
        """Add what `count_marks` gave for the next task."""
        counts, first, ended = counted
        begin, end = self._cells, self._cells + len(counts)
        counts[0] += first and bool(self._line_starts[begin])
        self._marks[begin + 1 : end + 1] = self._marks[begin] + np.cumsum(counts)
        self._line_starts[begin + 1 : end + 1] = ended
        self._cells = end
        if self._blank and self._whole:
            np.minimum(self._marks, without_blanks(self._form, int(self._marks[-1]), self._blank), out=self._marks)

    @property
    def _whole(self) -> bool:
        return self._cells == len(self._marks) - 1

    @property
    def letters(self) -> float:
        """Estimate how many letters the text has."""
        return float(self._letters[-1])

    @property
    def index(self) -> RecordIndex:
        """The index of the cells that were counted; before all are, without those that may have empty lines of the end."""
        known = slice((min(self._cells, self._certain) if self._blank and not self._whole else self._cells) + 1)
        return RecordIndex(self._marks[known], self._letters[known], self._positions[known], self._line_starts[known])


def block_bases(letters: float, most: int = BLOCK_BASES) -> int:
    """Tell the letters of a block, at most, of an input with about so many."""
    return int(min(most, max(MIN_BASES, letters / BLOCKS)))


def cut(indexes: Sequence[tuple[RecordIndex, int]], first: int, pairs: int, bases: int, *, more: bool = False) -> list[tuple[int, int]]:
    """Cut an input into blocks (first pair, pairs) of at most BLOCK_PAIRS pairs and about `bases` letters, from pair `first` on, from indexes and the marks
    that a pair has in each; `pairs`: that are known of. more: others may follow them; then without the block that these might belong to.

    They depend on the input alone, not on who reads it or when. A pair with more letters than that is a block of its own.
    """

    def letters(pair: int) -> float:
        return sum(index.letters_before(pair * marks) for index, marks in indexes)

    blocks = []
    while first < pairs:
        limit = letters(first) + bases
        stops = range(first + 1, min(first + BLOCK_PAIRS, pairs) + 1)
        stop = first + max(1, bisect_right(stops, limit, key=letters))
        if more and stop == pairs:
            break
        blocks.append((first, stop - first))
        first = stop
    return blocks


@dataclass(frozen=True, slots=True)
class PairBlock:
    """Pairs [first, first + pairs) of an input, and where they lie in each of its files; no spans: only in sequence. digest: of what came through a pipe."""

    id: int
    first: int
    pairs: int
    spans: tuple[RecordSpan, ...] = ()
    digest: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "PairBlock":
        return cls(values["id"], values["first"], values["pairs"], tuple(RecordSpan(**span) for span in values["spans"]), values.get("digest", ""))


class Blocks(ABC):
    """Cuts an input into blocks of about so many letters.

    tasks: calls (function, argument) that count pieces of the input, by anyone and in any order; their results are heard of by their places.
    pairs: of the whole input; None while they are not known.
    """

    def __init__(self, tasks: Sequence[tuple[Callable[[Any], Any], Any]]) -> None:
        self.tasks = tasks
        self.pairs: int | None = None
        self._heard: dict[int, Any] = {}
        self._next = 0

    def hear(self, place: int, result: Any) -> list[PairBlock]:
        """Add the result of a task; gives the blocks that are known since. Raises InputError for files whose numbers of records do not fit."""
        self._heard[place] = result
        while self._next in self._heard:
            self._add(self._next, self._heard.pop(self._next))
            self._next += 1
        return self._known(whole=self._next == len(self.tasks))

    @abstractmethod
    def share(self, block: PairBlock) -> float:
        """Estimate what share of the input a block is."""

    @abstractmethod
    def _add(self, place: int, result: Any) -> None:
        """Add results in the order of tasks."""

    @abstractmethod
    def _known(self, *, whole: bool) -> list[PairBlock]:
        """Give the blocks that were not given yet; whole: all was counted."""
