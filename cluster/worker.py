"""Write down what becomes of tasks on a worker, and have them fail there where tests ask for it."""

import faulthandler
import logging
import multiprocessing
import os
import platform
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

_log: TextIO | None = None  # of this worker, in the folder that it works for now
_handler = logging.StreamHandler()


@contextmanager
def logged(folder: str, what: str) -> Iterator[None]:
    """Write down in a folder what this worker does: HOST-PROCESS.log has a line where something begins and one where it ends, what libraries warn of, and where
    each thread was when a fault of the machine's ended it. Nothing of a process that is no worker, or where nothing can be written."""
    global _log
    if multiprocessing.parent_process() is None:
        yield
        return
    with suppress(OSError):
        path = Path(folder, f"{re.sub(r'[^A-Za-z0-9-]', '-', platform.node())}-{os.getpid()}.log")
        if _log is None or _log.name != str(path):
            _let_go()  # the next may not open, and what it would have said is none of another run's
            _log = path.open("a", buffering=1)  # for as long as the worker lives
            faulthandler.enable(_log)
            _handler.setStream(_log)
            logging.getLogger().addHandler(_handler)
    began = time.monotonic()
    _note(f"{what} begins")
    try:
        yield
    except BaseException as error:
        _note(f"{what} ends by {error!r}")
        raise
    _note(f"{what} ends, {time.monotonic() - began:.3f} s")


def _let_go() -> None:
    """Write nothing more into the log of the folder that this worker worked for before."""
    global _log
    if _log is None:
        return
    _log = None  # closed by the last thread that writes to it
    faulthandler.disable()
    logging.getLogger().removeHandler(_handler)
    _handler.setStream(sys.stderr)


def _note(line: str) -> None:
    if (log := _log) is not None:
        with suppress(OSError):
            log.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {line}\n")


def inject(places: Callable[[], Iterable[str]], fault: Callable[[], None] = lambda: None) -> None:
    """Do at these places, for tests, what the environment says: TIDALIGN_TEST_POISON, _HANG and _FAULT name places (with commas between) at which the process
    kills itself, spins, or calls `fault` (a kernel that writes where nothing is); TIDALIGN_TEST_SLOW is a number of seconds to wait at each call."""
    if slow := os.environ.get("TIDALIGN_TEST_SLOW"):
        time.sleep(float(slow))
    for kind in ("POISON", "HANG", "FAULT"):
        named = os.environ.get(f"TIDALIGN_TEST_{kind}")
        if not named or set(named.split(",")).isdisjoint(places()):
            continue
        if kind == "POISON":
            os.kill(os.getpid(), signal.SIGKILL)
        while kind == "HANG":
            pass
        fault()
