"""Stands in for dask-cuda: workers that see their own GPU first, and are named after it."""

from typing import Any

import dask
from distributed import LocalCluster


class LocalCUDACluster(LocalCluster):
    def __init__(self, CUDA_VISIBLE_DEVICES: str, device_memory_limit: int, **options: Any) -> None:
        self.cuda_visible_devices = [int(gpu) if gpu.isdigit() else gpu for gpu in CUDA_VISIBLE_DEVICES.split(",")]
        assert len({*self.cuda_visible_devices}) == len(self.cuda_visible_devices) <= options["n_workers"]
        dask.config.set({"distributed.diagnostics.nvml": False})  # the stand-in for it knows no more than the product asks
        super().__init__(processes=True, **options | {"n_workers": 0})
        self.scale(options["n_workers"])
        self.sync(self._correct_state)

    def new_worker_spec(self) -> dict[Any, Any]:
        free = [gpu for gpu in self.cuda_visible_devices if gpu not in self.worker_spec]
        if not free:
            raise ValueError("Can not scale beyond visible devices", self.cuda_visible_devices)
        place = self.cuda_visible_devices.index(free[0])
        ((_, spec),) = super().new_worker_spec().items()
        gpus = map(str, [*self.cuda_visible_devices[place:], *self.cuda_visible_devices[:place]])
        return {free[0]: spec | {"options": spec["options"] | {"env": spec["options"].get("env", {}) | {"CUDA_VISIBLE_DEVICES": ",".join(gpus)}}}}
