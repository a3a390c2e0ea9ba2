"""Whoever does a run's tasks: this process, until workers are hired."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from tidalign.cluster.allocation.systems import Allocation
from tidalign.cluster.errors import ClusterLost, NoWorkers, Stopped
from tidalign.cluster.gpus import TASKS_OF_A_GPU
from tidalign.cluster.here import Threads, run_here
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import KINDS, Outcomes, Queue, Task, TaskKind
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS
from tidalign.pipeline.errors import CannotWrite
from tidalign.pipeline.store import rundir
from tidalign.workflows.run import handover
from tidalign.workflows.run.devices import Gpus
from tidalign.workflows.run.trials import Trials

if TYPE_CHECKING:
    from tidalign.cluster.workers import Workers

A = TypeVar("A")

Readers = Literal["here", "threads", "workers"]
"""Who reads the input: this process, threads of it, or workers."""

DEATHS_ALLOWED = 5
"""How often a task that says nothing of its progress may lose its worker; the worker may have died of another's."""


class Crew:
    """Runs tasks for a run in `directory`. `dismiss` it at the end.

    module: of the tasks; loaded by who is hired before they get one. count, scheduler: which workers `hire` takes, as `cluster.start.start` has it;
    0: one, where this process, which is to do all, has died at it before.
    threads: of this process, for tasks that nobody was hired for. readers: threads of it for tasks that make work for others, while these are done; 0: none.
    """

    def __init__(
        self, stop: Stop, directory: str, module: str, count: int | None, scheduler: str | Allocation | None, threads: int = 1, readers: int = 0
    ) -> None:
        self._stop, self.directory, self._module, self._scheduler = stop, directory, module, scheduler
        self._count, self.alone = count if count is None else max(1, count), count == 0
        self.threads, self.readers, self._gpus = threads, readers, cast("Sequence[str]", ())
        self._contract, self._working = ExitStack(), False
        self._workers, self._coming = cast("Workers | None", None), cast("Future[None] | None", None)
        self.on_gpus, self.gpus_each, self.beside = False, cast("int | None", None), Gpus({}, "")
        """Whether the scheduler's workers are to have GPUs, and how many on each host (None: all); the GPUs of the run, with what is to work beside them."""
        self._trials, self._speeds = cast("Trials | None", None), cast("Mapping[str, float]", {})
        self.size = 0  # workers that were there when they were last asked for something; 0: this process does the work
        self.seconds, self.hosts = dict[str, float](), dict[str, int]()  # what the stages of the run took, and how many workers were on each host

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the seconds of what is done inside to those of a stage."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[stage] = round(self.seconds.get(stage, 0.0) + time.monotonic() - began, 3)

    def begin_to_hire(self, *, working: bool = False) -> None:
        """Begin to do what `hire` does, in a thread: who needs the workers calls `hire` all the same. working: this process does their work until they are
        there."""
        if not self._workers and not self._coming:
            self._working, thread = working, ThreadPoolExecutor(1, "hire")
            self._coming = thread.submit(self._hire)
            thread.shutdown(wait=False)

    def hire(self, *, needed: bool = True) -> None:
        """Start workers, or connect to them, and see that they reach the run directory. Does nothing where that was done. Where they are not needed and
        none can be had, this process works by itself."""
        try:
            if not self._workers or self._coming:
                self.begin_to_hire()
                self._await()
                cast("Future[None]", self._coming).result()
                self._coming = None
        except NoWorkers as error:
            if needed:
                raise
            rundir.journal(self.directory, "unhired", why=str(error))
            self._coming = None
            self.replace(list(dict.fromkeys(self._gpus)), self.threads)

    def _await(self) -> None:
        """Wait for those who are coming, if somebody is. Stopped where all is to end at once: what they wait for may say nothing."""
        while self._coming and not self._coming.done():
            if self._stop.number is not None and self._stop.at_once():
                raise Stopped(self._stop.number)
            wait([self._coming], 0.2)

    def _hire(self) -> None:
        self.beside.see_free()
        if not self._scheduler:
            from tidalign.cluster import forks

            forks.serve([self._module], gpus=bool(self._gpus))  # loads what workers need while this process loads Dask
        from tidalign.cluster.start import start

        cores, folder = self.beside.cores, str(Path(self.directory).parent)
        cores_each = cores if isinstance(self._scheduler, str) or not cores else None  # who starts workers starts no more than that
        self._workers = self._contract.enter_context(start(self._count, self._scheduler, self._gpus, [self._module], folder, cores))
        self._trials = Trials(self._workers, self.directory, self._module, self.gpus_each, cores_each, self.beside.device.speed)
        for worker, trouble in self._workers.undergo(self._trials.reach).items():
            raise CannotWrite(f"{self.directory}: worker {worker} {trouble}; the run directory must be on a file system that every worker shares")
        if self._gpus or self.on_gpus:
            refused = self._workers.undergo(self._trials.gpus)
            self._trials.first(self._stop)  # others begin when they can
            self._trials.pace(self._speeds)
            for worker, trouble in refused.items():
                logging.getLogger("tidalign").warning("worker %s %s; it is not used", worker, trouble)
        self.hosts = self._trials.hosts(self._stop)
        self.size = sum(self.hosts.values())
        rundir.journal(self.directory, "hired", workers=self.size)
        if not self.size:
            raise ClusterLost("every worker left before it had begun; run the same command again to resume, with workers running")

    def replace(self, gpus: Sequence[str], threads: int) -> None:
        """Use from now on a worker for each of these GPUs, some of which may be named again, or this process with one, which has so many tasks at a time. Those
        of a scheduler stay."""
        self.threads = threads
        if not self._scheduler and list(gpus) != list(self._gpus):
            self._await()
            self._contract.close()
            self._contract, self._workers, self._coming, self.size, self._gpus = ExitStack(), None, None, 0, gpus

    def pace(self, speeds: Mapping[str, float]) -> None:
        """Set how many cores each GPU, by name, is as fast as: workers are given what they do in the same time."""
        self._speeds = speeds
        if self._trials:
            self._trials.pace(speeds)

    def on_gpus_alone(self, answers: Mapping[str, A]) -> dict[str, A]:
        """Give those of some answers of workers that are of workers with GPUs."""
        return {worker: answer for worker, answer in answers.items() if not (self._trials and self._trials.on_core(worker))}

    @property
    def hiring(self) -> bool:
        """Tell whether workers are there, or will be."""
        return bool(self._workers or self._coming)

    def everywhere(self, function: Callable[..., Any]) -> dict[str, Any]:
        """Call `function`, which raises no OSError, on each hired worker; gives what it returns or raises there, but of those that leave meanwhile."""
        if not self._workers:
            return {}
        refused = self._workers.refused()
        answers = {worker: answer for worker, answer in self._workers.answers(function).items() if not isinstance(answer, OSError) and worker not in refused}
        self.size = len(answers)
        return answers

    def busy(self) -> dict[str, tuple[str, float]]:
        """Give, by worker with a GPU, which it is and the seconds that it was held."""
        return self._workers.measured() if self._workers else {}

    def dismiss(self, *, over: bool = False) -> bool:
        """Stop the workers that were started; over: all is done, and CUDA ends in each while this process goes on. Whether nobody works any more: workers of a
        scheduler that is not ours finish what they are at."""
        if self._coming:  # nobody waited for them
            self._coming.add_done_callback(lambda _: self._contract.close())  # where they come after all
            with suppress(Stopped):
                self._await()
            self._coming, self.size, self.hosts = None, 0, {}
        if self._gpus:
            handover.end()
            if self._workers:
                self._workers.over = over and self.beside.shareable  # this process may need one at once that is for one process at a time
        self._contract.close()
        return not isinstance(self._scheduler, str)

    def run(self, tasks: Iterable[Task], outcomes: Outcomes, *, here: bool = False) -> None:
        """Run tasks to the end of them all; see `cluster.dispatch.run.run_on`. here: in this process in any case.

        With readers, this process reads until workers are there, and all the time for workers with GPUs.
        """
        if here or not (self.hiring or self.readers):
            run_here(tasks, outcomes, self._stop, self.threads, self._watch())
            return
        queue, outcomes = Queue(tasks), _Surviving(outcomes, lambda: self.size > 0)
        with Threads(self._room, self._watch()) as threads:
            if self._coming or not self._workers:
                threads.run(queue, outcomes, self._stop, lambda: self._coming)
            if queue or threads:
                self.hire()
                if self._gpus:
                    handover.begin(idle=not threads)
                from tidalign.cluster.dispatch.run import run_on

                run_on(cast("Workers", self._workers), queue, outcomes, self._stop, threads, KINDS[: 1 if self._gpus else 2])  # those with GPUs read nothing

    @property
    def works(self) -> bool:
        """Tell whether this process does the work now: it may until the last of its workers is there, or one has died, of what would end this one too."""
        coming = self._starting or (self._workers and self._workers.awaited and not self._workers.deaths)
        return not self.hiring or bool(self._working and coming and not GPU_OF_PROCESS.lost)

    @property
    def _starting(self) -> bool:
        return bool(self._coming and not self._coming.done())

    def _watch(self) -> Callable[[Iterable[Task]], object]:
        """Start to look at the GPU, if this process has one."""
        if not self.beside.device.takes_gpu or not self.works:
            return lambda _: None
        from tidalign.workflows.run.answers import Answers  # by few

        return Answers().look

    def _room(self) -> dict[TaskKind, int]:
        """Tell how many tasks of each kind this process may have."""
        # The thread that starts workers wants the interpreter, too, and there is much to do.
        reads = min(self.readers, 4 if self._starting else self.readers) if not self._workers or self._gpus else 0
        # What this process is at when workers come it finishes, beside one of them on the same GPU: little.
        work = (TASKS_OF_A_GPU if self.hiring else self.threads) if self.works else 0
        return {"here": max(2, min(4, self.readers)), "read": reads, "work": work}

    def map(self, function: Callable[..., Any], *items: Iterable[Any], here: bool = False) -> list[Any]:
        """Map a function as the built-in `map` does, a task for each call, results in order. here: in this process in any case."""
        collected, name = _Collected(self.directory), getattr(function, "__name__", "map")
        tasks = [Task(f"{name}-{place}", function, arguments) for place, arguments in enumerate(zip(*items, strict=True))]
        self.run(tasks, collected, here=here)
        return [collected.results[task] for task in tasks]


