"""A stream with the pinned memory its copies go through; kept between calls, since pinning costs more than a batch's whole alignment."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

PADDING = 16
"""Bytes behind each array sent that kernels may read."""

_ALIGNED = 256


class Lane:
    """Batches go through a lane one after the other: what `fetch` returned lies in its memory until the next `fetch`."""

    def __init__(self) -> None:
        import cupy

        self.stream = cupy.cuda.Stream(non_blocking=True)
        # Waiting threads sleep: the cores are for the threads that copy.
        self._done = cupy.cuda.Event(block=True, disable_timing=True)
        self._sent = self._fetched = np.empty(0, np.uint8)

    def send(self, *arrays: npt.NDArray[Any]) -> list[Any]:
        """Copies on the device. The copy before must be over: something was fetched since, or nothing sent."""
        import cupy
        from cupy.cuda import runtime

        places = _places(array.nbytes + PADDING for array in arrays)
        if places[-1] > self._sent.nbytes:
            self._sent = np.empty(0, np.uint8)
            self._sent = _pinned(places[-1])
        block = cupy.empty(places[-1], np.uint8)
        sent = []
        for array, place in zip(arrays, places, strict=False):
            staged = self._sent[place : place + array.nbytes].view(array.dtype)
            np.copyto(staged, array)
            copy = cupy.ndarray(array.shape, array.dtype, block.data + place)
            if array.nbytes:
                runtime.memcpyAsync(copy.data.ptr, staged.ctypes.data, array.nbytes, runtime.memcpyHostToDevice, self.stream.ptr)
            sent.append(copy)
        return sent

    def fetch(self, *arrays: Any) -> list[npt.NDArray[Any]]:
        """Copies on the host, complete on return."""
        from cupy.cuda import runtime

        places = _places(array.nbytes for array in arrays)
        if places[-1] > self._fetched.nbytes:
            self._fetched = np.empty(0, np.uint8)
            self._fetched = _pinned(places[-1])
        fetched = []
        for array, place in zip(arrays, places, strict=False):
            copy = self._fetched[place : place + array.nbytes].view(array.dtype)
            if array.nbytes:
                runtime.memcpyAsync(copy.ctypes.data, array.data.ptr, array.nbytes, runtime.memcpyDeviceToHost, self.stream.ptr)
            fetched.append(copy)
        self._done.record(self.stream)
        self._done.synchronize()
        return fetched


def _places(sizes: Iterator[int]) -> list[int]:
    places = [0]
    for size in sizes:
        places.append(places[-1] + -(-size // _ALIGNED) * _ALIGNED)
    return places


def _pinned(size: int) -> npt.NDArray[np.uint8]:
    """A quarter more than asked for, so that batches that grow a little do not pin again."""
    import cupyx

    pinned: npt.NDArray[np.uint8] = cupyx.empty_pinned(size + size // 4, np.uint8)
    return pinned


_idle: defaultdict[int, list[Lane]] = defaultdict(list)


@contextmanager
def lane(device: int) -> Iterator[Lane]:
    """A lane of this device that nobody else uses meanwhile; its stream is the current one."""
    import cupy

    with cupy.cuda.Device(device):
        try:
            mine = _idle[device].pop()
        except IndexError:
            mine = Lane()
        with mine.stream:
            yield mine
    # Not after an error: copies may still be under way.
    _idle[device].append(mine)
