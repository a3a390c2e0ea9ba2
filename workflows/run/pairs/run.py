"""A run over pairs: partition, then align, in a run directory that outlives whatever stops it.

What is left to do is read from the directory each time, so starting, going on after a kill and answering for a finished run are the same call.
"""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tidalign.cluster.errors import Stopped
from tidalign.cluster.stop import Stop, on_signals
from tidalign.cluster.task import cores
from tidalign.kernels.pairwise.wavefront import warm_up
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.pipeline.pairs.align import start
from tidalign.pipeline.pairs.input.read import Source
from tidalign.pipeline.pairs.manifest import PairManifest
from tidalign.pipeline.pairs.parameters import PairParameters
from tidalign.pipeline.store import manifest as manifests
from tidalign.pipeline.store import parts, rundir
from tidalign.pipeline.store.lock import locked
from tidalign.workflows.run.crew import Crew
from tidalign.workflows.run.devices import Cards, cards_of_workers
from tidalign.workflows.run.devices import cards as find_cards
from tidalign.workflows.run.pairs.alignment import Alignment
from tidalign.workflows.run.pairs.partitioning import partition
from tidalign.workflows.run.pairs.tasks import align_ranges
from tidalign.workflows.run.report import Report, versions

if TYPE_CHECKING:
    from tidalign.pipeline.pairs.align import Device

Progress = Callable[[str, int, int | None], None]
"""Told (stage, pairs done, pairs in all or None where nobody knows yet); stages are `partition`, `compile` (told once) and `align`."""

SMALL_INPUT = 32_000_000
"""Bytes of input files below which this process reads them itself: starting workers takes a second or two."""

SMALL_WORK = 3e8
"""Estimated work (pipeline/pairs/work.py) below which this process aligns: about three seconds of one core."""

PARTITION_THREADS = 16
"""Most blocks of the input that this process partitions at a time: each takes up to half a gigabyte, and more are hardly faster."""


def run_pairs(
    directory: str | Path,
    source: Source,
    parameters: PairParameters,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    device: str = "auto",
    gpus: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Align every pair of `source` into a run directory; go on where an earlier call stopped, whatever stopped it.

    workers: processes on this machine; None: one for each core, or none at all for a small input or where GPUs align.
    scheduler: address or file of a Dask scheduler whose workers are used instead; they must see the directory and the input.
    device: `cpu`; `gpu`: this machine's GPUs, or those of the scheduler's workers, NoWorkers where there is none; `auto`: this machine's GPUs if it has any.
    gpus: how many of them; None: all. One is used by this process, several by a worker each.

    Raises InputError (65), MissingInput (66), NoWorkers (69), CannotWrite (73), DiskFull (74), ClusterLost (75), ManifestMismatch (78) and
    Stopped (130 or 143); after each of them the same call goes on. The report's `exit` is 3 if a pair had to be given up.
    """
    cards = find_cards(device, gpus, scheduler)
    on: Device = "gpu" if cards.names or (device == "gpu" and scheduler) else "cpu"
    began = time.monotonic()
    with _opened(directory, source, parameters, workers, scheduler, bool(cards.names) and not workers) as (crew, stop):
        if on == "gpu" and scheduler and not rundir.finished(crew.directory):
            crew.hire()
            cards = Cards(cards_of_workers(crew), cards.why)
        rundir.journal(crew.directory, "device", device=str(cards), why=cards.why)
        starting = threading.Thread(target=start, args=(parameters, on), name="start")
        if len(cards.names) == 1 and not scheduler and not rundir.finished(crew.directory):
            starting.start()  # meanwhile
        manifest = partition(crew, source, parameters, progress or _silent)
        if starting.ident:
            starting.join()
        alignment = Alignment(crew.directory, manifest, stop, progress or _silent, on, max(1, len(cards.names)))
        try:
            if tasks := alignment.tasks():
                rundir.reopen(crew.directory)
                if on == "gpu":
                    crew.replace(list(cards.names))
                else:
                    (progress or _silent)("compile", 0, None)
                    warm_up([Penalties.parse(parameters.penalties)], alignment.longest())  # workers find it compiled
                    alignment.tell()
                # A claim left behind may be a pair that kills its process: not this one again.
                if scheduler or alignment.claims or (len(cards.names) > 1 if on == "gpu" else workers or alignment.work() > SMALL_WORK):
                    crew.hire()
            while tasks:
                try:
                    crew.run(tasks, alignment)
                except KernelError:
                    if crew.size:
                        raise
                    crew.hire()  # this process has lost its device; a worker can go on
                tasks = alignment.tasks()
        finally:
            if crew.dismiss():
                alignment.withdraw_claims()
        if rundir.finished(crew.directory):
            return Report.from_json(rundir.read_report(crew.directory))
        return _finish(crew, manifest, alignment, cards, time.monotonic() - began)


def partition_pairs(
    directory: str | Path,
    source: Source,
    parameters: PairParameters,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> PairManifest:
    """The first stage of `run_pairs` alone. Returns the manifest: blocks and the chunks that they became."""
    with _opened(directory, source, parameters, workers, scheduler) as (crew, _):
        return partition(crew, source, parameters, progress or _silent)


def _silent(stage: str, done: int, total: int | None) -> None:
    pass


@contextmanager
def _opened(
    directory: str | Path, source: Source, parameters: PairParameters, workers: int | None, scheduler: str | None, threaded: bool = False
) -> Iterator[tuple[Crew, Stop]]:
    """Hold the run directory, see that it is of this run and can be written, and have somebody to work in it.

    threaded: this process partitions in threads, one a core: where GPUs align, worker processes would have to be started for that alone.
    """
    directory = str(Path(directory).absolute())
    rundir.probe(directory)
    with locked(directory), on_signals() as stop:
        rundir.tidy(directory)
        if rundir.exists(directory):
            rundir.compare(directory, parameters.to_json(), source.to_json())
        rundir.journal(directory, "start", command=sys.argv)
        crew = Crew(stop, directory, align_ranges.__module__, workers, scheduler, min(PARTITION_THREADS, cores()) if threaded else 1)
        try:
            if not threaded and not manifests.written(directory) and (workers or scheduler or sum(file["size"] for file in source.files()) > SMALL_INPUT):
                crew.hire()
            yield crew, stop
        except KeyboardInterrupt:
            raise Stopped(stop.number or signal.SIGINT) from None
        finally:
            crew.dismiss()


def _finish(crew: Crew, manifest: PairManifest, alignment: Alignment, cards: Cards, seconds: float) -> Report:
    """Count what came out against what went in, then say that the run is over."""
    counts = parts.counts(alignment.parts)
    bases = sum(part.labels["bases"] for part in parts.all_parts(alignment.parts))
    if sum(counts.values()) != manifest.pairs:
        raise RuntimeError(f"{crew.directory}: {manifest.pairs} pairs went in and {sum(counts.values())} rows came out")
    report = Report(
        run=manifest.run,
        pairs=manifest.pairs,
        bases=bases,
        statuses=dict(sorted(counts.items())),
        aligned=alignment.aligned,
        seconds=round(seconds, 3),
        device=str(cards),
        device_why=cards.why,
        by_host=alignment.by_host,
        workers=crew.size,
        deaths=alignment.deaths,
        retries=alignment.retries,
        command=tuple(sys.argv),
        versions=versions(),
    )
    rundir.finish(crew.directory, report.to_json(), partial=bool(report.exit))
    rundir.journal(crew.directory, "end", **report.to_json())
    return report
