"""One run at a time in a run directory."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidalign.pipeline.errors import CannotWrite
from tidalign.pipeline.store.files import writing_error


@contextmanager
def locked(directory: str) -> Iterator[None]:
    """Hold the run directory for this process. CannotWrite naming the holder where another one has it; the kernel lets go when a holder dies."""
    path = Path(directory, "run.lock")
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise writing_error(str(path), error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 200, 0).decode(errors="replace").strip() or "another process"
            raise CannotWrite(f"{directory}: in use by {holder}; wait for it, stop it, or use another run directory") from None
        except OSError as error:
            raise CannotWrite(f"{path}: its file system cannot lock files ({error.strerror}); use a run directory on one that can") from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {os.uname().nodename}\n".encode(), 0)
        yield
    finally:
        os.close(handle)
