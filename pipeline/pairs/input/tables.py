"""Pairs in the columns of Parquet and Arrow files: a row group or record batch at a time, never a whole file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.files.decompress import changed
from tidalign.pipeline.files.sniff import Input
from tidalign.pipeline.pairs.input.decoding import Decoding
from tidalign.pipeline.pairs.input.index import CELL_BYTES, FREE_NAME, Blocks, PairBlock, RecordIndex, RecordSpan, block_bases, cut
from tidalign.pipeline.pairs.input.records import names_in
from tidalign.pipeline.pairs.pack import RecordPlace, check_letters, check_names, flat

BATCH_BYTES = 8_000_000
_SAMPLE = 64

SIDES = ("query", "target")

PLACES = ("target_start", "target_end")
"""Columns that say where targets were cut out of what `target_name` names, from 0 and half-open; the second may be left out."""


@contextmanager
def _whole(source: Input) -> Iterator[None]:
    """Raise InputError for what pyarrow cannot read: its errors that are none of the file system have no number."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        if getattr(error, "errno", None) or isinstance(error, MissingInput):
            raise
        raise InputError(source.path, f"a whole {source.format} file", f"a damaged or truncated one ({error})", "write it again") from error


def _open(source: Input) -> Any:
    with _whole(source):
        if source.format == "parquet":
            return pq.ParquetFile(source.path, memory_map=True, page_checksum_verification=True)
        return pa.ipc.open_file(pa.memory_map(source.path))


def _schema(source: Input) -> Any:
    file = _open(source)
    return file.schema_arrow if source.format == "parquet" else file.schema


def check_schema(
    source: Input,
    columns: tuple[str, ...],
    ways_out: tuple[str, ...] = ("name the column with --query-column", "name the column with --target-column"),
    names: tuple[str, ...] = ("query_name", "target_name", *PLACES),
) -> bool:
    """Tell whether a table with the columns of letters has rows; InputError says what it has instead of them, and the way out for each. names: columns that it
    may have, once."""
    file, schema = _open(source), _schema(source)
    found = f"columns {', '.join(schema.names) or 'none'}"
    if twice := next((name for name in (*columns, *names) if schema.names.count(name) > 1), None):
        raise InputError(source.path, f"one column {twice!r}", found, "rename or drop one of them")
    for name, way_out in zip(columns, ways_out, strict=True):
        if name not in schema.names:
            raise InputError(source.path, f"one column {name!r}", found, way_out)
        kind = schema.field(name).type
        if not _has_letters(kind):
            raise InputError(source.path, f"column {name!r} as string or binary", f"{kind}", "cast it")
    if source.format == "parquet":
        return bool(file.metadata.num_rows)
    with _whole(source):
        return any(file.get_batch(batch).num_rows for batch in range(file.num_record_batches))


_LETTERS = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_string_view,
    pa.types.is_binary_view,
)


def _has_letters(kind: Any) -> bool:
    letters = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(is_kind(letters) for is_kind in _LETTERS)


def _units(source: Input) -> int:
    file = _open(source)
    return int(file.num_row_groups if source.format == "parquet" else file.num_record_batches)


def _batches(source: Input, unit: int, columns: list[str]) -> Iterator[Any]:
    """Read the rows of a row group or record batch, some megabytes at a time."""
    with _whole(source):
        for batch in _pieces(source, unit, columns):
            batch.validate(full=True)  # what is damaged may have its letters anywhere
            yield batch


