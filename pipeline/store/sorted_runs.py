"""Sort tables of any number of rows: runs are sorted in memory, lie in a few nameless files of a folder, and are merged a piece of each at a time."""

import os
import tempfile
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.pipeline import text
from tidalign.pipeline.in_turn import Call, in_turn
from tidalign.pipeline.store.files import writing_error

MERGED_RUNS = 64
"""Sorted runs that are merged at a time. They lie in one file, whose room is free when they are merged: 4 GB, the first time."""

Keys = Callable[[Any], npt.NDArray[np.int64]]
"""Gives what the rows of a table are sorted by, int64[rows, keys], the first key first; no two rows have the same."""


def in_order(tables: Iterable[Any], keys: Keys, folder: str, threads: int = 1) -> Iterator[Any]:
    """Give the rows of tables by their keys, in tables of bounded bytes.

    More than BATCH_BYTES of them are sorted so many at a time, by each of the threads, and lie in files of `folder` until all have come. Then a piece of each
    of these runs is in memory: of all rows up to the least of their ends no other are to come. CannotWrite or DiskFull where the folder takes no more.
    """
    batches = text.in_batches(tables, text.BATCH_BYTES)
    first, second = next(batches, None), next(batches, None)
    if second is None:
        yield from () if first is None else (_sorted(first, keys),)
        return
    held = [second, first]
    del first, second
    unsorted = chain(iter(lambda: held.pop() if held else None, None), batches)
    with ExitStack() as files:
        levels = _Levels(keys, lambda: files.enter_context(closing(_File(folder))))
        for run in in_turn(levels.calls(unsorted), threads):
            levels.add(run)
        yield from _merged(levels.rest(), keys)


class _File:
    """A nameless file of a folder that holds pieces of sorted runs, each at a place that it gets when it comes; several threads may put them there at once."""

    def __init__(self, folder: str) -> None:
        self._folder, self._turn = folder, threading.Lock()
        with self._writing():
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # who makes it closes it

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise writing_error(self._folder, error) from error

    def put(self, piece: Any) -> tuple[int, int]:
        """Write a table, and give its place, by which `get` reads it: where it begins, and its bytes."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, piece.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(piece.combine_chunks())
        data = sink.getvalue()
        with self._turn, self._writing():
            start = self._file.seek(0, os.SEEK_END)
            self._file.write(data)
            self._file.flush()
        return start, data.size

    def get(self, start: int, size: int) -> Any:
        with self._turn:
            self._file.seek(start)
            data = self._file.read(size)
        return pa.ipc.open_stream(data).read_all()

    def close(self) -> None:
        with suppress(OSError):  # what a full disk did not take is tried again
            self._file.close()


@dataclass(frozen=True, slots=True)
class _Run:
    """Sorted rows in a file: the places of its pieces of at most PIECE_BYTES."""

    file: _File
    places: list[tuple[int, int]]

    @classmethod
    def of(cls, file: _File, tables: Iterable[Any]) -> "_Run":
        """Write tables of sorted rows into a file."""
        return cls(file, [file.put(piece) for piece in text.in_batches(tables, text.PIECE_BYTES)])


class _Levels:
    """Runs by how often their rows were merged, those of a level in one file: where a level has MERGED_RUNS and another comes, they become one of the next.

    So few files are open however many runs come, and each row is merged again as often as it has to be.
    """

    def __init__(self, keys: Keys, opened: Callable[[], _File]) -> None:
        self._keys, self._opened = keys, opened
        self._levels: list[list[_Run]] = [[]]

    def calls(self, batches: Iterable[Any]) -> Iterator[Call[_Run]]:
        """Give what sorts each of the batches into a run of its own: those that are merged together are in one file."""
        for number, batch in enumerate(batches):
            if number % MERGED_RUNS == 0:
                file = self._opened()
            yield Call(partial(_sorted_run, batch, self._keys, file))

    def add(self, run: _Run) -> None:
        """Take the next run that a call has made."""
        if len(self._levels[0]) == MERGED_RUNS:
            self._merge(0)
        self._levels[0].append(run)

    def rest(self) -> list[_Run]:
        """Give runs that have all rows, no more than are merged at a time: where there are more, those of the lowest levels are merged first."""
        for level in range(len(self._levels)):
            if sum(map(len, self._levels)) > MERGED_RUNS:
                self._merge(level)
        return [run for runs in self._levels for run in runs]

    def _merge(self, level: int) -> None:
        """Merge the runs of a level into one of the next."""
        if level + 1 == len(self._levels):
            self._levels.append([])
        if len(self._levels[level + 1]) == MERGED_RUNS:
            self._merge(level + 1)
        above = self._levels[level + 1]
        above.append(_Run.of(above[0].file if above else self._opened(), _merged(self._levels[level], self._keys)))
        self._levels[level] = []


class _Head:
    """Holds what comes next of a run: `rows` is what is left of the present piece, `keys` what it is sorted by."""

    def __init__(self, run: _Run, keys: Keys) -> None:
        self._run, self._keys, self._next = run, keys, 0
        self._go_on()

    def _go_on(self) -> None:
        self.rows = self._run.file.get(*self._run.places[self._next])
        self.keys = self._keys(self.rows)
        self._next += 1

    @property
    def last(self) -> bool:
        """Whether no piece comes after the present one."""
        return self._next == len(self._run.places)

    def drop(self, rows: int) -> None:
        """Drop the first rows of the present piece, and go on to the next one where none is left of it."""
        self.rows, self.keys = self.rows.slice(rows), self.keys[rows:]
        if not len(self.rows) and not self.last:
            self._go_on()


def _merged(runs: list[_Run], keys: Keys) -> Iterator[Any]:
    """Give the rows of runs by their keys; nothing else is left in their files, which are closed."""
    try:
        heads = [_Head(run, keys) for run in runs]
        while heads:
            ends = [tuple(head.keys[-1]) for head in heads if not head.last]
            least = min(ends) if ends else None
            counts = [len(head.keys) if least is None else _up_to(head.keys, least) for head in heads]
            table = pa.concat_tables([head.rows.slice(0, count) for head, count in zip(heads, counts, strict=True)])
            for head, count in zip(heads, counts, strict=True):
                head.drop(count)
            heads = [head for head in heads if len(head.rows)]
            yield _sorted(table, keys)
    finally:
        for run in runs:
            run.file.close()


def _up_to(keys: npt.NDArray[np.int64], key: tuple[int, ...]) -> int:
    return bisect_right(range(len(keys)), key, key=lambda row: tuple(keys[row]))


def _sorted_run(batch: Any, keys: Keys, file: _File) -> _Run:
    return _Run.of(file, [_sorted(batch, keys)])


def _sorted(table: Any, keys: Keys) -> Any:
    return table.take(pa.array(np.lexsort(keys(table).T[::-1])))
