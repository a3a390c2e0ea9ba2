"""Hand the GPU of this process over to a worker: memory that is kept here for later is then the worker's; or a worker whose GPU is lost over to a new one."""

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS

GPU_LOST = 87
"""Exit status of a worker that gives way to a new one."""

KEPT: list[Callable[[], None]] = []
"""Lets go of what modules of tasks keep on the GPU for their next task."""

_over = threading.Event()


def begin(*, idle: bool) -> None:
    """Begin: from now on `give_back` gives memory back. idle: no task is left here which does so when it ends, and which giving back waits for."""
    _over.set()
    if idle:
        give_back()


def end() -> None:
    """End: this process may use its GPU again."""
    _over.clear()


def give_back() -> None:
    """Give back the memory that no task of this process uses, where its GPU is a worker's now; called when a task has ended."""
    cupy = sys.modules.get("cupy")
    # Of a GPU that was lost nothing can be given back: each block would have Python print the error of a call that frees it, which no caller can catch.
    if _over.is_set() and cupy and not GPU_OF_PROCESS.lost:
        for forget in KEPT:
            forget()
        with suppress(Exception):  # it may be lost meanwhile
            cupy.get_default_memory_pool().free_all_blocks()


def give_way() -> None:
    """End this process, if it is a worker, once its GPU has failed: no call of CUDA works in it any more, and a new worker takes its place."""
    if multiprocessing.parent_process() is not None:
        os._exit(GPU_LOST)
