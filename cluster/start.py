"""Workers: processes on this machine, or those of a scheduler that is already there.

Why each setting is as it is was measured (EXECUTION.md 8): a worker that dies while another one starts is lost for ever under the default
`lost-worker-timeout`; finished and never-started tasks are blamed for a death unless `allowed-failures` is 0 and the caller looks for itself; closing can hang.
"""

import logging
import os
import platform
import signal
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast

import dask
import distributed.utils
import psutil
from distributed import Client, LocalCluster
from distributed.utils import silence_logging_cmgr

from tidalign.cluster import forks
from tidalign.cluster.allocation.nodes import started
from tidalign.cluster.allocation.systems import Allocation
from tidalign.cluster.beside import with_own
from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpus import TASKS_OF_A_GPU
from tidalign.cluster.guard import see_guard
from tidalign.cluster.others import CLOSE_TIMEOUT, CONNECT_TIMEOUT, answering, connected, unfit, with_workers
from tidalign.cluster.private import MuteNanny, credentials, end_worker, with_mute_scheduler
from tidalign.cluster.settings import settings
from tidalign.cluster.task import cores

START_ATTEMPTS = 3
_METRIC = "tidalign"  # of a worker, what it told last
_CLOSING = "closing"  # name of threads that whoever starts workers, and the end of the process, wait for

Trial = Callable[[Collection[str]], dict[str, str | None]]
"""Says of each of some workers what keeps it from the work, or None; nothing of those that have left, or are asked again a little later."""


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """Says where a worker is: host, GPU by its name for CUDA, if it has one, and process."""

    host: str
    gpu: str | None
    pid: int


@dataclass
class Workers:
    """Live workers. `wanted`: how many there should be, None where someone else decides; `local`: the processes of this machine, if they are ours.

    connect: gives another client of the scheduler; None: there is no other. look: tells of nodes that are lost; None: nodes are somebody else's.
    trials: of workers that join; said: what they came to, by worker. places: where each worker is, or was. crews: what `crew` says, where not all are alike.
    tried: whether workers that join, or start again, are tried before they get a task: those of somebody else, and those with GPUs, which may fail for good.
    awaited: whether a trial said that some are ready before long. over: whether all is done, and nobody waits for the end of those on this machine.
    """

    client: Any
    local: Any | None
    wanted: int | None
    connect: Callable[[], Any] | None = None
    look: Callable[[], object] | None = None
    tried: bool = True
    awaited = over = False
    trials: list[Trial] = field(default_factory=list)
    said: dict[str, str | None] = field(default_factory=dict)
    places: dict[str, WorkerPlace] = field(default_factory=dict)
    crews: dict[str, tuple[float, bool]] = field(default_factory=dict)

    def crew(self, worker: str) -> tuple[float, bool]:
        """Tell as how many cores a worker is as fast, and whether it is on a core while others have GPUs."""
        return self.crews.get(worker, (1.0, False))

    def fit(self) -> dict[str, int]:
        """Give what `live` gives, without workers that a trial found something against; those that joined since are tried first."""
        threads = self.live()
        if not self.tried:
            return threads
        self.awaited = False
        if joined := {worker: cast("str | None", None) for worker in threads if worker not in self.said}:
            for trial in self.trials:
                answers = trial(list(joined))
                joined = {worker: trouble or answers[worker] for worker, trouble in joined.items() if worker in answers}
            self.said |= joined
            for worker, trouble in ((worker, trouble) for worker, trouble in joined.items() if trouble):
                logging.getLogger("tidalign").warning("worker %s, which has just joined, %s; it is not used", worker, trouble)
        return {worker: count for worker, count in threads.items() if self.said.get(worker, "has left") is None}

    def hired(self) -> int:
        """Count the workers that nothing speaks against; one that did not answer when it was tried is tried again."""
        with answering(self.client):
            return len(self.fit())

    def refused(self) -> dict[str, str]:
        """List what a trial found against each worker, whether it is still there or not."""
        return {worker: trouble for worker, trouble in self.said.items() if trouble}

    def undergo(self, trial: Trial) -> dict[str, str]:
        """Try the workers that there are, and those that will join; gives what is wrong with the first ones."""
        with answering(self.client):
            said = trial(list(self.live()))
        self.trials.append(trial)
        self.said = {**self.refused(), **{worker: self.said.get(worker) or trouble for worker, trouble in said.items()}}
        return {worker: trouble for worker, trouble in said.items() if trouble}

    def live(self) -> dict[str, int]:
        """Ask the scheduler for the threads of each worker by address; OSError where it does not answer."""
        return cast("dict[str, int]", self.client.nthreads())

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Call `function` on each worker; gives what it returns there, or the exception it raised."""
        return cast("dict[str, Any]", self.client.run(function, *arguments, on_error="return"))

    def on(self, workers: Collection[str], function: Callable[..., Any]) -> dict[str, Any]:
        """Call a function on some workers, as `everywhere` does on all."""
        return cast("dict[str, Any]", self.client.run(function, workers=list(workers), on_error="return"))

    def answers(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Call a function on each worker, as `everywhere` does. ClusterLost where the scheduler does not answer."""
        with answering(self.client):
            return self.everywhere(function, *arguments)

    def learn(self, workers: Collection[str]) -> None:
        """Learn the places of workers that are new, from their nannies, which answer whatever the workers are at."""
        if new := [worker for worker in workers if worker not in self.places]:
            answers = self.client.run(_place_of_worker, workers=new, nanny=True, on_error="return")
            self.places.update({worker: place for worker, place in answers.items() if isinstance(place, WorkerPlace)})

    def measure(self, workers: Collection[str], function: Callable[[], float]) -> None:
        """Let workers tell the scheduler, whenever they tell it that they live, what a function gives there."""
        self.client.run(_measure, function, workers=list(workers), on_error="return")

    def measured(self) -> dict[str, tuple[str, float]]:
        """Give, by worker that measures something, its place and what it told last."""
        said = {worker: each["metrics"].get(_METRIC) for worker, each in self.client.scheduler_info()["workers"].items() if worker in self.places}
        at = {worker: f"{self.places[worker].host}:{self.places[worker].gpu or 0}" for worker in said}
        return {worker: (at[worker], value) for worker, value in said.items() if isinstance(value, float)}

    def cpu_seconds(self, worker: str) -> float | None:
        """Ask how much CPU time the process of the worker at that address has used, as its nanny says; None where nobody says."""
        try:
            answer = self.client.run(_cpu_seconds_of_worker, workers=[worker], nanny=True, on_error="return")[worker]
        except Exception:  # it has just gone
            return None
        return answer if isinstance(answer, float) else None

    def end(self, worker: str) -> None:
        """End the process of the worker at that address, whatever it is at; its nanny starts another."""
        self.client.run(end_worker, workers=[worker], nanny=True, on_error="return")

    def prepare(self) -> None:
        """Tell the scheduler what its configuration may not say: a task whose worker dies comes back to us at once."""
        self.client.run_on_scheduler(_allow_no_failures)


