"""Run over pairs: partition them into chunks, then align what the run's parts do not hold yet."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Task
from tidalign.pipeline.device import CPU
from tidalign.pipeline.pairs.aligner import aligner_of, start
from tidalign.pipeline.pairs.input.read import Block, Source, plan
from tidalign.pipeline.pairs.manifest import BlockRecord, Check, PairManifest, read_block_record, read_manifest, write_manifest
from tidalign.pipeline.pairs.partition import partition_block, partition_stream
from tidalign.pipeline.store import layout, parts, rundir
from tidalign.workflows.run import runner
from tidalign.workflows.run.crew import Crew, Readers, Repeated
from tidalign.workflows.run.devices import DEFAULT, Gpus, Resources, on_forms, sooner
from tidalign.workflows.run.pairs.alignment import Alignment
from tidalign.workflows.run.pairs.tasks import align_ranges
from tidalign.workflows.run.runner import Kind, Report
from tidalign.workflows.run.shard import Shard, ShardDone
from tidalign.workflows.run.tracker import Told

if TYPE_CHECKING:
    from tidalign.workflows.estimate.forecast import Forecast


def partition(
    crew: Crew, source: Source, parameters: dict[str, Any], progress: Callable[[str, int, int | None], None], check: Check | None = None
) -> PairManifest:
    """Give the manifest of a run whose chunks are all there: what is missing of them is made. The caller holds the directory's lock."""
    directory = crew.directory
    if rundir.has_manifest(directory):
        manifest = read_manifest(directory)
        if all(read_block_record(directory, record["id"]) for record in manifest.blocks):
            if check and not rundir.finished(directory):
                check(manifest)
            return manifest
    if not rundir.exists(directory):
        blocks = plan(source, map=crew.map)
        described = None if blocks is None else [block.to_json() for block in blocks]
        rundir.create(directory, parameters, source.to_json(), described)
    # As written rather than as planned: a run that goes on must cut its input where it did before.
    planned = rundir.read_plan(directory)["blocks"]
    blocks = None if planned is None else [Block.from_json(block) for block in planned]
    pairs = None if blocks is None else sum(block.pairs for block in blocks)
    progress("partition", 0, pairs)
    stage = _Partition(directory, pairs, progress)
    if blocks is None:
        crew.run([Task("partition", partition_stream, (directory, source))], stage, here=source.has_pipe)
    else:
        crew.run([Task(f"partition-{block.id}", partition_block, (directory, source, block), block.pairs) for block in blocks], stage)
    manifest = write_manifest(directory, stage.records, check)
    rundir.journal(directory, "partitioned", pairs=manifest.pairs, blocks=len(stage.records), chunks=len(manifest.chunks))
    return manifest


class _Partition(Repeated):
    def __init__(self, directory: str, pairs: int | None, progress: Callable[[str, int, int | None], None]) -> None:
        super().__init__(directory)
        self._pairs, self._progress = pairs, progress
        self._done = 0
        self.records: list[BlockRecord] = []

    def done(self, task: Task, result: BlockRecord | list[BlockRecord]) -> None:
        for record in result if isinstance(result, list) else [result]:
            self.records.append(record)
            self._done += record["pairs"]
        self._progress("partition", self._done, self._pairs)


SMALL_INPUT = 32_000_000
"""Bytes of input files below which this process reads them itself: starting workers takes a second or two."""


