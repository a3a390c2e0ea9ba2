"""What runs on a worker: rows of chunks in, parts out. The run directory says everything else.

Reading, aligning and writing overlap: rows that come next are read while a batch is aligned, and what was aligned before becomes text and files.
"""

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.cluster.worker import inject, logged
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.runtime.fault import fault
from tidalign.kernels.wavefront.alignments import Alignments, part_of
from tidalign.pipeline.device import CPU, DEVICES, Device, DeviceName
from tidalign.pipeline.pairs.aligner import Aligner, alignments, batches, described, longest, rows, work, write_rows
from tidalign.pipeline.pairs.pack import sides
from tidalign.pipeline.pairs.partition import read_chunk
from tidalign.pipeline.store import claims
from tidalign.pipeline.store.parts import part_path, read_part
from tidalign.workflows.run import handover


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows [start, stop) of a chunk. claim: path of the claim that says which of them are being aligned, kept if the process dies at it;
    None where someone else watches."""

    chunk: str
    start: int
    stop: int
    claim: str | None = None

    @property
    def stage(self) -> str:
        """Name the only sort of work that there is."""
        return "align"

    def cut(self, start: int, stop: int, claim: str | None) -> "RowRange":
        """Cut out rows [start, stop) alone."""
        return RowRange(self.chunk, start, stop, claim)


def align_ranges(directory: str, run: str, parameters: dict[str, Any], ranges: Sequence[RowRange], device: DeviceName = CPU.name) -> tuple[float, int]:
    """Align ranges of rows, in order, and write a part for each; returns the seconds it took, and how many pairs the host took for a GPU. A part that is
    there already is left alone."""
    began, by_host = time.perf_counter(), 0
    todo = [each for each in ranges if not read_part(part_path(f"{directory}/parts", each.chunk, each.start, each.stop), run)]
    if todo:
        pipeline = _Pipeline(directory, run, *described(parameters), DEVICES[device])
        try:
            with logged(f"{directory}/logs", f"{todo[0].chunk}.{todo[0].start}-{todo[0].stop} and {len(todo) - 1} more"):
                pipeline.align(todo)
            by_host = pipeline.by_host
        except KernelError:
            handover.give_way()  # the claims stay
            raise
        finally:
            if DEVICES[device].takes_gpu:
                handover.give_back()
    return time.perf_counter() - began, by_host


@dataclass(slots=True)
class _Open:
    """A range being aligned: its rows, how many batches they make, and what is there of them."""

    rows: RowRange
    table: Any
    batches: int
    found: list[tuple[int, int, Alignments]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Rows [start, stop) of an open range, which go into one batch."""

    of: _Open
    start: int
    stop: int
    work: float


