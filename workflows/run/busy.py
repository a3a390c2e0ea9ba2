"""Look how long each GPU of a run is held: told while it goes on, summed up at its end."""

import os
import platform
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Self

from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS

POLL_SECONDS = 2.0
"""Seconds between two looks."""

CLOSE_SECONDS = 5.0
"""Seconds that the last one may take: a scheduler that has gone does not answer."""


def held() -> float:
    """Tell the seconds that this process's GPU was held in all."""
    return GPU_OF_PROCESS.busy


class Busy:
    """Looks while a context lasts, in a thread of its own.

    workers: tells (GPU, seconds held in all) of each worker, as it told last, a second ago or so; none: this process has the GPU.
    told: of `busy` and the place of a GPU, what of the last seconds it was held, in thousandths.
    """

    def __init__(self, workers: Callable[[], Mapping[str, tuple[str, float]]], told: Callable[[str, int, int | None], None]) -> None:
        self._workers, self._told = workers, told
        self._first, self._before = held(), time.monotonic()
        self._began, self._seen = self._before, dict[str, tuple[str, float]]()
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look_on, name="busy", daemon=True)

    def __enter__(self) -> Self:
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._looking.join(CLOSE_SECONDS)

    def _look_on(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            self._look()
        self._look()

    def _look(self) -> None:
        before = self._sums()
        with suppress(Exception):  # a scheduler that goes away is told by who waits for tasks
            self._seen |= self._workers()
        if (own := held() - self._first) > 0:
            self._seen["here"] = (f"{platform.node()}:{os.environ.get('CUDA_VISIBLE_DEVICES', '0').partition(',')[0]}", own)
        now = time.monotonic()
        for place, (gpu, seconds) in enumerate(sorted(self._sums().items())):
            self._told(f"busy {place}", int(1000 * min(1.0, (seconds - before.get(gpu, 0.0)) / (now - self._before))), 1000)
        self._before = now

    def _sums(self) -> dict[str, float]:
        sums: defaultdict[str, float] = defaultdict(float)
        for gpu, seconds in self._seen.values():
            sums[gpu] += seconds
        return sums

    def report(self) -> dict[str, dict[str, float]]:
        """Give, by GPU, the seconds that it was held, and what share they are of those since the first look."""
        passed = self._before - self._began
        return {gpu: {"busy": round(seconds, 3), "share": round(min(1.0, seconds / passed), 3)} for gpu, seconds in sorted(self._sums().items()) if passed}
