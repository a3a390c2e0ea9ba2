"""Run any kind of run, in a directory that outlives whatever stops it.

What is left to do is read from the directory each time, so starting, going on after a kill and answering for a finished run are the same call.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tidalign.cluster.errors import Hangs
from tidalign.cluster.gpus import HIRE_SECONDS, TASKS_OF_A_GPU, usable
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import cores
from tidalign.kernels.runtime import precompile
from tidalign.kernels.runtime.errors import KernelError
from tidalign.pipeline.store import claims, rundir
from tidalign.pipeline.store.layout import Layout
from tidalign.workflows.compiling import LISTS
from tidalign.workflows.estimate.background import Background
from tidalign.workflows.run import devices
from tidalign.workflows.run.busy import Busy
from tidalign.workflows.run.crew import Crew, Readers
from tidalign.workflows.run.devices import Gpus, Meanwhile, Resources
from tidalign.workflows.run.held import mending, opened
from tidalign.workflows.run.report import Report, history
from tidalign.workflows.run.scratch import staged
from tidalign.workflows.run.tracker import OnProgress, Tracker

if TYPE_CHECKING:
    from tidalign.workflows.estimate.forecast import Forecast

MEANWHILE_SECONDS = 2.0
"""As often as long as work that is worth an estimate must reading take, with work done meanwhile, to be worth one for its report alone."""

M = TypeVar("M")
T = TypeVar("T", bound=Tracker[Any])
R = TypeVar("R", bound=Report)


class RunKind(ABC, Generic[M, T, R]):
    """Describes a kind of run, of one input with its parameters: its manifest (M), what tracks its tasks (T), its report (R)."""

    layout: Layout
    module: str
    """Of its tasks: workers load it before they get one."""
    report: type[R]
    patient = True
    """Whether Ctrl-C lets running tasks finish, however long they take."""
    reading_threads: int  # at most: each reads a file or a block at a time
    gpu_tasks = TASKS_OF_A_GPU  # that this process has at a time where it does all of it with a GPU
    compiles_first = True
    """Whether what tasks of this process run on cores is compiled before them; else they compile what they come to."""
    hire_seconds = HIRE_SECONDS  # estimated, of one GPU, from which on others are hired for, where this process has begun with the first
    forecast_from: float
    """Estimated seconds of one core from which on it is worth looking at a sample of the input."""
    begun: T | None = None  # what tracks work on what was read, from when it begins

    def __getstate__(self) -> dict[str, Any]:
        """Give what another process needs for a forecast."""
        return {name: value for name, value in vars(self).items() if name not in ("_check", "begun")}

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Give what is computed, as plan.json has it."""

    @abstractmethod
    def source(self) -> dict[str, Any]:
        """Give what is read, as plan.json has it."""

    @abstractmethod
    def readers(self, resources: Resources, gpus: Gpus) -> Readers:
        """Choose who reads the input."""

    @abstractmethod
    def read(self, crew: Crew, told: OnProgress, readers: Readers, meanwhile: Meanwhile | None) -> M:
        """Read the input and plan the work, the first stage; what was read before is not read again. The caller holds the directory's lock.

        meanwhile: how what was read may be worked on already; None: not at all.
        """

    @abstractmethod
    def tracker(self, directory: str, manifest: M, stop: Stop, told: OnProgress, gpus: Gpus) -> T:
        """Make the tracker of what is to be done."""

    @abstractmethod
    def compile(self, tracker: T) -> None:
        """Compile for the CPU what workers will need: they find it kept."""

    @abstractmethod
    def small(self) -> float:
        """Tell up to how many estimated seconds of one core threads of this process do all of it."""

    @abstractmethod
    def counted(self, manifest: M, tracker: T) -> dict[str, Any]:
        """Count what a finished run's report says beside what every report says. Raises RuntimeError where what came out is not what went in."""

    def open(self, directory: str) -> None:
        """Check that the run here is ours, or begin it."""
        if rundir.exists(directory):
            rundir.compare(directory, self.parameters(), self.source(), self.layout)
        else:
            self.begin(directory)

    def threads(self, resources: Resources, readers: Readers, gpus: Gpus) -> tuple[int, int]:
        """Tell how many tasks this process has at a time, and how many readers beside them (`Crew`)."""
        return min(self.reading_threads, cores()) if readers == "threads" else 1, 0

    def begin(self, directory: str) -> None:
        """Write the plan of a new run."""
        rundir.create(directory, self.parameters(), self.source(), self.layout)

    def chosen(self, gpus: Gpus, resources: Resources) -> Gpus:
        """Choose those of the GPUs that could be had that are worth their start."""
        return gpus

    def begins_here(self, gpus: Gpus) -> bool:
        """Tell whether this process begins with its GPU, or the first of several, and hires for all of them where the work is worth it."""
        return bool(gpus.names) and not gpus.cores and (gpus.shareable or len(gpus.names) == 1)

    def much(self, gpus: Gpus) -> bool:
        """Tell, before anything is read, whether workers for all GPUs are to be hired at once."""
        return False

    def start(self, gpus: Gpus) -> None:
        """Prepare the GPU of this process and its libraries, while others read. What goes wrong is met again by the first task."""

    def compiles(self, gpus: Gpus) -> bool:
        """Tell whether tasks run kernels of the CPU."""
        return True

    def processes(self, tracker: T, gpus: Gpus, resources: Resources) -> int:
        """Tell how many processes are to share each GPU of this machine."""
        return 1

    def works_until_hired(self, tracker: T) -> bool:
        """Tell whether this process works until the workers of several GPUs are there; beside one of them it finishes what it is at."""
        return True

    def shared(self) -> int:
        """Tell how many processes are to share each GPU of an allocation, before anything is read."""
        return 1

    def precompiled(self, gpus: Gpus) -> precompile.Lists:
        """List kernels of the CPU that take long to compile, which others begin with while the input is read."""
        return []

    def forecast(self) -> "Forecast | None":
        """Look at a sample of the input, and say what all of it takes; None where that cannot be."""
        return None

    def heeding(self, stop: Stop) -> AbstractContextManager[None]:
        """Let tasks of this process heed `stop` while the context lasts."""
        return nullcontext()

    def leftovers(self, directory: str) -> Iterable[str]:
        """List the files that nobody needs once the run is over."""
        return ()


