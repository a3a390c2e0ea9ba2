"""Run, as srun starts it on each node of an allocation, workers of the scheduler that a folder names, one a GPU or a processor, until standard input ends."""

import asyncio
import json
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast

import dask
import distributed.utils
from distributed.utils import get_ip, silence_logging_cmgr

from tidalign.cluster import forks
from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpus import usable
from tidalign.cluster.private import MuteNanny, kept
from tidalign.cluster.settings import settings
from tidalign.cluster.task import cores

CLOSE_SECONDS = 4.0
"""Seconds that a worker gets to end by itself."""


RESTART_SECONDS = 1.0
"""Seconds before a worker is started again whose nanny has ended, too."""


def processors(environment: Mapping[str, str] = os.environ) -> int:
    """Count the processors that the job has on this node: SLURM_JOB_CPUS_PER_NODE says `72(x2),36` of all nodes."""
    counts: list[int] = []
    for word in filter(None, environment.get("SLURM_JOB_CPUS_PER_NODE", "").split(",")):
        count, _, times = word.rstrip(")").partition("(x")
        counts += [int(count)] * int(times or 1)
    place = int(environment.get("SLURM_NODEID", "0"))
    return min(cores(), counts[place]) if place < len(counts) else cores()


def environments(said: dict[str, Any]) -> list[dict[str, str]]:
    """Give what each worker of this node has in its environment besides: its GPU, or none for those that use cores beside GPUs."""
    if said["gpus"]:
        return [{"CUDA_VISIBLE_DEVICES": name} for name in (*usable(said["each"]), *[""] * said["cores"])]
    return [{} for _ in range(processors())]


async def _work(address: str, names: list[dict[str, str]], scratch: str) -> None:
    """Run the nannies of workers, each with this environment, until standard input ends."""
    node = os.environ.get("SLURMD_NODENAME") or os.environ.get("SLURM_NODEID", "0")
    here = cast("Any", get_ip)(address.rpartition("://")[2].rpartition(":")[0].strip("[]"))  # of this node, where it is on the scheduler's network
    nannies: dict[int, Any] = {}

    async def keep(place: int, own: dict[str, str]) -> None:
        """Keep a worker running: start another one whenever it and its nanny have ended, as they do where the network is cut for long."""
        options = {"host": here, "nthreads": 1, "name": f"{node}-{place}", "local_directory": scratch, "env": own, "death_timeout": "60s"}
        while True:
            nannies[place] = nanny = cast("Any", MuteNanny)(address, **options)
            with suppress(Exception):  # the scheduler does not answer, or still has who was cut off
                await nanny
                await nanny.finished()
            await nanny.close(timeout=CLOSE_SECONDS)
            await asyncio.sleep(RESTART_SECONDS)

    kept_up = asyncio.gather(*(keep(place, own) for place, own in enumerate(names)), return_exceptions=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    kept_up.cancel()
    await asyncio.gather(*(nanny.close(timeout=CLOSE_SECONDS) for nanny in nannies.values()), return_exceptions=True)


def main(folder: Path) -> None:
    """Run workers for the scheduler that a folder names."""
    # Slurm sends its signals to every process of a job. What becomes of tasks is decided by the one that drives the run.
    forks.track()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGUSR1})
    said = json.loads((folder / "scheduler.json").read_text())
    names = environments(said)
    forks.make_room(len(names))
    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="tidalign-", ignore_cleanup_errors=True))
        stack.enter_context(silence_logging_cmgr(logging.CRITICAL))
        stack.enter_context(dask.config.set(settings() | kept(folder) | {"temporary-directory": scratch}))
        forks.serve(said["modules"], gpus=said["gpus"])
        distributed.utils._forkserver_preload_set = True  # else it loads here, and there, all that it may ever work with
        asyncio.run(_work(said["address"], names, scratch))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except NoWorkers as error:
        sys.exit(f"{os.uname().nodename}: {error}")
    os._exit(0)  # what is left of Dask's threads would be waited for
