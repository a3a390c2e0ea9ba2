"""Run over genomes: read the sides, then seed, extend and gather tile by tile."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidalign.cluster.gpus import installed
from tidalign.cluster.guard import may_start
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import cores
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS
from tidalign.kernels.runtime.precompile import Lists
from tidalign.pipeline.genome.input.folders import folders
from tidalign.pipeline.genome.input.jobs import begun_with
from tidalign.pipeline.genome.input.sides import IN_A_FOLDER, READERS, Side, check_piped, folder_records, load_side, read_sides
from tidalign.pipeline.genome.input.source import GenomeSource, piped
from tidalign.pipeline.genome.manifest import Check, GenomeManifest, read_manifest, write_manifest
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages.unit import costs_of
from tidalign.pipeline.genome.units import warm_up
from tidalign.pipeline.store import layout, parts, rundir
from tidalign.workflows.estimate import tiny
from tidalign.workflows.run import runner
from tidalign.workflows.run.crew import Crew, Readers
from tidalign.workflows.run.devices import DEFAULT, FEW_CORES, FEW_SECONDS, Gpus, Meanwhile, Resources, at_once
from tidalign.workflows.run.genome.tasks import heeding
from tidalign.workflows.run.genome.tiles import Tiles
from tidalign.workflows.run.report import Report
from tidalign.workflows.run.runner import RunKind
from tidalign.workflows.run.shard import Shard, ShardDone
from tidalign.workflows.run.tracker import OnProgress

if TYPE_CHECKING:
    from tidalign.workflows.estimate.forecast import Forecast

SMALL_INPUT = 64_000_000
"""Bytes of input files below which this process reads them itself: starting workers takes a second or two."""

PACKED = (".gz", ".bgz", ".2bit")
"""Endings of files that have up to four letters a byte."""

SHARED_BY, SHARED_WORK, SHARED_LETTERS = 2, 3.0, 1 << 26
"""Processes that share a GPU, from so many estimated seconds of each GPU on and where no side has more letters: threads make rows, and walk, while the GPU is
another's, and one process has one interpreter lock for them. Of larger sides the search for seeds, which is the GPU's alone, takes most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenomeReport(Report):
    """Holds what report.json of a genome run says.

    pairs: of genomes; target_bases, query_bases: letters of all sides; empty: records without letters, left out. rows: alignments.
    shortfalls: [{job, query_name, strand, status, reason}]. work: sums of what the tasks of this call said they did (anchors, cells, seconds).
    """

    pairs: int
    target_bases: int
    query_bases: int
    empty: int
    rows: int
    work: Mapping[str, float]


