"""Write down what a command says and does: `--log FILE`, and `-v` on standard error."""

import logging
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tidalign.pipeline.errors import CannotWrite
from tidalign.workflows.progress import LISTENERS, show

LOGGER = logging.getLogger("tidalign")


class _Shown(logging.Handler):
    """Shows what is told at `-v`; warnings are shown anyway."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING and record.getMessage():
            show(record.getMessage())  # a log hears of it by itself


class _Written(logging.FileHandler):
    """Writes what is told, and errors with their tracebacks, a line with its time for each."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING:  # what warns is said, and comes by that way
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Write no more, as where the disk is full, and say so once: the run is not to end by it."""
        self.emit = lambda record: None  # type: ignore[method-assign]
        show(f"{self.baseFilename}: the log cannot be written any more: {sys.exc_info()[1]}")

    def close(self) -> None:
        with suppress(OSError):  # of what was said already
            super().close()


def begin(path: str | None, verbose: bool, command: Sequence[str]) -> None:
    """Begin to write down all that is said and done into a file, behind what it has, and to show it. CannotWrite where there can be no such file."""
    LOGGER.setLevel(logging.INFO)
    if verbose:
        LOGGER.addHandler(_Shown())
    if path is None:
        return
    try:
        file = _Written(path, errors="backslashreplace")  # names of files need not be UTF-8
    except OSError as error:
        raise CannotWrite(f"{path}: the log cannot be written: {error.strerror}; name another with --log") from error
    file.setFormatter(logging.Formatter("%(asctime)s %(process)d %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
    LOGGER.addHandler(file)
    LISTENERS.append(lambda message: file.handle(LOGGER.makeRecord(LOGGER.name, logging.INFO, "", 0, message, (), None)))
    LOGGER.info("begin in %s: %s", Path.cwd(), shlex.join(["tidalign", *command]))


def end() -> None:
    """Write down nothing more: the next command of this process begins anew."""
    LISTENERS.clear()
    for handler in [each for each in LOGGER.handlers if isinstance(each, _Shown | _Written)]:
        LOGGER.removeHandler(handler)
        handler.close()
    LOGGER.setLevel(logging.NOTSET)
