"""A unit's anchors on disk, however many: written as they come, sorted in bounded memory, mapped by those who read them.

The file is uncompressed Arrow IPC in batches of ROWS. A record beside it, which is written when it is whole, has the run's id and a checksum of each batch, so
that who reads a few of many anchors looks at no others.
"""

import os
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidalign.kernels.anchors.points import lastz_order
from tidalign.kernels.seed.index import Positions
from tidalign.pipeline.errors import Damaged
from tidalign.pipeline.files.decompress import crc32
from tidalign.pipeline.schema import ANCHORS
from tidalign.pipeline.store.files import durably, read_json, write_json

ROWS = 1 << 18
"""Of a batch of the file: 6 MB of anchors."""

RUN = 1 << 19
"""Anchors that are sorted together."""

STRIDE = 1 << 10
"""Of so many sorted anchors one is remembered, to find out where to cut."""


_KEY = 24
"""Bytes of what anchors are sorted by."""


# ---- the file


def count_anchors(path: str, run: str) -> int | None:
    """Count the anchors that a file holds; None where there is none of this run. Damaged where its record is not what was written."""
    try:
        record = read_json(_record_path(path))
    except FileNotFoundError:
        return None
    return int(record["rows"]) if record["run"] == run and Path(path).exists() else None


def read_anchors(path: str, start: int = 0, stop: int | None = None) -> pa.Table:
    """Read anchors [start, stop) of a file, mapped; Damaged where the batches that hold them are not what was written."""
    record = read_json(_record_path(path))
    stop = record["rows"] if stop is None else stop
    first = start // ROWS
    try:
        reader = pa.ipc.open_file(pa.memory_map(path))
        batches = [reader.get_batch(number) for number in range(first, -(-stop // ROWS))]
        table = pa.Table.from_batches(batches, reader.schema).replace_schema_metadata(None)
        found = [_sum(batch) for batch in batches]
    except FileNotFoundError:
        raise
    except (OSError, MemoryError, ValueError, pa.ArrowException) as error:
        raise Damaged(path, f"damaged or cut short ({error})") from error
    if table.schema.names != record["columns"] or found != record["sums"][first : first + len(found)]:
        raise Damaged(path, "damaged or cut short: its checksums do not fit")
    return table.slice(start - first * ROWS, stop - start)


def _record_path(path: str) -> str:
    return str(Path(path).with_suffix(".json"))


def _sum(batch: pa.Table | pa.RecordBatch) -> int:
    """Compute a CRC-32 of the values of a batch, all of them int64."""
    summed = len(batch)
    for column in batch.columns:
        if column.type != pa.int64() or column.null_count:
            raise ValueError(f"expected int64, found {column.type} with {column.null_count} nulls")
        summed = crc32(column.to_numpy().data, summed)
    return summed


def write_anchors(path: str, tables: Iterable[pa.Table], schema: pa.Schema, run: str, beat: Callable[[], None] = lambda: None) -> None:
    """Write tables of ROWS (`in_tables`) one after the other, whole or not at all, and then the record of them: run, rows, columns and a sum of each batch.

    `beat` is called for each table. DiskFull or CannotWrite where that fails.
    """
    rows, sums = 0, []

    def write(temporary: str) -> None:
        nonlocal rows
        with pa.OSFile(temporary, "wb") as file, pa.ipc.new_file(file, schema) as writer:
            for table in tables:
                beat()
                rows += len(table)
                sums.append(_sum(table))
                writer.write_table(table.cast(schema))

    durably(path, write)
    write_json(_record_path(path), {"run": run, "rows": rows, "columns": schema.names, "sums": sums})


def places(anchors: pa.Table, start: int = 0, stop: int | None = None) -> tuple[Positions, Positions]:
    """Give where anchors [start, stop) are on target and query, int64[n] each: arrays that may be written, as kernels are compiled for."""
    some = anchors.slice(start, None if stop is None else stop - start)
    t, q = (np.require(some[name].to_numpy(), requirements=["C", "W"]) for name in ("target", "query"))
    return t, q


# ---- on the way there


def in_tables(pieces: Iterable[pa.Table], schema: pa.Schema, rows: int | None = None) -> Iterator[pa.Table]:
    """Put the rows of tables, columns int64 all of them, into tables of `rows` (ROWS), of which only the last may be shorter."""
    rows = ROWS if rows is None else rows
    block, filled = np.empty((len(schema), rows), np.int64), 0
    for piece in pieces:
        at = 0
        while at < len(piece):
            count = min(rows - filled, len(piece) - at)
            for values, column in zip(block, piece.columns, strict=True):
                values[filled : filled + count] = column.slice(at, count).to_numpy()
            at, filled = at + count, filled + count
            if filled == rows:
                yield pa.table(list(block), schema=schema)
                block, filled = np.empty_like(block), 0
    if filled:
        yield pa.table(list(block[:, :filled]), schema=schema)


def in_lastz_order(pieces: Iterable[pa.Table], folder: str, rows: int = RUN, stride: int = STRIDE) -> Iterator[pa.Table]:
    """Sort the rows of tables (ANCHORS) into LASTZ's order, `kernels.anchors.points.lastz_order`, in tables of about `rows`.

    More than `rows` of them are sorted so many at a time and lie in a nameless file of `folder` until all have come: a merge sort with cuts from regular
    samples (Shi, Schaeffer 1992, Parallel sorting by regular sampling). At most rows + stride * (number of runs) are in memory, whatever the order they
    come in, but for equal ones.
    """
    blocks = in_tables(pieces, ANCHORS, rows)
    first = next(blocks, ANCHORS.empty_table())
    if len(first) < rows:
        yield _table(_sorted(_keys(first)))
        return
    blocks = chain([first], blocks)
    del first
    runs: list[_Run] = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for block in blocks:
            keys = _sorted(_keys(block))
            runs.append(_Run(file.fileno(), file.tell(), len(keys), stride, keys[::stride].copy()))
            file.write(keys.data)
            del block, keys
        file.flush()
        samples = np.concatenate([run.sample for run in runs])
        cuts = samples[np.lexsort(samples.T[::-1])][rows // stride :: rows // stride]
        begins = [0] * len(runs)
        for cut in [*cuts.tolist(), None]:
            ends = [run.rows if cut is None else run.before(cut) for run in runs]
            yield _table(_sorted(np.concatenate([run.read(begin, end) for run, begin, end in zip(runs, begins, ends, strict=True)])))
            begins = ends


@dataclass(frozen=True, slots=True)
class _Run:
    """Sorted keys in an open file, from byte `start` on. sample: each `stride`-th of them."""

    file: int
    start: int
    rows: int
    stride: int
    sample: Positions

    def read(self, begin: int, end: int) -> Positions:
        """Read keys [begin, end)."""
        return np.frombuffer(os.pread(self.file, _KEY * (end - begin), self.start + _KEY * begin), np.int64).reshape(-1, 3)

    def before(self, cut: list[int]) -> int:
        """Count those that are less than `cut`: the sample says between which two of it to look."""
        after = _less(self.sample, cut)
        begin = max(0, after - 1) * self.stride
        return begin + _less(self.read(begin, min(after * self.stride, self.rows)), cut)


def _less(keys: Positions, cut: list[int]) -> int:
    return bisect_left(range(len(keys)), cut, key=lambda row: keys[row].tolist())


def _keys(anchors: pa.Table) -> Positions:
    """Make keys whose rising order LASTZ's order is: int64[n, 3], scores below 0, query places, target places."""
    target, query, score = (column.to_numpy() for column in anchors.columns)
    return np.stack([-score, query, target], axis=1)


def _sorted(keys: Positions) -> Positions:
    below, query, target = keys.T
    return keys[lastz_order(target, query, -below)]


def _table(keys: Positions) -> pa.Table:
    below, query, target = np.ascontiguousarray(keys.T)
    return pa.table([target, query, -below], schema=ANCHORS)