class Genomes(RunKind[GenomeManifest, Tiles, GenomeReport]):
    """Describes a run over genomes. Progress is told of the stages `read`, in files, and `genomes`, in thousandths of a second of estimated work.

    check: looks at the manifest once the sides are read, and may refuse them before anything is aligned.
    """

    layout = layout.GENOMES
    module = heeding.__module__
    report = GenomeReport
    patient = False  # a walk can last for hours, and has checkpoints
    reading_threads = READERS
    compiles_first = False  # they are few, and of several stages
    forecast_from = 60.0

    def __init__(self, source: GenomeSource, parameters: GenomeParameters, check: Check | None = None, shard: Shard | None = None) -> None:
        self._shard = shard
        self._source, self._parameters, self._check = source.found(), parameters, check
        self._letters = parameters.scoring.ambiguous[0] if parameters.scoring.ambiguous else None

    def parameters(self) -> dict[str, Any]:
        return self._parameters.to_json()

    def source(self) -> dict[str, Any]:
        return self._source.to_json()

    def chosen(self, gpus: Gpus, resources: Resources) -> Gpus:
        return at_once(gpus, resources, lambda: tiny.of_genomes(self._source, self._parameters)) or gpus

    def readers(self, resources: Resources, gpus: Gpus) -> Readers:
        here = not resources.scheduler and (resources.workers == 0 or self._source.size() <= SMALL_INPUT)
        # Where GPUs align, worker processes would have to be started for reading alone.
        return "threads" if here or (gpus.names and not resources.workers) else "workers"

    def threads(self, resources: Resources, readers: Readers, gpus: Gpus) -> tuple[int, int]:
        return min(self.reading_threads, cores()), 0

    def small(self) -> float:
        return cores() * FEW_SECONDS if cores() <= FEW_CORES else 5.0

    def open(self, directory: str) -> None:
        if not rundir.exists(directory):
            self.begin(directory)
            return
        source, begun = self._source, rundir.read_plan(directory)["source"]
        several = source.table or max(len(source.pairs), len(begun.get("genomes", ()))) > 1
        if several and (begun.get("all_vs_all"), begun.get("triangle")) == (source.all_vs_all, source.triangle):
            source = source.first(begun_with(directory, begun, source))
        rundir.compare(directory, self.parameters(), source.to_json(), self.layout)
        within, identities = self._folders(directory)
        for folder, sides in within.items():
            if piped(sides[0][1]):  # which has a folder of its own
                check_piped(directory, folder, sides[0], self._letters, identities[folder])

    def _folders(self, directory: str) -> tuple[dict[int, list[Side]], dict[int, str]]:
        """Say which sides lie in which folder, and by what it is known whether their files are the same."""
        before = read_manifest(directory).sides if rundir.has_manifest(directory) else ()
        within = folders(self._source.sides(), self._source.sizes(), before)
        return within, self._source.identities(within)

    def read(self, crew: Crew, told: OnProgress, readers: Readers, meanwhile: Meanwhile | None) -> GenomeManifest:
        sides, directory = self._source.sides(), crew.directory
        before = read_manifest(directory) if rundir.has_manifest(directory) else None
        within, identities = self._folders(directory)

        def records() -> list[list[dict[str, Any]] | None]:
            return [folder_records(directory, folder, of, identities[folder]) for folder, of in within.items()]

        # A network file system keeps for a minute that a folder was not there: nobody looks before one may be.
        if before and before.source == self.source() == rundir.read_plan(directory)["source"] and None not in records():
            for folder in within:
                load_side(directory, before.run, folder * IN_A_FOLDER)
            if self._check:
                self._check(before)
            return before
        told("read", 0, len(sides))
        arguments = [(directory, folder, of, self._letters, identities[folder]) for folder, of in within.items()]
        if any(file["size"] < 0 for file in self._source.files()):  # only this process can read a pipe
            read = [read_sides(*each) for each in arguments]
        else:
            read = crew.map(read_sides, *zip(*arguments, strict=True), here=readers != "workers")
        told("read", len(sides), len(sides))
        if readers == "workers":
            parts.once_seen(records, lambda found: None in found)
        manifest = write_manifest(directory, [record for records in read for record in records], self._check, self.source())
        tiles = sum(len(job.tiles) for job in manifest.jobs)
        rundir.journal(directory, "read", sides=manifest.sides[:100], jobs=len(manifest.jobs), tiles=tiles, added=before is not None)
        return manifest

    def tracker(self, directory: str, manifest: GenomeManifest, stop: Stop, told: OnProgress, gpus: Gpus) -> Tiles:
        return Tiles(directory, manifest, stop, told, gpus.device, self._shard, gpus.cores)

    def start(self, gpus: Gpus) -> None:
        from tidalign.kernels.runtime import compiler
        from tidalign.pipeline.genome.stages import gpu

        GPU_OF_PROCESS.busy = 0.0
        with suppress(Exception):
            compiler.begin()
            gpu.ready(self._parameters, costs_of(self._parameters))

    def compiles(self, gpus: Gpus) -> bool:
        return not gpus.device.takes_gpu  # else workers compile what they come to, while GPUs seed

    def processes(self, tracker: Tiles, gpus: Gpus, resources: Resources) -> int:
        if gpus.cores or not gpus.shareable or resources.workers is not None or resources.scheduler or tracker.letters() > SHARED_LETTERS:
            return 1
        if len(gpus.names) == 1 and self._parameters.mode != "exact":
            return 1  # kernels of two processes take turns: what their threads gain, the start of workers and the turns cost
        much = tracker.gpu_seconds() > SHARED_WORK * len(gpus.names)
        return SHARED_BY if much and installed("dask_cuda") and may_start() else 1

    def shared(self) -> int:
        letters = [file["size"] * (4 if file["path"].endswith(PACKED) else 1) for file in self._source.files()]  # at most, about
        return SHARED_BY if min(letters, default=-1) >= 0 and max(letters) <= SHARED_LETTERS else 1

    def works_until_hired(self, tracker: Tiles) -> bool:
        return tracker.letters() <= SHARED_LETTERS  # of larger ones a task may have the GPU, and its memory, for minutes

    def precompiled(self, gpus: Gpus) -> Lists:
        apart = gpus.device.takes_gpu and self._parameters.mode == "independent"  # the GPU extends all of them
        lanes = costs_of(self._parameters).compiled[3].dtype.itemsize
        ahead = gpus.device.helpers > 1
        walk, text = ("tidalign.kernels.commit.precompiled", (8 * lanes, ahead)), ("tidalign.kernels.text.precompiled", (True,))
        return [text] if apart or not self._parameters.gapped else [walk, text]

    def compile(self, tracker: Tiles) -> None:
        warm_up(self._parameters)

    def forecast(self) -> "Forecast | None":
        from tidalign.workflows.estimate import of_genomes

        pipe = any(file["size"] < 0 for file in self._source.files())
        return None if pipe or self._source.segments or self._shard else of_genomes.forecast(self._source, self._parameters)

    def heeding(self, stop: Stop) -> AbstractContextManager[None]:
        return heeding(stop)

    def counted(self, manifest: GenomeManifest, tracker: Tiles) -> dict[str, Any]:
        statuses = parts.counts(tracker.parts)
        done, units = sum(part.stop - part.start for part in parts.all_parts(tracker.parts)), sum(manifest.chunks.values())
        if done < units and self._shard:
            raise ShardDone(self._shard, tracker.directory, done, units, "units (a sequence on a strand)")
        bases = {role: sum(side["bases"] for side in manifest.sides if side["role"] == role) for role in ("target", "query")}
        return {
            "run": manifest.run,
            "statuses": dict(sorted(statuses.items())),
            "shortfalls": tuple(shortfall for part in parts.all_parts(tracker.parts) for shortfall in part.labels["shortfalls"]),
            "pairs": len(manifest.names),
            "target_bases": bases["target"],
            "query_bases": bases["query"],
            "empty": sum(side["empty"] for side in manifest.sides),
            "rows": sum(statuses.values()),
            "work": {name: round(value, 3) for name, value in sorted(tracker.numbers.items())},
        }

    def leftovers(self, directory: str) -> Iterable[str]:
        """List what worked ahead of a walk that was over."""
        return [str(path) for folder in ("stages", "extended") for path in Path(directory, folder).iterdir()]


def run_genomes(
    directory: str | Path,
    source: GenomeSource,
    parameters: GenomeParameters,
    *,
    resources: Resources = DEFAULT,
    progress: OnProgress | None = None,
    check: Check | None = None,
    shard: Shard | None = None,
) -> GenomeReport:
    """Align the genomes of `source` into a run directory: see `runner.run`."""
    return runner.run(directory, Genomes(source, parameters, check, shard), resources, progress)
