"""Name what can go wrong on a device."""

from collections.abc import Iterator
from contextlib import contextmanager


class KernelError(RuntimeError):
    """A kernel that does not compile, launch or end. After one that failed while running, the device is of no use to this process: replace it."""


class DeviceLimit(RuntimeError):
    """A shape that does not fit this device: the launcher answers with the next variant, or the host."""


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """Raise DeviceLimit for too little memory and KernelError for any other failure of the device; `what` was tried."""
    import cupy

    try:
        yield
    except MemoryError as error:  # CuPy's is one, too; its sort has Python's
        raise DeviceLimit(f"{what}: {error}") from error
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
        raise KernelError(f"{what}: {error}") from error
