"""Try something in a process of its own that may crash or hang freely, and say what became of it."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from tidalign.pipeline.errors import CannotWrite, DiskFull
from tidalign.workflows.status import Exit

START_TIMEOUT = 300.0
"""Seconds that a child may take to load and compile before it begins."""

OUT_OF_MEMORY = 86
"""Exit status of a child that could not get the memory it asked for."""

_LOOK = 0.5


def try_in_child(module: str, order: Any, patience: float, pulse: Callable[[], object] = lambda: None) -> str | None:
    """Run `python -m module ORDER`, which calls `serve`: None, or what became of the child.

    order: goes to the child as JSON. patience: seconds after which it hangs if `pulse`, called here, has not changed.
    Raises DiskFull and CannotWrite as the child did, RuntimeError with its traceback for a bug.
    """
    command = [sys.executable, "-P", "-m", module, json.dumps(order)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        said = _Drain(child.stderr)
        try:
            assert child.stdout is not None
            if not select.select([child.stdout], [], [], START_TIMEOUT)[0]:
                return f"did not begin within {START_TIMEOUT:.0f} s"
            child.stdout.read(1)  # it has begun, or died
            status = _wait(child, patience, pulse)
        finally:
            child.kill()
    if status is None:
        return f"gave no result in {patience:.0f} s"
    if status == 0:
        return None
    if status < 0:
        return f"ended its process with {signal.Signals(-status).name}"
    if status == OUT_OF_MEMORY:
        return "asked for more memory than there is"
    text = said.text()
    last = text.strip().splitlines()[-1] if text.strip() else ""
    if status == Exit.DISK_FULL:
        raise DiskFull(last)
    if status == Exit.CANNOT_WRITE:
        raise CannotWrite(last)
    if status == Exit.BUG:
        raise RuntimeError(f"{order}: {text}")
    return f"ended its process with status {status}"


def _wait(child: "subprocess.Popen[bytes]", patience: float, pulse: Callable[[], object]) -> int | None:
    """Exit status of a child; None if it hangs."""
    seen, since = pulse(), time.monotonic()
    while True:
        try:
            return child.wait(min(_LOOK, patience))
        except subprocess.TimeoutExpired:
            now = pulse()
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > patience:
                return None


class _Drain(threading.Thread):
    """Reads a pipe to its end, so that its writer never waits."""

    def __init__(self, pipe: Any) -> None:
        super().__init__(daemon=True)
        self._pipe, self._read = pipe, b""
        self.start()

    def run(self) -> None:
        self._read = self._pipe.read()

    def text(self) -> str:
        self.join(5)
        return self._read.decode(errors="replace")


def serve(work: Callable[[Any, Callable[[], None]], None]) -> int:
    """In the child: do the order; its exit status. `work` takes the order and what to call when the clock may start."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        work(json.loads(sys.argv[1]), lambda: None if os.write(1, b".") else None)
    except MemoryError:
        return OUT_OF_MEMORY
    except DiskFull as error:
        print(error, file=sys.stderr)
        return Exit.DISK_FULL
    except CannotWrite as error:
        print(error, file=sys.stderr)
        return Exit.CANNOT_WRITE
    except Exception:
        traceback.print_exc()
        return Exit.BUG
    return Exit.COMPLETE


def _die_with_parent() -> None:
    """A worker that is killed closes our standard input; then there is nobody left to work for."""
    while os.read(0, 1):
        pass
    os._exit(1)
