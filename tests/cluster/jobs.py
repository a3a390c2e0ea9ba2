"""Tasks for tests, in a module that workers can import."""

import os
import signal
import time
from pathlib import Path


def square(number: int, seconds: float = 0) -> int:
    time.sleep(seconds)
    return number * number


def die_once(marker: str, number: int) -> int:
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def hang_once(marker: str, pulse: str) -> str:
    with Path(pulse).open("a") as beats:
        beats.write("x")
    if not Path(marker).exists():
        Path(marker).touch()
        time.sleep(1e4)
    return "done"


def refuse(text: str) -> None:
    raise OSError(28, text)
