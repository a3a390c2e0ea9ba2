"""Chooses the folders that compiled kernels are kept in: of those that are configured the ones that only this user and root can write to."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tidalign.kernels.runtime.closed import make, objection


@dataclass(frozen=True)
class Bases:
    """Folders of kernels.

    loaded: from these they are loaded, the first that has one. kept: the last of these, to which new ones are written; a temporary one where no other can be
    written to, None where not even that can be made: they are kept in memory only. lasting: whether it outlives the process. refused: folders that are not
    used, each with the reason.
    """

    loaded: tuple[Path, ...]
    kept: Path | None
    refused: tuple[tuple[Path, str], ...]
    lasting: bool = True


def bases() -> Bases:
    """Choose by the environment as it is now: NUMBA_CACHE_DIR/tidalign, XDG_CACHE_HOME/tidalign and ~/.cache/tidalign, up to the first that can be written
    to."""
    return _chosen(tuple(_configured()))


def _configured() -> Iterator[Path]:
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        if given := os.environ.get(name):
            yield Path(given, "tidalign").absolute()
    with suppress(RuntimeError):  # no HOME and no entry for this user
        yield Path.home().absolute() / ".cache" / "tidalign"


@cache
def _chosen(configured: tuple[Path, ...]) -> Bases:
    loaded: list[Path] = []
    refused: list[tuple[Path, str]] = []
    for base in configured:
        why = objection(base)
        writable = why is None and _writable(base)
        if why := why or objection(base):  # another user may have made it before we could
            refused.append((base, why))
            continue
        loaded.append(base)
        if writable:
            return Bases(tuple(loaded), base, tuple(refused))
    kept = _temporary()
    return Bases((*loaded, kept) if kept else tuple(loaded), kept, tuple(refused), lasting=False)


def _writable(base: Path) -> bool:
    try:
        make(base)
        with tempfile.TemporaryFile(dir=base):
            return True
    except OSError:
        return False


@cache
def _temporary() -> Path | None:
    """Make a folder that lives as long as the process. Not one of a fixed name: another user could have made it before, and then nothing would be kept."""
    try:
        place = Path(tempfile.mkdtemp(prefix="tidalign-"))
    except OSError:
        return None
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place if objection(place) is None else None


def move_cupys() -> str | None:
    """Move the folder where CuPy, which is not loaded yet, keeps what it compiles by itself to ours if its own is not safe; says why then."""
    own = Path(os.environ.get("CUPY_CACHE_DIR") or "~/.cupy/kernel_cache")
    with suppress(RuntimeError):
        own = own.expanduser()
    if not (why := objection(own)):
        return None
    kept = bases().kept
    os.environ.update({"CUPY_CACHE_DIR": str(kept / "cupy")} if kept else {"CUPY_CACHE_IN_MEMORY": "1"})
    return f"{own}: {why}"
