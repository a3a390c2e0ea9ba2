"""The program: SIGINT, SIGTERM, SIGUSR1, SIGUSR2 and SIGHUP are heeded from its first line on, while the command line and its libraries, most of a second of
them, are being loaded; what is closed of the standard streams leads nowhere."""

import os
import signal
import sys

from tidalign.cluster.errors import Stopped

TYPE_CHECKING = False  # typing's own takes as long to load as Python itself
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn


def end(number: int, frame: "FrameType | None" = None) -> "NoReturn":
    """End at once: nothing has begun but what workers are forked from, and an exception would come up inside a library that may swallow it, or be half loaded
    after it."""
    os.write(2, f"tidalign: {Stopped(number)}\n".encode())
    if clear := getattr(sys.modules.get("tidalign.cluster.forks"), "clear", None):
        clear()
    os._exit(Stopped(number).status)


def _fill_standard_streams() -> None:
    """Open the null device under the numbers of standard streams that are closed, so that no file of a run gets one: libraries would write their messages
    into it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # under the least number that is free, which is this one
    if not sys.stderr:
        sys.stderr = os.fdopen(2, "w", closefd=False)  # where there is none, print takes standard output


def heed() -> None:
    """Handle signals from now on by ending this process in good order."""
    _fill_standard_streams()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)


def main(told: "Callable[[int], int]" = int) -> int:
    """Run the command of `sys.argv`; its exit status, of which `told` makes what the process ends with."""
    heed()
    from tidalign.workflows import cli

    return cli.main(told=told)


if __name__ == "__main__":
    sys.exit(main())
