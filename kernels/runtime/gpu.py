"""Hold this process's GPU for a task, or for several that leave each other room: others meanwhile read, walk and write."""

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from tidalign.kernels.runtime.errors import KernelError


class Turns:
    """Gives what one holds at a time, or several who let each other, to who asks for it, in that order."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting = deque[object]()
        self._held: list[float] = []  # how many others each holder lets hold it meanwhile

    @contextmanager
    def hold(self, beside: float = 0) -> Iterator[None]:
        """Hold it. beside: so many others may hold it meanwhile, if they let as many."""
        me = object()
        with self._changed:
            self._waiting.append(me)
            try:
                self._changed.wait_for(lambda: self._waiting[0] is me and len(self._held) <= min([beside, *self._held]))
                self._held.append(beside)
            finally:
                self._waiting.remove(me)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._held.remove(beside)
                self._changed.notify_all()

    @property
    def held(self) -> bool:
        """Tell whether somebody holds it now."""
        return bool(self._held)


class GpuLost(KernelError):
    """Another task's kernels have failed: no call of CUDA works in this process any more."""


class Gpu:
    """Is held for each call of the device's kernels, from which results come back on the host.

    busy: seconds that it was held in all. turns: how often it was taken. lost: why kernels have failed; who asks for it then gets GpuLost.
    """

    def __init__(self) -> None:
        self._turns, self._lock = Turns(), threading.Lock()
        self._holders, self._since = 0, 0.0
        self.busy, self.turns = 0.0, 0
        self.lost: str | None = None

    @contextmanager
    def hold(self, beside: int = 0) -> Iterator[None]:
        """Hold it. beside: so many others may hold it meanwhile, if they let as many."""
        with self._turns.hold(beside):
            self.turns += 1
            if self.lost:
                raise GpuLost(f"this process has lost its GPU: {self.lost}")
            self._count(1)
            try:
                yield
            except BaseException as error:
                # CuPy is not imported here to ask for its classes: errors of CUDA are its only RuntimeErrors.
                from_cuda = isinstance(error, RuntimeError) and type(error).__module__.partition(".")[0] in ("cupy", "cupy_backends")
                if from_cuda or isinstance(error, KernelError):
                    self.lost = str(error)
                if from_cuda:
                    raise KernelError(f"the GPU failed: {error}") from error
                raise
            finally:
                self._count(-1)

    def _count(self, change: int) -> None:
        """Count holders, and the seconds in which there are any."""
        with self._lock:
            now = time.perf_counter()
            self.busy += now - self._since if self._holders else 0.0
            self._holders, self._since = self._holders + change, now

    @property
    def held(self) -> bool:
        """Tell whether a task holds it now."""
        return self._turns.held


GPU_OF_PROCESS = Gpu()

CALL_BYTES = 16 << 30
"""Memory of the device for each of the calls that go on beside each other. One alone does with less."""


def room_beside(most: int) -> int:
    """Tell how many calls, no more than `most`, the current device has memory for beside one."""
    import cupy

    return max(0, min(most, int(cupy.cuda.runtime.memGetInfo()[1]) // CALL_BYTES - 1))
