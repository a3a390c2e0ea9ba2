"""Wait for what another process does, with no deadline of its own: how long it takes depends on who else is on the machine. pytest's ends a test that hangs."""

import time
from collections.abc import Callable, Iterable

import psutil


def wait_until(true: Callable[[], object], process: "psutil.Popen") -> None:
    """Wait until something is so; RuntimeError where the process that is to bring it about ends before."""
    while not true():
        if process.poll() is not None and not true():
            raise RuntimeError(f"the process ended with {process.returncode} before")
        time.sleep(0.1)


def survivors(processes: Iterable[psutil.Process], seconds: float = 120) -> list[psutil.Process]:
    """List the processes that still run after so many seconds; one that ended and that nobody has asked for its status does not run."""
    until, left = time.monotonic() + seconds, list(processes)
    while (left := [process for process in left if runs(process)]) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def runs(process: psutil.Process) -> bool:
    """Tell whether a process runs."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
