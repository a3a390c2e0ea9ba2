"""Stands in for dask-cuda: workers without a card each."""

from typing import Any

from distributed import LocalCluster


def LocalCUDACluster(CUDA_VISIBLE_DEVICES: str, device_memory_limit: int, **options: Any) -> Any:
    assert len(CUDA_VISIBLE_DEVICES.split(",")) == options["n_workers"]
    return LocalCluster(processes=True, **options)
