"""The CUDA devices of this machine, found without touching CUDA: a process that has done so cannot give its workers devices of their own."""

import ctypes
import os
import threading
from importlib.util import find_spec
from typing import Any

from tidalign.cluster.errors import NoWorkers

WAY_OUT = "install tidalign[cuda12] or tidalign[cuda13] on a machine with an NVIDIA GPU, or use --device cpu"

TASKS_OF_A_CARD = 2
"""Tasks that a process with a GPU has at a time: one aligns, while another reads what it will need or writes what it had."""


def installed(name: str) -> bool:
    """Whether a Python package is."""
    try:
        return find_spec(name) is not None
    except ValueError:  # hidden by None in sys.modules
        return False


def usable(count: int | None = None) -> dict[str, str]:
    """Names of this machine's devices by what CUDA_VISIBLE_DEVICES calls them, the first `count` of them (None: all).

    Raises NoWorkers, saying what is missing and the way out.
    """
    missing = [name for name in ("cupy", "pynvml") if not installed(name)]
    if missing:
        raise NoWorkers(f"no usable GPU: Python package {' and '.join(missing)} not found; {WAY_OUT}")
    if (begun := _begun()) and (count or 1) == 1:
        return begun
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


def begin(count: int | None) -> None:
    """Have CUDA begin on the one card that this process is to use, if it is to use one, while others import: it takes as long, and they need it later.

    count: of cards that are wanted, None for all. Nothing is said of what goes wrong: whoever uses the card meets it again.
    """
    global _known
    _known = threading.Event()
    threading.Thread(target=_begin, args=(count, _known), name="begin").start()


_known: threading.Event | None = None
_one: dict[str, str] = {}


def _begun() -> dict[str, str]:
    """The card, as `usable` has it, that CUDA begins on; none, or several, are for NVML to find."""
    if _known:
        _known.wait()
    return dict(_one)


def _begin(count: int | None, known: threading.Event) -> None:
    try:
        device = _found(ctypes.CDLL("libcuda.so.1"), count)
    except OSError:
        device = None
    finally:
        known.set()
    if device is not None:
        ctypes.CDLL("libcuda.so.1").cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), device)  # the one that CuPy uses


def _found(driver: Any, count: int | None) -> ctypes.c_int | None:
    """The device, if it is one, of which `_one` has the name then."""
    number, device, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(number)) or number.value == 0 or (count or number.value) != 1:
        return None
    if driver.cuDeviceGet(ctypes.byref(device), 0) or driver.cuDeviceGetName(name, 256, device):
        return None
    visible = [each for each in os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",") if each.strip()]
    _one[visible[0]] = name.value.decode()
    return device
