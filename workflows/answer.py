"""Print what a command answers on standard output, whose reader may be gone and whose disk may be full: neither is a fault of the command's."""

import errno
import os
import sys

from tidalign.pipeline.errors import CannotWrite, DiskFull, OutputClosed


def answer(text: str, end: str = "\n") -> None:
    """Print a text at once. Raises OutputClosed where nobody reads it any more, DiskFull or CannotWrite where it cannot be written."""
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError as error:
        raise OutputClosed("standard output") from error
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left in its buffer
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull("standard output: no space left on its disk; free some, then run the same command again") from error
        raise CannotWrite(f"standard output: cannot be written: {error.strerror or error}; send it elsewhere") from error
