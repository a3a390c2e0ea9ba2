"""Track the tiles of a genome run: which are left, what follows a stage, and what workers do that have nothing else to do."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Task
from tidalign.pipeline.device import CPU, Device
from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.manifest import GenomeManifest
from tidalign.pipeline.genome.plan import Tile, chance_hits, job_name
from tidalign.pipeline.genome.stages import anchoring
from tidalign.pipeline.store import parts
from tidalign.pipeline.store.parts import gaps
from tidalign.workflows.run.genome import slots
from tidalign.workflows.run.genome.isolate import DIVISIBLE, isolate_tile
from tidalign.workflows.run.genome.tasks import extend_range_ahead, perform
from tidalign.workflows.run.shard import Shard
from tidalign.workflows.run.tracker import OnProgress, Tracker

HANG_SECONDS = 600.0
"""Seconds of CPU time without a sign of life after which a tile hangs; the longest silence of a healthy one is a single extension."""

AHEAD_FIRST = 16
"""Anchors that are left to the walk itself when others begin to work ahead of it: it is at them before these could be done."""

AHEAD_ANCHORS = 128
"""Anchors of a task that works ahead of a walk."""

AHEAD_REACH = 1 << 13
"""Anchors of a stretch that a walk goes through from its begin, and those who work ahead of it from its end, until they meet: nearer ones it would come to
first, and much further ones lie on alignments that are not known yet."""

STAGE_SHARES = {"seed": 0.4, "walk": 0.6, "extend": 0.5, "assemble": 0.1}
"""Of a large unit's estimated work, by stage."""

PENDING = {"seed": 1.0, "walk": 0.6, "extend": 0.6, "assemble": 0.1}
"""The same of a stage and those that follow it."""


GPU_HIT, GPU_EXTENSION, GPU_LETTER, GPU_UNIT = 6e-11, 1e-6, 5e-9, 5e-3
"""Seconds of one GPU, an H100 or H200, for a seed hit, tried without gaps; for the gapped extension of one, where all are extended; for each letter of the
shorter side, along what both share; and for each unit. Against cores it is ten times as fast at units of a bacterium, and thousands of times at seeds."""


