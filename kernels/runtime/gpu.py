"""Hold this process's GPU for one task at a time: others meanwhile read, walk and write."""

import threading
import time
from typing import Any

from tidalign.kernels.runtime.errors import KernelError


class GpuLost(KernelError):
    """Another task's kernels have failed: no call of CUDA works in this process any more."""


class Gpu:
    """Is held for each call of the device's kernels, from which results come back on the host.

    busy: seconds that it was held in all. turns: how often it was taken. lost: why kernels have failed; who asks for it then gets GpuLost.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since = 0.0
        self.busy, self.turns = 0.0, 0
        self.lost: str | None = None

    def __enter__(self) -> None:
        self._lock.acquire()
        self._since = time.perf_counter()
        self.turns += 1
        if self.lost:
            self._lock.release()
            raise GpuLost(f"this process has lost its GPU: {self.lost}")

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.busy += time.perf_counter() - self._since
        # CuPy is not imported here to ask for its classes: errors of CUDA are its only RuntimeErrors.
        from_cuda = isinstance(error, RuntimeError) and type(error).__module__.partition(".")[0] in ("cupy", "cupy_backends")
        if from_cuda or isinstance(error, KernelError):
            self.lost = str(error)
        self._lock.release()
        if from_cuda:
            raise KernelError(f"the GPU failed: {error}") from error

    @property
    def held(self) -> bool:
        """Tell whether a task holds it now."""
        return self._lock.locked()


GPU_OF_PROCESS = Gpu()
