"""Claims files that are about to be made, so that of several processes one makes each: the others wait for it."""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from tidalign.kernels.runtime.closed import make, objection

WAIT_SECONDS = 120.0
"""Seconds that others wait for whoever has claimed a file: longer than any kernel is compiled for, unless its process is stopped."""

_POLL_SECONDS = 0.02

_held: dict[Path, int] = {}


def free(path: Path) -> bool:
    """Tell whether no process has claimed a file."""
    try:
        claim = _open(path)
    except OSError:
        return True
    try:
        return _lock(claim)
    finally:
        os.close(claim)


def claim(path: Path) -> None:
    """Claim a file for this process, until `release` or its end, once no other process has it, which may have made it then.

    Where nothing can be written there is no claim, and nobody is waited for.
    """
    if path in _held or objection(path.parent):
        return
    with suppress(OSError):
        make(path.parent)
        _held[path] = _open(path)
        last = time.monotonic() + WAIT_SECONDS
        while not _lock(_held[path]) and time.monotonic() < last:
            time.sleep(_POLL_SECONDS)


def release(path: Path) -> None:
    """Give a claim back."""
    if (claim := _held.pop(path, None)) is not None:
        with suppress(OSError):
            _file(path).unlink()
        os.close(claim)


def _file(path: Path) -> Path:
    return path.with_name(f"{path.name}.claim")


def _open(path: Path) -> int:
    return os.open(_file(path), os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _lock(claim: int) -> bool:
    """Lock an open file, which the system gives back with the process, however it ends; tells whether it could be."""
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
