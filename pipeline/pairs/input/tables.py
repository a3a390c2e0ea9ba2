"""Pairs in the columns of Parquet and Arrow files: a row group or record batch at a time, never a whole file."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.files.decompress import changed
from tidalign.pipeline.files.sniff import Input
from tidalign.pipeline.pairs.input.decoding import Decoding
from tidalign.pipeline.pairs.input.index import RecordSpan
from tidalign.pipeline.pairs.input.pages import Pages, column_chunks, pages
from tidalign.pipeline.pairs.input.records import names_in
from tidalign.pipeline.pairs.pack import RecordPlace, check_letters, check_names, flat

BATCH_BYTES = 2_000_000
"""Bytes of rows that are decoded at once, about: as many as the cache of a core still holds when they are packed."""

_SAMPLE = 64
SIDES = ("query", "target")

NAMES = tuple(f"{side}_name" for side in SIDES)

PLACES = ("target_start", "target_end")
"""Columns that say where targets were cut out of what `target_name` names, from 0 and half-open; the second may be left out."""


@contextmanager
def _whole(source: Input) -> Iterator[None]:
    """Raise InputError for what pyarrow cannot read: its errors that are none of the file system have no number."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:  # the last of names of columns
        if getattr(error, "errno", None) or isinstance(error, MissingInput):
            raise
        raise InputError(source.path, f"a whole {source.format} file", f"a damaged or truncated one ({error})", "write it again") from error


def _open(source: Input, columns: Sequence[str] | None = None) -> Any:
    """Open a table; one of Arrow's with these columns alone."""
    with _whole(source):
        if source.format == "parquet":
            # What is read ahead is all of a row group, which would be held.
            return pq.ParquetFile(source.path, memory_map=True, pre_buffer=False, page_checksum_verification=True)
        content = pa.memory_map(source.path)
        file = pa.ipc.open_file(content)
        if columns is None:
            return file
        fields = [place for place, name in enumerate(file.schema.names) if name in columns]
        return pa.ipc.open_file(content, options=pa.ipc.IpcReadOptions(included_fields=fields))


def schema_of(source: Input) -> Any:
    """Read the schema of a table."""
    file = _open(source)
    return file.schema_arrow if source.format == "parquet" else file.schema


def check_schema(
    source: Input,
    columns: tuple[str, ...],
    ways_out: tuple[str, ...] = ("name the column with --query-column", "name the column with --target-column"),
    names: tuple[str, ...] = (*NAMES, *PLACES),
) -> bool:
    """Tell whether a table with the columns of letters has rows; InputError says what it has instead of them, and the way out for each. names: columns that it
    may have, once."""
    file, schema = _open(source), schema_of(source)
    found = f"columns {', '.join(schema.names) or 'none'}"
    if twice := next((name for name in (*columns, *names) if schema.names.count(name) > 1), None):
        raise InputError(source.path, f"one column {twice!r}", found, "rename or drop one of them")
    for name, way_out in zip(columns, ways_out, strict=True):
        if name not in schema.names:
            raise InputError(source.path, f"one column {name!r}", found, way_out)
        kind = schema.field(name).type
        if not has_letters(kind):
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


def has_letters(kind: Any) -> bool:
    """Tell whether a column of a type is text."""
    letters = kind.value_type if pa.types.is_dictionary(kind) else kind
    return any(is_kind(letters) for is_kind in _LETTERS)


def units(source: Input) -> int:
    """Count the row groups or record batches of a table."""
    file = _open(source)
    return int(file.num_row_groups if source.format == "parquet" else file.num_record_batches)


def batches(source: Input, unit: int, columns: list[str], *, checked: bool = True) -> Iterator[Any]:
    """Read the rows of a row group or record batch, some megabytes at a time. checked: whether all is that Arrow may say of them; `see_valid` then is for
    rows whose letters are not plain."""
    with _whole(source):
        for batch in _pieces(source, unit, columns):
            if checked or source.format == "arrow":  # what is damaged may have its letters anywhere
                batch.validate(full=True)
            yield batch


