"""Stands in for CuPy where there is no GPU: only what a test of a failing one needs.

TIDALIGN_TEST_BROKEN names GPUs, as CUDA does, that work for no process from when a file is there: `0,1:FILE`. TIDALIGN_TEST_EXCLUSIVE is a folder of files by
which a process has a GPU for itself until it ends.
"""

import fcntl
import os
from pathlib import Path
from typing import Any


class CUDARuntimeError(RuntimeError):
    status = 46


def RawKernel(*_: Any) -> Any:
    def launch(*_: Any) -> None:
        raise CUDARuntimeError("an illegal memory access was encountered")

    return launch


def broken() -> bool:
    """Tell whether the GPU of this process is broken."""
    gpus, _, path = os.environ.get("TIDALIGN_TEST_BROKEN", "").partition(":")
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0] in gpus.split(",") and Path(path).exists()


_locks: dict[str, Any] = {}


def take() -> None:
    """Have the GPU of this process for itself, where its compute mode is an exclusive one; it may be another's."""
    folder, gpu = os.environ.get("TIDALIGN_TEST_EXCLUSIVE"), os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]
    if folder and gpu not in _locks:
        lock = Path(folder, gpu).open("w")  # noqa: SIM115 for as long as the process lives
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CUDARuntimeError("cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or unavailable") from error
        _locks[gpu] = lock


class cuda:
    class runtime:
        @staticmethod
        def free(pointer: int) -> None:
            take()
            if broken():
                raise CUDARuntimeError("cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or unavailable")
