"""Reads and writes what is kept of compiled kernels: machine code, and pickles of numba's. All of it would run as this user, so an entry is given out only if
nobody else can have written it and it is as it was written."""

import hashlib
import logging
import os
import secrets
from contextlib import suppress
from pathlib import Path

from tidalign.kernels.runtime import claims
from tidalign.kernels.runtime.bases import bases
from tidalign.kernels.runtime.closed import closed, make, objection

_DIGEST = hashlib.sha256().digest_size


def load(name: str) -> bytes | None:
    """Read an entry, by its path below a base. None: no base has one that is whole and safe to run."""
    chosen = bases()
    for base, reason in chosen.refused:
        where = chosen.kept or "memory only"
        _say(base, f"compiled kernels are kept in {where}, not in {base}: {reason}; NUMBA_CACHE_DIR can name a folder that only you can write to")
    for base in chosen.loaded:
        path = base / name
        if why := objection(path.parent):
            _say(base, f"not all kernels in {base} are used, as {why}; remove it, and it is made again")
        elif (content := _read(path, name)) is not None:
            return content
    return None


def save(name: str, content: bytes) -> None:
    """Write an entry, whole or not at all, whoever else is at it. Where nothing can be written, nothing is kept."""
    if (base := bases().kept) is None or objection((path := base / name).parent):
        return
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    with suppress(OSError):
        make(path.parent)
        try:
            with open(partial, "xb", opener=lambda file, flags: os.open(file, flags, 0o600)) as file:
                file.write(_digest(name, content))
                file.write(content)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def claim(name: str) -> None:
    """Claim an entry that is about to be made (`claims.claim`)."""
    if base := bases().kept:
        claims.claim(base / name)


def release(name: str) -> None:
    """Give the claim of an entry back, which is written or will not be."""
    if base := bases().kept:
        claims.release(base / name)


def wanted(name: str) -> bool:
    """Tell whether an entry is not there yet, and nobody is making it."""
    path = _missing(name)
    return path is not None and claims.free(path)


def made_elsewhere(name: str) -> bool:
    """Tell whether an entry is not there yet, and somebody is making it."""
    path = _missing(name)
    return path is not None and not claims.free(path)


def _missing(name: str) -> Path | None:
    """Give where an entry is to be kept that is not there yet; None where it is, or nothing can be kept."""
    chosen = bases()
    return None if chosen.kept is None or any((each / name).exists() for each in chosen.loaded) else chosen.kept / name


def _read(path: Path, name: str) -> bytes | None:
    try:
        # What is opened is looked at, not what has its name at another time; a pipe in its place is not waited for.
        with open(path, "rb", opener=lambda file, flags: os.open(file, flags | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
            if not closed(os.fstat(file.fileno())):
                return None
            found, content = file.read(_DIGEST), file.read()
    except OSError:
        return None
    return content if found == _digest(name, content) else None


def _digest(name: str, content: bytes) -> bytes:
    """Digest an entry with its name: whole, but in another's place, it is none either."""
    digest = hashlib.sha256(name.encode() + b"\0")
    digest.update(content)
    return digest.digest()


_said: set[Path] = set()


def _say(base: Path, what: str) -> None:
    """Warn once of what is wrong with a folder. The workers of a command leave it to the command."""
    from multiprocessing import parent_process

    if base not in _said and parent_process() is None:
        logging.getLogger("tidalign").warning(what)
    _said.add(base)