def _measure(function: Callable[[], float], dask_worker: Any) -> None:
    dask_worker.metrics[_METRIC] = lambda _: function()


def _place_of_worker(dask_worker: Any) -> WorkerPlace:
    """Say, on a nanny, as `_cpu_seconds_of_worker` does, where its worker is."""
    return WorkerPlace(platform.node(), dask_worker.env.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0] or None, dask_worker.pid)


def _cpu_seconds_of_worker(dask_worker: Any) -> float:
    """Measure a worker's CPU time on its nanny, which is what Dask gives here: it answers where its worker does not."""
    times = psutil.Process(dask_worker.pid).cpu_times()
    return float(times.user + times.system)


def _allow_no_failures(dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = 0


@contextmanager
def start(
    count: int | None = None,
    scheduler: str | Allocation | None = None,
    gpus: Sequence[str] = (),
    modules: Sequence[str] = (),
    folder: str = ".",
    cores_beside: int = 0,
) -> Iterator[Workers]:
    """Start workers, for as long as the context lasts.

    count: worker processes on this machine, one thread each; None: one for each core.
    gpus: devices of this machine (`gpus.usable`), a worker process for each, which sees it as its first; one that is named again has as many; `count` is not
    used.
    cores_beside: workers that use cores, beside those.
    scheduler: the address of a scheduler (`address.address_of`); its workers are used, `count` is not. Or an allocation: workers on each of its nodes.
    folder: that all nodes of an allocation see. modules: that tasks need; processes are forked from one that has loaded them (forks.py).
    NoWorkers where none can be had, or those of the scheduler cannot do the work, saying why; ClusterLost where the scheduler goes away meanwhile.
    """
    with dask.config.set(settings(dask_cuda=bool(gpus))), ExitStack() as stack:
        # Dask logs each death and each restart; the caller reports them in its own words.
        stack.enter_context(silence_logging_cmgr(logging.CRITICAL))
        nodes = stack.enter_context(started(scheduler, folder, modules)) if isinstance(scheduler, Allocation) else None
        if address := nodes.address if nodes else cast("str | None", scheduler):
            client, look = stack.enter_context(connected(address)), nodes.look if nodes else None
            workers = Workers(client, None, None, lambda: stack.enter_context(connected(address)), look)
            stack.enter_context(with_workers(workers.client, address))
            for worker, trouble in workers.undergo(lambda joined: unfit(workers.client, joined)).items():
                raise NoWorkers(f"worker {worker} {trouble}")
        else:
            workers = stack.enter_context(_here(len(gpus) + cores_beside if gpus else count or cores(), gpus, modules))
        with answering(workers.client):
            workers.prepare()
        yield workers


@contextmanager
def _here(count: int, gpus: Sequence[str], modules: Sequence[str]) -> Iterator[Workers]:
    for thread in threading.enumerate():
        if thread.name == _CLOSING:  # its workers' GPUs may be for one process at a time
            thread.join()
    client, local, workers = None, None, cast("Workers | None", None)
    scratch = tempfile.TemporaryDirectory(prefix="tidalign-", ignore_cleanup_errors=True)
    try:
        with dask.config.set({"temporary-directory": scratch.name}):
            local = _local(count, gpus, modules, scratch.name)
            client = cast("Any", Client)(local, timeout=CONNECT_TIMEOUT, set_as_default=False)
            yield (workers := Workers(client, local, count, tried=bool(gpus)))
    finally:
        closing = threading.Thread(target=_close, args=(client, local, scratch), name=_CLOSING)
        closing.start()
        if not (workers and workers.over):
            closing.join()


def _local(count: int, gpus: Sequence[str], modules: Sequence[str], scratch: str) -> Any:
    """Start a LocalCluster of `count` processes with one thread each, or a LocalCUDACluster. Dask gives up if one dies while it starts, so this tries again."""
    see_guard()
    forks.make_room(count)
    kind, more = _kind(gpus)
    kind, security = with_mute_scheduler(with_own(kind, gpus) if gpus else kind), credentials()
    # `_close` closes it; what a signal cut short ends with its processes, and Dask's closing at exit fails over it.
    kind.shutdown_on_close = property(lambda _: False, lambda _, value: None)
    # As in forks.py: what is started here must not die of them.
    forks.track()
    unmasked = signal.pthread_sigmask(signal.SIG_BLOCK, forks.OF_TERMINALS | forks.OF_JOBS)
    try:
        forks.serve(modules, gpus=bool(gpus))
        distributed.utils._forkserver_preload_set = True  # else it loads here, and there, all that it may ever work with
        for left in range(START_ATTEMPTS)[::-1]:
            try:
                return kind(
                    n_workers=count,
                    threads_per_worker=TASKS_OF_A_GPU if gpus else 1,
                    host="127.0.0.1",
                    dashboard_address=None,
                    security=security,
                    worker_class=MuteNanny,
                    local_directory=scratch,
                    silence_logs=logging.CRITICAL,
                    **more,
                )
            except (OSError, RuntimeError, TimeoutError) as error:
                if not left:
                    raise NoWorkers(f"{count} worker processes could not be started on this machine: {error}") from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, unmasked)


