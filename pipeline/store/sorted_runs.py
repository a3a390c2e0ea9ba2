"""Sort tables of any number of rows: runs are sorted in memory, lie in nameless files of a folder, and are merged a piece of each at a time."""

import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.pipeline import text
from tidalign.pipeline.errors import MissingInput
from tidalign.pipeline.in_turn import Call, in_turn
from tidalign.pipeline.store.files import writing_error

MERGED_RUNS = 64
"""Sorted runs that are merged at a time, each of them an open file."""

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
    runs = list(in_turn((Call(partial(_run, batch, keys, folder)) for batch in unsorted), threads))
    while len(runs) > MERGED_RUNS:
        runs = [*runs[MERGED_RUNS:], _Run(_merged(runs[:MERGED_RUNS], keys), keys, folder)]
    yield from _merged(runs, keys)


class _Run:
    """Sorted rows in a nameless file of a folder, in pieces of at most PIECE_BYTES: `head` is what is left of the present one, `keys` what it is sorted by."""

    def __init__(self, tables: Iterable[Any], keys: Keys, folder: str) -> None:
        pieces = text.in_batches(tables, text.PIECE_BYTES)
        first = next(pieces)
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # closed when its last piece is taken
            with pa.ipc.new_file(self._file, first.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
                for piece in chain([first], pieces):
                    writer.write_table(piece.combine_chunks())
        except MissingInput:  # of the rows
            raise
        except OSError as error:
            raise writing_error(folder, error) from error
        self._reader = pa.ipc.open_file(self._file)
        self._keys = keys
        self._next = 0
        self.head = first.slice(0, 0)
        self.keys = keys(self.head)
        self.drop(0)

    @property
    def last(self) -> bool:
        """Whether no piece comes after the present one."""
        return bool(self._next == self._reader.num_record_batches)

    def drop(self, rows: int) -> None:
        """Drop the first rows of the present piece, and go on to the next one where none is left of it."""
        self.head, self.keys = self.head.slice(rows), self.keys[rows:]
        if not len(self.head) and not self.last:
            self.head = pa.Table.from_batches([self._reader.get_batch(self._next)])
            self.keys = self._keys(self.head)
            self._next += 1
        elif not len(self.head):
            self._file.close()


def _run(batch: Any, keys: Keys, folder: str) -> _Run:
    """Sort a batch into a run of its own."""
    return _Run([_sorted(batch, keys)], keys, folder)


def _merged(runs: list[_Run], keys: Keys) -> Iterator[Any]:
    while runs:
        ends = [tuple(run.keys[-1]) for run in runs if not run.last]
        least = min(ends) if ends else None
        counts = [len(run.keys) if least is None else _up_to(run.keys, least) for run in runs]
        table = pa.concat_tables([run.head.slice(0, count) for run, count in zip(runs, counts, strict=True)])
        for run, count in zip(runs, counts, strict=True):
            run.drop(count)
        runs = [run for run in runs if len(run.head)]
        yield _sorted(table, keys)


def _up_to(keys: npt.NDArray[np.int64], key: tuple[int, ...]) -> int:
    return bisect_right(range(len(keys)), key, key=lambda row: tuple(keys[row]))


def _sorted(table: Any, keys: Keys) -> Any:
    return table.take(pa.array(np.lexsort(keys(table).T[::-1])))
