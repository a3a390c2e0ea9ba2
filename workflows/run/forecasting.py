"""Forecast a run while it goes on, where nothing is decided by it."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from tidalign.cluster.task import THREAD

if TYPE_CHECKING:
    from tidalign.workflows.estimate.forecast import Forecast


class Beside:
    """Makes a forecast while others work: `forecast`, None until it is there. A run that ends before goes without; a command leaves the thread behind, a
    script's end waits for it.

    after: seconds after which it begins, unless a context that it is used as has ended before.
    """

    def __init__(self, make: Callable[[], "Forecast | None"], after: float = 0.0) -> None:
        self.forecast: Forecast | None = None
        self._withdrawn = threading.Event()
        threading.Thread(target=self._run, args=(make, after), name=THREAD).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._withdrawn.set()

    def _run(self, make: Callable[[], "Forecast | None"], after: float) -> None:
        if self._withdrawn.wait(after):
            return
        with suppress(Exception):  # it is told, and nothing else depends on it
            self.forecast = make()
