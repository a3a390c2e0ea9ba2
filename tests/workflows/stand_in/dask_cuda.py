"""Stands in for dask-cuda: workers that see their own GPU first."""

from typing import Any

import dask
from distributed import LocalCluster


class LocalCUDACluster(LocalCluster):
    def __init__(self, CUDA_VISIBLE_DEVICES: str, device_memory_limit: int, **options: Any) -> None:
        self._gpus = CUDA_VISIBLE_DEVICES.split(",")
        assert len(self._gpus) <= options["n_workers"]
        dask.config.set({"distributed.diagnostics.nvml": False})  # the stand-in for it knows no more than the product asks
        super().__init__(processes=True, **options | {"n_workers": 0})
        self.scale(options["n_workers"])
        self.sync(self._correct_state)

    def new_worker_spec(self) -> dict[Any, Any]:
        free = [place for place in range(len(self._gpus)) if place not in self.worker_spec]
        if not free:
            raise ValueError("Can not scale beyond visible devices", self._gpus)
        name = place = free[0]
        ((_, spec),) = super().new_worker_spec().items()
        gpus = [*self._gpus[place:], *self._gpus[:place]]
        return {name: spec | {"options": spec["options"] | {"env": spec["options"].get("env", {}) | {"CUDA_VISIBLE_DEVICES": ",".join(gpus)}}}}
