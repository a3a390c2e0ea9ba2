"""Workers of a cluster of dask-cuda's: each sees its GPU alone; more than one for each GPU, and some on cores."""

import copy
from collections.abc import Sequence
from itertools import count
from typing import Any

from tidalign.cluster.settings import OF_GPUS, preloads

_OPTIONS_OF_DASK_CUDA = ("preload", "preload_argv", "data", "plugins")
"""Options of what dask-cuda has its workers load and hold."""


def with_own(kind: type[Any], gpus: Sequence[str]) -> type[Any]:
    """Make a kind of cluster of dask-cuda's whose workers see their own GPU alone, as CUDA takes 0.2 s to begin for each that it sees, and connect while it
    does. Beyond one for each GPU it has those that `gpus` names again, and then cores: one thread each, which see no GPU."""

    class Own(kind):  # type: ignore[misc]
        def new_worker_spec(self) -> dict[Any, Any]:
            try:
                spec: dict[Any, Any] = super().new_worker_spec()
            except ValueError:  # each GPU has its worker
                return self._more()
            for gpu, worker in spec.items():
                worker["options"]["env"]["CUDA_VISIBLE_DEVICES"] = str(gpu)
                worker["options"] |= preloads(OF_GPUS)  # dask-cuda's own has CUDA begin first
            return spec

        def _more(self) -> dict[Any, Any]:
            for place, gpu in enumerate(gpus):
                if gpu in gpus[:place] and (name := f"{gpu}-{place}") not in self.worker_spec:
                    first = next(device for device in self.cuda_visible_devices if str(device) == gpu)
                    return {name: copy.deepcopy(self.worker_spec[first])}
            name = next(name for name in (f"core-{number}" for number in count()) if name not in self.worker_spec)
            options = {name: value for name, value in self.new_spec["options"].items() if name not in _OPTIONS_OF_DASK_CUDA}
            return {name: self.new_spec | {"options": options | {"nthreads": 1, "env": {"CUDA_VISIBLE_DEVICES": ""}}}}

    return Own