class Tiles(Tracker[Tile]):
    """Makes the tasks for what a genome run's parts do not hold yet."""

    stage, scale = "genomes", 1000
    rejectable = 100

    def __init__(
        self, directory: str, manifest: GenomeManifest, stop: Stop, told: OnProgress, device: Device = CPU, shard: Shard | None = None, beside: int = 0
    ) -> None:
        super().__init__(directory, manifest.run, stop, told, device, beside=beside)
        self._manifest = manifest
        planned = [((number, tile["start"]), tile["work"]) for number, job in enumerate(manifest.jobs) for tile in job.tiles]
        self._mine = shard.members(planned) if shard else {key for key, _ in planned}
        self._total = float(sum(work for key, work in planned if key in self._mine))
        self._of_all = float(sum(work for _, work in planned))
        self._ahead: dict[Task, tuple[int, int]] = {}
        self._stretches: dict[tuple[int, int], tuple[int, int, int]] = {}
        self._foremost: set[slots.UnitPlace] | None = None
        self.numbers: Counter[str] = Counter()
        """What tasks said they did."""

    def tasks(self) -> list[Task]:
        return [*super().tasks(), *self._work_ahead()]

    def ordered(self, tasks: list[Task], workers: int) -> list[Task]:
        work: defaultdict[slots.UnitPlace, float] = defaultdict(float)
        for tile in self.missing():
            work[tile.job, self._planned(tile)["start"]] += self.pending(tile)
        self._foremost = slots.foremost(self.directory, work, workers)
        return tasks if self._foremost is None else self.tasks()

    def order(self, pieces: Sequence[Tile]) -> float:
        if self._foremost is None:
            return super().order(pieces)
        (tile,) = pieces
        return slots.order(self.weight(tile), self.pending(tile), first=(tile.job, self._planned(tile)["start"]) in self._foremost)

    def missing(self) -> Iterable[Tile]:
        for number, job in enumerate(self._manifest.jobs):
            if not job.tiles:  # it is in another's chunk
                continue
            done = [(part.start, part.stop) for part in self.parts.get(job_name(number), [])]
            for a, b in gaps(0, self._manifest.chunks[job_name(number)], done):
                for planned in job.tiles:
                    start, stop = max(a, planned["start"]), min(b, planned["stop"])
                    if start < stop and (number, planned["start"]) in self._mine:
                        yield from self._stage(number, start) if planned["staged"] else [Tile("units", number, -1, start, stop)]

    def rows(self, piece: Tile) -> tuple[str, int, int]:
        return (piece.chunk, piece.start, piece.stop) if piece.stage == "units" else (job_name(piece.job), piece.unit, piece.unit + 1)

    def following(self, piece: Tile, given_up: int) -> Iterable[Tile]:
        if piece.stage == "seed" and not given_up:  # a unit that was given up has no further stage
            return self._stage(piece.job, piece.unit)
        if piece.stage == "extend" and not any(other.chunk == piece.chunk for others in self._running.values() for other in others):
            return self._stage(piece.job, piece.unit)
        return ()

    def _stage(self, job: int, unit: int) -> list[Tile]:
        """Make the next stage of a large unit, from what is on disk."""
        anchors = anchoring.count_anchors(self.directory, job, unit, self.run)
        if anchors is None:
            return [Tile("seed", job, unit, 0, self._letters(job, unit))]
        if self._manifest.parameters.mode == "exact" or not self._manifest.parameters.gapped or not anchors:
            return [Tile("walk", job, unit, 0, max(1, anchors))]
        done = parts.scan_chunk(f"{self.directory}/extended", self.run, Tile("extend", job, unit, 0, 0).chunk)
        size = self.device.tile_anchors
        tiles = [
            Tile("extend", job, unit, start, min(start + size, stop))
            for a, stop in gaps(0, anchors, [(part.start, part.stop) for part in done])
            for start in range(a, stop, size)
        ]
        return tiles or [Tile("assemble", job, unit, 0, 1)]

    def _letters(self, job: int, unit: int) -> int:
        """Count the letters of a unit's query, by which it is told how far its seeding is."""
        query = load_side(self.directory, self.run, self._manifest.jobs[job].query)[0]
        return query.sought()[self._manifest.jobs[job].unit_of(unit, self._manifest.parameters)[0]]

    def divisible(self, piece: Tile) -> bool:
        return piece.stage in DIVISIBLE

    def total(self) -> float:
        return self._total

    def letters(self) -> int:
        """Count the letters of the largest side."""
        return max((int(side["bases"]) for side in self._manifest.sides), default=0)

    def amount(self, piece: Tile) -> float:
        return self._share(piece, STAGE_SHARES)

    def gpu_seconds(self) -> float:
        parameters, seconds = self._manifest.parameters, 0.0
        a_hit = GPU_EXTENSION if parameters.gapped and not parameters.gfextend else GPU_HIT
        for job in self._manifest.jobs:
            target, query = (self._manifest.side(number) for number in (job.target, job.query))
            letters = target["bases"] if job.sequence is None else target["bases"] / max(1, target["sequences"])
            a_unit = query["bases"] / max(1, query["sequences"])
            hits = chance_hits(letters, job.units * a_unit, parameters) / parameters.step
            seconds += hits * a_hit + job.units * (min(letters, a_unit) * GPU_LETTER + GPU_UNIT)
        return self.left() * seconds * self._total / (self._of_all or 1.0)

    def pending(self, piece: Tile) -> float:
        return self._share(piece, PENDING)

    def weight(self, piece: Tile) -> float:
        return self.amount(piece)

    def _share(self, tile: Tile, shares: dict[str, float]) -> float:
        """Estimate the seconds of one core."""
        planned = self._planned(tile)
        work = float(planned["work"])
        if tile.stage == "units":
            return work * (tile.stop - tile.start) / float(planned["stop"] - planned["start"])
        share = shares[tile.stage] * work
        if tile.stage != "extend":
            return share
        return share * (tile.stop - tile.start) / (anchoring.count_anchors(self.directory, tile.job, tile.unit, self.run) or 1)

    def _planned(self, tile: Tile) -> dict[str, Any]:
        """Find the planned tile that a tile is of."""
        tiles = self._manifest.jobs[tile.job].tiles
        return tiles[bisect_right(tiles, tile.start if tile.stage == "units" else tile.unit, key=lambda planned: planned["start"]) - 1]

    def patience(self, pieces: Sequence[Tile], device: Device) -> float:
        return HANG_SECONDS

    def call(self, pieces: Sequence[Tile], device: Device) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        (tile,) = pieces
        return perform, (self.directory, self.run, tile, device.name)

    def isolation(self, piece: Tile, most: int) -> tuple[Callable[..., int], tuple[Any, ...]]:
        return isolate_tile, (self.directory, self.run, piece, HANG_SECONDS, most)

    def counted(self, pieces: Sequence[Tile], result: Any) -> dict[str, Any]:
        self.numbers.update({name: number for name, number in result.items() if name not in ("gpu_held", "busy")})
        return dict(result)

    def written(self, piece: Tile) -> bool:
        return False  # whoever takes it up again looks: it may have more parts than one, or be a stage of them

    # ---- work ahead of walks

    def done(self, task: Task, result: Any) -> Iterable[Task]:
        if task in self._ahead:
            del self._ahead[task]
            self.numbers["ahead"] += result
            return self._work_ahead()
        return [*super().done(task, result), *self._work_ahead()]

    def died(self, task: Task, killed: bool) -> Iterable[Task]:
        if task in self._ahead:
            del self._ahead[task]  # the walk does it by itself
            self.note("died", task=task.key, killed=killed)
            return []
        return super().died(task, killed)

    def _work_ahead(self) -> list[Task]:
        """Make tasks for workers, or threads of this process, that have nothing else to do: anchors ahead of the walks that run."""
        tasks: list[Task] = []
        walks = [
            (tile, int(tile.stop * self._at.get(task, 0.0) / max(self.amount(tile), 1e-9)))
            for task, (tile,) in self._running.items()
            if tile.stage == "walk" and tile.stop > AHEAD_ANCHORS
        ]
        free = (self.workers or self.threads) - len(self._running) - len(self._ahead)
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
            task = Task(f"ahead-{tile.chunk}.{start}-{given}", extend_range_ahead, (self.directory, self.run, *unit, start, given))
            self._ahead[task] = unit
            tasks.append(task)
            free -= 1
        return tasks

    def _untold(self, tile: Tile, far: int) -> int:
        """Count the anchors of a walk, which is so far, that nobody else was told to extend in its present stretch, and all beyond."""
        begin, given, end = self._stretches.get((tile.job, tile.unit), (far, far, far))
        return max(0, given - max(begin, far)) + tile.stop - max(end, far)
