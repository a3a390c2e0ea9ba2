"""Run over pairs: partition them into chunks, and align what the run's parts do not hold yet, meanwhile and after it."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpus import TASKS_OF_A_GPU
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import cores
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS
from tidalign.kernels.runtime.precompile import Lists
from tidalign.pipeline.device import CPU
from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.pairs.aligner import PairParameters, aligner_of, start
from tidalign.pipeline.pairs.input.index import PairBlock
from tidalign.pipeline.pairs.input.read import PairSource
from tidalign.pipeline.pairs.manifest import BlockRecord, Check, PairManifest, read_block_record, read_manifest, write_manifest
from tidalign.pipeline.pairs.partition import check_end
from tidalign.pipeline.store import claims, layout, parts, rundir
from tidalign.workflows.estimate import tiny
from tidalign.workflows.run import runner
from tidalign.workflows.run.crew import Crew, Readers
from tidalign.workflows.run.devices import DEFAULT, Gpus, Meanwhile, Resources, at_once, sooner
from tidalign.workflows.run.pairs.alignment import Aligned, Alignment, Reading
from tidalign.workflows.run.pairs.tasks import align_ranges
from tidalign.workflows.run.report import Report
from tidalign.workflows.run.runner import RunKind
from tidalign.workflows.run.shard import Shard, ShardDone
from tidalign.workflows.run.tracker import OnProgress

if TYPE_CHECKING:
    from tidalign.workflows.estimate.forecast import Forecast


LARGE_INPUT = 256_000_000
"""Bytes of input files above which several GPUs may be needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairReport(Report):
    """Holds what report.json of a run over pairs says.

    pairs, bases: all of it, letters of both sides. aligned: pairs that this call aligned. by_host: pairs that the host took for a GPU.
    heuristic: that rows were made with, None where they are exact or a score's.
    """

    pairs: int
    bases: int
    aligned: int
    by_host: int
    heuristic: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {**super(PairReport, self).to_json(), "pairs_per_second": round(self.aligned / self.seconds) if self.seconds else 0}


