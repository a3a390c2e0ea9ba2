"""The alignment stage of a run: which rows are left, what to make of a worker's death, and which pairs to give up."""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tidalign.cluster.errors import ClusterLost, NoWorkers
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Task
from tidalign.pipeline import claims, parts, rundir
from tidalign.pipeline.align import Device
from tidalign.pipeline.ranges import Range, gaps, suspects
from tidalign.workflows.isolate import SECONDS_PER_WORK, TooManyRejected, isolate_range, patience
from tidalign.workflows.tasks import align_range

PATIENCE = 60.0
"""Least seconds without progress after which a task hangs."""

CHILD_PATIENCE = 20.0
"""The same for a range tried in a process of its own, which has loaded everything by then."""

UNBEGUN_ALLOWED = 20
"""How often a range's worker may die before the range is begun."""


class Alignment:
    """Tasks that align what a run's parts do not hold yet, and their outcomes (`cluster.task.Outcomes`)."""

    def __init__(self, directory: str, manifest: dict[str, Any], stop: Stop, progress: Callable[[str, int, int | None], None], device: Device) -> None:
        self._directory, self._run, self._parameters, self._pairs = directory, manifest["run"], manifest["parameters"], manifest["pairs"]
        self._stop, self._progress, self._device = stop, progress, device
        self._chunks = {chunk["id"]: chunk for record in manifest["blocks"] for chunk in record["chunks"]}
        self._known: dict[str, parts.Part] = {}
        self._finished = 0
        self._running: dict[Task, tuple[str, int, int, str | None]] = {}
        self._at: dict[Task, int] = {}
        self._unbegun: Counter[tuple[str, int, int]] = Counter()
        self.parts: dict[str, list[parts.Part]] = {}
        self.claims = False
        """Whether some unfinished rows were left behind by a process that died at them."""
        self.aligned = self.deaths = self.retries = self.rejected = 0

    def tasks(self) -> list[Task]:
        """What is left to do, from what is on disk; none: the run is complete. The caller holds the directory's lock, and no task runs."""
        self.parts, broken = parts.scan(self._directory, self._run, self._known)
        for path in broken:
            self.note("removed", part=Path(path).name, why="cut short, or of another run")
            Path(path).unlink()
        counts, _ = parts.total(self.parts)
        self._finished, self.rejected = sum(counts.values()), counts["rejected"]
        left_behind = claims.leftover(self._directory)
        tasks = []
        for chunk, record in self._chunks.items():
            done = [(part.start, part.stop) for part in self.parts.get(chunk, [])]
            blamed = [rows for rows, _ in left_behind.get(chunk, [])]
            for a, b in gaps(0, record["rows"], done):
                self.claims |= any(lo < b and a < hi for lo, hi in blamed)
                tasks += self._divide(chunk, a, b, blamed)
        if not tasks:
            for path in (path for found in left_behind.values() for _, path in found):
                claims.remove(path)
        self._progress("align", self._finished, self._pairs)
        return tasks

    def work(self) -> float:
        """Estimated work of all tasks that are left (pipeline/work.py)."""
        return sum(self._work(chunk, a, b) for chunk, a, b, _ in self._running.values())

    def longest(self) -> int:
        """Letters of the longest sequence of the run."""
        return max((record["longest"] for record in self._chunks.values()), default=0)

    def withdraw_claims(self) -> None:
        """Forget who was at what: their processes were stopped by us. None may run any more."""
        for _, _, _, claim in self._running.values():
            if claim:
                claims.remove(claim)

    # ---- making tasks

    def _work(self, chunk: str, start: int, stop: int) -> float:
        record = self._chunks[chunk]
        return float(record["work"] * (stop - start) / record["rows"])

    def _divide(self, chunk: str, start: int, stop: int, blamed: list[Range]) -> list[Task]:
        """Tasks for rows of a chunk: those that two dead workers were at are isolated, the others aligned."""
        suspected = suspects(start, stop, blamed)
        return [self._isolate(chunk, a, b) for a, b in suspected] + [self._align(chunk, a, b) for a, b in gaps(start, stop, suspected)]

    def _align(self, chunk: str, start: int, stop: int) -> Task:
        claim = claims.claim_path(self._directory, chunk, start, stop, secrets.token_hex(4))
        units = self._work(chunk, start, stop)

        def pulse() -> object:
            at = claims.read(claim)
            if at:
                self._at[task] = at[0] - start
                self.tell()
            return at

        task = Task(
            f"align-{chunk}.{start}-{stop}",
            align_range,
            (self._directory, self._run, self._parameters, chunk, start, stop, claim, self._device),
            weight=units * SECONDS_PER_WORK,
            pulse=pulse,
            patience=patience(units, PATIENCE),
        )
        self._running[task] = (chunk, start, stop, claim)
        return task

    def _isolate(self, chunk: str, start: int, stop: int) -> Task:
        most = max(100, self._pairs // 10_000) - self.rejected
        task = Task(
            f"isolate-{chunk}.{start}-{stop}",
            isolate_range,
            (self._directory, self._run, self._parameters, chunk, start, stop, CHILD_PATIENCE, most),
            weight=float("inf"),  # slow, and not by its rows
        )
        self._running[task] = (chunk, start, stop, None)
        return task

    # ---- outcomes

    def done(self, task: Task, result: Any) -> None:
        _, start, stop, claim = self._running.pop(task)
        self._at.pop(task, None)
        self._finished += stop - start
        self.aligned += stop - start
        if claim is None:
            self.rejected += result
            self.note("isolated", task=task.key, rejected=result)
        else:
            self.note("done", task=task.key, seconds=round(result, 3))
        self.tell()

    def died(self, task: Task, killed: bool) -> Iterable[Task]:
        chunk, start, stop, claim = self._running[task]
        if parts.read_part(parts.part_path(self._directory, chunk, start, stop), self._run):
            if claim:
                claims.remove(claim)
            self.done(task, 0.0 if claim else 0)
            return []
        self._running.pop(task)
        self._at.pop(task, None)
        self.retries += 1
        begun = claims.read(claim) if claim else None
        if claim and self._stop.number is not None:
            claims.remove(claim)  # the signal may have gone to workers too
        self.note("died", task=task.key, killed=killed, at=begun)
        if killed and begun:
            self.deaths += 1
            # The claim stays: it is the blame.
            return self._divide(chunk, start, stop, [rows for rows, _ in claims.leftover(self._directory).get(chunk, [])])
        if killed:
            self._unbegun[chunk, start, stop] += 1
            if self._unbegun[chunk, start, stop] > UNBEGUN_ALLOWED:
                raise ClusterLost(f"{task.key}: its worker died {UNBEGUN_ALLOWED} times before it could begin; look at the workers' logs, then run again")
        return [self._isolate(chunk, start, stop) if claim is None else self._align(chunk, start, stop)]

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
