"""The CUDA devices of this machine, found through NVML, or through the driver's library where this process is to use one itself."""

import ctypes
import fcntl
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

from tidalign.cluster.errors import NoWorkers

WAY_OUT = "install tidalign[cuda12] or tidalign[cuda13] on a machine with an NVIDIA GPU, or use --device cpu"

OLDEST = (8, 0)
"""Least compute capability: the kernels have warps reduce in one instruction."""

TASKS_OF_A_GPU = 2
"""Tasks that a process with a GPU has at a time: one aligns, while another reads what it will need or writes what it had."""

HIRE_SECONDS = 8.0
"""Estimated seconds of one GPU from which on others are worth the start of their workers, where this process has one."""


def installed(name: str) -> bool:
    """Tell whether a Python package is installed."""
    try:
        return find_spec(name) is not None
    except ValueError:  # hidden by None in sys.modules
        return False


def usable(count: int | None = None) -> dict[str, str]:
    """Name this machine's devices by what CUDA_VISIBLE_DEVICES calls them, the first `count` of them (None: all).

    Raises NoWorkers, saying what is missing and the way out.
    """
    if missing := [name for name in ("cupy", "pynvml") if not installed(name)]:
        raise NoWorkers(f"no usable GPU: Python package{'s' * (len(missing) > 1)} {' and '.join(missing)} not found; {WAY_OUT}")
    if (begun := _begun()) and (count or 1) == 1:
        return begun
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise NoWorkers(f"no usable GPU: no NVIDIA driver answers ({error}); {WAY_OUT}") from error
    try:
        names = {device: _named(pynvml, handle) for device, handle in list(_visible(pynvml))[:count]}
    except pynvml.NVMLError as error:
        raise NoWorkers(f"no usable GPU: the NVIDIA driver says {error}; {WAY_OUT}") from error
    # NVML stays open: dask-cuda asks it later and does not expect somebody to have closed it.
    if len(names) < (count or 1):
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        among = "" if visible is None else f" with CUDA_VISIBLE_DEVICES={visible}"
        wanted = f"{count} GPUs" if count and count > 1 else "1 GPU"
        raise NoWorkers(f"{wanted} wanted, {len(names)} found{among}; {'use fewer with --gpus' if names else WAY_OUT}")
    return names


def shareable(count: int | None = None) -> bool:
    """Tell whether several processes may have one of the GPUs at a time that `usable` has named: the compute mode of none is an exclusive one."""
    if _begun():
        return not _exclusive
    import pynvml

    try:
        return all(pynvml.nvmlDeviceGetComputeMode(handle) == _DEFAULT_MODE for _, handle in list(_visible(pynvml))[:count])
    except pynvml.NVMLError:  # as with MIG
        return True


def close() -> None:
    """Close NVML, which `usable` has opened: a process that is forked from this one can then open it for itself, and not before."""
    if nvml := sys.modules.get("pynvml"):
        with suppress(nvml.NVMLError):  # at last: it is open no more
            while True:
                nvml.nvmlShutdown()


def _visible(nvml: Any) -> Iterator[tuple[str, Any]]:
    """List (name, handle) of the devices that CUDA shows a process: all, or those that CUDA_VISIBLE_DEVICES lists, up to the first that does not exist. Each is
    a number, or a UUID, of which the beginning is enough."""
    handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is None:
        yield from ((str(i), handle) for i, handle in enumerate(handles))
        return
    for word in map(str.strip, listed.split(",")):
        if word.isdigit():
            found = [(word, handles[int(word)])] if int(word) < len(handles) else []
        elif word.startswith("MIG-"):
            found = [(word, nvml.nvmlDeviceGetHandleByUUID(word))]
        else:
            found = [(uuid, handle) for uuid, handle in zip(map(nvml.nvmlDeviceGetUUID, handles), handles, strict=True) if word and uuid.startswith(word)]
        if len(found) != 1:
            return
        yield found[0]


def _named(nvml: Any, handle: Any) -> str:
    """Ask a device's name. NoWorkers where it is too old for the kernels."""
    name = str(nvml.nvmlDeviceGetName(handle))
    capability = tuple(nvml.nvmlDeviceGetCudaComputeCapability(handle))
    if capability < OLDEST:
        found, needed = (".".join(map(str, each)) for each in (capability, OLDEST))
        raise NoWorkers(
            f"no usable GPU: {name} has compute capability {found}, {needed} or later is needed; leave it out of CUDA_VISIBLE_DEVICES, or use --device cpu"
        )
    return name


