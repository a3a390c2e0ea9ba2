"""Do the batches of pairs that are in memory by several threads of this process, in order: numba's kernels run side by side."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.pipeline.device import Device, cores
from tidalign.pipeline.text import cuts
from tidalign.pipeline.whole import is_whole

BATCHES_A_THREAD = 4
"""Batches of each thread, at least, where there are pairs for them: so all are done at about the same time."""


def threads_of(threads: Any) -> int:
    """Read a number of threads; None: one for each core that this process may use."""
    if threads is None:
        return cores()
    if not is_whole(threads) or threads < 1:
        raise ValueError(f"threads {threads!r}: expected a whole number from 1 on, or None for one each core")
    return int(threads)


def shared(weights: npt.NDArray[np.float64], device: Device, threads: int) -> list[tuple[int, int]]:
    """Cut pairs of so much work each into consecutive ranges, each one call of the kernels, and enough for all threads."""
    limit = device.batch_work if threads == 1 else min(device.batch_work, max(1.0, float(weights.sum()) / (threads * BATCHES_A_THREAD)))
    return cuts(weights, limit, device.batch_rows)


def on_threads(do: Callable[[int, int], Any], ranges: Sequence[tuple[int, int]], device: Device, threads: int) -> list[Any]:
    """Give what `do` makes of each range, in order. A GPU does one after the other."""
    if threads == 1 or device.takes_gpu or len(ranges) < 2:
        return [do(start, stop) for start, stop in ranges]
    first = do(*ranges[0])  # compiles, where that has to be done, once
    with ThreadPoolExecutor(min(threads, len(ranges)), "align") as pool:
        return [first, *pool.map(lambda each: do(*each), ranges[1:])]
