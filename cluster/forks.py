"""The process that workers are forked from on Linux: loading what they need takes it as long as it would take each of them."""

import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing import forkserver, resource_tracker, util

from tidalign.cluster.errors import NoWorkers

METHOD = "forkserver" if sys.platform == "linux" else "spawn"
"""How Python makes worker processes; macOS's libraries do not allow forks."""


_FILES, _FILES_OF_A_WORKER = 64, 16
"""Files that this process has open at a time, at most: for itself and for each worker, with a third of them to spare."""


def make_room(count: int) -> None:
    """Raise the limit of open files for so many workers, as far as the system lets this process decide. Raises NoWorkers: with too few, Dask fails with
    thousands of lines, or waits."""
    needed = _FILES + _FILES_OF_A_WORKER * count
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY not in (soft, hard) and hard < needed:
        raise NoWorkers(
            f"{count} worker processes need up to {needed} open files, and {hard} is the limit (ulimit -n): raise it with `ulimit -n {needed}`, "
            "or give fewer --workers"
        )
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


OF_TERMINALS = {signal.SIGINT, signal.SIGHUP}
"""Signals that go to every process of a terminal: Ctrl-C, and that it was closed."""

OF_JOBS = {signal.SIGUSR1, signal.SIGUSR2}
"""Signals by which batch systems say to every process of a job that its time is over."""

_MAX_FOLDER_PATH = 107 - len("/pymp-12345678/listener-12345678")
"""Letters of the path of a temporary folder in which multiprocessing can make its socket."""


_folders: list[str] = []
"""Names the folder of the socket, once it is made."""


def clear() -> None:
    """Remove the folder of the socket: for a process that ends without Python's own end, which does that."""
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)


def _make_folder() -> None:
    """Have multiprocessing make the folder of its socket: in /tmp where the path of the temporary folder is too long for one, as Python 3.14 does."""
    chosen, given = tempfile.tempdir, tempfile.gettempdir()
    try:
        if len(os.fsencode(given)) > _MAX_FOLDER_PATH:
            tempfile.tempdir = "/tmp"
        _folders.append(util.get_temp_dir())
    except OSError as error:
        raise NoWorkers(f"{tempfile.tempdir}: no socket of worker processes can be made there: {error.strerror}; set TMPDIR to another folder") from error
    finally:
        tempfile.tempdir = chosen


_GPU_MODULES = ("dask_cuda", "cuda.core", "cupy")
"""Modules that workers with GPUs are forked with. Loading them does not begin CUDA, which would make it useless to those that are forked afterwards."""


_TRACKED = "ignore:resource_tracker:UserWarning"
"""Hides from the terminal that the tracker cleans up after a process that was stopped while it began."""


def track() -> None:
    """Start multiprocessing's tracker of what processes share, before anything that has signals blocked: that takes SIGINT and SIGTERM off its mask. Python's
    tracker heeds neither; others that go to all processes of a job or a terminal would end it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, OF_JOBS | {signal.SIGHUP})
    sys.warnoptions.append(_TRACKED)
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(_TRACKED)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def serve(modules: Sequence[str], *, gpus: bool = False) -> None:
    """Start the fork server, where workers are forked and none is there yet, and have it load Dask and `modules`; for workers with GPUs what these are used
    through, as they load modules while CUDA begins. What is not installed is left out. Returns at once."""
    if METHOD != "forkserver":
        return
    # Workers must not die of these while their tasks are let finish; processes inherit the mask
    # (but starting multiprocessing's tracker takes SIGINT off it, so that is started before).
    track()
    _make_folder()
    unmasked = signal.pthread_sigmask(signal.SIG_BLOCK, OF_TERMINALS | OF_JOBS)
    try:
        loaded = ["distributed", "tidalign.cluster.private", *(_GPU_MODULES if gpus else modules)]
        multiprocessing.get_context("forkserver").set_forkserver_preload(loaded)
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, unmasked)