def run(directory: str | Path, kind: RunKind[M, T, R], resources: Resources, told: OnProgress | None = None) -> R:
    """Run all stages of a kind of run in `directory`; go on where an earlier call stopped, whatever stopped it. told: of progress, in any thread.

    Raises InputError (65), MissingInput (66), NoWorkers (69), CannotWrite (73), DiskFull (74), ClusterLost (75), ManifestMismatch (78) and
    Stopped (130 or 143); after each of them the same call goes on. The report's `exit` is 3 if something was capped or had to be given up.
    """
    return mending(str(Path(directory).absolute()), lambda: _run(directory, kind, resources, told or _nothing))


def _run(directory: str | Path, kind: RunKind[M, T, R], resources: Resources, told: OnProgress) -> R:
    gpus = kind.chosen(devices.choose(resources := devices.placed(resources, kind.shared)), resources)
    began = time.monotonic()
    starting = threading.Thread(target=kind.start, args=(gpus,), name="start")
    ready: Callable[..., object] = _nothing
    if kind.begins_here(gpus) and not rundir.finished(str(directory)) and (gpus.shareable or not claims.some(str(directory))):
        starting.start()  # meanwhile, unless the GPU is for one process, and that a worker: where one has died
        ready = starting.join
    LISTS[:] = lists = [] if rundir.finished(str(directory)) or resources.scheduler else kind.precompiled(gpus)
    with opened(directory, kind, resources, gpus) as (crew, stop, readers), precompile.ahead(lists, cores() - 1):
        going = not rundir.finished(crew.directory)
        if gpus.device.takes_gpu and resources.scheduler and going:
            with crew.timed("start"):
                crew.hire()
            gpus = devices.of_workers(gpus, crew.on_gpus_alone(crew.everywhere(usable)), resources.scheduler)
        rundir.journal(crew.directory, "device", device=str(gpus), why=gpus.why)
        if going and gpus.device.takes_gpu and readers != "workers":
            crew.replace(list(gpus.names), kind.gpu_tasks if crew.readers else crew.threads)
        here = kind.begins_here(gpus)
        if going and readers != "workers" and (gpus.apart and (not here or kind.much(gpus)) if gpus.device.takes_gpu else resources.workers):
            crew.begin_to_hire(working=here and not claims.some(crew.directory))
        fresh = not rundir.has_manifest(crew.directory)
        over, busy = False, Busy(crew.busy, told) if going and gpus.device.takes_gpu else None
        try:
            with staged(crew, resources.scratch) if resources.scratch and going else nullcontext(), busy or nullcontext():
                early = Background(kind.forecast, MEANWHILE_SECONDS * kind.forecast_from, apart=gpus.device.takes_gpu) if going and fresh else None
                with early or nullcontext(), crew.timed("read"):
                    planned = kind.read(crew, told, readers, Meanwhile(stop, gpus, ready) if going else None)
                ready()
                tracker = kind.tracker(crew.directory, planned, stop, told, gpus)
                kind.begun = tracker
                predicted = _work(crew, kind, tracker, stop, resources, gpus, early)
            over = True
        except Hangs:
            kind.begun = None  # claims stay: what hangs is to blame
            raise
        finally:
            if crew.dismiss(over=over) and kind.begun:
                kind.begun.withdraw_claims()
        if rundir.finished(crew.directory):
            return kind.report.from_json(rundir.read_report(crew.directory))
        count, total, faults = history(crew.directory)
        used = gpus.first("there is little for others to do") if len(gpus.names) > 1 and not crew.size and kind.begins_here(gpus) else gpus
        report = kind.report(
            **kind.counted(planned, tracker),
            seconds=round(time.monotonic() - began, 3),
            stages=crew.seconds,
            predicted=predicted and {stage: seconds for stage, seconds in predicted.items() if fresh or stage != "read"},
            calls=count,
            total_seconds=total,
            device=str(used),
            device_why=used.why,
            gpus=busy.report() if busy else {},
            workers=crew.size,
            hosts=crew.hosts,
            deaths=tracker.deaths,
            retries=tracker.retries,
            faults=tuple(faults),
        )
        for path in kind.leftovers(crew.directory):
            Path(path).unlink()
        rundir.finish(crew.directory, report.to_json(), partial=bool(report.exit))
        rundir.journal(crew.directory, "end", **report.to_json())
        return report


