"""Where compiled kernels are kept between runs: for each module a folder named after its sources, because numba's own cache does not see edits in
imported modules."""

import atexit
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

_IMPORT = re.compile(r"^from tidalign\.kernels\.(\w+) import", re.MULTILINE)


@cache
def folder(module: str) -> Path | None:
    """The folder of a kernel module and all it imports of the kernels: under NUMBA_CACHE_DIR, XDG_CACHE_HOME/tidalign or ~/.cache/tidalign, the first
    that can be written to.

    Where none can, a temporary folder that lives as long as the process; None where not even that can be made (kernels are then compiled in memory).
    """
    digest = hashlib.sha256(os.environ.get("TIDALIGN_LANES", "").encode())
    for name, source in sorted(_sources(module.rpartition(".")[2]).items()):
        digest.update(name.encode() + b"\0" + source)
    name = f"{module.rpartition('.')[2]}-{digest.hexdigest()[:16]}"
    for base in _bases():
        place = base / name
        try:
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                return place
        except OSError:
            continue
    try:
        # Not a fixed name under /tmp: cached code is loaded as it is found, so the folder must be nobody else's.
        place = Path(tempfile.mkdtemp(prefix="tidalign-"))
    except OSError:
        return None
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def _sources(module: str) -> dict[str, bytes]:
    """Source of a kernel module and of those it imports, by name."""
    found: dict[str, bytes] = {}
    todo = [module]
    while todo:
        name = todo.pop()
        path = Path(__file__).with_name(f"{name}.py")
        if name not in found and path.exists():
            found[name] = path.read_bytes()
            todo += _IMPORT.findall(found[name].decode())
    return found


def _bases() -> list[Path]:
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(given) / "tidalign"]
    bases = []
    if given := os.environ.get("XDG_CACHE_HOME"):
        bases.append(Path(given) / "tidalign")
    with suppress(RuntimeError):  # no HOME and no entry for this user
        bases.append(Path.home() / ".cache" / "tidalign")
    return bases


def jit(function: Callable[..., Any]) -> Any:
    """Compile with numba on first call, without the interpreter lock, from the cache where it can be.

    numba reads its cache folder from a global setting when a function is decorated, so the setting is ours only while that happens.
    """
    import numba

    settings: Any = numba.config
    place = folder(function.__module__)
    before = settings.CACHE_DIR
    if place is not None:
        settings.CACHE_DIR = str(place)
    try:
        return numba.njit(nogil=True, cache=place is not None, boundscheck=False, error_model="numpy")(function)
    finally:
        settings.CACHE_DIR = before


def inline(function: Callable[..., Any]) -> Any:
    """Part of the kernels that call it, never compiled alone."""
    from numba import njit

    return njit(nogil=True, inline="always", boundscheck=False, error_model="numpy")(function)