def _pieces(source: Input, unit: int, columns: list[str]) -> Iterator[Any]:
    file = _open(source)
    if source.format == "arrow":
        yield file.get_batch(unit).select(list(dict.fromkeys(columns)))  # one may be asked for twice: letters that are names, too
        return
    group = file.metadata.row_group(unit)
    # Sequences that are repeated take no room in the file: look at some rows.
    for sample in file.iter_batches(batch_size=_SAMPLE, row_groups=[unit], columns=columns):
        row_bytes = max(group.total_byte_size / group.num_rows, sample.nbytes / len(sample), 1)
        rows = int(np.clip(BATCH_BYTES // row_bytes, 1, 65_536))
        yield from file.iter_batches(batch_size=rows, row_groups=[unit], columns=columns)
        return


def measure(task: tuple[Input, tuple[str, str], int]) -> tuple[list[int], list[float]]:
    """Count, on a worker, rows and letters in each cell of a row group or record batch, a cell being rows of CELL_BYTES letters, about. What names have beyond
    FREE_NAME counts."""
    source, columns, unit = task
    rows: list[int] = []
    letters: list[float] = []
    names = [name for name in _names(source) if name not in columns]
    for batch in _batches(source, unit, [*columns, *names]):
        counts = sum(_lengths(batch.column(name)).astype(np.int64) for name in columns)
        total = np.cumsum(counts + sum(np.maximum(_lengths(batch.column(name)).astype(np.int64) - FREE_NAME, 0) for name in names))
        # The rows after which a cell is full.
        ends = np.append(np.flatnonzero(np.diff(total // CELL_BYTES)) + 1, len(total)) if len(total) else np.empty(0, np.int64)
        rows += np.diff(ends, prepend=0).tolist()
        letters += np.diff(total[ends - 1], prepend=0).astype(float).tolist()
    return rows, letters


def _names(source: Input) -> list[str]:
    """List the columns of names that are there, as text: numbers are short."""
    schema = _schema(source)
    return [name for name in (f"{side}_name" for side in SIDES) if name in schema.names and _has_letters(schema.field(name).type)]


def _lengths(letters: Any) -> Any:
    if pa.types.is_dictionary(letters.type):  # without a copy for every row
        return _binary_lengths(letters.dictionary).take(letters.indices).fill_null(0).to_numpy()
    return _binary_lengths(letters).fill_null(0).to_numpy()


def _binary_lengths(letters: Any) -> Any:
    return pc.binary_length(letters.cast(pa.large_binary()))


def index_table(measured: Sequence[tuple[list[int], list[float]]]) -> RecordIndex:
    """Make the index of a table of what `measure` gave: a mark is a row, a position the row group or record batch that a cell lies in."""
    positions = [unit for unit, (rows, _) in enumerate(measured) for _ in rows] + [len(measured)]
    marks = np.concatenate([[0], np.cumsum([count for rows, _ in measured for count in rows])]).astype(np.int64)
    letters = np.concatenate([[0.0], np.cumsum([count for _, counts in measured for count in counts])])
    return RecordIndex(marks, letters, np.array(positions, np.int64), np.ones(len(positions), bool))


class TableBlocks(Blocks):
    """Cuts a table, when all of it was measured."""

    def __init__(self, table: Input, columns: tuple[str, str], bases: int | None) -> None:
        self._bases = bases
        self._measured: list[Any] = []
        super().__init__([(measure, (table, columns, unit)) for unit in range(_units(table))])
        if not self.tasks:
            self.pairs = 0

    def share(self, block: PairBlock) -> float:
        return block.pairs / max(1, self.pairs or 1)

    def _add(self, place: int, result: Any) -> None:
        self._measured.append(result)

    def _known(self, *, whole: bool) -> list[PairBlock]:
        if not whole:
            return []
        index = index_table(self._measured)
        self.pairs = int(index.marks[-1])
        return [
            PairBlock(i, first, pairs, (span(index, first, pairs),))
            for i, (first, pairs) in enumerate(cut([(index, 1)], 0, self.pairs, self._bases or block_bases(float(index.letters[-1]))))
        ]


def span(index: RecordIndex, first: int, rows: int) -> RecordSpan:
    """Say how to read rows [first, first + rows)."""
    start = int(index.positions[index.cell(first)])
    stop = int(index.positions[index.cell(first + rows - 1)]) + 1
    return RecordSpan(start, stop, first - int(index.marks[np.searchsorted(index.positions, start)]), rows)


def read_rows(source: Input, columns: tuple[str, str], span: RecordSpan, first: int, alphabet: str) -> tuple[Any, Any]:
    """Read the query and the target side of a span, as tables of `records.parse`. first: ordinal of its first row."""
    present = _schema(source).names
    names = [f"{side}_name" for side in SIDES]
    wanted = [*columns, *(name for name in (*names, *PLACES) if name in present)]
    skip, left, batches = span.skip, span.records, []
    for unit in range(span.start, span.stop):
        batches += (found := _decoding(source, unit, tuple(wanted)).rows(skip, left))
        skip, left = 0, left - sum(map(len, found))
    if left:
        raise changed(source.path)
    table = pa.Table.from_batches(batches)
    place = RecordPlace(source.path, first, alphabet=alphabet)
    query, target = (_side(table, column, name, place) for column, name in zip(columns, names, strict=True))
    return query, _placed(target, table, place) if names[1] in present and PLACES[0] in present else target


_ONE = Lock()  # threads that begin at once share one


def _decoding(source: Input, unit: int, columns: tuple[str, ...]) -> Decoding:
    with _ONE:
        return _of_late(source, unit, columns)


@lru_cache(maxsize=4)
def _of_late(source: Input, unit: int, columns: tuple[str, ...]) -> Decoding:
    return Decoding(partial(_batches, source, unit, list(columns)))


def records(source: Input, column: str, name: str, alphabet: str) -> Iterator[Any]:
    """Read the rows of a table with one column of letters, and one of names if there is any, in tables of `records.parse`."""
    present = _schema(source).names
    first = 0
    for unit in range(_units(source)):
        for batch in _batches(source, unit, [column, *([name] if name in present else [])]):
            yield _side(pa.Table.from_batches([batch]), column, name, RecordPlace(source.path, first, alphabet=alphabet))
            first += len(batch)


def _side(table: Any, column: str, name: str, place: RecordPlace) -> Any:
    letters = _column(table[column], pa.large_binary(), column, place)
    names = pa.nulls(len(table), pa.string())
    if name in table.column_names:
        headers, offsets = flat(_column(table[name], pa.string(), name, place).cast(pa.large_binary()))
        names = check_names(names_in(headers, offsets[:-1], offsets[1:]), place)
    return pa.table({"name": names, "letters": check_letters(letters, None, place)})


def _placed(target: Any, table: Any, place: RecordPlace) -> Any:
    """Name targets by their places, as `samtools faidx` names what it cuts out: `--lift` takes places from names."""
    start = _column(table[PLACES[0]], pa.int64(), PLACES[0], place).to_numpy()
    end = start + pc.binary_length(target["letters"]).to_numpy()
    if (start < 0).any():
        row = int((start < 0).argmax())
        raise place.error(row, f"a place from 0 in column {PLACES[0]!r}", f"{start[row]}", "correct it, or drop the column")
    if PLACES[1] in table.column_names:
        found = _column(table[PLACES[1]], pa.int64(), PLACES[1], place).to_numpy()
        if (found != end).any():
            row = int((found != end).argmax())
            expected = f"{end[row]:,} in column {PLACES[1]!r}, {end[row] - start[row]:,} letters behind {PLACES[0]!r}"
            raise place.error(row, expected, f"{found[row]:,}", "give both from 0 and half-open, or drop the column")
    first, last = (pa.array(numbers).cast(pa.string()) for numbers in (start + 1, end))
    places = pc.binary_join_element_wise(pc.binary_join_element_wise(target["name"].combine_chunks(), first, ":"), last, "-")
    return target.set_column(target.schema.get_field_index("name"), "name", places)


def _column(values: Any, kind: Any, name: str, place: RecordPlace) -> Any:
    """Make a column one array of a type, without nulls."""
    try:
        column = pa.concat_arrays([chunk.cast(kind) for chunk in values.chunks])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(place.file, f"column {name!r} as {kind}", f"{values.type} ({error})", "cast it") from error
    if column.null_count:  # of the column as it is cast: a dictionary counts its indices alone, and may have a null among its values
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise place.error(row, f"a value in column {name!r}", "null", "remove the row")
    return column
