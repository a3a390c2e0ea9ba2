"""Read the input of a run over pairs, and align what was read meanwhile (EXECUTION.md 15): what counts, reads and packs is told here, and makes what aligns."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tidalign.cluster.task import Task
from tidalign.pipeline.pairs.input.blocks import Block, Blocks
from tidalign.pipeline.pairs.input.read import Source, blocks, stream_blocks
from tidalign.pipeline.pairs.manifest import BlockRecord, read_block_record
from tidalign.pipeline.pairs.partition import partition_block, write_block
from tidalign.workflows.run.crew import Crew, Repeated
from tidalign.workflows.run.pairs.alignment import Alignment
from tidalign.workflows.run.tracker import Told

SECONDS_PER_PAIR = 2e-6
"""Nominal, of reading and packing: less than aligning takes, which goes first, so that chunks are read again soon after they were written."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """How what was read is aligned meanwhile.

    prepare: has ready what aligns sequences of so many letters, in this process. much: seconds of one core, by estimate, from which on workers are hired, and
    below which this process does all of it; None: that is settled.
    """

    tracker: Alignment
    prepare: Callable[[int], object]
    much: float | None


class Reading(Repeated):
    """Makes the tasks that count, read and pack the input, and hears what becomes of them, and of those that align.

    planned: blocks that are known from an earlier call. aligned: None where nothing is aligned meanwhile.
    """

    def __init__(self, crew: Crew, source: Source, told: Told, planned: Sequence[Block] | None, aligned: Aligned | None = None) -> None:
        super().__init__(crew.directory)
        self._crew, self._source, self._told, self._planned, self._aligned = crew, source, told, planned, aligned
        self._blocks: Blocks | None = None if planned else blocks(source)
        self._stream: Iterator[tuple[Block, Any]] = iter(())
        self._settled = aligned is not None and aligned.much is None
        self._held: list[BlockRecord] = []
        self._prepared: dict[int, bool] = {}
        self._pairs = 0
        self._estimated = 0.0
        self.records: list[BlockRecord] = []

    def tasks(self) -> list[Task]:
        """Make the tasks to begin with."""
        self._expect()
        if self._planned and self._source.has_ranges:
            return [task for block in self._planned for task in self._of(block)]
        if self._blocks is None:
            self._stream = stream_blocks(self._source)
            return [self._next()]
        return [Task(f"count-{place}", _placed, (place, *call), kind="here") for place, call in enumerate(self._blocks.tasks)]

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
        self._prepared[result] = True
        return self._released()

    def _expect(self) -> None:
        """Say how many pairs there are, as far as is known."""
        pairs = self._blocks.pairs if self._blocks else sum(block.pairs for block in self._planned) if self._planned else None
        if self._aligned:
            self._aligned.tracker.expected = pairs
        self._told("partition", self._pairs, pairs)

    def _of(self, block: Block) -> Iterable[Task]:
        """Make the task that reads a block, unless that was done."""
        if record := read_block_record(self._crew.directory, block.id):
            return self._read(record)
        weight = block.pairs * SECONDS_PER_PAIR
        return [Task(f"partition-{block.id}", partition_block, (self._crew.directory, self._source, block), weight, kind="read")]

    def _next(self) -> Task:
        return Task("read", next, (self._stream, None), kind="here")

    def _streamed(self, read: tuple[Block, Any] | None) -> Iterable[Task]:
        """What was read before is written before more is read than is written beside it."""
        if read is None:
            self._settled = True
            return self._released()
        return [Task(f"partition-{read[0].id}", write_block, (self._crew.directory, self._source, *read), 1.0, kind="here"), self._next()]

    def _read(self, record: BlockRecord) -> Iterable[Task]:
        self.records.append(record)
        self._pairs += record["pairs"]
        self._expect()
        if not self._aligned:
            return ()
        self._held.append(record)
        self._settle(record)
        return self._released()

    def _settle(self, record: BlockRecord) -> None:
        """Hire workers where much is to be aligned: as much a pair as of this block, or, of an input that is read in sequence, what was read."""
        if self._settled or not self._aligned:
            return
        self._estimated += self._aligned.tracker.work_of(record)
        share = self._blocks.share(Block.from_json(record)) if self._blocks else 1.0
        if self._estimated > (self._aligned.much or 0.0) * min(1.0, share):
            self._crew.begin_to_hire()
        self._settled = self._crew.hiring or self._blocks is not None

    def _released(self) -> list[Task]:
        """Make tasks of what was read, once what aligns is ready: loaded, or compiled once for all workers."""
        if not self._settled or not self._aligned:
            return []
        tasks: list[Task] = []
        held, self._held = self._held, []
        for record in held:
            longest = max((chunk["longest"] for chunk in record["chunks"]), default=0)
            kind = longest.bit_length()
            if self._prepared.get(kind):
                tasks += self._aligned.tracker.found(record)
                continue
            self._held.append(record)
            if kind not in self._prepared:
                self._prepared[kind] = False
                tasks.append(Task(f"prepare-{kind}", _prepared, (self._aligned.prepare, longest, kind), float("inf"), kind="here"))
        return tasks

    def died(self, task: Task, killed: bool) -> Iterable[Task]:
        return self._aligned.tracker.died(task, killed) if task.kind == "work" and self._aligned else super().died(task, killed)

    def failed(self, task: Task, error: BaseException) -> Iterable[Task]:
        return self._aligned.tracker.failed(task, error) if task.kind == "work" and self._aligned else super().failed(task, error)


def _placed(place: int, function: Callable[[Any], Any], argument: Any) -> tuple[int, Any]:
    return place, function(argument)


def _prepared(prepare: Callable[[int], object], longest: int, kind: int) -> int:
    prepare(longest)
    return kind
