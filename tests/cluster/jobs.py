"""Tasks for tests, in a module that workers can import."""

import faulthandler
import logging
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from distributed import get_worker

from tidalign.cluster.worker import logged


def square(number: int, seconds: float = 0) -> int:
    time.sleep(seconds)
    return number * number


def die_once(marker: str, number: int) -> int:
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def say(pulse: str) -> None:
    with Path(pulse).open("a") as beats:
        beats.write("x")


def wait_silently(pulse: str, seconds: float) -> str:
    say(pulse)
    time.sleep(seconds)
    return "done"


def hang_once(marker: str, pulse: str, spin: bool) -> str:
    say(pulse)
    if not Path(marker).exists():
        Path(marker).touch()
        while True:
            time.sleep(0 if spin else 1e4)
    return "done"


def refuse(text: str) -> None:
    raise OSError(28, text)


def burn(seconds: float) -> None:
    began = time.process_time()
    while time.process_time() - began < seconds:
        pass


def whereabouts(seconds: float) -> str:
    """Give the address of the worker that this took so long on."""
    time.sleep(seconds)
    return str(get_worker().address)


def crash(folder: str) -> None:
    with logged(folder, "b00001 begins well and"):
        logging.getLogger("library").warning("a hint")
    with logged(folder, "b00002"):
        os.kill(os.getpid(), signal.SIGSEGV)


def log_in(folders: Sequence[str]) -> None:
    """Do something in one folder after the other, of which something is said; nothing dies of a fault later."""
    for folder in folders:
        with logged(folder, f"in {folder}"):
            logging.getLogger("library").warning("a hint of %s", Path(folder).name)
    assert not faulthandler.is_enabled()


def meet(folder: str) -> str:
    """Give the address of the worker that this took a second on, once there were two for it."""
    address = str(get_worker().address)
    Path(folder, address.rpartition(":")[2]).touch()
    while len(list(Path(folder).iterdir())) < 2:
        time.sleep(0.1)
    time.sleep(1.0)
    return address


def at_speed(folder: str, number: int) -> str:
    """Name the worker that did this: `slow` does one while `fast` does three, or all others are done; so it is on a busy machine, too."""
    name, done = str(get_worker().name), Path(folder)
    before, until = len(list(done.glob("fast*"))), time.monotonic() + 60
    if name == "fast":
        time.sleep(0.15)
    while name == "slow" and len(list(done.glob("fast*"))) < before + 3 and not (done / "over").exists() and time.monotonic() < until:
        time.sleep(0.01)
    (done / f"{name}{number}").touch()
    return name
