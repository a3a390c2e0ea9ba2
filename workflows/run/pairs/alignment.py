"""The alignment stage of a run: which rows are left, what to make of a worker's death, and which pairs to give up."""

import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tidalign.cluster.errors import ClusterLost, NoWorkers
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Task
from tidalign.pipeline.pairs.align import Device
from tidalign.pipeline.store import claims, parts, rundir
from tidalign.pipeline.store.ranges import Range, gaps, suspects
from tidalign.workflows.run.isolate import TooManyRejected
from tidalign.workflows.run.pairs.isolate import SECONDS_PER_WORK, isolate_range, patience
from tidalign.workflows.run.pairs.tasks import RowRange, align_ranges

PATIENCE = 60.0
"""Least seconds of CPU time without progress after which a task hangs."""

CHILD_PATIENCE = 20.0
"""The same for a range tried in a process of its own, which has loaded everything by then."""

UNBEGUN_ALLOWED = 20
"""How often in a row a worker may die before it has begun anything."""

GROUP_WORK = 1e11
GROUP_ROWS = 1 << 21
"""Estimated work and rows that a card gets as one task, at most: a second or more, within which all reading and writing hides behind the device."""

GROUPS = 4
"""Tasks that each card gets, at least, so that all are done at about the same time."""


class Alignment:
    """Tasks that align what a run's parts do not hold yet, and their outcomes (`cluster.task.Outcomes`)."""

    def __init__(
        self, directory: str, manifest: dict[str, Any], stop: Stop, progress: Callable[[str, int, int | None], None], device: Device, cards: int = 1
    ) -> None:
        self._directory, self._run, self._parameters, self._pairs = directory, manifest["run"], manifest["parameters"], manifest["pairs"]
        self._stop, self._progress, self._device = stop, progress, device
        self.cards = cards
        self._chunks = {chunk["id"]: chunk for record in manifest["blocks"] for chunk in record["chunks"]}
        self._known: dict[str, parts.Part] = {}
        self._finished = 0
        self._running: dict[Task, list[RowRange]] = {}
        self._at: dict[Task, int] = {}
        self._unbegun = 0
        self.parts: dict[str, list[parts.Part]] = {}
        self.claims = False
        """Whether some unfinished rows were left behind by a process that died at them."""
        self.aligned = self.by_host = self.deaths = self.retries = self.rejected = 0

    def tasks(self) -> list[Task]:
        """What is left to do, from what is on disk; none: the run is complete. The caller holds the directory's lock, and no task runs."""
        self.parts, broken = parts.scan(f"{self._directory}/parts", self._run, known=self._known)
        for path in broken:
            self.note("removed", part=Path(path).name, why="cut short, or of another run")
            Path(path).unlink()
        counts = parts.counts(self.parts)
        self._finished, self.rejected = sum(counts.values()), counts["rejected"]
        self._running.clear()
        left_behind = claims.leftover(self._directory)
        isolated: list[Task] = []
        alone: list[RowRange] = []
        left: list[RowRange] = []
        for chunk, record in self._chunks.items():
            done = [(part.start, part.stop) for part in self.parts.get(chunk, [])]
            blamed = [rows for rows, _ in left_behind.get(chunk, [])]
            for a, b in gaps(0, record["rows"], done):
                self.claims |= any(lo < b and a < hi for lo, hi in blamed)
                apart, rest = self._divide(chunk, a, b, blamed)
                isolated += apart
                for each in rest:
                    (alone if any(lo < each.stop and each.start < hi for lo, hi in blamed) else left).append(each)
        tasks = isolated + [self._align([each]) for each in alone] + self._grouped(left)
        if not tasks:
            for path in (path for found in left_behind.values() for _, path in found):
                claims.remove(path)
        self._progress("align", self._finished, self._pairs)
        return tasks

    def work(self) -> float:
        """Estimated work of all tasks that are left (pipeline/pairs/work.py)."""
        return sum(self._work(each) for ranges in self._running.values() for each in ranges)

    def longest(self) -> int:
        """Letters of the longest sequence of the run."""
        return max((record["longest"] for record in self._chunks.values()), default=0)

    def withdraw_claims(self) -> None:
        """Forget who was at what: their processes were stopped by us. None may run any more."""
        for each in (each for ranges in self._running.values() for each in ranges):
            if each.claim:
                claims.remove(each.claim)

    # ---- making tasks

    def _work(self, rows: RowRange) -> float:
        record = self._chunks[rows.chunk]
        return float(record["work"] * (rows.stop - rows.start) / record["rows"])

    def _divide(self, chunk: str, start: int, stop: int, blamed: list[Range]) -> tuple[list[Task], list[RowRange]]:
        """Tasks that isolate those rows of a chunk that two dead workers were at, and the others."""
        suspected = suspects(start, stop, blamed)
        return [self._isolate(chunk, a, b) for a, b in suspected], [self._range(chunk, a, b) for a, b in gaps(start, stop, suspected)]

    def _range(self, chunk: str, start: int, stop: int) -> RowRange:
        return RowRange(chunk, start, stop, claims.claim_path(self._directory, chunk, start, stop, secrets.token_hex(4)))

    def _grouped(self, left: list[RowRange]) -> list[Task]:
        """Tasks that align ranges: one each for a core, several for a card, those of like lengths together."""
        if self._device == "cpu":
            return [self._align([each]) for each in left]
        left = sorted(left, key=lambda each: self._chunks[each.chunk]["longest"], reverse=True)
        units, count = sum(map(self._work, left)), sum(each.stop - each.start for each in left)
        tasks = GROUPS * self.cards
        most = min(GROUP_WORK, units / tasks), min(GROUP_ROWS, count / tasks)
        groups: list[list[RowRange]] = []
        full = True
        for each in left:
            if full:
                groups.append([])
                units = count = 0
            groups[-1].append(each)
            units, count = units + self._work(each), count + each.stop - each.start
            full = units >= most[0] or count >= most[1]
        return [self._align(group) for group in groups]

    def _align(self, ranges: list[RowRange]) -> Task:
        units = sum(map(self._work, ranges))
        first, last = ranges[0], ranges[-1]

        def pulse() -> object:
            done = 0
            for each in ranges:
                if at := claims.read(each.claim or ""):
                    self._at[task] = done + at[0] - each.start
                    self.tell()
                    return each, at
                done += each.stop - each.start
            return None

        task = Task(
            f"align-{first.chunk}.{first.start}-{first.stop}" + (f"..{last.chunk}.{last.start}-{last.stop}" if len(ranges) > 1 else ""),
            align_ranges,
            (self._directory, self._run, self._parameters, ranges, self._device),
            weight=units * SECONDS_PER_WORK,
            pulse=pulse,
            patience=patience(units, PATIENCE),
        )
        self._running[task] = ranges
        return task

    def _isolate(self, chunk: str, start: int, stop: int) -> Task:
        most = max(100, self._pairs // 10_000) - self.rejected
        task = Task(
            f"isolate-{chunk}.{start}-{stop}",
            isolate_range,
            (self._directory, self._run, self._parameters, chunk, start, stop, CHILD_PATIENCE, most),
            weight=float("inf"),  # slow, and not by its rows
        )
        self._running[task] = [RowRange(chunk, start, stop)]
        return task

    # ---- outcomes

    def done(self, task: Task, result: Any) -> None:
        ranges = self._running.pop(task)
        self._at.pop(task, None)
        self._unbegun = 0
        self._count(ranges)
        if ranges[0].claim is None:
            self.rejected += result
            self.note("isolated", task=task.key, rejected=result)
        else:
            seconds, by_host = result
            self.by_host += by_host
            self.note("done", task=task.key, seconds=round(seconds, 3))

    def _count(self, ranges: Iterable[RowRange]) -> None:
        """These rows are done."""
        for each in ranges:
            self._finished += each.stop - each.start
            self.aligned += each.stop - each.start
        self.tell()

    def died(self, task: Task, killed: bool) -> Iterable[Task]:
        ranges = self._running[task]
        written = [each for each in ranges if parts.read_part(parts.part_path(f"{self._directory}/parts", each.chunk, each.start, each.stop), self._run)]
        left = [each for each in ranges if each not in written]
        for each in ranges if self._stop.number is not None else written:
            if each.claim:
                claims.remove(each.claim)  # the signal may have gone to workers too
        if not left:
            self.done(task, (0.0, 0) if ranges[0].claim else 0)
            return []
        self._running.pop(task)
        self._at.pop(task, None)
        self._count(written)
        self.retries += 1
        begun = {each: at for each in left if each.claim and (at := claims.read(each.claim))}
        self.note("died", task=task.key, killed=killed, at=[(each.chunk, *at) for each, at in begun.items()])
        if not killed:
            begun.clear()
        elif begun:
            self.deaths += 1
        self._unbegun = 0 if begun or written or not killed else self._unbegun + 1
        if self._unbegun > UNBEGUN_ALLOWED:
            raise ClusterLost(f"{task.key}: workers died {self._unbegun} times before they could begin anything; look at their logs, then run again")
        if ranges[0].claim is None:
            return [self._isolate(each.chunk, each.start, each.stop) for each in left]
        # Claims stay: they are the blame. What shared it goes on apart, so that the next death tells which it was.
        blamed = claims.leftover(self._directory) if begun else {}
        isolated, alone, again = [], [], []
        for each in left:
            apart, rest = self._divide(each.chunk, each.start, each.stop, [rows for rows, _ in blamed.get(each.chunk, [])])
            isolated += apart
            if each in begun or self._device == "cpu":
                alone += rest
            else:
                again += rest
        return isolated + [self._align([each]) for each in alone] + ([self._align(again)] if again else [])

    def failed(self, task: Task, error: BaseException) -> Iterable[Task]:
        if isinstance(error, MemoryError):
            return self.died(task, True)
        self.note("failed", task=task.key, error=repr(error))
        if isinstance(error, TooManyRejected):
            raise NoWorkers(str(error)) from error
        raise error

    def note(self, event: str, **details: Any) -> None:
        rundir.journal(self._directory, event, **details)

    def tell(self) -> None:
        self._progress("align", self._finished + sum(self._at.values()), self._pairs)
