"""The alignment stage of a run over pairs: which rows are left, and which of them share a task."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tidalign.cluster.stop import Stop
from tidalign.pipeline.pairs.align import Device
from tidalign.pipeline.store.parts import part_path, read_part
from tidalign.pipeline.store.ranges import gaps
from tidalign.workflows.run.pairs.isolate import SECONDS_PER_WORK, isolate_range, patience
from tidalign.workflows.run.pairs.tasks import RowRange, align_ranges
from tidalign.workflows.run.tracker import Told, Tracker

PATIENCE = 60.0
"""Least seconds of CPU time without progress after which a task hangs."""

CHILD_PATIENCE = 20.0
"""The same for a range tried in a process of its own, which has loaded everything by then."""

GROUP_WORK = 1e11
GROUP_ROWS = 1 << 21
"""Estimated work and rows that a GPU gets as one task, at most: a second or more, within which all reading and writing hides behind the device."""

GROUPS = 4
"""Tasks that each GPU gets, at least, so that all are done at about the same time."""


class Alignment(Tracker[RowRange]):
    """Tasks that align what a run's parts do not hold yet."""

    stage = "align"

    def __init__(self, directory: str, manifest: dict[str, Any], stop: Stop, told: Told, device: Device, gpus: int = 1) -> None:
        super().__init__(directory, manifest["run"], stop, told)
        self._parameters, self._pairs, self._device, self._gpus = manifest["parameters"], manifest["pairs"], device, gpus
        self._chunks = {chunk["id"]: chunk for record in manifest["blocks"] for chunk in record["chunks"]}
        self.rejectable = max(100, self._pairs // 10_000)
        self.by_host = 0
        """Pairs that the host took for a GPU."""

    def longest(self) -> int:
        """Letters of the longest sequence of the run."""
        return max((record["longest"] for record in self._chunks.values()), default=0)

    def missing(self) -> Iterable[RowRange]:
        for chunk, record in self._chunks.items():
            done = [(part.start, part.stop) for part in self.parts.get(chunk, [])]
            for start, stop in gaps(0, record["rows"], done):
                yield RowRange(chunk, start, stop)

    def amount(self, piece: RowRange) -> float:
        return piece.stop - piece.start

    def total(self) -> float:
        return float(self._pairs)

    def _units(self, piece: RowRange) -> float:
        """Estimated work (pipeline/pairs/work.py)."""
        record = self._chunks[piece.chunk]
        return float(record["work"] * (piece.stop - piece.start) / record["rows"])

    def weight(self, piece: RowRange) -> float:
        return self._units(piece) * SECONDS_PER_WORK

    def patience(self, pieces: Sequence[RowRange]) -> float:
        return patience(sum(map(self._units, pieces)), PATIENCE)

    def call(self, pieces: Sequence[RowRange]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return align_ranges, (self.directory, self.run, self._parameters, pieces, self._device)

    def isolation(self, piece: RowRange, most: int) -> tuple[Callable[..., int], tuple[Any, ...]]:
        return isolate_range, (self.directory, self.run, self._parameters, piece.chunk, piece.start, piece.stop, CHILD_PATIENCE, most)

    def counted(self, pieces: Sequence[RowRange], result: Any) -> dict[str, Any]:
        seconds, by_host = result
        self.by_host += by_host
        return {"seconds": round(seconds, 3)}

    def written(self, piece: RowRange) -> bool:
        return read_part(part_path(f"{self.directory}/parts", piece.chunk, piece.start, piece.stop), self.run) is not None

    def grouped(self, pieces: list[RowRange]) -> Iterable[list[RowRange]]:
        """One task for each piece on a core; on a GPU several share one, those of like lengths together."""
        if self._device == "cpu":
            return super().grouped(pieces)
        pieces = sorted(pieces, key=lambda each: self._chunks[each.chunk]["longest"], reverse=True)
        units, count = sum(map(self._units, pieces)), sum(map(self.amount, pieces))
        tasks = GROUPS * self._gpus
        most = min(GROUP_WORK, units / tasks), min(GROUP_ROWS, count / tasks)
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
