"""Cut an input into blocks that anyone can read by themselves, while it is counted: a block is known as soon as what lies before its end was counted."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.files.sniff import Input
from tidalign.pipeline.pairs.input import tables
from tidalign.pipeline.pairs.input.index import Counted, Span, count_marks, cut
from tidalign.pipeline.pairs.input.records import FORMATS, FOUR_LINES
from tidalign.pipeline.pairs.pack import count_pairs


@dataclass(frozen=True, slots=True)
class Block:
    """Pairs [first, first + pairs) of an input, and where they lie in each of its files; no spans: only in sequence."""

    id: int
    first: int
    pairs: int
    spans: tuple[Span, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Block":
        return cls(values["id"], values["first"], values["pairs"], tuple(Span(**span) for span in values["spans"]))


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

    def hear(self, place: int, result: Any) -> list[Block]:
        """Take in the result of a task; the blocks that are known since. Raises InputError for files whose numbers of records do not fit."""
        self._heard[place] = result
        while self._next in self._heard:
            self._add(self._next, self._heard.pop(self._next))
            self._next += 1
        return self._known(whole=self._next == len(self.tasks))

    @abstractmethod
    def share(self, block: Block) -> float:
        """Tell about what share of the input a block is."""

    @abstractmethod
    def _add(self, place: int, result: Any) -> None:
        """Take in results in the order of tasks."""

    @abstractmethod
    def _known(self, *, whole: bool) -> list[Block]:
        """Give the blocks that were not given yet; whole: all was counted."""


class TextBlocks(Blocks):
    """Cuts text files, of which the i-th records, or two that follow each other, are a pair."""

    def __init__(self, inputs: Sequence[Input], bases: int, *, interleaved: bool) -> None:
        self._paths = [text.path for text in inputs]
        self._texts = [text for text in inputs if text.format != "empty"]
        self._each = 2 if interleaved else 1
        self._bases, self._given, self._first = bases, 0, 0
        self._counted = [Counted(text) for text in self._texts]
        # The files in turns, so that both are known up to about the same pair.
        self._turns = sorted((place, file) for file, counted in enumerate(self._counted) for place in range(len(counted.tasks)))
        super().__init__([(count_marks, self._counted[file].tasks[place]) for place, file in self._turns])
        if not self.tasks:
            self.pairs = 0

    def share(self, block: Block) -> float:
        return sum(span.stop - span.start for span in block.spans) / max(1, sum(text.size for text in self._texts))

    def _add(self, place: int, result: Any) -> None:
        self._counted[self._turns[place][1]].add(result)

    def _known(self, *, whole: bool) -> list[Block]:
        indexes = [counted.index for counted in self._counted]
        forms = [FORMATS[text.format] for text in self._texts]
        marks = [form.marks * self._each for form in forms]
        if whole:
            pairs = self.pairs = self._total()
        elif len(self._texts) < len(self._paths):
            pairs = 0  # a file without records: the other must have none, too
        else:
            pairs = min((max(0, int(index.marks[-1]) - 1) // count for index, count in zip(indexes, marks, strict=True)), default=0)
        cuts = cut(list(zip(indexes, marks, strict=True)), self._first, pairs, self._bases, more=not whole)
        blocks = []
        for first, count in cuts:
            spans = (index.span(form, first * self._each, count * self._each) for index, form in zip(indexes, forms, strict=True))
            blocks.append(Block(self._given, first, count, tuple(spans)))
            self._given, self._first = self._given + 1, first + count
        return blocks

    def _total(self) -> int:
        """Count the pairs. Raises InputError where files have unequal numbers of records, or one ends amid a record."""
        counts = dict.fromkeys(self._paths, 0)
        for text, counted in zip(self._texts, self._counted, strict=True):
            lines = int(counted.index.marks[-1])
            records, rest = divmod(lines, FORMATS[text.format].marks)
            if rest:  # of FASTQ: other formats have one mark a record
                raise InputError(text.path, "four lines", f"{rest} at the end of the file", FOUR_LINES, record=records + 1, line=lines)
            counts[text.path] = records
        return count_pairs(list(counts), list(counts.values()), interleaved=self._each == 2)


class TableBlocks(Blocks):
    """Cuts a table, when all of it was measured."""

    def __init__(self, table: Input, columns: tuple[str, str], bases: int) -> None:
        self._bases = bases
        self._measured: list[Any] = []
        super().__init__([(tables.measure, each) for each in tables.measures(table, columns)])
        if not self.tasks:
            self.pairs = 0

    def share(self, block: Block) -> float:
        return block.pairs / max(1, self.pairs or 1)

    def _add(self, place: int, result: Any) -> None:
        self._measured.append(result)

    def _known(self, *, whole: bool) -> list[Block]:
        if not whole:
            return []
        index = tables.index_table(self._measured)
        self.pairs = int(index.marks[-1])
        return [Block(i, first, pairs, (tables.span(index, first, pairs),)) for i, (first, pairs) in enumerate(cut([(index, 1)], 0, self.pairs, self._bases))]
