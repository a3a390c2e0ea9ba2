"""Lay out rows of wavefronts in the device's memory, and copy them to where they have more room."""

from functools import cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tidalign.kernels.runtime.lanes import Lane

Integers = npt.NDArray[np.int64]
Subproblems = npt.NDArray[np.void]


def allot(table: Subproblems, penalties: Integers, least: int, ring: int) -> int:
    """Lay out rows for wavefronts up to these penalties, `ring` of each part; gives their size. least: a diagonal's penalty."""
    wide = penalties // least + 1
    table["centre"] = np.minimum(wide - table["first"], table["n"])
    table["width"] = table["centre"] + 1 + np.minimum(wide + table["last"], table["m"])
    ends = np.cumsum(ring * table["width"])
    table["place"][0], table["place"][1:] = 0, ends[:-1]
    return int(ends[-1])


class Memory:
    """Takes memory for the rows of a sweep, for as long as its context lasts.

    CuPy keeps what is given back for the stream that took it, which would be a multiple of what all lanes need at a time. So all rows are taken for one stream,
    on which nothing ever runs, and given back when the lane's own has done what may read or write them.
    """

    def __init__(self, lane: Lane) -> None:
        self._lane, self._held = lane, list[Any]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._lane.stream.synchronize()
        self._held.clear()

    def take(self, size: int) -> Any:
        """Take room for so many offsets."""
        import cupy

        with _stream(cupy.cuda.runtime.getDevice()):
            self._held.append(cupy.empty(size, np.int32))
        return self._held[-1]

    def waited(self) -> None:
        """Give back all but what was taken last: the stream has done all that it was given."""
        del self._held[:-1]


@cache
def _stream(device: int) -> Any:
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


def on_device(table: Subproblems) -> Any:
    """Send a table (launches.TABLE) to the device."""
    import cupy

    return cupy.asarray(table.view(np.int64))


def move(before: Subproblems, after: Subproblems, rows: Any, larger: Any, ring: int) -> None:
    """Copy rows to where they have more room on both sides."""
    for old, new in zip(before, after, strict=True):
        source = rows[int(old["place"]) : int(old["place"]) + ring * int(old["width"])].reshape(ring, int(old["width"]))
        target = larger[int(new["place"]) : int(new["place"]) + ring * int(new["width"])].reshape(ring, int(new["width"]))
        left = int(new["centre"] - old["centre"])
        target[:, left : left + int(old["width"])] = source
