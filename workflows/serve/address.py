"""Say where the server of this user listens, and of what program and surroundings it must be to answer for a caller.

Callers load this, so it imports little. The folder is the user's alone. `serve.lock` in it is held by the server, and has two lines: its process, and, once it
can answer, its `identity`. `PID.socket` beside it is its socket.
"""

import os
import resource
import stat
import sys

LOCK = "serve.lock"

_SOURCES = (".py", ".cu", ".cuh")
_HEEDED = ("TIDALIGN_", "NUMBA_", "CUDA_", "CUPY_", "PYTHONPATH", "PYTHONUTF8", "PYTHONIOENCODING")
"""How the names of variables begin that are heeded while libraries load, or that choose GPUs."""


def folder() -> str:
    """Name the folder that the user's server has its socket in: of what the system keeps for the user while logged in, else of the temporary files."""
    given = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"
    return f"{given}/tidalign" if os.path.isdir(given) else f"/tmp/tidalign-{os.geteuid()}"  # noqa: PTH112 pathlib takes as long as Python's own start


def is_private(path: str) -> bool:
    """Tell whether a path is a folder of this user's, no link, that nobody else may look into."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def socket_of(process: int) -> str:
    """Name the socket of the server that is this process."""
    return f"{folder()}/{process}.socket"


def identity() -> str:
    """Write in a line what a server must have in common with its caller: Python, the sources, how they are set, what files are seen under which names, and
    limits. With another one the caller works by itself."""
    root = os.stat("/")  # noqa: PTH116 as above
    seen = (os.readlink("/proc/self/ns/mnt"), root.st_dev, root.st_ino)  # noqa: PTH115
    limits = [resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE)]
    heeded = sorted((name, value) for name, value in os.environ.items() if name.startswith(_HEEDED))
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120 as above
    return repr((sys.version, sys.prefix, sys.getfilesystemencoding(), home, _sources(home), seen, limits, heeded))


def _sources(path: str) -> list[int]:
    """Count the source files below a folder, their bytes, and all the times they were changed at."""
    sums = [0, 0, 0]
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.endswith(_SOURCES):
                found = entry.stat()
                more = [1, found.st_size, found.st_mtime_ns]
            elif "." in entry.name or entry.name == "__pycache__" or not entry.is_dir():
                continue
            else:
                more = _sources(entry.path)
            sums = [before + new for before, new in zip(sums, more, strict=True)]
    return sums


def listening() -> tuple[int, str] | None:
    """Give the process and the identity that the server's file names; None where there is none that could be believed."""
    place = folder()
    if not is_private(place):
        return None
    try:
        with open(f"{place}/{LOCK}", encoding="utf-8") as file:  # noqa: PTH123 as above
            process, _, said = file.read().partition("\n")
    except (OSError, ValueError):
        return None
    return (int(process), said) if process.isdigit() else None
