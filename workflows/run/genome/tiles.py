"""The tiles of a genome run: which are left, what to make of a worker's death, and what to give up."""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tidalign.cluster.errors import ClusterLost, NoWorkers, Stopped
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Task
from tidalign.pipeline.genome.plan.manifest import Manifest
from tidalign.pipeline.genome.plan.tiles import Tile, job_name
from tidalign.pipeline.genome.stages import anchoring
from tidalign.pipeline.genome.stages.independent import TILE_ANCHORS
from tidalign.pipeline.pairs.align import Device
from tidalign.pipeline.store import claims, parts, rundir
from tidalign.pipeline.store.ranges import Range, gaps, suspects
from tidalign.workflows.run.genome.isolate import isolate_tile
from tidalign.workflows.run.genome.tasks import perform, speculate
from tidalign.workflows.run.isolate import TooManyRejected

PATIENCE = 600.0
"""Seconds of CPU time without a sign of life after which a tile hangs; the longest silence of a healthy one is a single extension."""

UNBEGUN_ALLOWED = 20
"""How often a tile's worker may die before the tile is begun."""

REJECTED_ALLOWED = 100
"""Tiles, units or anchors that may be given up in one run; more mean that the fault is not in them."""

AHEAD_FIRST = 16
"""Anchors that are left to the walk itself when others begin to work ahead of it: it is at them before these could be done."""

AHEAD_ANCHORS = 128
"""Anchors of a task that works ahead of a walk."""

AHEAD_REACH = 1 << 13
"""Anchors of a stretch that a walk goes through from its begin, and those who work ahead of it from its end, until they meet: nearer ones it would come to
first, and much further ones lie on alignments that are not known yet."""

SHARES = {"seed": 0.4, "walk": 0.6, "extend": 0.5, "assemble": 0.1}
"""Of a large unit's estimated work, by stage."""

Told = Callable[[str, int, int | None], None]


