"""Hold the directory of a run while somebody works on it: it is theirs alone, and what is found damaged in it is made again."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from tidalign.cluster.address import address_of
from tidalign.cluster.errors import ClusterLost, NoWorkers, Stopped
from tidalign.cluster.stop import Stop, on_signals
from tidalign.pipeline.errors import Damaged, InputError, MissingInput
from tidalign.pipeline.store import rundir
from tidalign.workflows.run.crew import Crew, Readers
from tidalign.workflows.run.devices import Gpus, Resources

A = TypeVar("A")


def mending(directory: str, call: Callable[[], A]) -> A:
    """Call again what met a damaged file of the run, which is removed, so that it is made again."""
    last, removed = cast("Damaged | None", None), set[str]()
    while True:
        try:
            return call()
        except Damaged as damaged:
            if damaged.path in removed:
                raise
            with rundir.locked(directory):
                rundir.mend(directory, damaged)
            removed.add(damaged.path)
            last = damaged
        except (InputError, MissingInput) as error:
            if last is None:
                raise
            raise Damaged(last.path, f"{last.found}; it cannot be made again", str(error)) from error


@contextmanager
def opened(directory: str | Path, kind: Any, resources: Resources, gpus: Gpus) -> Iterator[tuple[Crew, Stop, Readers]]:
    """Hold the run directory, check that it is of this run (a `runner.RunKind`) and can be written, and have somebody to read the input."""
    directory = str(Path(directory).absolute())
    scheduler = address_of(resources.scheduler, insecure=resources.insecure) if isinstance(resources.scheduler, str) else resources.scheduler
    rundir.probe(directory, kind.layout)
    with rundir.locked(directory), on_signals(patient=kind.patient) as stop:
        rundir.tidy(directory, kind.layout)
        kind.open(directory)
        rundir.journal(directory, "start", command=sys.argv)
        readers = kind.readers(resources, gpus)
        crew = Crew(stop, directory, kind.module, resources.workers, scheduler, *kind.threads(resources, readers, gpus))
        try:
            crew.on_gpus, crew.gpus_each = gpus.device.takes_gpu and bool(scheduler), resources.gpus if isinstance(scheduler, str) else None
            crew.beside = gpus
            if readers == "workers" and not rundir.has_manifest(directory):
                with crew.timed("start"):
                    crew.hire()
            yield crew, stop, readers
        except (KeyboardInterrupt, ClusterLost, NoWorkers) as error:
            if stop.number is None and not isinstance(error, KeyboardInterrupt):
                raise
            raise Stopped(stop.number or signal.SIGINT) from None  # the signal may have gone to workers too
        finally:
            crew.dismiss()