def _kind(gpus: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    if not gpus:
        return LocalCluster, {"processes": True}
    try:
        from dask_cuda import LocalCUDACluster
    except ImportError as error:
        raise NoWorkers(f"several GPUs need dask-cuda ({error}); install tidalign[cuda12] or tidalign[cuda13]") from error
    # Nothing that a task returns lies on a device, so there is nothing for Dask to spill from it.
    return LocalCUDACluster, {"CUDA_VISIBLE_DEVICES": ",".join(dict.fromkeys(gpus)), "device_memory_limit": 0}


def _close(client: Any, local: Any, scratch: "tempfile.TemporaryDirectory[str]") -> None:
    """Close within `CLOSE_TIMEOUT`, as Dask can wait for ever for a worker that is just starting."""
    nannies = list(local.workers.values()) if local else []  # kept now: a nanny that closes forgets its process
    processes = [nanny.process.process for nanny in nannies if getattr(nanny, "process", None)]

    def close() -> None:
        with suppress(Exception):
            for each in filter(None, (client, local)):
                each.close(timeout=CLOSE_TIMEOUT / 2)

    closing = threading.Thread(target=close, daemon=True)
    closing.start()
    closing.join(CLOSE_TIMEOUT)
    if closing.is_alive():
        for nanny in nannies:
            nanny.auto_restart = False
        processes += [nanny.process.process for nanny in nannies if getattr(nanny, "process", None)]
        for process in processes:
            with suppress(OSError, TypeError):
                os.kill(process.pid, signal.SIGKILL)
    scratch.cleanup()
