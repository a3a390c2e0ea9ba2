"""A run over genomes: read the sides, then seed, extend and gather tile by tile, in a run directory that outlives whatever stops it.

What is left to do is read from the directory each time, so starting, going on after a kill and answering for a finished run are the same call.
"""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tidalign.cluster.errors import Stopped
from tidalign.cluster.stop import Stop, on_signals
from tidalign.cluster.task import cores
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.card import CARD
from tidalign.kernels.runtime.errors import KernelError
from tidalign.pipeline.genome.compile import warm_up
from tidalign.pipeline.genome.input.sides import read_side, side_record
from tidalign.pipeline.genome.input.source import GenomeSource
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan.manifest import Check, GenomeManifest, read_manifest, write_manifest
from tidalign.pipeline.store import manifest as manifests
from tidalign.pipeline.store import parts, rundir
from tidalign.pipeline.store.layout import GENOMES
from tidalign.pipeline.store.lock import locked
from tidalign.workflows.run.crew import Crew
from tidalign.workflows.run.devices import Cards, cards_of_workers
from tidalign.workflows.run.devices import cards as find_cards
from tidalign.workflows.run.genome.report import GenomeReport
from tidalign.workflows.run.genome.tasks import heeding
from tidalign.workflows.run.genome.tiles import Tiles, Told
from tidalign.workflows.run.report import versions

if TYPE_CHECKING:
    from tidalign.pipeline.pairs.align import Device

SMALL_INPUT = 64_000_000
"""Bytes of input files below which this process reads them itself: starting workers takes a second or two."""

SMALL_WORK = 5.0
"""Estimated seconds of one core below which this process does all of it."""

ONE_CARD_INPUT = 32_000_000
"""Bytes of input files below which one card does all where nobody says how many: starting workers takes longer."""

READING_THREADS = 4
"""Most files that this process reads at a time."""


def run_genomes(
    directory: str | Path,
    source: GenomeSource,
    parameters: GenomeParameters,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    device: str = "auto",
    gpus: int | None = None,
    progress: Told | None = None,
    check: Check | None = None,
) -> GenomeReport:
    """Align the genomes of `source` into a run directory; go on where an earlier call stopped, whatever stopped it.

    workers: processes on this machine; None: one for each core, or none at all for little work. scheduler: address or file of a Dask scheduler whose
    workers are used instead; they must see the directory and the input.
    device: `cpu`; `gpu`: this machine's GPUs, or those of the scheduler's workers, NoWorkers where there is none; `auto`: this machine's GPUs if it has any.
    gpus: how many of them; None: all, or one where the input is small. One is used by this process, several by a worker each.
    progress: told (stage, done, in all): stages are `read` (files), `compile` (told once) and
    `genomes` (thousandths of a second of estimated work).
    check: looks at the manifest once the sides are read, and may refuse them before anything is aligned.

    Raises InputError (65), MissingInput (66), NoWorkers (69), CannotWrite (73), DiskFull (74), ClusterLost (75), ManifestMismatch (78) and
    Stopped (130 or 143); after each of them the same call goes on. The report's `exit` is 3 if something was capped or had to be given up.
    """
    cards = find_cards(device, gpus, scheduler)
    if len(cards.names) > 1 and not gpus and source.size() <= ONE_CARD_INPUT:
        cards = Cards(dict([*cards.names.items()][:1]), "the input is small: --gpus takes more")
    on: Device = "gpu" if cards.names or (device == "gpu" and scheduler) else "cpu"
    began = time.monotonic()
    told = progress or _silent
    starting = threading.Thread(target=_start, name="start")
    if len(cards.names) == 1 and not rundir.finished(str(directory)):
        starting.start()  # meanwhile
    here = not scheduler and source.size() <= SMALL_INPUT
    with _opened(directory, source, parameters, workers, scheduler, here or (bool(cards.names) and not workers)) as (crew, stop):
        if on == "gpu" and scheduler and not rundir.finished(crew.directory):
            crew.hire()
            cards = Cards(cards_of_workers(crew), cards.why)
        rundir.journal(crew.directory, "device", device=str(cards), why=cards.why)
        if workers and here and on == "cpu" and not rundir.finished(crew.directory):
            crew.begin_to_hire()
        manifest = _read(crew, source, parameters, told, here, check)
        if starting.ident:
            starting.join()
        tiles = Tiles(crew.directory, manifest, stop, told, on)
        try:
            if tasks := tiles.tasks():
                rundir.reopen(crew.directory)
                if on == "gpu":
                    crew.replace(list(cards.names))
                # A claim left behind may be a tile that kills its process: not this one again.
                wanted = scheduler or tiles.claims or (len(cards.names) > 1 if on == "gpu" else workers or tiles.work() > SMALL_WORK)
                if wanted:
                    crew.begin_to_hire()
                if len(cards.names) != 1:
                    told("compile", 0, None)
                    warm_up(parameters)  # workers find it compiled
                    tiles.tell()
                if wanted:
                    crew.hire()
            tiles.workers = crew.size if on == "cpu" else 0
            while tasks:
                try:
                    with heeding(stop):
                        crew.run(tasks, tiles)
                except KernelError:
                    if crew.size:
                        raise
                    crew.hire()  # this process has lost its card; a worker can go on
                tasks = tiles.tasks()
        finally:
            if crew.dismiss():
                tiles.withdraw_claims()
        if rundir.finished(crew.directory):
            return GenomeReport.from_json(rundir.read_report(crew.directory))
        return _finish(crew, manifest, tiles, cards, time.monotonic() - began)


