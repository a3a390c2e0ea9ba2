"""Write many files, of which each appears under its name only when it is whole and on the disk, and force them to disk together."""

import ctypes
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from itertools import chain, groupby, pairwise
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from tidalign.pipeline.formats.export import destination, text_lines, write_errors
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.in_turn import in_turn
from tidalign.pipeline.store.outputs import refuse_input, refuse_own
from tidalign.pipeline.text import content

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


def write_apart(
    request: Request[Any],
    outputs: Sequence[str],
    column: str,
    alone: Callable[[int], Request[Any]],
    into: Callable[[str], AbstractContextManager[BinaryIO]],
) -> None:
    """Write rows into as many files as a column, which is in order, has numbers of them, as `export` does one; the text of small ones is made together.

    request: for all rows, in a format of lines of text; alone: gives that for a file's own.
    """
    format = request.format
    made = in_turn((piece.then(partial(_numbered, request, column)) for piece in request.rows.pieces()), request.rows.threads)
    texts = groupby(chain.from_iterable(made), itemgetter(0))
    number, rows = next(texts, (None, ()))
    for at, output in enumerate(outputs):
        refuse_input(output, request.rows.source)
        refuse_own(output)
        own = alone(at)
        with into(output) as sink:
            sink.writelines(format.load(format.header)(own) if format.header else ())
            if number == at:
                sink.writelines(format.load(format.above)(own) if format.above else ())
                sink.writelines(text for _, text in rows)
                number, rows = next(texts, (None, ()))
            sink.write(format.footer.encode() if request.markend else b"")


def _numbered(request: Request[Any], column: str, piece: Callable[[], Iterable[Any]]) -> list[tuple[int, Any]]:
    """Make the text of a piece, cut where the number in a column changes."""
    found: list[tuple[int, Any]] = []
    for batch, lines in text_lines(request, piece):
        numbers = batch[column].to_numpy()
        edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
        found += [(int(numbers[start]), content(lines.slice(start, stop - start))) for start, stop in pairwise(edges)]
    return found
