"""See that the GPU of this process answers: a kernel that hangs cannot be stopped here, so the run ends, and goes on in a worker that can (EXECUTION.md 9)."""

import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from tidalign.cluster.errors import Hangs
from tidalign.cluster.here import THREAD
from tidalign.cluster.task import Task
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS

HELD_SECONDS = 10.0
"""Seconds that a task holds the GPU before the device is asked: what the host does of a task is no silence of the device."""

MAX_STEP_SECONDS = 2.0
"""Seconds that count between two looks at most: who was stopped did not look."""


class Answers:
    """Looks at the GPU of this process while tasks run in its threads."""

    def __init__(self) -> None:
        self._turn, self._held = -1, 0.0
        self._asked: threading.Event | None = None
        self._silent, self._looked = 0.0, time.monotonic()

    def look(self, tasks: Iterable[Task]) -> None:
        """Raise Hangs where the device, which one of these tasks holds, was asked and has given no answer for longer than any of them may take for a step."""
        now = time.monotonic()
        passed, self._looked = min(MAX_STEP_SECONDS, now - self._looked), now
        if not GPU_OF_PROCESS.held or GPU_OF_PROCESS.turns != self._turn:
            self._turn, self._held, self._asked = GPU_OF_PROCESS.turns, 0.0, None
            return
        self._held += passed
        if self._asked is None:
            if self._held >= HELD_SECONDS:
                self._ask()
            return
        self._silent += passed
        known = [task for task in tasks if task.patience < float("inf")]
        if self._asked.is_set():
            self._held, self._asked = 0.0, None
        elif known and self._silent > max(task.patience for task in known):
            at = next((task.key for task in known if task.pulse and task.pulse() is not None), known[0].key)
            raise Hangs(
                f"{at}: the GPU gave no answer in {self._silent:.0f} s; the same command goes on from here, with a worker process, which can be ended if that "
                "hangs again; with --device cpu on cores"
            )

    def _ask(self) -> None:
        """Ask the device to say when it has done what it was given before."""
        self._silent, self._asked = 0.0, threading.Event()
        threading.Thread(target=_answered, args=(self._asked,), name=THREAD, daemon=True).start()


def _answered(event: threading.Event) -> None:
    with suppress(Exception):  # an error is an answer, which whoever holds the device gets, too
        compiler.wait()
    event.set()
