"""The CUDA devices of this machine, found without touching CUDA: a process that has done so cannot give its workers devices of their own."""

import os
from importlib.util import find_spec

from tidalign.cluster.errors import NoWorkers

WAY_OUT = "install tidalign[cuda12] or tidalign[cuda13] on a machine with an NVIDIA GPU, or use --device cpu"

TASKS_OF_A_CARD = 2
"""Tasks that a process with a GPU has at a time: one aligns, while another reads what it will need or writes what it had."""


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # hidden by None in sys.modules
        return False


def usable(count: int | None = None) -> dict[str, str]:
    """Names of this machine's devices by what CUDA_VISIBLE_DEVICES calls them, the first `count` of them (None: all).

    Raises NoWorkers, saying what is missing and the way out.
    """
    missing = [name for name in ("cupy", "pynvml") if not _installed(name)]
    if missing:
        raise NoWorkers(f"no usable GPU: Python package {' and '.join(missing)} not found; {WAY_OUT}")
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise NoWorkers(f"no usable GPU: no NVIDIA driver answers ({error}); {WAY_OUT}") from error
    try:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        wanted = [str(i) for i in range(pynvml.nvmlDeviceGetCount())] if visible is None else [name for name in visible.split(",") if name.strip()]
        names = {}
        for device in wanted[:count]:
            find = pynvml.nvmlDeviceGetHandleByIndex if device.isdigit() else pynvml.nvmlDeviceGetHandleByUUID
            names[device] = str(pynvml.nvmlDeviceGetName(find(int(device) if device.isdigit() else device)))
    except pynvml.NVMLError as error:
        raise NoWorkers(f"no usable GPU: the NVIDIA driver says {error}; {WAY_OUT}") from error
    # NVML stays open: dask-cuda asks it later and does not expect somebody to have closed it.
    if len(names) < (count or 1):
        raise NoWorkers(f"{count or 1} GPUs wanted, {len(names)} found; {'use fewer with --gpus' if names else WAY_OUT}")
    return names