class _Pipeline:
    """Reads, aligns and writes ranges of rows side by side: others are read and written while a batch is on the device."""

    def __init__(self, directory: str, run: str, aligner: Aligner[Any], settings: Any, device: Device) -> None:
        self._directory, self._run, self._aligner, self._settings, self._device = directory, run, aligner, settings, device
        self._pieces: deque[_Piece] = deque()
        self._reading: deque[tuple[RowRange, Future[Any]]] = deque()
        self._writing: deque[Future[None]] = deque()
        self.by_host = 0

    def align(self, ranges: Sequence[RowRange]) -> None:
        coming = iter(ranges)
        with ThreadPoolExecutor(self._device.readers) as readers, ThreadPoolExecutor(self._device.writers) as writers:
            try:
                while True:
                    while len(self._reading) <= self._device.ahead and (each := next(coming, None)):
                        self._reading.append((each, readers.submit(read_chunk, self._directory, each.chunk, each.start, each.stop)))
                    if not (batch := self._next_batch()):
                        break
                    self._align(batch)
                    for done in {id(piece.of): piece.of for piece in batch}.values():
                        if len(done.found) == done.batches:
                            self._writing.append(writers.submit(self._write, done))
                    while self._writing and (len(self._writing) > 2 * self._device.writers or self._writing[0].done()):
                        self._writing.popleft().result()
                while self._writing:
                    self._writing.popleft().result()
            except BaseException:
                for pool in (readers, writers):
                    pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _next_batch(self) -> list[_Piece]:
        """Take pieces that are read already, as many as a batch takes; waits for one if there is none."""
        batch: list[_Piece] = []
        units, count = 0.0, 0
        while self._pieces or self._reading:
            if not self._pieces:
                if batch and not self._reading[0][1].done():
                    break
                self._cut(*self._reading.popleft())
            piece = self._pieces[0]
            units, count = units + piece.work, count + piece.stop - piece.start
            if batch and (units > self._device.batch_work or count > self._device.batch_rows):
                break
            batch.append(self._pieces.popleft())
        return batch

    def _cut(self, each: RowRange, read: Future[Any]) -> None:
        table = read.result()
        self._aligner.on(self._device).warm_up(self._settings, longest(table))  # no batch is to blame for what this takes
        weights = work(self._aligner, table)
        bounds = batches(weights, self._device)
        begun = _Open(each, table, len(bounds))
        self._pieces.extend(_Piece(begun, start, stop, float(weights[start:stop].sum())) for start, stop in bounds)

    def _align(self, batch: list[_Piece]) -> None:
        table = pa.concat_tables([piece.of.table.slice(piece.start, piece.stop - piece.start) for piece in batch])
        try:
            pairs = sides(table, plain=self._settings.plain)  # before the device is held: others align meanwhile
        except MemoryError:
            self._claim(batch)
            raise
        try:
            with self._device.turn(self._beside(table)):
                self._claim(batch)
                inject(lambda: map(str, table["ordinal"].to_pylist()), fault if self._device.takes_gpu else lambda: None)
                found = alignments(self._aligner, pairs, self._settings, self._device)
                self._withdraw(batch)
        except (MemoryError, KernelError):
            raise  # claims that were written stay: the batch is to blame
        except BaseException:
            self._withdraw(batch)
            raise
        self.by_host += found.by_host
        first = 0
        for piece in batch:
            stop = first + piece.stop - piece.start
            piece.of.found.append((piece.start, piece.stop, part_of(found, first, stop)))
            first = stop

    def _beside(self, table: Any) -> int:
        """Tell how many other batches the device may have beside these pairs."""
        beside = self._aligner.on(self._device).beside
        longer = np.maximum(*(table[f"{side}_length"].to_numpy() for side in ("query", "target")))
        return beside(self._settings, int(longer.min())) if beside else 0

    def _claim(self, batch: list[_Piece]) -> None:
        for piece in batch:
            if claim := piece.of.rows.claim:
                claims.write(claim, piece.of.rows.start + piece.start, piece.of.rows.start + piece.stop)

    def _withdraw(self, batch: list[_Piece]) -> None:
        for piece in batch:
            if piece.of.rows.claim:
                claims.remove(piece.of.rows.claim)

    def _write(self, done: _Open) -> None:
        where = done.rows
        try:
            tables = [rows(self._aligner, done.table.slice(start, stop - start), found) for start, stop, found in done.found]
            done.found.clear()
            write_rows(self._directory, self._run, where.chunk, where.start, where.stop, pa.concat_tables(tables))
        except MemoryError:
            if where.claim:
                claims.write(where.claim, where.start, where.stop)
            raise


SECONDS_PER_WORK = 1e-8
"""Nominal speed of one core; see pipeline/pairs/aligner.py for what a unit is."""


def patience(work_units: float, floor: float) -> float:
    """Tell the seconds of CPU time after which rows of that much estimated work count as hanging.

    The estimate is for 10 % divergence; unrelated sequences take a hundred times it.
    """
    return max(floor, 100 * SECONDS_PER_WORK * work_units)
