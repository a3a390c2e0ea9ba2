"""Start workers: processes on this machine, or those of a scheduler that is already there.

Why each setting is as it is was measured (EXECUTION.md 8): a worker that dies while another one starts is lost for ever under the default
`lost-worker-timeout`; finished and never-started tasks are blamed for a death unless `allowed-failures` is 0 and the caller looks for itself; closing can hang.
"""

import logging
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import dask
import distributed.utils
from distributed import Client, LocalCluster
from distributed.utils import silence_logging_cmgr

from tidalign.cluster import forks
from tidalign.cluster.allocation.nodes import started
from tidalign.cluster.allocation.processors import crowded
from tidalign.cluster.allocation.systems import Allocation
from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpu_workers import with_own
from tidalign.cluster.gpus import TASKS_OF_A_GPU
from tidalign.cluster.guard import see_guard
from tidalign.cluster.others import CLOSE_TIMEOUT, CONNECT_TIMEOUT, answering, connected, unfit, with_workers
from tidalign.cluster.private import MuteNanny, credentials, with_mute_scheduler
from tidalign.cluster.settings import settings, temporary
from tidalign.cluster.task import cores
from tidalign.cluster.workers import Workers

if TYPE_CHECKING:
    import tempfile

START_ATTEMPTS = 3

_closing: list[threading.Thread] = []  # that whoever starts workers, and the end of the process, wait for: their GPUs may be for one process at a time


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
    folder: that all nodes of an allocation see. modules: that tasks need; on cores processes are forked from one that has loaded them (forks.py).
    NoWorkers where none can be had, or those of the scheduler cannot do the work, saying why; ClusterLost where the scheduler goes away meanwhile.
    """
    with dask.config.set(settings(dask_cuda=bool(gpus))), ExitStack() as stack:
        if scheduler:
            stack.enter_context(_quiet())
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
    while _closing:
        _closing.pop().join()
    if gpus and (text := crowded(os.uname().nodename, len(gpus))):
        logging.getLogger("tidalign").warning(text)
    client, local, workers = None, None, cast("Workers | None", None)
    scratch, quiet = temporary(), _quiet()
    try:
        with dask.config.set({"temporary-directory": scratch.name}):
            local = _local(count, gpus, modules, scratch.name)
            client = cast("Any", Client)(local, timeout=CONNECT_TIMEOUT, set_as_default=False)
            yield (workers := Workers(client, local, count, tried=bool(gpus)))
    finally:
        _closing.append(threading.Thread(target=_close, args=(client, local, scratch, quiet)))
        _closing[-1].start()
        if not (workers and workers.over):
            _closing.pop().join()


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


def _quiet() -> ExitStack:
    """Keep Dask from logging each death and each restart, which the caller reports in its own words, until what this gives is closed."""
    quiet = ExitStack()
    quiet.enter_context(silence_logging_cmgr(logging.CRITICAL))
    return quiet


def _close(client: Any, local: Any, scratch: "tempfile.TemporaryDirectory[str]", quiet: ExitStack) -> None:
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
    quiet.close()
