"""Make the tasks of a run over pairs, those that read its input and those that align what a run has left, and hear what becomes of them (EXECUTION.md 15)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf
from typing import Any

from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Task
from tidalign.pipeline.device import Device
from tidalign.pipeline.pairs.input.index import Blocks, PairBlock
from tidalign.pipeline.pairs.input.read import PairSource, blocks, stream_blocks
from tidalign.pipeline.pairs.manifest import BlockRecord, Check, ChunkRecord, PairManifest, read_block_record
from tidalign.pipeline.pairs.partition import partition_block, write_block
from tidalign.pipeline.store.parts import gaps
from tidalign.workflows.run.crew import Crew, Repeated
from tidalign.workflows.run.isolate import CHILD_HANG_SECONDS, HANG_SECONDS
from tidalign.workflows.run.pairs.isolate import isolate_range
from tidalign.workflows.run.pairs.tasks import SECONDS_PER_WORK, RowRange, align_ranges, patience
from tidalign.workflows.run.shard import Shard
from tidalign.workflows.run.tracker import OnProgress, Tracker

GROUPS, LEAST_GROUPS, LEAST_ROWS = 8, 2, 32
"""Tasks that each GPU gets, at least, so that all are done at about the same time: of pairs that are so few that a task has fewer than LEAST_ROWS,
LEAST_GROUPS, as a GPU is slow at few long ones."""


class Alignment(Tracker[RowRange]):
    """Makes the tasks that align what a run's parts do not hold yet: of all blocks that were read (`add`), or of each as it is (`found`)."""

    stage = "align"

    def __init__(
        self, directory: str, run: str, settings: dict[str, Any], stop: Stop, told: OnProgress, device: Device, gpus: int = 1, at_once: int = 1, beside: int = 0
    ) -> None:
        """Begin with nothing known of the input."""
        super().__init__(directory, run, stop, self._tell, device, gpus, beside)
        self._tell_all = told
        self._parameters, self._at_once = settings, at_once + beside
        self._chunks: dict[str, ChunkRecord] = {}
        self._share: dict[str, tuple[int, int]] = {}
        self._waiting: list[RowRange] = []
        self._rows, self.rejectable = 0, 100
        self.finest = inf
        """Estimated seconds of what is cut no further, where a block is to keep several threads busy."""
        self.expected: int | None = 0
        """Pairs that there will be; None while nobody knows."""
        self.by_host = 0
        """Pairs that the host took for a GPU."""

    def add(self, manifest: PairManifest, shard: Shard | None = None) -> None:
        """Add all of a run that was read to what is to be aligned, or this shard's part of it."""
        self._chunks = {chunk["id"]: chunk for record in manifest.blocks for chunk in record["chunks"]}
        rows = {name: (chunk["rows"], chunk["work"]) for name, chunk in self._chunks.items()}
        self._share = shard.ranges(rows) if shard else {name: (0, count) for name, (count, _) in rows.items()}
        self._waiting.clear()
        self._rows, self.expected = sum(stop - start for start, stop in self._share.values()), 0
        self.rejectable = max(100, manifest.pairs // 10_000)

    def _tell(self, stage: str, done: int, total: int | None) -> None:
        """Tell progress in what there will be, not in what was read so far."""
        if self.expected is None:
            total = None
        elif total is not None and self.expected > self._rows:
            total = int(total * self.expected / self._rows)
        self._tell_all(stage, done, total)

    def found(self, records: Sequence[BlockRecord]) -> Iterable[Task]:
        """Make tasks of blocks that have just been read, of all of them together: those that go first would be all that is given out before one is written."""
        for record in records:
            chunks = {chunk["id"]: chunk for chunk in record["chunks"]}
            self._chunks |= chunks
            self._share |= {name: (0, chunk["rows"]) for name, chunk in chunks.items()}
            pieces = list(self._lacking(chunks))
            self._rows += record["pairs"]
            self._finished += record["pairs"] - sum(map(self.amount, pieces))
            self.rejectable = max(100, self._rows // 10_000)
            self._work += sum(map(self.weight, pieces))
            for piece in pieces:
                count = min(piece.stop - piece.start, ceil(self.weight(piece) / self.finest) or 1)
                edges = [piece.start + (piece.stop - piece.start) * place // count for place in range(count + 1)]
                self._waiting += [piece.cut(start, stop, None) for start, stop in pairwise(edges)]
        self.tell()
        return self._begun()

    def done(self, task: Task, result: Any) -> Iterable[Task]:
        return [*super().done(task, result), *self._begun()]

    def _begun(self) -> list[Task]:
        """Make tasks of what waits: at once for cores; for GPUs when they have little left to do, so that what was read meanwhile shares calls."""
        if self.device.task_rows:
            given = sum(self._units(piece) for pieces in self._running.values() for piece in pieces)
            if len(self._running) >= self._at_once or given >= 2 * self.device.batch_work * self.gpus:
                return []
        pieces, self._waiting = self._waiting, []
        return self._made(pieces)

    def longest(self) -> int:
        """Tell the letters of the longest sequence of the run."""
        return max((record["longest"] for record in self._chunks.values()), default=0)

    def missing(self) -> Iterable[RowRange]:
        return self._lacking(self._share)

    def _lacking(self, chunks: Iterable[str]) -> Iterable[RowRange]:
        for chunk in chunks:
            begin, end = self._share[chunk]
            done = [(part.start, part.stop) for part in self.parts.get(chunk, [])]
            for start, stop in gaps(begin, end, done):
                yield RowRange(chunk, start, stop)

    def amount(self, piece: RowRange) -> float:
        return piece.stop - piece.start

    def total(self) -> float:
        return float(self._rows)

    def _units(self, piece: RowRange) -> float:
        """Estimate the work (pipeline/pairs/aligner.py)."""
        record = self._chunks[piece.chunk]
        return float(record["work"] * (piece.stop - piece.start) / record["rows"])

    def weight(self, piece: RowRange) -> float:
        return self._units(piece) * SECONDS_PER_WORK

    def patience(self, pieces: Sequence[RowRange], device: Device) -> float:
        return patience(sum(map(self._units, pieces)) / device.speed, HANG_SECONDS)

    def call(self, pieces: Sequence[RowRange], device: Device) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return align_ranges, (self.directory, self.run, self._parameters, pieces, device.name)

    def isolation(self, piece: RowRange, most: int) -> tuple[Callable[..., int], tuple[Any, ...]]:
        return isolate_range, (self.directory, self.run, self._parameters, piece.chunk, piece.start, piece.stop, CHILD_HANG_SECONDS, most)

    def counted(self, pieces: Sequence[RowRange], result: Any) -> dict[str, Any]:
        seconds, by_host = result
        self.by_host += by_host
        return {"seconds": round(seconds, 3)}

    def grouped(self, pieces: list[RowRange]) -> Iterable[list[RowRange]]:
        """Make one task for each piece on a core; on a GPU several share one, those of like lengths together."""
        if not self.device.task_rows:
            return super().grouped(pieces)
        pieces, alone = self.for_gpus(sorted(pieces, key=lambda each: self._chunks[each.chunk]["longest"], reverse=True))
        units, count = sum(map(self._units, pieces)), sum(map(self.amount, pieces))
        tasks, least = GROUPS * self.gpus, min(LEAST_ROWS, count / (LEAST_GROUPS * self.gpus))
        enough, most = (units / tasks, count / tasks), (self.device.task_work, self.device.task_rows)
        groups: list[list[RowRange]] = []
        full = True
        for each in pieces:
            if full:
                groups.append([])
                units = count = 0.0
            groups[-1].append(each)
            units, count = units + self._units(each), count + self.amount(each)
            full = units >= most[0] or count >= most[1] or (count >= least and (units >= enough[0] or count >= enough[1]))
        return [*groups, *super().grouped(alone)]


FINEST_SECONDS, FINEST_SHARE = 0.2, 8
"""Estimated seconds of a task where this process does all of the work, at least, and how many of a block a thread gets, at most: each writes a part."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """Says how what was read is aligned while more is read.

    prepare: has ready what aligns sequences of so many letters, in this process. much: seconds of one core, by estimate, from which on workers are hired, and
    below which this process does all of it; None: that is settled. With a GPU it begins whatever will be.
    """

    tracker: Alignment
    prepare: Callable[[int], object]
    much: float | None


class Reading(Repeated):
    """Makes the tasks that count, read and pack the input, and hears of them and of those that align.

    planned: blocks that are known from an earlier call. check: may refuse a block that is read. aligned: None where nothing is aligned meanwhile.
    """

    def __init__(
        self, crew: Crew, source: PairSource, told: OnProgress, planned: Sequence[PairBlock] | None, check: Check, aligned: Aligned | None = None
    ) -> None:
        super().__init__(crew.directory)
        self._crew, self._source, self._told, self._planned, self._check, self._aligned = crew, source, told, planned, check, aligned
        self._blocks: Blocks | None = None if planned else blocks(source)
        self._stream: Iterator[tuple[PairBlock, Any]] = iter(())
        self._settled = aligned is not None and aligned.much is None
        self._held: list[BlockRecord] = []
        self._asked = self._ready = -1  # bits of the lengths up to which what aligns is to be ready, and is
        self._pairs = 0
        self._estimated = self._share = 0.0
        self.records: list[BlockRecord] = []

    def tasks(self) -> list[Task]:
        """Make the tasks to begin with."""
        self._expect()
        tasks = self._preparing(0)
        if self._blocks:
            return [*tasks, *(Task(f"count-{place}", _placed, (place, *call), kind="here") for place, call in enumerate(self._blocks.tasks))]
        if self._planned and self._source.has_ranges:
            return [*tasks, *(task for block in self._planned for task in self._of(block))]
        self._stream = stream_blocks(self._source)
        return [*tasks, Task("read", next, (self._stream, None), kind="here")]

    def done(self, task: Task, result: Any) -> Iterable[Task]:
        if task.kind == "work" and self._aligned:
            self._aligned.tracker.workers = self._crew.size
            return self._aligned.tracker.done(task, result)
        if task.function is partition_block or task.function is write_block:
            return self._read(result)
        if task.function is next:
            return self._streamed(result)
        if task.function is _placed and self._blocks:
            known = self._blocks.hear(*result)
            self._expect()
            return [new for block in known for new in self._of(block)]
        self._ready = max(self._ready, task.arguments[0].bit_length())
        return self._released()

    def _expect(self) -> None:
        """Report how many pairs there are, as far as is known."""
        pairs = self._blocks.pairs if self._blocks else sum(block.pairs for block in self._planned) if self._planned else None
        if self._aligned:
            self._aligned.tracker.expected = pairs
        self._told("partition", self._pairs, pairs)

    def _of(self, block: PairBlock) -> Iterable[Task]:
        """Make the task that reads a block, unless that was done."""
        if record := read_block_record(self._crew.directory, block.id):
            return self._read(record)
        # First: what is wrong with the input is told early, and who is free reads or aligns all the same.
        return [Task(f"partition-{block.id}", partition_block, (self._crew.directory, self._source, block), inf, kind="read")]

    def _streamed(self, read: tuple[PairBlock, Any] | None) -> Iterable[Task]:
        """Write what was read before, and read more only beside that."""
        if read is None:
            self._settled = True
            return self._released()
        writing = Task(f"partition-{read[0].id}", write_block, (self._crew.directory, self._source, *read), 1.0, kind="here")
        return [writing, Task("read", next, (self._stream, None), kind="here")]

    def _read(self, record: BlockRecord) -> Iterable[Task]:
        self._check([record])
        self.records.append(record)
        self._pairs += record["pairs"]
        self._expect()
        self._held.append(record)
        self._settle(record)
        return self._released()

    def _settle(self, record: BlockRecord) -> None:
        """Hire workers where much is to be aligned: as much a byte as of what was read, or, of an input that is read in sequence, what was read."""
        if self._settled or not self._aligned:
            return
        self._estimated += (seconds := sum(chunk["work"] for chunk in record["chunks"]) * SECONDS_PER_WORK)
        self._share += self._blocks.share(PairBlock.from_json(record)) if self._blocks else 1.0
        on_gpu = self._aligned.tracker.device.takes_gpu
        if self._estimated > (self._aligned.much or 0.0) * min(1.0, self._share):
            self._crew.begin_to_hire(working=on_gpu)
        self._aligned.tracker.finest = inf if on_gpu or self._crew.hiring else max(FINEST_SECONDS, seconds / (FINEST_SHARE * self._crew.threads))
        # With a GPU work begins whatever will be, so longer pairs that follow may still be worth workers.
        self._settled = self._crew.hiring or (self._blocks is not None and not on_gpu)

    def _released(self) -> list[Task]:
        """Make tasks of what was read, once what aligns is ready: loaded, or compiled once for all workers."""
        if not self._aligned or not (self._settled or self._aligned.tracker.device.takes_gpu):
            return []
        tasks, ready, held, self._held = list[Task](), list[BlockRecord](), self._held, []
        for record in held:
            longest = max((chunk["longest"] for chunk in record["chunks"]), default=0)
            if longest.bit_length() <= self._ready:
                ready.append(record)
            else:
                self._held.append(record)
                tasks += self._preparing(longest)
        return [*tasks, *(self._aligned.tracker.found(ready) if ready else ())]

    def _preparing(self, longest: int) -> list[Task]:
        """Make the task that has ready what aligns sequences of up to so many letters, unless one of longer ones does."""
        bits = longest.bit_length()
        if not self._aligned or bits <= self._asked:
            return []
        self._asked = bits
        return [Task(f"prepare-{bits}", self._aligned.prepare, (longest,), inf, kind="here")]

    def died(self, task: Task, killed: bool) -> Iterable[Task]:
        return self._aligned.tracker.died(task, killed) if task.kind == "work" and self._aligned else super().died(task, killed)

    def failed(self, task: Task, error: BaseException) -> Iterable[Task]:
        return self._aligned.tracker.failed(task, error) if task.kind == "work" and self._aligned else super().failed(task, error)


def _placed(place: int, function: Callable[[Any], Any], argument: Any) -> tuple[int, Any]:
    return place, function(argument)
