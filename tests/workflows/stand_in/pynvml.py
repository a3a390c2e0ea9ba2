"""Stands in for NVML: as many GPUs as TIDALIGN_TEST_GPUS says."""

import os


class NVMLError(Exception):
    pass


_opened: list[int] = []


def nvmlInit() -> None:
    """Open, but not where the process that this one was forked from had not closed: as NVML itself, whose files a fork may not use."""
    if {*_opened} - {os.getpid()}:
        raise NVMLError("The operating system has blocked the request.")
    _opened.append(os.getpid())


def nvmlShutdown() -> None:
    if not _opened:
        raise NVMLError("Uninitialized")
    _opened.pop()


def nvmlDeviceGetCount() -> int:
    return int(os.environ["TIDALIGN_TEST_GPUS"])


def nvmlDeviceGetHandleByIndex(index: int) -> int:
    return index


def nvmlDeviceGetUUID(handle: int) -> str:
    return f"GPU-{handle}"


def nvmlDeviceGetCudaComputeCapability(handle: int) -> list[int]:
    return [9, 0]


def nvmlDeviceGetComputeMode(handle: int) -> int:
    return int(os.environ.get("TIDALIGN_TEST_COMPUTE_MODE", "0"))


def nvmlDeviceGetName(handle: int) -> str:
    return "stand-in"
