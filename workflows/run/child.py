"""Try something in a process of its own that may crash or hang freely, and say what became of it.

`python -m tidalign.workflows.run.child` is that process: its order tells it what to do.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tidalign.pipeline.errors import CannotWrite, Damaged, DiskFull
from tidalign.workflows.run.watch import POLL_SECONDS, Watch
from tidalign.workflows.status import Exit

START_SECONDS = 300.0
"""Seconds of CPU time that a child may take to load and compile before it begins."""

OUT_OF_MEMORY = 86
"""Exit status of a child that could not get the memory it asked for."""

WORK = {name: f"tidalign.workflows.run.{kind}.isolate" for name, kind in (("rows", "pairs"), ("tile", "genome"), ("queries", "search"))}
"""Modules by what a child can be told to do: it calls their `do(order, begun)`, and `begun` is called when the watch may start."""


def try_in_child(work: str, order: Any, patience: float, pulse: Callable[[], object] = lambda: None) -> str | None:
    """Run an order, which goes to the child as JSON, in a process of its own: gives None, or what became of it.

    work: one of `WORK`. patience: seconds of CPU time after which the child hangs if `pulse`, called here, has not changed (watch.py).
    Raises DiskFull, CannotWrite and Damaged as the child did, RuntimeError with its traceback for a bug.
    """
    command = [sys.executable, "-P", "-m", "tidalign.workflows.run.child", json.dumps([work, order])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        said = _Drain(child.stderr)
        try:
            if spent := _begins(child):
                return f"did not begin in {spent}"
            if spent := _ends(child, Watch(child.pid, patience, pulse)):
                return f"gave no result in {spent}"
        finally:
            child.kill()
    status = child.returncode
    if status == 0:
        return None
    if status < 0:
        return f"ended its process with {signal.Signals(-status).name}"
    text = said.text()
    last = text.strip().splitlines()[-1] if text.strip() else ""
    if status == OUT_OF_MEMORY:
        return f"asked for more memory than there is{': ' * bool(last)}{last}"
    if status == Exit.DISK_FULL:
        raise DiskFull(last)
    if status == Exit.CANNOT_WRITE:
        raise CannotWrite(last)
    if status == Exit.MANIFEST_MISMATCH:
        raise Damaged(*json.loads(last))
    if status == Exit.BUG:
        raise RuntimeError(f"{order}: {text}")
    return f"ended its process with status {status}"


def _begins(child: "subprocess.Popen[bytes]") -> str | None:
    """Wait until a child has begun, or died: None, or in what it did neither."""
    assert child.stdout is not None
    watch = Watch(child.pid, START_SECONDS)
    while not select.select([child.stdout], [], [], POLL_SECONDS)[0]:
        if spent := watch.hangs():
            return spent
    child.stdout.read(1)
    return None


def _ends(child: "subprocess.Popen[bytes]", watch: Watch) -> str | None:
    """Wait until a child has ended: None, or in what it did not."""
    while True:
        try:
            child.wait(POLL_SECONDS)
        except subprocess.TimeoutExpired:
            if spent := watch.hangs():
                return spent
        else:
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
        self.join(60)
        return self._read.decode(errors="replace")


def main() -> int:
    """Run the order, in the child; gives its exit status."""
    threading.Thread(target=die_with_parent, daemon=True).start()
    work, order = json.loads(sys.argv[1])
    try:
        import_module(WORK[work]).do(order, lambda: os.write(1, b"."))
    except MemoryError as error:
        print(error, file=sys.stderr)
        return OUT_OF_MEMORY
    except DiskFull as error:
        print(error, file=sys.stderr)
        return Exit.DISK_FULL
    except CannotWrite as error:
        print(error, file=sys.stderr)
        return Exit.CANNOT_WRITE
    except Damaged as error:
        print(json.dumps(error.args), file=sys.stderr)
        return Exit.MANIFEST_MISMATCH
    except Exception:
        traceback.print_exc()
        return Exit.BUG
    return Exit.COMPLETE


def die_with_parent() -> None:
    """End this process when standard input is closed, which a worker that is killed does: then there is nobody left to work for."""
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    ended = main()
    sys.stderr.flush()
    os._exit(ended)  # what dies while Python is taken apart would be taken for the order's fault
