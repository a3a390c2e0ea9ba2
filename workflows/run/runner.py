"""Run any kind of run, in a directory that outlives whatever stops it.

What is left to do is read from the directory each time, so starting, going on after a kill and answering for a finished run are the same call.
"""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tidalign.cluster.errors import Stopped
from tidalign.cluster.stop import Stop, on_signals
from tidalign.cluster.task import cores
from tidalign.kernels.runtime.errors import KernelError
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.lock import locked
from tidalign.workflows.run import devices
from tidalign.workflows.run.crew import Crew
from tidalign.workflows.run.devices import Gpus, Resources
from tidalign.workflows.run.kind import Kind, M, R, Readers, T
from tidalign.workflows.run.tracker import Told


def run(directory: str | Path, kind: Kind[M, T, R], resources: Resources, told: Told | None = None) -> R:
    """Do a run in `directory`; go on where an earlier call stopped, whatever stopped it. told: of progress, see the kind's stages; `compile` is told once.

    Raises InputError (65), MissingInput (66), NoWorkers (69), CannotWrite (73), DiskFull (74), ClusterLost (75), ManifestMismatch (78) and
    Stopped (130 or 143); after each of them the same call goes on. The report's `exit` is 3 if something was capped or had to be given up.
    """
    gpus = kind.chosen(devices.choose(resources), resources)
    began, told = time.monotonic(), told or _silent
    starting = threading.Thread(target=kind.start, args=(gpus,), name="start")
    if len(gpus.names) == 1 and not rundir.finished(str(directory)):
        starting.start()  # meanwhile
    with _opened(directory, kind, resources, gpus) as (crew, stop, readers):
        going = not rundir.finished(crew.directory)
        if gpus.device == "gpu" and resources.scheduler and going:
            crew.hire()
            gpus = devices.of_workers(gpus, crew)
        rundir.journal(crew.directory, "device", device=str(gpus), why=gpus.why)
        if going and resources.workers and readers != "workers" and gpus.device == "cpu":
            crew.begin_to_hire()
        manifest = kind.read(crew, told, readers)
        if starting.ident:
            starting.join()
        tracker = kind.tracker(crew.directory, manifest, stop, told, gpus)
        try:
            _work(crew, kind, tracker, stop, resources, gpus, told)
        finally:
            if crew.dismiss():
                tracker.withdraw_claims()
        if rundir.finished(crew.directory):
            return kind.report.from_json(rundir.read_report(crew.directory))
        counted = kind.counted(manifest, tracker)
        report = kind.report(
            **counted,
            seconds=round(time.monotonic() - began, 3),
            device=str(gpus),
            device_why=gpus.why,
            workers=crew.size,
            deaths=tracker.deaths,
            retries=tracker.retries,
        )
        for path in kind.leftovers(crew.directory):
            Path(path).unlink()
        rundir.finish(crew.directory, report.to_json(), partial=bool(report.exit))
        rundir.journal(crew.directory, "end", **report.to_json())
        return report


def read(directory: str | Path, kind: Kind[M, Any, Any], resources: Resources, told: Told | None = None) -> M:
    """Do the first stage of `run` alone."""
    with _opened(directory, kind, resources, Gpus({}, "")) as (crew, _, readers):
        return kind.read(crew, told or _silent, readers)


def _work(crew: Crew, kind: Kind[M, T, R], tracker: T, stop: Stop, resources: Resources, gpus: Gpus, told: Told) -> None:
    """Do what is left of a run."""
    tasks = tracker.tasks()
    if not tasks:
        return
    rundir.reopen(crew.directory)
    if gpus.device == "gpu":
        crew.replace(list(gpus.names))
        several = len(gpus.names) > 1
    else:
        several = bool(resources.workers) or tracker.work() > kind.small_work
    # A claim left behind may be of what kills its process: not this one again.
    wanted = bool(resources.scheduler) or tracker.claims or several
    if wanted:
        crew.begin_to_hire()
    if kind.compiles(gpus):
        told("compile", 0, None)
        kind.compile(tracker)
        tracker.tell()
    if wanted:
        crew.hire()
    tracker.workers = crew.size if gpus.device == "cpu" else 0
    while tasks:
        try:
            with kind.heeding(stop):
                crew.run(tasks, tracker)
        except KernelError:
            if crew.size:
                raise
            crew.hire()  # this process has lost its GPU; a worker can go on
        tasks = tracker.tasks()


def _silent(stage: str, done: int, total: int | None) -> None:
    pass


@contextmanager
def _opened(directory: str | Path, kind: Kind[Any, Any, Any], resources: Resources, gpus: Gpus) -> Iterator[tuple[Crew, Stop, Readers]]:
    """Hold the run directory, see that it is of this run and can be written, and have somebody to read the input."""
    directory = str(Path(directory).absolute())
    rundir.probe(directory, kind.layout)
    with locked(directory), on_signals(patient=kind.patient) as stop:
        rundir.tidy(directory)
        kind.open(directory)
        rundir.journal(directory, "start", command=sys.argv)
        readers = kind.readers(resources, gpus)
        crew = Crew(stop, directory, kind.module, resources.workers, resources.scheduler, min(kind.reading_threads, cores()) if readers == "threads" else 1)
        try:
            if readers == "workers" and not rundir.read_manifest(directory):
                crew.hire()
            yield crew, stop, readers
        except KeyboardInterrupt:
            raise Stopped(stop.number or signal.SIGINT) from None
        finally:
            crew.dismiss()
