"""Count the letters in rows of Parquet and Arrow files, and cut these into blocks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.files.sniff import Input
from tidalign.pipeline.pairs.input import tables
from tidalign.pipeline.pairs.input.index import CELL_BYTES, FREE_NAME, Blocks, PairBlock, RecordIndex, RecordSpan, block_bases, cut


def measure(task: tuple[Input, tuple[str, str], int]) -> tuple[list[int], list[float]]:
    """Count, on a worker, rows and letters in each cell of a row group or record batch, a cell being rows of CELL_BYTES letters, about. What names have beyond
    FREE_NAME counts."""
    source, columns, unit = task
    wanted = [*((name, 0) for name in columns), *((name, FREE_NAME) for name in _text_names(source) if name not in columns)]
    counted = [_count(source, unit, name, free) for name, free in wanted]
    edges = np.unique(np.concatenate([rows for rows, _ in counted]))
    total = np.sum([np.interp(edges, rows, letters) for rows, letters in counted], axis=0)
    # The rows after which a cell is full.
    ends = np.unique(np.append(np.interp(np.arange(CELL_BYTES, total[-1], CELL_BYTES), total, edges).astype(np.int64), edges[-1]))
    ends = ends[ends > 0]
    return np.diff(ends, prepend=0).tolist(), np.diff(np.interp(ends, edges, total), prepend=0.0).tolist()


def _count(source: Input, unit: int, name: str, free: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Count the letters of a column before some rows of a row group or record batch, the last of them its end. It is decoded only as far as its pages do not
    tell how many there are. free: of each value, that do not count."""
    told = tables.told(source, unit, name) if source.format == "parquet" else None
    rows, letters = [0], [0.0]
    for batch in tables.batches(source, unit, [name]) if told is None or told.known else ():
        total = np.cumsum(np.maximum(_lengths(batch.column(name)).astype(np.int64) - free, 0))
        ends = np.append(np.flatnonzero(np.diff(total // CELL_BYTES)) + 1, len(total)) if len(total) else np.empty(0, np.int64)
        rows, letters = [*rows, *(ends + rows[-1]).tolist()], [*letters, *(total[ends - 1] + letters[-1]).tolist()]
        if told and rows[-1] >= told.known:
            break
    if told is None:
        return np.array(rows, np.int64), np.array(letters, np.float64)
    more = told.rows[told.rows > rows[-1]]
    after = told.before(np.append(rows[-1], more), free)
    return np.append(rows, more), np.append(letters, after[1:] - after[0] + letters[-1])


def _text_names(source: Input) -> list[str]:
    """List the columns of names that are there, as text: numbers are short."""
    schema = tables.schema_of(source)
    return [name for name in tables.NAMES if name in schema.names and tables.has_letters(schema.field(name).type)]


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

    def __init__(self, table: Input, columns: tuple[str, str], most: int) -> None:
        self._most = most
        self._measured: list[Any] = []
        super().__init__([(measure, (table, columns, unit)) for unit in range(tables.units(table))])
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
            for i, (first, pairs) in enumerate(cut([(index, 1)], 0, self.pairs, block_bases(float(index.letters[-1]), self._most)))
        ]


def span(index: RecordIndex, first: int, rows: int) -> RecordSpan:
    """Say how to read rows [first, first + rows)."""
    start = int(index.positions[index.cell(first)])
    stop = int(index.positions[index.cell(first + rows - 1)]) + 1
    return RecordSpan(start, stop, first - int(index.marks[np.searchsorted(index.positions, start)]), rows)
