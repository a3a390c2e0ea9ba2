"""Run over pairs: partition them into chunks, then align what the run's parts do not hold yet."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidalign.cluster.stop import Stop
from tidalign.kernels.pairwise.wavefront import warm_up
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.pipeline.pairs.align import start
from tidalign.pipeline.pairs.input.read import Source
from tidalign.pipeline.pairs.parameters import PairParameters
from tidalign.pipeline.store import layout, parts
from tidalign.workflows.run import runner
from tidalign.workflows.run.crew import Crew
from tidalign.workflows.run.devices import DEFAULT, Gpus, Resources
from tidalign.workflows.run.kind import Kind, Readers
from tidalign.workflows.run.pairs.alignment import Alignment
from tidalign.workflows.run.pairs.partitioning import partition
from tidalign.workflows.run.pairs.tasks import align_ranges
from tidalign.workflows.run.report import Report
from tidalign.workflows.run.tracker import Told

SMALL_INPUT = 32_000_000
"""Bytes of input files below which this process reads them itself: starting workers takes a second or two."""


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


class Pairs(Kind[dict[str, Any], Alignment, PairReport]):
    """A run over pairs. Progress is told of the stages `partition` and `align`, in pairs."""

    layout = layout.PAIRS
    module = align_ranges.__module__
    report = PairReport
    reading_threads = 16  # each block takes up to half a gigabyte, and more are hardly faster
    small_work = 3.0

    def __init__(self, source: Source, parameters: PairParameters) -> None:
        self._source, self._parameters = source, parameters

    def parameters(self) -> dict[str, Any]:
        return self._parameters.to_json()

    def source(self) -> dict[str, Any]:
        return self._source.to_json()

    def begin(self, directory: str) -> None:
        """Nothing yet: the plan holds the blocks of the input, which are cut by who reads it."""

    def readers(self, resources: Resources, gpus: Gpus) -> Readers:
        if gpus.names and not resources.workers:
            return "threads"  # worker processes would have to be started for that alone
        large = sum(file["size"] for file in self._source.files()) > SMALL_INPUT
        return "workers" if resources.workers or resources.scheduler or large else "here"

    def read(self, crew: Crew, told: Told, readers: Readers) -> dict[str, Any]:
        return partition(crew, self._source, self._parameters, told)

    def tracker(self, directory: str, manifest: dict[str, Any], stop: Stop, told: Told, gpus: Gpus) -> Alignment:
        return Alignment(directory, manifest, stop, told, gpus.device, max(1, len(gpus.names)))

    def start(self, gpus: Gpus) -> None:
        start(self._parameters, gpus.device)

    def compiles(self, gpus: Gpus) -> bool:
        return gpus.device == "cpu"

    def compile(self, tracker: Alignment) -> None:
        warm_up([Penalties.parse(self._parameters.penalties)], tracker.longest())

    def counted(self, manifest: dict[str, Any], tracker: Alignment) -> dict[str, Any]:
        statuses = parts.counts(tracker.parts)
        if sum(statuses.values()) != manifest["pairs"]:
            raise RuntimeError(f"{tracker.directory}: {manifest['pairs']} pairs went in and {sum(statuses.values())} rows came out")
        return {
            "run": manifest["run"],
            "statuses": dict(sorted(statuses.items())),
            "pairs": manifest["pairs"],
            "bases": sum(part.labels["bases"] for part in parts.all_parts(tracker.parts)),
            "aligned": int(tracker.made),
            "by_host": tracker.by_host,
        }


def run_pairs(directory: str | Path, source: Source, parameters: PairParameters, *, resources: Resources = DEFAULT, progress: Told | None = None) -> PairReport:
    """Align every pair of `source` into a run directory: see `runner.run`. Every pair has its row, or its reason."""
    return runner.run(directory, Pairs(source, parameters), resources, progress)


def partition_pairs(
    directory: str | Path, source: Source, parameters: PairParameters, *, resources: Resources = DEFAULT, progress: Told | None = None
) -> dict[str, Any]:
    """Do the first stage of `run_pairs` alone. Returns the manifest: {pairs, blocks: [{id, first, pairs, chunks: [{id, rows, bin, work, bytes, longest}]}]}."""
    return runner.read(directory, Pairs(source, parameters), resources, progress)
