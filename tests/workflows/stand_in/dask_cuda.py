"""Stands in for dask-cuda: workers without a card each."""

from typing import Any

import dask
from distributed import LocalCluster


class LocalCUDACluster(LocalCluster):
    def __init__(self, CUDA_VISIBLE_DEVICES: str, device_memory_limit: int, **options: Any) -> None:
        assert len(CUDA_VISIBLE_DEVICES.split(",")) == options["n_workers"]
        dask.config.set({"distributed.diagnostics.nvml": False})  # the stand-in for it knows no more than the product asks
        super().__init__(processes=True, **options)
