"""Forecast what a run takes while it goes on, at nobody's expense."""

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Self

from tidalign.cluster.here import THREAD

if TYPE_CHECKING:
    from tidalign.workflows.estimate.forecast import Forecast


class Background:
    """Makes a forecast while others work: `forecast`, None until it is there. A run that ends before goes without; a command leaves the thread behind, a
    script's end waits for it.

    after: seconds after which it begins, unless a context that it is used as has ended before.
    apart: it is made in a process of its own, which ends with this one: else what it loads and compiles would hold up the threads that have GPUs work.
    """

    def __init__(self, make: Callable[[], "Forecast | None"], after: float = 0.0, *, apart: bool = False) -> None:
        self.forecast: Forecast | None = None
        self._withdrawn = threading.Event()
        made = partial(_apart, make) if apart else make
        threading.Thread(target=self._run, args=(made, after), name=THREAD, daemon=apart).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._withdrawn.set()

    def _run(self, make: Callable[[], "Forecast | None"], after: float) -> None:
        if self._withdrawn.wait(after):
            return
        with suppress(Exception):  # it is told, and nothing else depends on it
            self.forecast = make()


def _apart(make: Callable[[], "Forecast | None"]) -> "Forecast | None":
    """Make a forecast in a process of its own (workflows/estimate/apart.py)."""
    command = [sys.executable, "-P", "-m", "tidalign.workflows.estimate.apart"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdin and child.stdout
        pickle.dump(make, child.stdin)
        child.stdin.flush()  # and is left open: its end is that of this process
        forecast: Forecast | None = pickle.load(child.stdout)
    return forecast