class _Surviving:
    """Outcomes of tasks that go on with workers, where these are there, when this process loses its GPU."""

    def __init__(self, outcomes: Outcomes, there: Callable[[], bool]) -> None:
        self.done, self.died, self.note, self._failed, self._there = outcomes.done, outcomes.died, outcomes.note, outcomes.failed, there

    def failed(self, task: Task, error: BaseException) -> Iterable[Task]:
        return self.died(task, True) if isinstance(error, KernelError) and self._there() else self._failed(task, error)


class Repeated:
    """Outcomes of tasks that can be done over: again after a death, `DEATHS_ALLOWED` times; an error ends the run."""

    def __init__(self, directory: str) -> None:
        self._directory, self._deaths = directory, dict[str, int]()

    def died(self, task: Task, killed: bool) -> Iterable[Task]:
        self._deaths[task.key] = deaths = self._deaths.get(task.key, 0) + killed
        self.note("died", task=task.key, killed=killed)
        if deaths > DEATHS_ALLOWED:
            raise RuntimeError(f"{task.key}: its worker died {deaths} times; the cause may be too little memory")
        return [task]

    def failed(self, task: Task, error: BaseException) -> Iterable[Task]:
        self.note("failed", task=task.key, error=repr(error))
        raise error

    def note(self, event: str, **details: Any) -> None:
        rundir.journal(self._directory, event, **details)


class _Collected(Repeated):
    def __init__(self, directory: str) -> None:
        super().__init__(directory)
        self.results = dict[Task, Any]()

    def done(self, task: Task, result: Any) -> None:
        self.results[task] = result
