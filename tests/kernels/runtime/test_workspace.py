"""Workspaces of kernels at the end of a process."""

import subprocess
import sys

CODE = """
import atexit
from tidalign.kernels.runtime import workspace
held = workspace.memory()
workspace.reserve_ring(held.work, 4096)
before = held.work.copy()
atexit._run_exitfuncs()
assert before.any() and (held.work == before).all()
held.free()
assert not held.work.any()
"""


def test_what_a_thread_may_still_use_is_not_freed_at_exit() -> None:
    """Threads that a stopped command leaves behind go on until the process has ended."""
    subprocess.run([sys.executable, "-c", CODE], check=True)
