"""Align what a run over pairs has left: which rows share a task, and the pairs that kill their process, which get a row that says so."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tidalign.cluster.gpus import TASKS_OF_A_CARD
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Task
from tidalign.pipeline.device import CPU, Device
from tidalign.pipeline.pairs.aligner import described, longest, rejected, work, write_rows
from tidalign.pipeline.pairs.manifest import BlockRecord, ChunkRecord, PairManifest
from tidalign.pipeline.pairs.partition import read_chunk
from tidalign.pipeline.store.parts import gaps, part_path, read_part
from tidalign.workflows.run.child import try_in_child
from tidalign.workflows.run.isolate import isolate
from tidalign.workflows.run.pairs.tasks import RowRange, align_ranges
from tidalign.workflows.run.shard import Shard
from tidalign.workflows.run.tracker import Told, Tracker

SECONDS_PER_WORK = 1e-8
"""Nominal speed of one core; see pipeline/pairs/aligner.py for what a unit is."""


def patience(work_units: float, floor: float) -> float:
    """Tell the seconds of CPU time after which rows of that much estimated work count as hanging.

    The estimate is for 10 % divergence; unrelated sequences take a hundred times it.
    """
    return max(floor, 100 * SECONDS_PER_WORK * work_units)


def isolate_range(directory: str, run: str, parameters: dict[str, Any], chunk: str, start: int, stop: int, floor: float, most: int) -> int:
    """Write parts for all rows [start, stop) of a chunk; ranges hang after `patience(.., floor)`.

    Returns the number of pairs rejected; TooManyRejected where there are more than `most`.
    """
    pairs = read_chunk(directory, chunk, start, stop)
    weights = work(described(parameters)[0], pairs)

    def attempt(a: int, b: int) -> str | None:
        if read_part(part_path(f"{directory}/parts", chunk, a, b), run):
            return None
        seconds = patience(float(weights[a - start : b - start].sum()), floor)
        return try_in_child("rows", [directory, run, parameters, chunk, a, b], seconds)

    def reject(a: int, reason: str) -> None:
        write_rows(directory, run, chunk, a, a + 1, rejected(pairs.slice(a - start, 1), reason))

    return isolate(start, stop, attempt, reject, most, directory, "pairs")


def do(order: Any, begun: Callable[[], object]) -> None:
    """Align one range of rows and write its part; in a child."""
    directory, run, parameters, chunk, start, stop = order
    aligner, settings = described(parameters)
    aligner.on(CPU).warm_up(settings, longest(read_chunk(directory, chunk, start, stop)))
    begun()
    align_ranges(directory, run, parameters, [RowRange(chunk, start, stop)])


PATIENCE = 60.0
"""Least seconds of CPU time without progress after which a task hangs."""

CHILD_PATIENCE = 20.0
"""The same for a range tried in a process of its own, which has loaded everything by then."""

GROUPS = 8
"""Tasks that each GPU gets, at least, so that all are done at about the same time."""


class Alignment(Tracker[RowRange]):
    """Makes the tasks that align what a run's parts do not hold yet: of all blocks that were read (`add`), or of each as it is (`found`)."""

    stage = "align"

    def __init__(self, directory: str, run: str, parameters: dict[str, Any], stop: Stop, told: Told, device: Device, gpus: int = 1) -> None:
        super().__init__(directory, run, stop, self._tell)
        self._tell_all = told
        self._parameters, self._device, self._gpus = parameters, device, gpus
        self._chunks: dict[str, ChunkRecord] = {}
        self._share: dict[str, tuple[int, int]] = {}
        self._waiting: list[RowRange] = []
        self.expected: int | None = 0
        """Pairs that there will be; None while nobody knows."""
        self.by_host = 0
        """Pairs that the host took for a GPU."""

    def add(self, manifest: PairManifest, shard: Shard | None = None) -> None:
        """Have all of a run that was read be aligned, or its share."""
        self._chunks = {chunk["id"]: chunk for record in manifest.blocks for chunk in record["chunks"]}
        rows = {name: (chunk["rows"], chunk["work"]) for name, chunk in self._chunks.items()}
        self._share = shard.ranges(rows) if shard else {name: (0, count) for name, (count, _) in rows.items()}
        self.expected = 0

    @property
    def rejectable(self) -> int:  # type: ignore[override]
        return max(100, sum(chunk["rows"] for chunk in self._chunks.values()) // 10_000)

    def _tell(self, stage: str, done: int, total: int | None) -> None:
        """Tell progress in what there will be, not in what was read so far."""
        known = self.total()
        if self.expected is None:
            total = None
        elif total is not None and self.expected > known:
            total = int(total * self.expected / known)
        self._tell_all(stage, done, total)

    def found(self, record: BlockRecord) -> Iterable[Task]:
        """Make tasks of a block that has just been read."""
        chunks = {chunk["id"]: chunk for chunk in record["chunks"]}
        self._chunks |= chunks
        self._share |= {name: (0, chunk["rows"]) for name, chunk in chunks.items()}
        pieces = list(self._lacking(chunks))
        self._finished += sum(chunk["rows"] for chunk in chunks.values()) - sum(map(self.amount, pieces))
        self._work += sum(map(self.weight, pieces))
        self._waiting += pieces
        self.tell()
        return self._begun()

    def done(self, task: Task, result: Any) -> Iterable[Task]:
        return [*super().done(task, result), *self._begun()]

    def _begun(self) -> list[Task]:
        """Make tasks of what waits: at once for cores; for a GPU when it has little left to do, so that what was read meanwhile shares tasks."""
        if self._device.task_rows and len(self._running) >= TASKS_OF_A_CARD * self._gpus:
            return []
        pieces, self._waiting = self._waiting, []
        return self._made(pieces)

    def work_of(self, record: BlockRecord) -> float:
        """Estimate the seconds that a block takes one core."""
        return sum(chunk["work"] for chunk in record["chunks"]) * SECONDS_PER_WORK

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
        return float(sum(stop - start for start, stop in self._share.values()))

    def _units(self, piece: RowRange) -> float:
        """Estimate the work (pipeline/pairs/aligner.py)."""
        record = self._chunks[piece.chunk]
        return float(record["work"] * (piece.stop - piece.start) / record["rows"])

    def weight(self, piece: RowRange) -> float:
        return self._units(piece) * SECONDS_PER_WORK

    def patience(self, pieces: Sequence[RowRange]) -> float:
        return patience(sum(map(self._units, pieces)), PATIENCE)

    def call(self, pieces: Sequence[RowRange]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return align_ranges, (self.directory, self.run, self._parameters, pieces, self._device.name)

    def isolation(self, piece: RowRange, most: int) -> tuple[Callable[..., int], tuple[Any, ...]]:
        return isolate_range, (self.directory, self.run, self._parameters, piece.chunk, piece.start, piece.stop, CHILD_PATIENCE, most)

    def counted(self, pieces: Sequence[RowRange], result: Any) -> dict[str, Any]:
        seconds, by_host = result
        self.by_host += by_host
        return {"seconds": round(seconds, 3)}

    def written(self, piece: RowRange) -> bool:
        return read_part(part_path(f"{self.directory}/parts", piece.chunk, piece.start, piece.stop), self.run) is not None

    def grouped(self, pieces: list[RowRange]) -> Iterable[list[RowRange]]:
        """Make one task for each piece on a core; on a GPU several share one, those of like lengths together."""
        if not self._device.task_rows:
            return super().grouped(pieces)
        pieces = sorted(pieces, key=lambda each: self._chunks[each.chunk]["longest"], reverse=True)
        units, count = sum(map(self._units, pieces)), sum(map(self.amount, pieces))
        tasks = GROUPS * self._gpus
        most = min(self._device.task_work, units / tasks), min(self._device.task_rows, count / tasks)
        groups: list[list[RowRange]] = []
        full = True
        for each in pieces:
            if full:
                groups.append([])
                units = count = 0.0
            groups[-1].append(each)
            units, count = units + self._units(each), count + self.amount(each)
            full = units >= most[0] or count >= most[1]
        return groups
