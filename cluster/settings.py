"""Dask's settings for the clusters that we start; why each is as it is was measured (EXECUTION.md 8)."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dask
from dask.utils import parse_timedelta

from tidalign.cluster import forks
from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.private import NO_ROUTES

PRELOAD = "tidalign.cluster.unasked"
"""Module that workers load first."""

OF_GPUS = [PRELOAD, "tidalign.cluster.gpus"]
"""Modules that workers with GPUs load first; Dask calls `dask_setup` of the second."""

_ALWAYS = NO_ROUTES | {
    "distributed.deploy.lost-worker-timeout": "1h",
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    # A backstop only: the caller notices sooner.
    "distributed.scheduler.no-workers-timeout": "1h",
    # A paused worker would wait for ever.
    "distributed.worker.memory.pause": False,
    "distributed.worker.multiprocessing-method": forks.METHOD,
}
"""Holds what runs rely on, whatever else the user's configuration says."""

_UNLESS_SAID = {
    # Each connection keeps its last messages, for those who look for errors in Dask: a thousand of each worker's.
    "distributed.admin.low-level-log-length": 50,
    "distributed.scheduler.worker-ttl": "5 minutes",
    # Tasks return a few counts, so there is nothing to spill.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}
"""Takes the place of Dask's defaults, not of what the user's configuration says."""

_LEAST_SECONDS = {"distributed.comm.timeouts.tcp": 11.0, "distributed.comm.timeouts.connect": 0.0, "distributed.scheduler.worker-ttl": 0.0}
"""Times that a user may set, and the least that Dask takes of each."""


def settings(*, dask_cuda: bool = False) -> dict[str, Any]:
    """Give the settings of a cluster, merged with the user's. dask_cuda: it is one of dask-cuda's. Raises NoWorkers where Dask would fail over one of these."""
    said = dask.config.collect()
    for name, least in _LEAST_SECONDS.items():
        _see_seconds(name, least)
    unsaid = {name: value for name, value in _UNLESS_SAID.items() if not _is_said(name, said)}
    preload = {f"distributed.worker.{name.replace('_', '-')}": value for name, value in preloads([PRELOAD]).items()}
    # dask-cuda's workers ask NVML for their device, and take it that Dask has opened it.
    return _ALWAYS | unsaid | preload | {"distributed.diagnostics.nvml": dask_cuda}


def _is_said(name: str, said: dict[str, Any]) -> bool:
    """Tell whether the user set this, in files or variables (`said`), or in the program that calls."""
    nothing = object()
    values = (dask.config.get(name, nothing, config=config) for config in (said, dask.config.config, dask.config.merge(*dask.config.defaults)))
    of_user, now, of_dask = values
    return of_user is not nothing or now != of_dask


def preloads(first: Sequence[str]) -> dict[str, Any]:
    """Give the options of a worker that loads these modules first, then the user's (`distributed.worker.preload`)."""
    named, arguments = (dask.config.get(f"distributed.worker.{name}", None) or [] for name in ("preload", "preload-argv"))
    named = [named] if isinstance(named, str) else named
    of = dict(zip(named, [arguments] * len(named) if arguments and isinstance(arguments[0], str) else arguments, strict=False))
    modules = [*first, *(name for name in named if name not in OF_GPUS)]
    return {"preload": modules, "preload_argv": [of.get(name, []) for name in modules]}


def temporary() -> "tempfile.TemporaryDirectory[str]":
    """Make the folder of workers: in the user's `temporary-directory`, where one is set. Raises NoWorkers where it cannot be made there."""
    place = dask.config.get("temporary-directory", None)
    try:
        if place:
            Path(place).mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix="tidalign-", dir=place, ignore_cleanup_errors=True)
    except OSError as error:
        if not place:
            raise
        raise NoWorkers(f"{_where('temporary-directory')}: {place}: no folder can be made there: {error.strerror}; set another, or leave it out") from error


def _see_seconds(name: str, least: float) -> None:
    """Raise NoWorkers where the user's configuration says what is no time, or too little of it."""
    found = dask.config.get(name, None)
    try:
        seconds = None if found is None else parse_timedelta(found, default="seconds")
    except (AttributeError, KeyError, TypeError, ValueError):
        seconds = -1.0
    if seconds is None or seconds >= least:
        return
    default = dask.config.get(name, None, config=dask.config.merge(*dask.config.defaults))
    wanted = f"a time of {least:.0f}s or more" if least else "a time, as 30s"
    raise NoWorkers(f"{_where(name)}: expected {wanted}, found {found!r}; set it so, or leave it out: Dask's default is {default}")


def _where(name: str) -> str:
    """Say where the user's configuration has a setting: in which variable or file."""
    for variable in os.environ:
        if variable.startswith("DASK_") and variable[5:].lower().replace("__", ".").replace("_", "-") == name:
            return variable
    files = list(dask.config.paths_containing_key(name))
    return f"{files[-1]}: {name}" if files else f"Dask's setting {name}"