def read(directory: str | Path, kind: RunKind[M, Any, Any], resources: Resources, told: OnProgress | None = None) -> M:
    """Run the first stage of `run` alone."""
    return mending(str(Path(directory).absolute()), lambda: _read(directory, kind, devices.placed(resources, kind.shared), told or _nothing))


def _read(directory: str | Path, kind: RunKind[M, Any, Any], resources: Resources, told: OnProgress) -> M:
    with opened(directory, kind, resources, Gpus({}, "")) as (crew, _, readers):
        return kind.read(crew, told, readers, None)


def _work(crew: Crew, kind: RunKind[M, T, R], tracker: T, stop: Stop, resources: Resources, gpus: Gpus, early: Background | None) -> dict[str, float] | None:
    """Run what is left of a run; gives what was predicted of its stages, where that was worth it. early: what may have been forecast while the input was read,
    and worked on, in this call; None: that was done before."""
    on = gpus.names.values() if gpus.device.takes_gpu else None
    if not (tasks := tracker.tasks()):
        forecast = early and early.forecast
        crew.seconds |= {stage: crew.seconds.get(stage, 0.0) for stage in ("start", "work")} if forecast else {}
        return forecast.predicted(on, crew.size, 1.0) if forecast else None
    rundir.reopen(crew.directory)
    large = tracker.work() > kind.forecast_from * gpus.device.speed
    alike = gpus.device.takes_gpu and len({*gpus.names.values()}) == 1 and not gpus.cores  # nothing is decided by what is forecast
    known, share = early.forecast if early else None, 1.0 if early else tracker.left()
    background = Background(kind.forecast, apart=True) if large and alike and not known else None
    forecast = known or (kind.forecast() if large and not alike else None)
    shared = kind.processes(tracker, gpus, resources) if gpus.device.takes_gpu else 1
    if gpus.device.takes_gpu:
        crew.replace([*gpus.names] * shared, kind.gpu_tasks)
        crew.pace(forecast.speeds() if forecast else {})
        several = shared > 1 or (gpus.apart and (not kind.begins_here(gpus) or crew.hiring or tracker.gpu_seconds() > kind.hire_seconds))
    else:
        seconds = share * forecast.work if forecast else tracker.work()
        much = seconds > kind.small() and (not forecast or bool(forecast.sooner(cores(), share)))
        several = much if resources.workers is None else resources.workers > 0
    # A claim left behind may be of what kills its process: not this one again.
    wanted = bool(resources.scheduler) or tracker.claims or several
    with crew.timed("start"):
        if wanted:
            crew.begin_to_hire(working=gpus.apart and kind.begins_here(gpus) and not tracker.claims and kind.works_until_hired(tracker))
        if (kind.compiles(gpus) or gpus.cores) and (wanted or kind.compiles_first):
            kind.compile(tracker)
        if wanted and not crew.works:
            crew.hire(needed=shared == 1 or gpus.apart or tracker.claims)
    tracker.workers, tracker.threads = (0, 1) if gpus.device.takes_gpu else (crew.size, crew.threads)
    tasks = tracker.ordered(tasks, crew.size or (shared * len(gpus.names) if crew.hiring else tracker.threads))
    predicted = forecast.predicted(on, crew.size, share) if forecast else None
    if predicted:
        rundir.journal(crew.directory, "predicted", **predicted)
    while tasks:
        try:
            with kind.heeding(stop), crew.timed("work"):
                crew.run(tasks, tracker)
        except KernelError:
            if crew.size:
                raise
            crew.hire()  # this process has lost its GPU; a worker can go on
        tasks = tracker.tasks()
    if background and background.forecast and (predicted := background.forecast.predicted(on, crew.size, share)):
        rundir.journal(crew.directory, "predicted", **predicted)
    return predicted


def _nothing(*_: object) -> None: ...
