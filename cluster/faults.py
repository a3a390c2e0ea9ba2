"""Inject faults, for tests of what kills processes."""

import os
import signal
import time
from collections.abc import Callable, Iterable

FAULTS = ("POISON", "HANG", "FAULT")


def inject(places: Callable[[], Iterable[str]], fault: Callable[[], None] = lambda: None) -> None:
    """Do at these places what the environment says: TIDALIGN_TEST_POISON, TIDALIGN_TEST_HANG and TIDALIGN_TEST_FAULT name places (with commas between) at which
    the process kills itself, spins, or calls `fault` (a kernel that writes where nothing is); TIDALIGN_TEST_SLOW is a number of seconds to wait at each call.

    places: asked for only where a variable is set.
    """
    if slow := os.environ.get("TIDALIGN_TEST_SLOW"):
        time.sleep(float(slow))
    for kind in FAULTS:
        named = os.environ.get(f"TIDALIGN_TEST_{kind}")
        if not named or set(named.split(",")).isdisjoint(places()):
            continue
        if kind == "POISON":
            os.kill(os.getpid(), signal.SIGKILL)
        while kind == "HANG":
            pass
        fault()
