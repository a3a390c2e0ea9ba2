"""The database of a search, packed once: a Parquet file with a checksum, whose row groups are the slices that are searched by themselves.

A run packs its own; `tidalign index` keeps one for many runs.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.errors import Damaged, InputError, MissingInput
from tidalign.pipeline.schema import SEQUENCES
from tidalign.pipeline.search.records import INDEX, empty_database
from tidalign.pipeline.search.statistics import DatabaseSize
from tidalign.pipeline.store.files import open_table, write_tables

FORMAT = 1
"""Number of what a packed database is: raised when its columns or what its metadata says change."""

SLICE_BYTES = 1 << 24
"""Letters and names of a slice: of so many a task reads, codes and searches at once. What is found does not depend on it, but names of parts do."""

_AGAIN = "make it again with `tidalign index`"


@dataclass(frozen=True, slots=True)
class SliceRecord:
    """Say of a slice: ordinal of its first sequence, how many there are, their letters, and those of the longest."""

    first: int
    sequences: int
    letters: int
    longest: int


@dataclass(frozen=True, slots=True)
class Database:
    """A packed database: its file, the alphabet of its letters, and its slices."""

    path: str
    alphabet: str
    slices: tuple[SliceRecord, ...]

    @property
    def sequences(self) -> int:
        """Count the sequences."""
        return sum(each.sequences for each in self.slices)

    @property
    def letters(self) -> int:
        """Count the letters of all sequences."""
        return sum(each.letters for each in self.slices)

    @property
    def size(self) -> DatabaseSize:
        """Count letters and sequences."""
        return DatabaseSize(self.letters, self.sequences)

    @property
    def longest(self) -> int:
        """Count the letters of the longest sequence."""
        return max((each.longest for each in self.slices), default=0)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Database":
        return cls(values["path"], values["alphabet"], tuple(SliceRecord(**each) for each in values["slices"]))


def pack(path: str, tables: Iterable[Any], alphabet: str, *, forced: bool = True) -> None:
    """Write a database of tables in `schema.SEQUENCES`, whole or not at all. forced: as `store.files.durably` has it."""
    write_tables(path, SEQUENCES, tables, lambda: {INDEX: json.dumps({"format": FORMAT, "alphabet": alphabet})}, SLICE_BYTES, forced=forced)


def open_index(path: str) -> Database:
    """Open what `tidalign index` wrote. InputError where it is damaged, or of another format, MissingInput where there is none."""
    with _of_index(path):
        return open_database(path)


def read_index(path: str, numbers: Sequence[int]) -> Any:
    """Read slices of an index, as `read_slices`; errors as `open_index`."""
    with _of_index(path):
        return read_slices(path, numbers)


@contextmanager
def _of_index(path: str) -> Iterator[None]:
    """Name what is wrong with an index as bad input."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingInput(f"{path}: expected an index, found no such file; put it back, or {_AGAIN}") from error
    except Damaged as damaged:
        raise _refused(path, damaged.found) from damaged


def _refused(path: str, found: str) -> InputError:
    return InputError(path, "an index as `tidalign index` writes it", found, _AGAIN)


def open_database(path: str) -> Database:
    """Open a packed database. Damaged where it is not what was written, InputError where it is of another format or empty."""
    file = _file(path)
    said = json.loads((file.metadata.metadata or {}).get(INDEX.encode(), b"{}"))
    if said.get("format") != FORMAT or file.schema_arrow.remove_metadata() != SEQUENCES:
        raise _refused(path, f"one of format {said.get('format')}, now {FORMAT}")
    slices, first = [], 0
    for group in range(file.num_row_groups):
        lengths = file.read_row_group(group, columns=["length"])["length"].to_numpy()
        slices.append(SliceRecord(first, len(lengths), int(lengths.sum()), int(lengths.max(initial=0))))
        first += len(lengths)
    database = Database(path, said["alphabet"], tuple(slices))
    if not database.letters:
        raise empty_database(path)
    return database


def read_slices(path: str, numbers: Sequence[int]) -> Any:
    """Read slices of a database: a table in `schema.SEQUENCES`. Raises Damaged and FileNotFoundError as `store.files` does."""
    return _file(path).read_row_groups(numbers).cast(SEQUENCES).combine_chunks()


def _file(path: str) -> Any:
    """Open a file, and look at its checksum once as long as it does not change."""
    state = Path(path).stat()
    return _opened(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=2)
def _opened(path: str, changed: int, size: int) -> Any:
    return open_table(path)


def cut(tables: Iterable[Any], letters: int, most: int) -> Iterator[Any]:
    """Cut tables in `schema.SEQUENCES` into those of at most so many letters (a longer sequence stands alone) and `most` rows; where depends on rows alone."""
    held: list[Any] = []
    room, rows = letters, most
    for table in tables:
        sums = np.cumsum(table["length"].to_numpy())
        start = 0
        while start < len(table):
            base = int(sums[start - 1]) if start else 0
            stop = min(int(np.searchsorted(sums, base + room, side="right")), start + rows)
            if stop <= start and held:
                yield pa.concat_tables(held).combine_chunks()
                held, room, rows = [], letters, most
                continue
            stop = max(stop, start + 1)
            held.append(table.slice(start, stop - start))
            room, rows = room - (int(sums[stop - 1]) - base), rows - (stop - start)
            start = stop
    if held:
        yield pa.concat_tables(held).combine_chunks()


def letters_of(table: Any) -> int:
    """Count the letters of a table in `schema.SEQUENCES`."""
    return int(pc.sum(table["length"], min_count=0).as_py())