def _pieces(source: Input, unit: int, columns: list[str]) -> Iterator[Any]:
    if source.format == "arrow":
        yield _open(source, columns).get_batch(unit)
        return
    file = _open(source)
    group = file.metadata.row_group(unit)
    known = [told(source, unit, name) for name in columns if has_letters(file.schema_arrow.field(name).type)]
    # Sequences that are repeated take no room in the file: look at some rows where its pages do not tell how many letters there are.
    if all(pages and not pages.known for pages in known):
        row_bytes = sum(pages.letters[-1] for pages in known if pages) / max(1, group.num_rows)
    else:
        sample = next(file.iter_batches(batch_size=_SAMPLE, row_groups=[unit], columns=columns), None)
        row_bytes = max(group.total_byte_size / max(1, group.num_rows), sample.nbytes / len(sample) if sample else 0)
    rows = int(np.clip(BATCH_BYTES // max(row_bytes, 1), 1, 65_536))
    yield from file.iter_batches(batch_size=rows, row_groups=[unit], columns=columns)


@lru_cache(maxsize=4096)
def told(source: Input, unit: int, name: str) -> Pages | None:
    """Look at what the pages of a column of text tell; None where that is nothing."""
    chunks = _column_chunks(source)
    return pages(source.path, *chunks[unit][name]) if unit < len(chunks) and name in chunks[unit] else None


@lru_cache(maxsize=4)
def _column_chunks(source: Input) -> list[dict[str, tuple[int, int]]]:
    return column_chunks(source.path)


def taken(source: Input, columns: tuple[str, str], span: RecordSpan, made: Callable[[Any], Any], *, checked: bool) -> list[Any]:
    """Give what `made` makes, with as many rows, of each batch of a span as soon as it is decoded; in order. checked: as `batches` has it."""
    present = schema_of(source).names
    wanted = (*columns, *(name for name in (*NAMES, *PLACES) if name in present))
    skip, left, whole = span.skip, span.records, list[Any]()
    for unit in range(span.start, span.stop):
        whole += (found := _decoding(source, unit, wanted, checked).rows(skip, left, made))
        skip, left = 0, left - sum(map(len, found))
    if left:
        raise changed(source.path)
    return whole


def read_rows(source: Input, columns: tuple[str, str], span: RecordSpan, first: int, alphabet: str) -> tuple[Any, Any]:
    """Read the query and the target side of a span, as tables of `records.parse`. first: ordinal of its first row."""
    batches = taken(source, columns, span, lambda batch: batch, checked=True)
    return sides(pa.Table.from_batches(batches), columns, RecordPlace(source.path, first, alphabet=alphabet))


def sides(table: Any, columns: tuple[str, str], place: RecordPlace) -> tuple[Any, Any]:
    """Make the query and the target side of rows, as tables of `records.parse`."""
    query, target = (_side(table, column, name, place) for column, name in zip(columns, NAMES, strict=True))
    named = placed(target["name"], pc.binary_length(target["letters"]).to_numpy(), table, place)
    return query, target.set_column(target.schema.get_field_index("name"), "name", named)


def is_valid(batch: Any) -> bool:
    """Tell whether a batch is as Arrow wants it."""
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def see_valid(source: Input, batch: Any) -> None:
    """Raise InputError for a batch that is not as Arrow wants it."""
    with _whole(source):
        batch.validate(full=True)


_ONE = Lock()  # threads that begin at once share one


def _decoding(source: Input, unit: int, columns: tuple[str, ...], checked: bool) -> Decoding:
    with _ONE:
        return _of_late(source, unit, columns, checked)


@lru_cache(maxsize=4)
def _of_late(source: Input, unit: int, columns: tuple[str, ...], checked: bool) -> Decoding:
    return Decoding(partial(batches, source, unit, list(columns), checked=checked))


def records(source: Input, column: str, name: str, alphabet: str) -> Iterator[Any]:
    """Read the rows of a table with one column of letters, and one of names if there is any, in tables of `records.parse`."""
    present = schema_of(source).names
    first = 0
    for unit in range(units(source)):
        for batch in batches(source, unit, [column, *([name] if name in present else [])]):
            yield _side(pa.Table.from_batches([batch]), column, name, RecordPlace(source.path, first, alphabet=alphabet))
            first += len(batch)


def _side(table: Any, column: str, name: str, place: RecordPlace) -> Any:
    letters = _column(table[column], pa.large_binary(), column, place)
    named = names(table, name, place)
    return pa.table({"name": named, "letters": check_letters(letters, None, place)})


def names(table: Any, name: str, place: RecordPlace) -> Any:
    """Read and check the names in a column; nulls where it is not there."""
    if name not in table.column_names:
        return pa.nulls(len(table), pa.string())
    column = _column(table[name], pa.string(), name, place).cast(pa.large_binary())
    headers, offsets = flat(column)
    if any(blank in bytes(headers) for blank in b" \t"):
        column = names_in(headers, offsets[:-1], offsets[1:])
    return check_names(column, place)


def placed(named: Any, lengths: npt.NDArray[np.int64], table: Any, place: RecordPlace) -> Any:
    """Name targets of such lengths by their places, as `samtools faidx` names what it cuts out, if there are any: `--lift` takes places from names."""
    if NAMES[1] not in table.column_names or PLACES[0] not in table.column_names:
        return named
    start = _column(table[PLACES[0]], pa.int64(), PLACES[0], place).to_numpy()
    end = start + lengths
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
    whole = named.combine_chunks() if isinstance(named, pa.ChunkedArray) else named
    return pc.binary_join_element_wise(pc.binary_join_element_wise(whole, first, ":"), last, "-")


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
