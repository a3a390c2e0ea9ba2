"""Run on each node of an allocation workers of the scheduler that a folder names, one a GPU or a processor, until the run ends."""

import asyncio
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast

import dask
import distributed.utils
from distributed.comm.core import connect
from distributed.core import send_recv
from distributed.security import Security
from distributed.utils import get_ip, silence_logging_cmgr

from tidalign.cluster import forks
from tidalign.cluster.allocation.processors import CROWDED, crowded, processors
from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpus import TASKS_OF_A_GPU, shareable, usable
from tidalign.cluster.private import MuteNanny, kept
from tidalign.cluster.settings import OF_GPUS, preloads, settings, temporary

CLOSE_SECONDS = 4.0
"""Seconds that a worker gets to end by itself."""

RESTART_SECONDS = 1.0
"""Seconds before a worker is started again whose nanny has ended, too."""

CONNECT_SECONDS = 10.0
"""Seconds for one attempt to reach the scheduler again."""


def name_of_node(hosts: Collection[str], environment: Mapping[str, str] = os.environ, own: str = os.uname().nodename) -> str:
    """Name this node as its batch system does: by the one of these hosts that has its name, with a domain or without; else as it names itself."""
    if name := environment.get("SLURMD_NODENAME") or environment.get("SLURM_NODEID"):
        return name
    like = [host for host in hosts if host.partition(".")[0].lower() == own.partition(".")[0].lower()]
    return own if own in like or not like else like[0]


def environments(said: dict[str, Any], slots: int = 0) -> list[dict[str, str]]:
    """Give what each worker of this node has in its environment besides: its GPU, or none for those that use cores beside GPUs."""
    if said["gpus"]:
        names = [*usable(said["each"])] * (said["shared"] if shareable(said["each"]) else 1)
        return [{"CUDA_VISIBLE_DEVICES": name} for name in (*names, *[""] * said["cores"])]
    return [{} for _ in range(processors(slots))]


async def _input_ends() -> None:
    """Wait until standard input ends."""
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)


def _is_there(folder: Path) -> bool:
    try:
        return folder.exists()
    except OSError:  # of one that another node has removed NFS may say that it is stale
        return False


async def _left(address: str, folder: Path, patience: float) -> None:
    """Wait until the scheduler says that the run is over, has not answered for so many seconds, or the run's folder is gone."""
    silent_since, arguments = time.monotonic(), cast("Any", Security)().get_connection_args("worker")
    while _is_there(folder) and time.monotonic() - silent_since < patience:
        with suppress(Exception):  # whatever its end makes of the call
            scheduler = await cast("Any", connect)(address, timeout=min(CONNECT_SECONDS, patience), **arguments)
            try:
                if await send_recv(scheduler, op="over"):
                    return
            finally:
                silent_since = time.monotonic()
                scheduler.abort()
        await asyncio.sleep(RESTART_SECONDS)


async def _work(address: str, node: str, names: list[dict[str, str]], scratch: str, over: Callable[[], Awaitable[object]]) -> None:
    """Run the nannies of workers, each with this environment, until `over` is."""
    here = cast("Any", get_ip)(address.rpartition("://")[2].rpartition(":")[0].strip("[]"))  # of this node, where it is on the scheduler's network
    nannies: dict[int, Any] = {}

    async def keep(place: int, own: dict[str, str]) -> None:
        """Keep a worker running: start another one whenever it and its nanny have ended, as they do where the network is cut for long."""
        options = {"host": here, "nthreads": 1, "name": f"{node}-{place}", "local_directory": scratch, "env": own, "death_timeout": "60s"}
        if own.get("CUDA_VISIBLE_DEVICES"):
            options |= {"nthreads": TASKS_OF_A_GPU} | preloads(OF_GPUS)
        while True:
            nannies[place] = nanny = cast("Any", MuteNanny)(address, **options)
            with suppress(Exception):  # the scheduler does not answer, or still has who was cut off
                await nanny
                await nanny.finished()
            await nanny.close(timeout=CLOSE_SECONDS)
            await asyncio.sleep(RESTART_SECONDS)

    kept_up = asyncio.gather(*(keep(place, own) for place, own in enumerate(names)), return_exceptions=True)
    await over()
    kept_up.cancel()
    await asyncio.gather(*(nanny.close(timeout=CLOSE_SECONDS) for nanny in nannies.values()), return_exceptions=True)


def main(folder: Path) -> None:
    """Run workers for the scheduler that a folder names."""
    # Batch systems send their signals to every process of a job. What becomes of tasks is decided by the one that drives the run.
    forks.track()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, *forks.OF_JOBS})
    said = json.loads((folder / "scheduler.json").read_text())
    hosts, patience = said.get("hosts") or {}, said.get("patience")
    node = name_of_node(hosts)
    names = environments(said, hosts.get(node, 0))
    if said["gpus"] and (text := crowded(node, sum(bool(own["CUDA_VISIBLE_DEVICES"]) for own in names), hosts.get(node, 0))):
        (folder / f"{node}{CROWDED}").write_text(text)
    forks.make_room(len(names))
    with ExitStack() as stack:
        scratch = stack.enter_context(temporary())
        stack.enter_context(silence_logging_cmgr(logging.CRITICAL))
        stack.enter_context(dask.config.set(settings() | kept(folder) | {"temporary-directory": scratch}))
        forks.serve(said["modules"], gpus=said["gpus"])
        distributed.utils._forkserver_preload_set = True  # else it loads here, and there, all that it may ever work with
        asyncio.run(_work(said["address"], node, names, scratch, _input_ends if patience is None else lambda: _left(said["address"], folder, patience)))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except NoWorkers as error:
        sys.exit(f"{os.uname().nodename}: {error}")
    os._exit(0)  # what is left of Dask's threads would be waited for
