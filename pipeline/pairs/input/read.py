"""Read pairs: look at the inputs, plan blocks that anyone can read by themselves, read one block, or all in sequence.

A block's table is in `schema.PAIRS`; blocks follow each other and hold every pair of the input once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.pipeline.device import cores
from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.files.decompress import PLAIN_BYTES, changed, crc32, plain_range, range_pieces
from tidalign.pipeline.files.sniff import Input, sniff, waits
from tidalign.pipeline.in_turn import Call, in_turn
from tidalign.pipeline.pairs.input import table_index, tables
from tidalign.pipeline.pairs.input.index import BLOCK_BASES, Blocks, Counted, PairBlock, RecordSpan, block_bases, count_marks, cut
from tidalign.pipeline.pairs.input.records import FORMATS, FOUR_LINES, find_lines, gathered, marked, parse
from tidalign.pipeline.pairs.input.stream import records, stream_pairs
from tidalign.pipeline.pairs.pack import count_pairs, flat, pair_table, split

_OPTIONS = ("interleaved", "same_names", "query_column", "target_column", "alphabet")


@dataclass(frozen=True, slots=True)
class PairSource:
    """Says where pairs come from. One input holds both sides (`interleaved`: record 2i is the query, 2i + 1 the target of pair i; or a table), or two do.
    alphabet: of their letters (`pack.ALPHABETS`). whole: qualities are read as well, and what a run reads is kept; runs are not told apart by it."""

    inputs: tuple[Input, ...]
    interleaved: bool = False
    same_names: bool = False
    query_column: str = "query"
    target_column: str = "target"
    alphabet: str = "dna"
    whole: bool = False

    @property
    def queries(self) -> str:
        """Path of the queries."""
        return self.inputs[0].path

    @property
    def targets(self) -> str | None:
        """Path of the targets; None if they are in the same file."""
        return self.inputs[1].path if len(self.inputs) > 1 else None

    @property
    def has_ranges(self) -> bool:
        """Whether blocks can be read by themselves."""
        return all(source.has_ranges for source in self.inputs)

    @property
    def has_pipe(self) -> bool:
        """Whether only this process can read it, once."""
        return any(source.stream for source in self.inputs)

    @property
    def waits(self) -> bool:
        """Whether it has a pipe, and this process can read it still."""
        return self.has_pipe and all(waits(source) for source in self.inputs if source.stream)

    def files(self) -> list[dict[str, Any]]:
        """Tell by what the inputs are known to be the same again: path, size in bytes (-1: a pipe), time of change and a digest."""
        return [{"path": source.path, "size": source.size, "mtime_ns": source.mtime_ns, "digest": source.digest} for source in self.inputs]

    def to_json(self) -> dict[str, Any]:
        options = {name: getattr(self, name) for name in _OPTIONS}
        return {"queries": self.queries, "targets": self.targets, "inputs": [source.to_json() for source in self.inputs], **options}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "PairSource":
        options = {name: values[name] for name in _OPTIONS}
        return cls(tuple(Input(**source) for source in values["inputs"]), **options)


def inspect(
    queries: str,
    targets: str | None = None,
    *,
    interleaved: bool = False,
    same_names: bool = False,
    query_column: str = "query",
    target_column: str = "target",
    alphabet: str = "dna",
    allow_empty: bool = False,
) -> PairSource:
    """Look at the inputs, by content: FASTA, FASTQ, .seq (plain, gzip, BGZF), Parquet, Arrow; `-` is standard input.

    interleaved: one file holds queries and targets in turn. same_names: names of a pair must agree, but for /1 and /2 at their ends.
    query_column, target_column: of a table. alphabet: `dna` or `protein`. allow_empty: no pairs at all is no error.

    Raises MissingInput (66) and InputError (65).
    """
    if queries == "-" == targets:
        raise InputError("-", "standard input for one of the inputs", "it for both", "write one of them to a file, or interleave them")
    inputs = tuple(sniff(path, allow_empty=True) for path in (queries, targets) if path is not None)
    if not allow_empty and (empty := next((source.path for source in inputs if source.format == "empty"), None)):
        filled = next((source.path for source in inputs if source.format != "empty"), None)
        found = f"empty, but {filled} is not; each of its records needs one there" if filled else "empty; use --allow-empty if that is no mistake"
        raise MissingInput(f"{empty}: {found}")
    formats = {source.format for source in inputs}
    whole = formats & {"seq", "parquet", "arrow"}
    if whole and (len(inputs) > 1 or interleaved and whole != {"seq"}):
        raise InputError(inputs[0].path, f"one {whole.pop()} file, which holds both sides of every pair", "more than that", "give it alone")
    if interleaved and len(inputs) > 1:
        raise InputError(inputs[0].path, "one file of interleaved pairs", "two", "give one, or leave out --interleaved")
    if not whole and not interleaved and len(inputs) == 1 and formats != {"empty"}:
        raise InputError(inputs[0].path, "a second file, of targets", "none", "name it, or use --interleaved if this one holds both")
    for side, name in (("query", query_column), ("target", target_column)):
        if name != side and not formats & {"parquet", "arrow", "empty"}:
            raise InputError(inputs[0].path, f"a table, for --{side}-column", f"{inputs[0].format} data", "leave it out")
    source = PairSource(inputs, interleaved or "seq" in formats, same_names, query_column, target_column, alphabet)
    if inputs[0].is_table and not tables.check_schema(inputs[0], (query_column, target_column)) and not allow_empty:
        raise MissingInput(f"{inputs[0].path}: no rows; use --allow-empty if that is no mistake")
    return source


class TextBlocks(Blocks):
    """Cuts text files, of which the i-th records, or two that follow each other, are a pair."""

    def __init__(self, source: PairSource, most: int) -> None:
        self._paths = [text.path for text in source.inputs]
        self._texts = [text for text in source.inputs if text.format != "empty"]
        self._alphabet, self._each = source.alphabet, 2 if source.interleaved else 1
        self._counted = [Counted(text) for text in self._texts]
        self._bases = block_bases(sum(counted.letters for counted in self._counted), most)
        self._given = self._first = 0
        # The files in turns, so that both are known up to about the same pair.
        self._turns = sorted((place, file) for file, counted in enumerate(self._counted) for place in range(len(counted.tasks)))
        super().__init__([(count_marks, self._counted[file].tasks[place]) for place, file in self._turns])
        if not self.tasks:
            self.pairs = 0

    def share(self, block: PairBlock) -> float:
        return sum(span.stop - span.start for span in block.spans) / max(1, sum(text.size for text in self._texts))

    def _add(self, place: int, result: Any) -> None:
        self._counted[self._turns[place][1]].add(result)

    def _known(self, *, whole: bool) -> list[PairBlock]:
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
            blocks.append(PairBlock(self._given, first, count, tuple(spans)))
            self._given, self._first = self._given + 1, first + count
        return blocks

    def _total(self) -> int:
        """Count the pairs as `_sum` does; where that fails, raise InputError for the first record that is not right, if there is any: it may be why."""
        try:
            return self._sum()
        except InputError:
            for text in self._texts:
                for _ in records(text, self._alphabet):
                    pass
            raise

    def _sum(self) -> int:
        """Count the pairs. Raises InputError where files have unequal numbers of records, or one ends amid a record."""
        counts = dict.fromkeys(self._paths, 0)
        for text, counted in zip(self._texts, self._counted, strict=True):
            lines = int(counted.index.marks[-1])
            count, rest = divmod(lines, FORMATS[text.format].marks)
            if rest:  # of FASTQ: other formats have one mark a record
                raise InputError(text.path, "four lines", f"{rest} at the end of the file", FOUR_LINES, record=count + 1, line=lines)
            counts[text.path] = count
        return count_pairs(list(counts), list(counts.values()), interleaved=self._each == 2)


def blocks(source: PairSource, *, block_bases: int = BLOCK_BASES) -> Blocks | None:
    """Make what cuts an input into blocks of about `block_bases` letters, less of a short one (`index.block_bases`); None if only in sequence
    (`stream_blocks`)."""
    if not source.has_ranges:
        return None
    if source.inputs[0].is_table:
        return table_index.TableBlocks(source.inputs[0], (source.query_column, source.target_column), block_bases)
    return TextBlocks(source, block_bases)


def plan(source: PairSource, *, block_bases: int = BLOCK_BASES) -> list[PairBlock] | None:
    """Cut a whole input into blocks; None if it can only be read in sequence. Raises InputError for files whose numbers of records do not fit."""
    cutting = blocks(source, block_bases=block_bases)
    if cutting is None:
        return None
    counted = in_turn((Call(partial(count, argument)) for count, argument in cutting.tasks), cores())
    return [block for place, found in enumerate(counted) for block in cutting.hear(place, found)]


def read_block(source: PairSource, block: PairBlock) -> Any:
    """Read the pairs of a planned block, in `schema.PAIRS`, and `query_quality` if the source is `whole`; reads only its ranges. Raises InputError for what is
    wrong in them."""
    first = source.inputs[0]
    with reached(source):
        if first.is_table:
            query, target = tables.read_rows(first, (source.query_column, source.target_column), block.spans[0], block.first, source.alphabet)
        else:
            each = 2 if source.interleaved else 1
            sides = [_read_span(text, span, block.first * each, source.alphabet, source.whole) for text, span in zip(source.inputs, block.spans, strict=True)]
            query, target = split(sides[0]) if source.interleaved else sides
    return pair_table(source.queries, block.first, query, target, same_names=source.same_names)


@contextmanager
def reached(source: PairSource) -> Iterator[None]:
    """Raise MissingInput for inputs that cannot be read here."""
    try:
        yield
    except MissingInput:
        raise
    except OSError as error:
        raise MissingInput(f"{error.filename or source.queries}: {error.strerror or error}; every worker must see the inputs") from error


def _read_span(text: Input, span: RecordSpan, first: int, alphabet: str, qualities: bool) -> Any:
    form = FORMATS[text.format]
    if text.compression == "none" and span.stop - span.start <= PLAIN_BYTES:
        content: memoryview | bytes = plain_range(text.path, span.start, span.stop)
    else:
        content = gathered(range_pieces(text.path, text.compression, span.start, span.stop), form, text.path, first, span.skip, span.line_start)
    lines = find_lines(content, at_line_start=span.line_start)
    marks = np.append(marked(lines, form), len(lines))
    last = span.skip + span.records * form.marks
    if last >= len(marks):
        raise changed(text.path)
    return parse(form, lines[int(marks[span.skip]) : int(marks[last])], text.path, first, alphabet, qualities)


def stream_blocks(source: PairSource, *, block_bases: int = BLOCK_BASES) -> Iterator[tuple[PairBlock, Any]]:
    """Read every block with its pairs, from the input's beginning to its end. Raises InputError as soon as something wrong is met."""
    planned = plan(source, block_bases=block_bases)
    if planned is not None:
        yield from ((block, read_block(source, block)) for block in planned)
        return
    first = 0
    sides = stream_pairs(source.inputs, interleaved=source.interleaved, alphabet=source.alphabet, bases=block_bases, qualities=source.whole)
    for number, (query, target) in enumerate(sides):
        pairs = pair_table(source.queries, first, query, target, same_names=source.same_names)
        yield PairBlock(number, first, len(pairs), digest=_digest(pairs) if source.has_pipe else ""), pairs
        first += len(pairs)


def _digest(pairs: Any) -> str:
    """Digest names and letters, by which it is known whether what comes through a pipe is the same again."""
    crc = 0
    for name in ("query_name", "target_name", "query", "target"):
        for part in flat(pairs[name].cast(pa.large_binary())):
            crc = crc32(part, crc)
    return f"{crc:08x}"