class Pairs(RunKind[PairManifest, Alignment, PairReport]):
    """Describes a run over pairs. Progress is told of the stages `partition` and `align`, in pairs.

    check: looks at the first block when it is read, and at all of them, and may refuse them. Where much may be aligned by then that is told and no more: the
    rest is aligned, too, and who cannot write one format of it writes another. stays: whether there is a run then; else each block is looked at and refused.
    """

    layout = layout.PAIRS
    module = align_ranges.__module__
    report = PairReport
    reading_threads = 16  # each block takes up to a fifth of a gigabyte, and more are hardly faster
    meanwhile_threads = 4  # of these, while cores align, or workers that are to read start
    gpu_tasks = 8  # one is on the GPU, the others read, or write, which takes longer
    small_work = 3.0  # estimated seconds of each core
    forecast_from = 5.0

    def __init__(self, source: PairSource, parameters: Any, check: Check | None = None, shard: Shard | None = None, *, stays: bool = True) -> None:
        self._shard, self._stays, self._told = shard, stays, False
        self._source, self._parameters, self._check, self._aligner = source, parameters, check, aligner_of(parameters)

    def parameters(self) -> dict[str, Any]:
        return self._aligner.to_json(self._parameters)

    def source(self) -> dict[str, Any]:
        return self._source.to_json()

    def chosen(self, gpus: Gpus, resources: Resources) -> Gpus:
        by_size = at_once(gpus, resources, lambda: None if self._shard else tiny.of_pairs(self._source, self._parameters, self._aligner.work))
        return by_size or (sooner(gpus, resources, self.forecast, self.small()) if self._size() < tiny.BYTES else gpus)

    def _size(self) -> int:
        """Count the bytes of the input files."""
        return sum(file["size"] for file in self._source.files())

    def small(self) -> float:
        return self.small_work * cores()

    def readers(self, resources: Resources, gpus: Gpus) -> Readers:
        return "workers" if resources.scheduler else "threads"

    def threads(self, resources: Resources, readers: Readers, gpus: Gpus) -> tuple[int, int]:
        most = self.reading_threads if gpus.device.takes_gpu or self._shard else self.meanwhile_threads
        return cores(), min(most, resources.workers or cores()) if readers == "threads" else 0

    def begin(self, directory: str) -> None:
        """Write nothing yet: who is to read may not be there."""

    def read(self, crew: Crew, told: OnProgress, readers: Readers, meanwhile: Meanwhile | None) -> PairManifest:
        """Read what no block record is there of, write the manifest, and align meanwhile what all that are read have; a share is known when all is read."""
        directory, known, self.begun = crew.directory, None, None
        look = partial(self._look, begun=self._stays and _some_parts(directory))
        if rundir.has_manifest(crew.directory):
            known = read_manifest(directory)
            piped = self._source.waits and any(record.get("digest") for record in known.blocks)  # what comes now is compared with what came before
            if not piped and all(read_block_record(directory, record["id"]) for record in known.blocks):
                if not rundir.finished(directory):
                    look(known.blocks)
                return known
        if not rundir.exists(directory):
            super().begin(directory)
        aligned = meanwhile if meanwhile and not known and not self._shard else None
        if aligned and claims.leftover(directory):
            crew.begin_to_hire()  # what was left behind may be of what kills its process: not this one again
        elif aligned and len(aligned.gpus.names) > 1 and self._size() > LARGE_INPUT:
            from tidalign.cluster import forks

            with suppress(NoWorkers):  # which who hires meets again
                forks.serve([self.module], gpus=True)  # what workers are forked from, while it is found whether they are needed
        while True:
            reading = self._reading(crew, told, aligned, known, self._of_each(directory, look))
            try:
                crew.run(reading.tasks(), reading)
                break
            except KernelError:
                if not aligned or not GPU_OF_PROCESS.lost:
                    raise
                crew.hire()  # this process has lost its GPU; a worker can go on, when all is read
                aligned = None
        check_end(directory, self._source, reading.records)
        look = partial(self._look, begun=self._stays and (aligned is not None or _some_parts(directory)))
        manifest = write_manifest(directory, reading.records, None if rundir.finished(directory) else look)
        rundir.journal(directory, "partitioned", pairs=manifest.pairs, blocks=len(reading.records), chunks=len(manifest.chunks))
        return manifest

    def _look(self, blocks: Sequence[BlockRecord], *, begun: bool) -> None:
        """Have blocks looked at. What is wrong with them is raised; told once, where much may be aligned (begun)."""
        try:
            if self._check and not self._told:
                self._check(blocks)
        except (InputError, MissingInput) as error:
            if not begun:
                raise
            self._told = True
            logging.getLogger("tidalign").warning("%s; the pairs are aligned all the same, and kept", error)

    def _of_each(self, directory: str, look: Check) -> Check:
        """Give what looks at each block that is read."""
        if rundir.finished(directory):
            return lambda blocks: None
        return lambda blocks: look(blocks) if not (self._stays and blocks[0]["first"]) else None

    def _reading(self, crew: Crew, told: OnProgress, meanwhile: Meanwhile | None, known: PairManifest | None, look: Check) -> Reading:
        """Give what reads what is not read yet, and has it aligned, if it may be."""
        blocks = [PairBlock.from_json(record) for record in known.blocks] if known else None
        if not meanwhile:
            return Reading(crew, self._source, told, blocks, look)
        self.begun = alignment = self._tracker(crew.directory, meanwhile.stop, told, meanwhile.gpus)
        alignment.look()
        warm_up = self._aligner.on(CPU).warm_up

        def prepare(longest: int) -> None:
            if self.compiles(meanwhile.gpus) or meanwhile.gpus.cores:
                warm_up(self._parameters, longest)  # workers find it kept
            if not self.compiles(meanwhile.gpus):
                meanwhile.ready()

        return Reading(crew, self._source, told, blocks, look, Aligned(alignment, prepare, self._much(crew, meanwhile.gpus)))

    def _much(self, crew: Crew, gpus: Gpus) -> float | None:
        """Tell from how many seconds of one core on workers are hired; None: that is settled."""
        if crew.hiring or len(gpus.names) == 1:
            return None
        if gpus.names:
            return self.hire_seconds * gpus.device.speed
        return inf if crew.alone else self.small()

    def _tracker(self, directory: str, stop: Stop, told: OnProgress, gpus: Gpus) -> Alignment:
        plan = rundir.read_plan(directory)
        run = rundir.run_of(plan)
        count = max(1, len(gpus.names))
        return Alignment(
            directory, run, self.parameters(), stop, told, gpus.device, count, max(0 if gpus.cores else self.gpu_tasks, TASKS_OF_A_GPU * count), gpus.cores
        )

    def tracker(self, directory: str, manifest: PairManifest, stop: Stop, told: OnProgress, gpus: Gpus) -> Alignment:
        alignment = self.begun or self._tracker(directory, stop, told, gpus)
        alignment.add(manifest, self._shard)
        return alignment

    def begins_here(self, gpus: Gpus) -> bool:
        # What came from a pipe is not read again where this process loses its GPU; workers lose theirs alone.
        return super().begins_here(gpus) and (len(gpus.names) == 1 or not self._source.has_pipe)

    def start(self, gpus: Gpus) -> None:
        start(self._aligner, self._parameters, gpus.device)

    def compiles(self, gpus: Gpus) -> bool:
        return not gpus.device.takes_gpu

    def precompiled(self, gpus: Gpus) -> Lists:
        exact = isinstance(self._parameters, PairParameters) and self._parameters.heuristic is None
        align: Lists = [("tidalign.kernels.pairwise.precompiled", ())] if exact and self.compiles(gpus) else []
        formats = sorted({each.format for each in self._source.inputs}) if self._source.has_ranges else []  # what comes in sequence is read otherwise
        return [*align, ("tidalign.kernels.text.precompiled", (False, *formats))]

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
            "heuristic": self.parameters().get("heuristic"),
        }


def _some_parts(directory: str) -> bool:
    return any(Path(directory, "parts").iterdir())


def run_pairs(
    directory: str | Path,
    source: PairSource,
    parameters: Any,
    *,
    resources: Resources = DEFAULT,
    progress: OnProgress | None = None,
    check: Check | None = None,
    shard: Shard | None = None,
    stays: bool = True,
) -> PairReport:
    """Align every pair of `source` into a run directory, by the aligner of these parameters: see `runner.run`. Every pair has its row, or its reason."""
    return runner.run(directory, Pairs(source, parameters, check, shard, stays=stays), resources, progress)


def partition_pairs(
    directory: str | Path, source: PairSource, parameters: Any, *, resources: Resources = DEFAULT, progress: OnProgress | None = None
) -> PairManifest:
    """Run the first stage of `run_pairs` alone. Returns the manifest: blocks and the chunks that they became."""
    kind = Pairs(source, parameters)
    kind.meanwhile_threads = kind.reading_threads
    return runner.read(directory, kind, resources, progress)
