"""Describe a kind of run to the runner: what it reads, what is to be done, with which tasks, and what is said of it at the end."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, Literal, TypeVar

from tidalign.cluster.stop import Stop
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import Layout
from tidalign.workflows.run.crew import Crew
from tidalign.workflows.run.devices import Gpus, Resources
from tidalign.workflows.run.report import Report
from tidalign.workflows.run.tracker import Told, Tracker

Readers = Literal["here", "threads", "workers"]
"""Who reads the input: this process, threads of it, or workers."""

M = TypeVar("M")
T = TypeVar("T", bound=Tracker[Any])
R = TypeVar("R", bound=Report)


class Kind(ABC, Generic[M, T, R]):
    """A kind of run, of one input with its parameters: its manifest (M), what tracks its tasks (T), its report (R)."""

    layout: Layout
    module: str
    """Of its tasks: workers load it before they get one."""
    report: type[R]
    patient = True
    """Whether Ctrl-C lets running tasks finish, however long they take."""
    reading_threads: int
    """Most files or blocks that threads of this process read at a time."""
    small_work: float
    """Estimated seconds of one core below which this process does all of it."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What is computed, as plan.json has it."""

    @abstractmethod
    def source(self) -> dict[str, Any]:
        """What is read, as plan.json has it."""

    @abstractmethod
    def readers(self, resources: Resources, gpus: Gpus) -> Readers:
        """Who reads the input."""

    @abstractmethod
    def read(self, crew: Crew, told: Told, readers: Readers) -> M:
        """The first stage: read the input and plan the work; what was read before is not read again. The caller holds the directory's lock."""

    @abstractmethod
    def tracker(self, directory: str, manifest: M, stop: Stop, told: Told, gpus: Gpus) -> T:
        """Track what is to be done."""

    @abstractmethod
    def compile(self, tracker: T) -> None:
        """Compile for the CPU what workers will need: they find it kept."""

    @abstractmethod
    def counted(self, manifest: M, tracker: T) -> dict[str, Any]:
        """What a finished run's report says beside what every report says. Raises RuntimeError where what came out is not what went in."""

    def open(self, directory: str) -> None:
        """See that the run here is ours, or begin it."""
        if rundir.exists(directory):
            rundir.compare(directory, self.parameters(), self.source(), self.layout)
        else:
            self.begin(directory)

    def begin(self, directory: str) -> None:
        """Write the plan of a new run."""
        rundir.create(directory, self.parameters(), self.source(), None, self.layout)

    def chosen(self, gpus: Gpus, resources: Resources) -> Gpus:
        """Those of the GPUs that could be had that are worth their start."""
        return gpus

    def start(self, gpus: Gpus) -> None:
        """Have the one GPU of this process and its libraries ready, while others read. What goes wrong is met again by the first task."""

    def compiles(self, gpus: Gpus) -> bool:
        """Whether tasks run kernels of the CPU."""
        return True

    def heeding(self, stop: Stop) -> AbstractContextManager[None]:
        """Held while tasks run: those of this process may heed `stop`."""
        return nullcontext()

    def leftovers(self, directory: str) -> Iterable[str]:
        """Files that nobody needs once the run is over."""
        return ()
