"""Open what an export is written to: a file that is whole or not there, a device, or standard output."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tidalign.pipeline.errors import CannotWrite, DiskFull


@contextmanager
def destination(output: str) -> Iterator[BinaryIO]:
    """Open a sink whose bytes stand under the name `output` once all are written and on the disk; after any error nothing is left of them."""
    if output == "-":
        with _write_errors("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    path = Path(output).resolve()  # a symbolic link stays one
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with _write_errors(output):
        if path.is_dir():
            raise CannotWrite(f"{output}: expected a file to write, found a directory")
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):  # a device or a pipe is written to, not replaced
            with path.open("wb") as sink:
                yield sink
            return
        try:
            with temporary.open("wb", buffering=1 << 20) as sink:
                yield sink
                sink.flush()
                os.fsync(sink.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def _write_errors(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{name}: no space left on its disk; free some and export again, nothing is lost") from error
        raise CannotWrite(f"{name}: cannot be written: {error.strerror or error}; choose another place with -o") from error
