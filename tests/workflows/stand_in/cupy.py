"""Stands in for CuPy where there is no GPU: only what a test of a failing one needs.

TIDALIGN_TEST_BROKEN names GPUs, as CUDA does, that work for no process from when a file is there: `0,1:FILE`.
"""

import os
from pathlib import Path
from typing import Any


class CUDARuntimeError(RuntimeError):
    pass


def RawKernel(*_: Any) -> Any:
    def launch(*_: Any) -> None:
        raise CUDARuntimeError("an illegal memory access was encountered")

    return launch


def broken() -> bool:
    """Tell whether the GPU of this process is broken."""
    gpus, _, path = os.environ.get("TIDALIGN_TEST_BROKEN", "").partition(":")
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0] in gpus.split(",") and Path(path).exists()


class cuda:
    class runtime:
        @staticmethod
        def free(pointer: int) -> None:
            if broken():
                raise CUDARuntimeError("cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or unavailable")
