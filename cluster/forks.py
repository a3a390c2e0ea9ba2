"""The process that workers are forked from on Linux: loading what they need takes it as long as it would take each of them."""

import multiprocessing
import signal
import sys
from collections.abc import Sequence
from multiprocessing import forkserver, resource_tracker

METHOD = "forkserver" if sys.platform == "linux" else "spawn"
"""How Python makes worker processes without GPUs; macOS's libraries do not allow forks."""


def serve(modules: Sequence[str]) -> None:
    """Have it begin to load Dask and `modules`, where there is to be one and is none yet. Returns at once."""
    if METHOD != "forkserver":
        return
    # Ctrl-C goes to every process of a terminal. Workers must not die of it while their tasks are let finish; processes inherit the mask
    # (but starting multiprocessing's tracker takes it off, so that is started before).
    resource_tracker.ensure_running()
    unmasked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        multiprocessing.get_context("forkserver").set_forkserver_preload(["distributed", *modules])
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, unmasked)
