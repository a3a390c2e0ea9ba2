"""Streams with the pinned memory their copies go through, and batches taking turns on them.

One thread speaks to the device: several would spend their time handing each other the interpreter lock. What copies memory on the host is done by others.
"""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tidalign.kernels.runtime import compiler

T = TypeVar("T")
Steps = Generator[Callable[[], bool], None, T]
"""Work that stops where it must wait, handing out what says that it need not any more."""

MAX_LANES = 24
"""Batches under way at a time: some staged by the host, some on the device, some delivered."""

_URGENT = -1  # priority of a stream; lower ones go first, and 0 is the default

PADDING = 16
"""Bytes behind each array sent that kernels may read."""

_SUCCESS, _NOT_READY = 0, 600  # cudaError_t
_ALIGNED = 256
_PAUSE = 5e-5


class Lane:
    """Batches go through a lane one after the other: what `fetch` returned lies in its memory until the next `fetch`.

    stream: the one that the lane's batch is on now. What a batch asks for after its first `fetch` goes before what others begin with: else all lanes would wait
    for the first kernels of all, then deliver at the same time, and have nothing on the device while the next batches are staged.
    """

    def __init__(self) -> None:
        import cupy

        self._first = self.stream = cupy.cuda.Stream(non_blocking=True)
        self._urgent = cupy.cuda.Stream(non_blocking=True, priority=_URGENT)
        self._done = cupy.cuda.Event(disable_timing=True)
        self._sent = self._fetched = np.empty(0, np.uint8)

    def begin(self) -> None:
        """Take another batch, after which nothing of the last one is under way."""
        self.stream = self._first

    def stage(self, shapes: Sequence[tuple[int, npt.DTypeLike]]) -> list[npt.NDArray[Any]]:
        """Give arrays of these sizes and types to fill before `send`. What was sent before must have arrived: something was fetched since."""
        sizes = [size * np.dtype(kind).itemsize for size, kind in shapes]
        places = _places(size + PADDING for size in sizes)
        if places[-1] > self._sent.nbytes:
            self._sent = np.empty(0, np.uint8)
            self._sent = _pinned(places[-1])
        return [self._sent[place : place + size].view(kind) for size, place, (_, kind) in zip(sizes, places, shapes, strict=False)]

    def send(self, staged: list[npt.NDArray[Any]]) -> list[Any]:
        """Put what was staged on the device: all of it or what comes first, the last of these as short as it may be."""
        import cupy
        from cupy.cuda import runtime

        places = _places(array.nbytes + PADDING for array in staged)
        block = cupy.empty(places[-1], np.uint8)
        runtime.memcpyAsync(block.data.ptr, self._sent.ctypes.data, places[-1], runtime.memcpyHostToDevice, self.stream.ptr)
        return [cupy.ndarray(array.shape, array.dtype, block.data + place) for array, place in zip(staged, places, strict=False)]

    def fetch(self, *arrays: Any) -> Steps[list[npt.NDArray[Any]]]:
        """Copy arrays to the host."""
        from cupy.cuda import runtime

        places = _places(array.nbytes for array in arrays)
        if places[-1] > self._fetched.nbytes:
            self._fetched = np.empty(0, np.uint8)
            self._fetched = _pinned(places[-1])
        fetched = []
        for array, place in zip(arrays, places, strict=False):
            copy = self._fetched[place : place + array.nbytes].view(array.dtype).reshape(array.shape)
            if array.nbytes:
                runtime.memcpyAsync(copy.ctypes.data, array.data.ptr, array.nbytes, runtime.memcpyDeviceToHost, self.stream.ptr)
            fetched.append(copy)
        self._done.record(self.stream)
        yield self._arrived
        return fetched

    def _arrived(self) -> bool:
        """Tell whether the device has come to the end of what was asked of it; raises what stopped it. `Event.done` would say no for ever after an error."""
        from cupy.cuda import runtime

        status = runtime.eventQuery(self._done.ptr)
        if status not in (_SUCCESS, _NOT_READY):
            raise runtime.CUDARuntimeError(status)
        if status == _NOT_READY:
            return False
        self.stream = self._urgent
        return True


def _places(sizes: Iterable[int]) -> list[int]:
    places = [0]
    for size in sizes:
        places.append(places[-1] + -(-size // _ALIGNED) * _ALIGNED)
    return places


def _pinned(size: int) -> npt.NDArray[np.uint8]:
    """Pin a quarter more than asked for, so that batches that grow a little do not pin again."""
    return compiler.pinned(size + size // 4, np.uint8)


_idle: defaultdict[int, list[Lane]] = defaultdict(list)  # by device; pinning costs more than aligning a batch, so lanes stay


def run(jobs: Iterable[Callable[[Lane], Steps[None]]], most: int = MAX_LANES) -> None:
    """Run every job on a lane of the current device, started in order, up to `most` under way. Raises what one of them raises, and leaves the rest."""
    import cupy

    idle = _idle[cupy.cuda.runtime.getDevice()]
    coming = iter(jobs)
    active: deque[tuple[Lane, Steps[None], Callable[[], bool]]] = deque()
    while True:
        if len(active) < most and (job := next(coming, None)):
            mine = _idle_lane(idle) or Lane()
            mine.begin()
            active.append((mine, job(mine), _at_once))
        elif not active:
            return
        idled = True
        for _ in range(len(active)):
            mine, steps, ready = active.popleft()
            if ready():
                idled = False
                with mine.stream:
                    try:
                        ready = next(steps)
                    except StopIteration:
                        idle.append(mine)
                        continue
            active.append((mine, steps, ready))
        if idled:
            time.sleep(_PAUSE)


def _idle_lane(idle: list[Lane]) -> Lane | None:
    """Take an idle lane, if there is one: other threads take some, too."""
    with suppress(IndexError):
        return idle.pop()
    return None


def _at_once() -> bool:
    return True
