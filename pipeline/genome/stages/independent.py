"""Extend every anchor of a unit on its own (independent mode), in the form of its device; make rows of many at a time, and sort however many there are."""

import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.kernels.gapped.alignments import Extensions, best_of_equals
from tidalign.pipeline import text
from tidalign.pipeline.genome.stages import gapped
from tidalign.pipeline.genome.stages.anchors_file import places
from tidalign.pipeline.genome.stages.guards import Beat, Budget, Done
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.schema import EXTENDED
from tidalign.pipeline.store.files import writing_error

ENDS = ["target_number", "target_start", "target_end", "query_start", "query_end"]

RUNS = 64
"""Sorted runs that are merged at a time, each of them an open file."""


def extend(unit: Unit, anchors: Any, first: int, beat: Beat) -> Done:
    """Rows (`EXTENDED`) of some of a unit's anchors, numbered from `first`; of those with the same ends that come together the best, then the first one."""
    shortfalls: list[dict[str, Any]] = []
    found = _extended(unit, anchors, first, beat, shortfalls)
    return (unique(table) for table in text.in_batches(found, text.TABLE_BYTES)), shortfalls


def _extended(unit: Unit, anchors: Any, first: int, beat: Beat, shortfalls: list[dict[str, Any]]) -> Iterator[Any]:
    budget = Budget(unit.parameters)
    if first == 0 and not unit.parameters.notrivial:
        yield from _tables(Extensions.of(gapped.trivial(unit)), unit, 0)
    t, q = places(anchors)
    at = 0
    for stop, found in unit.forms.extend(unit, t, q, budget, lambda place: beat(first + place)):
        at = stop
        yield from _tables(found, unit, first)
    if at < len(t):
        shortfalls.append(budget.shortfall(unit, first + at, first + len(t)))


def _tables(found: Extensions, unit: Unit, first: int) -> Iterator[Any]:
    found = _distinct(found)
    at = 0
    for rows in gapped.tables(found, unit):
        anchors = pa.array(found.anchor[at : at + len(rows)] + first)
        at += len(rows)
        yield rows.append_column(EXTENDED.field("anchor"), anchors)


def _distinct(found: Extensions) -> Extensions:
    """Of alignments with the same ends the best, then the first: the anchors of one alignment mostly find the same one, whose CIGAR need not be written each
    time."""
    return found.take(best_of_equals(found.anchor, found.score, found.target_start, found.target_end, found.query_start, found.query_end))


def unique(rows: Any) -> Any:
    """Rows of which no two have the same ends: those of the best score, and of equal scores of the first anchor in order of arrival."""
    anchor, score, *ends = (rows[name].to_numpy() for name in ("anchor", "score", *ENDS))
    best = np.zeros(len(rows), np.bool_)
    best[best_of_equals(anchor, score, *ends)] = True
    return rows.filter(pa.array(best))


# ---- rows of a unit in their order


def in_order(tables: Iterable[Any], folder: str) -> Iterator[Any]:
    """The rows of tables (`EXTENDED`) by their ends, of those with the same ends the best, then the first anchor's; tables of bounded bytes.

    More than TABLE_BYTES of them are sorted so many at a time and lie in nameless files of `folder` until all have come. Then a piece of each of these runs is
    in memory: of all rows up to the least of their ends no other are to come.
    """
    blocks = text.in_batches(tables, text.TABLE_BYTES)
    first, second = next(blocks, None), next(blocks, None)
    if first is None:
        return
    if second is None:
        yield from _firsts([_sorted(first)])
        return
    blocks = chain([first, second], blocks)
    del first, second
    runs = [_Run([_sorted(block)], folder) for block in blocks]
    while len(runs) > RUNS:
        runs = [*runs[RUNS:], _Run(_merged(runs[:RUNS]), folder)]
    yield from _firsts(_merged(runs))


class _Run:
    """Sorted rows in a nameless file of a folder, in pieces of at most PIECE_BYTES: `head` is what is left of the present one, `keys` what it is sorted by."""

    def __init__(self, tables: Iterable[Any], folder: str) -> None:
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # closed when its last piece is taken
            with pa.ipc.new_file(self._file, EXTENDED, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
                for piece in text.in_batches(tables, text.PIECE_BYTES):
                    writer.write_table(piece.combine_chunks())
        except OSError as error:
            raise writing_error(folder, error) from error
        self._reader = pa.ipc.open_file(self._file)
        self._next = 0
        self.head, self.keys = EXTENDED.empty_table(), _keys(EXTENDED.empty_table())
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
            self.keys = _keys(self.head)
            self._next += 1
        elif not len(self.head):
            self._file.close()


def _merged(runs: list[_Run]) -> Iterator[Any]:
    while runs:
        ends = [tuple(run.keys[-1]) for run in runs if not run.last]
        least = min(ends) if ends else None
        counts = [len(run.keys) if least is None else _up_to(run.keys, least) for run in runs]
        table = pa.concat_tables([run.head.slice(0, count) for run, count in zip(runs, counts, strict=True)])
        for run, count in zip(runs, counts, strict=True):
            run.drop(count)
        runs = [run for run in runs if len(run.head)]
        yield _sorted(table)


def _keys(table: Any) -> npt.NDArray[np.int64]:
    """What rows are sorted by, int64[n, 7]: their ends, the best score first, then the first anchor."""
    return np.stack([table[name].to_numpy() for name in ENDS] + [-table["score"].to_numpy(), table["anchor"].to_numpy()], axis=1)


def _up_to(keys: npt.NDArray[np.int64], key: tuple[int, ...]) -> int:
    return bisect_right(range(len(keys)), key, key=lambda row: tuple(keys[row]))


def _sorted(table: Any) -> Any:
    return table.take(pa.array(np.lexsort(_keys(table).T[::-1])))


def _firsts(tables: Iterable[Any]) -> Iterator[Any]:
    """Of sorted rows with the same ends the first one."""
    before = np.full(len(ENDS), -1)
    for table in tables:
        ends = _keys(table)[:, : len(ENDS)]
        fresh = (ends != np.concatenate([before[None], ends[:-1]])).any(axis=1)
        yield table.filter(pa.array(fresh))
        before = ends[-1]
