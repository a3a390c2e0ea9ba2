"""Write to pipes and devices, whose readers may take their time, and end there on a signal."""

import errno
import os
import sys
from io import FileIO, UnsupportedOperation
from typing import Any, BinaryIO


class Stream(FileIO):
    """Writes all that it is given, and heeds signals after each part, which a BufferedWriter does not; who closes it waits for no thread that writes."""

    def write(self, data: Any) -> int:
        """Write all of some bytes; gives how many they are."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            written = super().write(rest)
            if written is None:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            rest = rest[written:]
        return size


def standard_output() -> BinaryIO:
    """Give standard output as a stream; what stands in for it in memory as it is."""
    try:
        return Stream(sys.stdout.fileno(), "wb", closefd=False)
    except UnsupportedOperation:
        return sys.stdout.buffer
