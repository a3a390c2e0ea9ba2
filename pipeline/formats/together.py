"""Write many files, of which each appears under its name only when it is whole and on the disk, and force them to disk together."""

import ctypes
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from tidalign.pipeline.formats.export import destination, write_errors

FILES = 256
"""Files that lie in a folder beside until they are forced to disk and given their names."""


class Together:
    """Opens sinks as `export.destination` does; what is written of the last files has its names once the context ends."""

    def __init__(self, folder: str | Path) -> None:
        self._place = Path(folder)
        self._files: list[Path] = []

    def __enter__(self) -> Self:
        with write_errors(str(self._place)):
            self._place.mkdir(parents=True, exist_ok=True)
            self._beside = tempfile.TemporaryDirectory(prefix=".", suffix=".tmp", dir=self._place)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._beside:
            if kind is None:
                self._name()

    @contextmanager
    def destination(self, output: str) -> Iterator[BinaryIO]:
        """Open a sink for a file of the folder."""
        named = Path(output)
        path = named.resolve()  # a symbolic link stays one
        if path.parent != self._place.resolve() or (named.exists() and not stat.S_ISREG(named.stat().st_mode)):
            with destination(output) as sink:
                yield sink
            return
        with write_errors(output), Path(self._beside.name, str(len(self._files))).open("wb") as sink:
            yield sink
        self._files.append(path)
        if len(self._files) == FILES:
            self._name()

    def _name(self) -> None:
        """Give the files their names, once they are on the disk."""
        with write_errors(str(self._place)):
            _force(self._beside.name)
            for number, path in enumerate(self._files):
                Path(self._beside.name, str(number)).replace(path)
            folder = os.open(self._place, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        self._files.clear()


def _force(folder: str) -> None:
    """Force the files of a folder to disk: all that its file system has yet to write, where this can be asked for."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(AttributeError):  # Linux alone has it
            if ctypes.CDLL(None, use_errno=True).syncfs(handle) == 0:
                return
    finally:
        os.close(handle)
    for path in Path(folder).iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
