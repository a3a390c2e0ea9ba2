"""Tasks for tests, in a module that workers can import."""

import logging
import os
import signal
import time
from pathlib import Path

from distributed import get_worker

from tidalign.cluster.task import logged


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


def at_speed(seconds: float, speeds: dict[str, float]) -> str:
    """Name the worker that did this, which took it the less the faster it is."""
    name = str(get_worker().name)
    time.sleep(seconds / speeds[name])
    return name
