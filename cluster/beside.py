"""Workers on cores beside those of dask-cuda, which starts one for each GPU and no others."""

import os
from itertools import count
from typing import Any

_OF_GPUS = ("preload", "preload_argv", "data", "plugins")
"""Options of what dask-cuda has its workers load and hold."""


def with_cores(kind: type[Any]) -> type[Any]:
    """Make a kind of cluster of dask-cuda's whose workers beyond the GPUs are on cores, one thread each, and see no GPU."""

    class Mixed(kind):  # type: ignore[misc]
        def new_worker_spec(self) -> dict[Any, Any]:
            try:
                spec: dict[Any, Any] = super().new_worker_spec()
                return spec
            except ValueError:  # each GPU has its worker
                name = next(name for name in (f"core-{number}" for number in count()) if name not in self.worker_spec)
                options = {name: value for name, value in self.new_spec["options"].items() if name not in _OF_GPUS}
                return {name: self.new_spec | {"options": options | {"nthreads": 1, "env": dict(os.environ) | {"CUDA_VISIBLE_DEVICES": ""}}}}

    return Mixed
