"""Python runs this when it starts with this folder on its path: each file that a process opens to read is then written down, in TIDALIGN_TEST_OPENED."""

import os
import sys
from typing import Any

_SAID = os.open(os.environ["TIDALIGN_TEST_OPENED"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str) and not arguments[2] & (os.O_WRONLY | os.O_RDWR):
        os.write(_SAID, f"{os.getpid()} {arguments[0]}\n".encode())


sys.addaudithook(_note)