def begin(count: int | None, turns: Path | None = None) -> None:
    """Have CUDA begin on the GPU that this process is to use, the first of several, while others import: it takes as long, and they need it later.

    count: of GPUs that are wanted, None for all. turns: a file by which processes begin one after the other; None: at once. Nothing is said of what goes wrong:
    whoever uses the GPU meets it again.
    """
    global _known, _beginning
    _known = threading.Event()
    if turns:
        _known.set()  # who asks meanwhile asks NVML: it may be a while
    listed = _listed()
    if len(listed) > 1:
        os.putenv("CUDA_VISIBLE_DEVICES", listed[0])  # for CUDA, which takes 0.2 s for each that it sees; who asks this process's os.environ sees all
    _beginning = threading.Thread(target=_begin, args=(count or len(listed) or None, _known, turns))
    _beginning.start()


_beginning: threading.Thread | None = None


def beginning() -> bool:
    """Tell whether CUDA is still beginning in this process."""
    return bool(_beginning and _beginning.is_alive())


def dask_setup(worker: Any) -> None:
    """Have CUDA begin on a worker, while it connects and loads: Dask calls this where a worker has this module as a preload."""
    begin(1, Path(worker.local_directory).with_name("begin.lock"))


_DEVICES = "/proc/driver/nvidia/gpus"


def _listed() -> list[str]:
    """List the GPUs that CUDA would see, by what it calls them, without asking it; none where nobody knows."""
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is not None:
        return [word for word in map(str.strip, listed.split(",")) if word]
    try:
        return [str(number) for number in range(len([*Path(_DEVICES).iterdir()]))]
    except OSError:
        return []


_known: threading.Event | None = None
_one: dict[str, str] = {}
_exclusive = False
"""Whether that one is in an exclusive compute mode."""


def _begun() -> dict[str, str]:
    """Give the GPU, as `usable` has it, that CUDA begins on, if it is the only one."""
    if _known:
        _known.wait()
    return dict(_one)


def _begin(count: int | None, known: threading.Event, turns: Path | None) -> None:
    with _turn(turns) if turns else nullcontext():
        try:
            device = _found(ctypes.CDLL("libcuda.so.1"), count)
        except OSError:
            device = None
        finally:
            known.set()
        if device is not None:
            ctypes.CDLL("libcuda.so.1").cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), device)  # the one that CuPy uses


TURN_SECONDS = 10.0
"""Seconds that a process waits for its turn at most: one before it may hang."""


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    """Wait for the turn of this process: side by side, processes of a host are all as late as the last of them one after the other, 0.33 s each."""
    with ExitStack() as stack:
        with suppress(OSError):  # then side by side
            file, until = stack.enter_context(path.open("w")), time.monotonic() + TURN_SECONDS
            while not _locked(file) and time.monotonic() < until:
                time.sleep(0.01)
        yield


def _locked(file: TextIO) -> bool:
    """Lock a file if nobody has; tell whether it is locked now."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _found(driver: Any, count: int | None) -> ctypes.c_int | None:
    """Find the device to begin on, and put its name into `_one` if it is the only one; the names of several are for NVML to find."""
    global _exclusive
    number, device, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(number)) or number.value == 0:
        return None
    several = (count or number.value) != 1
    if driver.cuDeviceGet(ctypes.byref(device), 0) or driver.cuDeviceGetName(name, 256, device):
        return None
    if _attribute(driver, device, _MAJOR) < OLDEST[0]:
        return None
    _exclusive = _attribute(driver, device, _MODE) != _DEFAULT_MODE
    if not several:
        _one[(_listed() or ["0"])[0]] = name.value.decode()
    return None if _exclusive else device  # then it is for one process: a worker where there are several, or where a run goes on after a death


_MAJOR, _MODE = 75, 20
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE"""

_DEFAULT_MODE = 0
"""Of compute modes the one in which several processes may have a GPU, for the driver as for NVML."""


def _attribute(driver: Any, device: ctypes.c_int, which: int) -> int:
    """Ask an attribute of a device; 0 where the driver does not say."""
    value = ctypes.c_int()
    return 0 if driver.cuDeviceGetAttribute(ctypes.byref(value), which, device) else value.value