def _start() -> None:
    """Have the card and its libraries ready. What goes wrong is met again by the first tile."""
    CARD.busy = 0.0
    with suppress(Exception):
        compiler.begin()


def _silent(stage: str, done: int, total: int | None) -> None:
    pass


@contextmanager
def _opened(
    directory: str | Path, source: GenomeSource, parameters: GenomeParameters, workers: int | None, scheduler: str | None, threaded: bool
) -> Iterator[tuple[Crew, Stop]]:
    """Hold the run directory, see that it is of this run and can be written, and have somebody to work in it.

    threaded: this process reads, in threads: there is little to read, or cards align, for which worker processes would have to be started for that alone.
    """
    directory = str(Path(directory).absolute())
    description = source.to_json()
    rundir.probe(directory, GENOMES)
    with locked(directory), on_signals(patient=False) as stop:  # a walk can last for hours, and has checkpoints
        rundir.tidy(directory)
        if rundir.exists(directory):
            rundir.compare(directory, parameters.to_json(), description, GENOMES)
        else:
            rundir.create(directory, parameters.to_json(), description, None, GENOMES)
        rundir.journal(directory, "start", command=sys.argv)
        crew = Crew(stop, directory, heeding.__module__, workers, scheduler, min(READING_THREADS, cores()) if threaded else 1)
        try:
            if not threaded and not manifests.written(directory) and (workers or scheduler or source.size() > SMALL_INPUT):
                crew.hire()
            yield crew, stop
        except KeyboardInterrupt:
            raise Stopped(stop.number or signal.SIGINT) from None
        finally:
            crew.dismiss()


def _read(crew: Crew, source: GenomeSource, parameters: GenomeParameters, told: Told, here: bool, check: Check | None) -> GenomeManifest:
    """The manifest of a run whose sides are all read: what is missing of them is read. here: by this process, whoever is hired."""
    sides = source.sides()
    if manifests.written(crew.directory) and all(side_record(crew.directory, side) for side in range(len(sides))):
        manifest = read_manifest(crew.directory)
        if check:
            check(manifest)
        return manifest
    told("read", 0, len(sides))
    ambiguous = parameters.scoring.ambiguous
    letters = ambiguous[0] if ambiguous else None
    arguments = [(crew.directory, side, role, spec, letters) for side, (role, spec) in enumerate(sides)]
    if any(file["size"] < 0 for file in source.files()):  # only this process can read a pipe
        records = [read_side(*each) for each in arguments]
    else:
        records = crew.map(read_side, *zip(*arguments, strict=True), here=here)
    told("read", len(sides), len(sides))
    manifest = write_manifest(crew.directory, records, check)
    rundir.journal(crew.directory, "read", sides=records, jobs=len(manifest.jobs), tiles=sum(len(job.tiles) for job in manifest.jobs))
    return manifest


def _finish(crew: Crew, manifest: GenomeManifest, tiles: Tiles, cards: Cards, seconds: float) -> GenomeReport:
    """Say what came out and that the run is over."""
    found, _ = parts.scan(f"{crew.directory}/parts", manifest.run)
    counts = parts.counts(found)
    shortfalls = [shortfall for part in parts.all_parts(found) for shortfall in part.labels["shortfalls"]]
    bases = {role: sum(side["bases"] for side in manifest.sides if side["role"] == role) for role in ("target", "query")}
    report = GenomeReport(
        run=manifest.run,
        pairs=len(manifest.names),
        target_bases=bases["target"],
        query_bases=bases["query"],
        empty=sum(side["empty"] for side in manifest.sides),
        rows=sum(counts.values()),
        statuses=dict(sorted(counts.items())),
        shortfalls=tuple(shortfalls),
        seconds=round(seconds, 3),
        work={name: round(value, 3) for name, value in sorted(tiles.numbers.items())},
        device=str(cards),
        device_why=cards.why,
        workers=crew.size,
        deaths=tiles.deaths,
        retries=tiles.retries,
        command=tuple(sys.argv),
        versions=versions(),
    )
    for folder in ("stages", "extended"):  # what worked ahead of a walk that was over
        for path in Path(crew.directory, folder).iterdir():
            path.unlink()
    rundir.finish(crew.directory, report.to_json(), partial=bool(report.exit))
    rundir.journal(crew.directory, "end", **report.to_json())
    return report
