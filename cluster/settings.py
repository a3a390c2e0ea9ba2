"""Dask's settings for the clusters that we start; why each is as it is was measured (EXECUTION.md 8)."""

from typing import Any

from tidalign.cluster import forks
from tidalign.cluster.private import NO_ROUTES

PRELOAD = "tidalign.cluster.unasked"
"""Module that workers load first."""

OF_GPUS = [PRELOAD, "tidalign.cluster.gpus"]
"""Modules that workers with GPUs load first; Dask calls `dask_setup` of the second."""

_SETTINGS = NO_ROUTES | {
    "distributed.worker.preload": [PRELOAD],
    # Each connection keeps its last messages, for those who look for errors in Dask: a thousand of each worker's.
    "distributed.admin.low-level-log-length": 50,
    "distributed.deploy.lost-worker-timeout": "1h",
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-ttl": "5 minutes",
    # A backstop only: the caller notices sooner.
    "distributed.scheduler.no-workers-timeout": "1h",
    # Tasks return a few counts, so there is nothing to spill, and a paused worker would wait for ever.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
}


def settings(*, dask_cuda: bool = False) -> dict[str, Any]:
    """Give the settings of a cluster. dask_cuda: it is one of dask-cuda's."""
    # dask-cuda's workers ask NVML for their device, and take it that Dask has opened it.
    return _SETTINGS | {"distributed.diagnostics.nvml": dask_cuda, "distributed.worker.multiprocessing-method": forks.METHOD}
