"""Stands in for NVML: as many GPUs as TIDALIGN_TEST_GPUS says."""

import os


class NVMLError(Exception):
    pass


def nvmlInit() -> None:
    pass


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
