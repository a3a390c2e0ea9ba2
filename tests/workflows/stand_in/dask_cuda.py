"""Stands in for dask-cuda: workers without a card each."""

from typing import Any

import dask
from distributed import LocalCluster


def LocalCUDACluster(CUDA_VISIBLE_DEVICES: str, device_memory_limit: int, **options: Any) -> Any:
    assert len(CUDA_VISIBLE_DEVICES.split(",")) == options["n_workers"]
    dask.config.set({"distributed.diagnostics.nvml": False})  # the stand-in for it knows no more than the product asks
    return LocalCluster(processes=True, **options)