TINY_INPUT = 4_000_000
"""Bytes of input files below which cores may be sooner than a GPU has started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairReport(Report):
    """report.json of a run over pairs.

    pairs, bases: all of it, letters of both sides. aligned: pairs that this call aligned. by_host: pairs that the host took for a GPU.
    """

    pairs: int
    bases: int
    aligned: int
    by_host: int

    def to_json(self) -> dict[str, Any]:
        return {**super(PairReport, self).to_json(), "pairs_per_second": round(self.aligned / self.seconds) if self.seconds else 0}


class Pairs(Kind[PairManifest, Alignment, PairReport]):
    """Describes a run over pairs. Progress is told of the stages `partition` and `align`, in pairs.

    check: looks at the manifest once the pairs are read, and may refuse them before anything is aligned.
    """

    layout = layout.PAIRS
    module = align_ranges.__module__
    report = PairReport
    reading_threads = 16  # each block takes up to half a gigabyte, and more are hardly faster
    small_work = 3.0
    forecast_from = 5.0

    def __init__(self, source: Source, parameters: Any, check: Check | None = None, shard: Shard | None = None) -> None:
        self._shard = shard
        self._source, self._parameters, self._check, self._aligner = source, parameters, check, aligner_of(parameters)

    def parameters(self) -> dict[str, Any]:
        return self._aligner.to_json(self._parameters)

    def source(self) -> dict[str, Any]:
        return self._source.to_json()

    def begin(self, directory: str) -> None:
        """Write nothing yet: the plan holds the blocks of the input, which are cut by who reads it."""

    def chosen(self, gpus: Gpus, resources: Resources) -> Gpus:
        size = sum(file["size"] for file in self._source.files())
        # In between one GPU is sure to be sooner than cores, and nothing else is to be chosen.
        return sooner(gpus, resources, self.forecast) if size < TINY_INPUT or len(gpus.names) > 1 else gpus

    def readers(self, resources: Resources, gpus: Gpus) -> Readers:
        if gpus.names and not resources.workers:
            return "threads"  # worker processes would have to be started for that alone
        large = sum(file["size"] for file in self._source.files()) > SMALL_INPUT
        return "workers" if resources.workers or resources.scheduler or large else "here"

    def read(self, crew: Crew, told: Told, readers: Readers) -> PairManifest:
        return partition(crew, self._source, self.parameters(), told, self._check)

    def tracker(self, directory: str, manifest: PairManifest, stop: Stop, told: Told, gpus: Gpus) -> Alignment:
        return Alignment(directory, manifest, stop, told, gpus.device, max(1, len(gpus.names)), self._shard)

    def start(self, gpus: Gpus) -> None:
        start(self._aligner, self._parameters, gpus.device)

    def compiles(self, gpus: Gpus) -> bool:
        return not gpus.device.takes_gpu

    def compile(self, tracker: Alignment) -> None:
        self._aligner.on(CPU).warm_up(self._parameters, tracker.longest())

    def forecast(self) -> "Forecast | None":
        from tidalign.workflows.estimate import of_pairs

        return None if self._source.has_pipe or self._shard else of_pairs.forecast(self._source, self._parameters)

    def counted(self, manifest: PairManifest, tracker: Alignment) -> dict[str, Any]:
        statuses = parts.counts(tracker.parts)
        if sum(statuses.values()) < manifest.pairs and self._shard:
            raise ShardDone(self._shard, tracker.directory, sum(statuses.values()), manifest.pairs, "pairs")
        if sum(statuses.values()) != manifest.pairs:
            raise RuntimeError(f"{tracker.directory}: {manifest.pairs} pairs went in and {sum(statuses.values())} rows came out")
        return {
            "run": manifest.run,
            "statuses": dict(sorted(statuses.items())),
            "pairs": manifest.pairs,
            "bases": sum(part.labels["bases"] for part in parts.all_parts(tracker.parts)),
            "aligned": int(tracker.made),
            "by_host": tracker.by_host,
        }


def run_pairs(
    directory: str | Path,
    source: Source,
    parameters: Any,
    *,
    resources: Resources = DEFAULT,
    progress: Told | None = None,
    check: Check | None = None,
    shard: Shard | None = None,
) -> PairReport:
    """Align every pair of `source` into a run directory, by the aligner of these parameters: see `runner.run`. Every pair has its row, or its reason.
    NoWorkers where GPUs are asked for that the aligner cannot use."""
    resources = on_forms(resources, aligner_of(parameters).forms)
    return runner.run(directory, Pairs(source, parameters, check, shard), resources, progress)


def partition_pairs(directory: str | Path, source: Source, parameters: Any, *, resources: Resources = DEFAULT, progress: Told | None = None) -> PairManifest:
    """Do the first stage of `run_pairs` alone. Returns the manifest: blocks and the chunks that they became."""
    return runner.read(directory, Pairs(source, parameters), resources, progress)