class Tiles:
    """Tasks for what a run's parts do not hold yet, and their outcomes (`cluster.task.Outcomes`)."""

    def __init__(self, directory: str, manifest: Manifest, stop: Stop, progress: Told, device: Device = "cpu") -> None:
        self._directory, self._manifest, self._run = directory, manifest, manifest.run
        self._stop, self._progress, self._device = stop, progress, device
        self._running: dict[Task, tuple[Tile, str | None]] = {}
        self._at: dict[Task, float] = {}
        self._unbegun: Counter[str] = Counter()
        self._left: dict[tuple[int, int], int] = {}
        self._ahead: dict[Task, tuple[int, int]] = {}
        self._stretches: dict[tuple[int, int], tuple[int, int, int]] = {}
        self.workers = 0
        """How many may extend anchors ahead of a walk when they have nothing else to do; 0: a walk is left alone, by this process or a card."""
        self._blame: dict[str, list[Range]] = {}
        self._total: float = sum(tile["work"] for job in manifest.jobs for tile in job.tiles)
        self._finished = 0.0
        self.claims = False
        """Whether some unfinished tiles were left behind by a process that died at them."""
        self.numbers: Counter[str] = Counter()
        self.deaths = self.retries = self.rejected = 0

    def tasks(self) -> list[Task]:
        """What is left to do, from what is on disk; none: the run is complete. The caller holds the directory's lock, and no task runs."""
        found, broken = parts.scan(f"{self._directory}/parts", self._run)
        for path in broken:
            self.note("removed", part=Path(path).name, why="cut short, or of another run")
            Path(path).unlink()
        left_behind = claims.leftover(self._directory)
        self._blame = {chunk: [rows for rows, _ in leftover] for chunk, leftover in left_behind.items()}
        self._finished = self._total
        tasks: list[Task] = []
        for number, job in enumerate(self._manifest.jobs):
            missing = gaps(0, job.units, [(part.start, part.stop) for part in found.get(job_name(number), [])])
            for planned in job.tiles:
                for a, b in missing:
                    start, stop = max(a, planned["start"]), min(b, planned["stop"])
                    if start < stop:
                        self._finished -= planned["work"] * (stop - start) / (planned["stop"] - planned["start"])
                        tasks += self._stage(number, start) if planned["staged"] else self._divide(Tile("units", number, -1, start, stop))
        if not tasks:
            for path in (path for leftover in left_behind.values() for _, path in leftover):
                claims.remove(path)
        self.tell()
        return tasks + self._work_ahead()

    def work(self) -> float:
        """Estimated seconds of one core for what is left."""
        return float(max(0.0, self._total - self._finished))

    def withdraw_claims(self) -> None:
        """Forget who was at what: their processes were stopped by us. None may run any more."""
        for _, claim in self._running.values():
            if claim:
                claims.remove(claim)

    # ---- making tasks

    def _stage(self, job: int, unit: int) -> list[Task]:
        """The next tasks of a large unit, from what is on disk."""
        anchors = anchoring.count_anchors(self._directory, job, unit, self._run)
        if anchors is None:
            return self._divide(Tile("seed", job, unit, 0, 1))
        if self._manifest.parameters.mode == "exact" or not self._manifest.parameters.gapped or not anchors:
            return self._divide(Tile("walk", job, unit, 0, max(1, anchors)))
        chunk = Tile("extend", job, unit, 0, 0).chunk
        done = [(part.start, part.stop) for part in parts.scan_chunk(f"{self._directory}/extended", self._run, chunk)]
        tiles = [
            Tile("extend", job, unit, start, min(start + TILE_ANCHORS[self._device], stop))
            for a, stop in gaps(0, anchors, done)
            for start in range(a, stop, TILE_ANCHORS[self._device])
        ]
        tasks = [task for tile in tiles for task in self._divide(tile)]
        self._left[job, unit] = len(tasks)
        return tasks or self._divide(Tile("assemble", job, unit, 0, 1))

    def _divide(self, tile: Tile) -> list[Task]:
        """Tasks for a tile: what two dead workers were at is isolated, the rest done."""
        blamed = self._blame.get(tile.chunk, [])
        self.claims |= any(lo < tile.stop and tile.start < hi for lo, hi in blamed)
        suspected = suspects(tile.start, tile.stop, blamed)
        if suspected and tile.stage == "walk":
            return [self._isolate(tile)]  # it goes on where its checkpoint says
        rest = gaps(tile.start, tile.stop, suspected)
        return [self._isolate(_part(tile, a, b)) for a, b in suspected] + [self._perform(_part(tile, a, b)) for a, b in rest]

    def _weight(self, tile: Tile) -> float:
        job = self._manifest.jobs[tile.job]
        first = tile.start if tile.stage == "units" else tile.unit
        planned = next(planned for planned in job.tiles if planned["start"] <= first < planned["stop"])
        work = float(planned["work"])
        if tile.stage == "units":
            return work * (tile.stop - tile.start) / float(planned["stop"] - planned["start"])
        share = SHARES[tile.stage] * work
        if tile.stage != "extend":
            return share
        anchors = anchoring.count_anchors(self._directory, tile.job, tile.unit, self._run) or 1
        return share * (tile.stop - tile.start) / anchors

    def _perform(self, tile: Tile) -> Task:
        claim = claims.claim_path(self._directory, tile.chunk, tile.start, tile.stop, secrets.token_hex(4))
        weight = self._weight(tile)

        def pulse() -> object:
            at = claims.read(claim)
            if at:
                self._at[task] = weight * (at[0] - tile.start) / (tile.stop - tile.start)
                self.tell()
            return at and (at, _changed(claim))

        task = Task(tile.key, perform, (self._directory, self._run, tile, claim, self._device), weight=weight, pulse=pulse, patience=PATIENCE)
        self._running[task] = (tile, claim)
        return task

    def _isolate(self, tile: Tile) -> Task:
        most = REJECTED_ALLOWED - self.rejected
        task = Task(f"isolate-{tile.key}", isolate_tile, (self._directory, self._run, tile, PATIENCE, most), weight=float("inf"))
        self._running[task] = (tile, None)
        return task

    # ---- outcomes

    def done(self, task: Task, result: Any) -> Iterable[Task]:
        if task in self._ahead:
            del self._ahead[task]
            self.numbers["ahead"] += result
            return self._work_ahead()
        tile, claim = self._running.pop(task)
        self._at.pop(task, None)
        self._finished += self._weight(tile)
        if claim is None:
            self.rejected += result
            self.note("isolated", task=task.key, rejected=result)
        else:
            self.numbers.update({name: number for name, number in result.items() if name not in ("card", "busy")})
            self.note("done", task=task.key, **result)
        self.tell()
        more: list[Task] = []
        if tile.stage == "seed" and not (claim is None and result):  # a unit that was given up has no further stage
            more = self._stage(tile.job, tile.unit)
        if tile.stage == "extend":
            self._left[tile.job, tile.unit] -= 1
            more = [] if self._left[tile.job, tile.unit] else self._stage(tile.job, tile.unit)
        return more + self._work_ahead()

    def _work_ahead(self) -> list[Task]:
        """Tasks for workers that have nothing else to do: anchors ahead of the walks that run."""
        tasks: list[Task] = []
        walks = [
            (tile, int(tile.stop * self._at.get(task, 0.0) / max(self._weight(tile), 1e-9)))
            for task, (tile, _) in self._running.items()
            if tile.stage == "walk" and tile.stop > AHEAD_ANCHORS
        ]
        free = self.workers - len(self._running) - len(self._ahead)
        while free > 0 and walks:
            tile, far = max(walks, key=lambda walk: self._untold(*walk))
            unit = (tile.job, tile.unit)
            begin, given, end = self._stretches.get(unit, (far, far, far))
            if given <= max(begin, far + AHEAD_FIRST):
                begin = max(end, far)
                end = given = min(begin + AHEAD_REACH, tile.stop)
            start = max(begin, far + AHEAD_FIRST, given - AHEAD_ANCHORS)
            if start >= given:
                walks.remove((tile, far))
                continue
            self._stretches[unit] = (begin, start, end)
            task = Task(f"ahead-{tile.chunk}.{start}-{given}", speculate, (self._directory, self._run, *unit, start, given))
            self._ahead[task] = unit
            tasks.append(task)
            free -= 1
        return tasks

    def _untold(self, tile: Tile, far: int) -> int:
        """Anchors of a walk, which is so far, that nobody else was told to extend in its present stretch, and all beyond."""
        begin, given, end = self._stretches.get((tile.job, tile.unit), (far, far, far))
        return max(0, given - max(begin, far)) + tile.stop - max(end, far)

    def died(self, task: Task, killed: bool) -> Iterable[Task]:
        if task in self._ahead:
            del self._ahead[task]  # the walk does it by itself
            self.note("died", task=task.key, killed=killed)
            return []
        tile, claim = self._running.pop(task)
        self._at.pop(task, None)
        self.retries += 1
        begun = claims.read(claim) if claim else None
        if claim and self._stop.number is not None:
            claims.remove(claim)  # the signal may have gone to workers too
        self.note("died", task=task.key, killed=killed, at=begun)
        if killed and begun:
            self.deaths += 1
            self._blame.setdefault(tile.chunk, []).append(begun)  # the claim stays: it is the blame
        elif killed:
            self._unbegun[tile.key] += 1
            if self._unbegun[tile.key] > UNBEGUN_ALLOWED:
                raise ClusterLost(f"{task.key}: its worker died {UNBEGUN_ALLOWED} times before it could begin; look at the workers' logs, then run again")
        again = [self._isolate(tile)] if claim is None else self._divide(tile)
        if tile.stage == "extend":
            self._left[tile.job, tile.unit] += len(again) - 1
        return again

    def failed(self, task: Task, error: BaseException) -> Iterable[Task]:
        if isinstance(error, MemoryError):
            return self.died(task, True)
        if isinstance(error, Stopped):
            raise error
        self.note("failed", task=task.key, error=repr(error))
        if isinstance(error, TooManyRejected):
            raise NoWorkers(str(error)) from error
        raise error

    def note(self, event: str, **details: Any) -> None:
        rundir.journal(self._directory, event, **details)

    def tell(self) -> None:
        self._progress("genomes", int(1000 * (self._finished + sum(self._at.values()))), max(1, int(1000 * self._total)))


def _part(tile: Tile, start: int, stop: int) -> Tile:
    return Tile(tile.stage, tile.job, tile.unit, start, stop)


def _changed(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0
