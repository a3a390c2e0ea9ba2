"""Forecast a run while its work is done, where nothing is decided by it."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from tidalign.cluster.task import THREAD

if TYPE_CHECKING:
    from tidalign.workflows.estimate.forecast import Forecast


class Beside:
    """Makes a forecast while the work is done: `forecast`, None until it is there. A run that ends before goes without; a command leaves the thread behind, a
    script's end waits for it."""

    def __init__(self, make: Callable[[], "Forecast | None"]) -> None:
        self.forecast: Forecast | None = None
        threading.Thread(target=self._run, args=(make,), name=THREAD).start()

    def _run(self, make: Callable[[], "Forecast | None"]) -> None:
        with suppress(Exception):  # it is told, and nothing else depends on it
            self.forecast = make()
