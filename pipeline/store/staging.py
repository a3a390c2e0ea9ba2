"""Keep copies of what tasks read of a run directory on each node, in a scratch folder of its own: one process of the node makes each, the others wait for it.

<scratch>/tidalign-<digest of node and run directory>/<name>.<digest of sizes and times>

A file of the run directory says, while a call lasts, which folder that is, as its options had it: nodes may have another `$TMPDIR` each. Nothing depends on a
copy. Where none can be made, or it is not whole, the run directory is read (`nearest` in files.py), by this process from then on.
"""

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

MARK = "scratch.0.tmp"
"""Name of that file: a run that was killed leaves it behind, as other temporary ones, for the next call to remove."""

AUTO = "auto"
"""For the folder that a node has for temporary files."""

_State = list[tuple[str, int, int]]
"""Name below it (empty: itself), size and time of change of each file of what is copied."""


def begin(directory: str, scratch: str) -> None:
    """Tell all processes that read this run directory to keep copies below a folder of their node, until MARK is gone."""
    temporary = Path(directory, f"{MARK}.{secrets.token_hex(4)}.tmp")
    temporary.write_text(scratch)
    temporary.replace(Path(directory, MARK))


def copy_of(directory: str, name: str) -> str | None:
    """Give the path of this node's copy of a file or folder of a run directory, which is made first where there is none; None: there is to be none, or cannot
    be."""
    try:
        scratch = Path(directory, MARK).read_text()
    except OSError:  # the call is over
        return None
    stage = _STAGES.get(directory) or _STAGES.setdefault(directory, Stage(directory, scratch))
    return stage.copy(name)


def refuse(directory: str, why: str) -> None:
    """Read the run directory itself from now on, in this process: a copy is not what was copied."""
    if directory in _STAGES:
        _STAGES[directory].give_up(why)


def end(directory: str, scratch: str) -> dict[str, Any]:
    """Remove this node's copies of a run directory; what this process made of them: {host, copies, bytes, trouble}.

    What is mapped of them stays until it is let go of.
    """
    stage = _STAGES.pop(directory, None)
    if stage:
        said = stage.copies, stage.bytes, stage.trouble
        stage.give_up("the run is over")
    with suppress(ValueError):
        shutil.rmtree(folder_of(directory, scratch), ignore_errors=True)
    return {"host": os.uname().nodename, **dict(zip(("copies", "bytes", "trouble"), said if stage else (0, 0, None), strict=True))}


def folder_of(directory: str, scratch: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Name the folder that this node's copies of a run directory lie in. ValueError where the option names a variable that is not set here."""
    if scratch == AUTO:
        scratch = next((environment[name] for name in ("SLURM_TMPDIR", "TMPDIR") if environment.get(name)), tempfile.gettempdir())
    base = os.path.expandvars(Path(scratch).expanduser())
    if "$" in base:
        raise ValueError("it has a variable that is not set")
    node = f"{os.uname().nodename}\0{directory}"  # a folder that several nodes see is each one's all the same
    return Path(base, f"tidalign-{hashlib.sha256(node.encode()).hexdigest()[:16]}")


class Stage:
    """Keeps the copies of a run directory, for one process.

    trouble: why it keeps none any more. copies, bytes: that it made.
    """

    def __init__(self, directory: str, scratch: str) -> None:
        self._directory, self._folder, self._place = directory, Path(scratch), scratch
        self.trouble: str | None = None
        self.copies = self.bytes = 0
        try:
            self._folder = folder_of(directory, scratch)
            self._place = str(self._folder.parent)
            _own(self._folder)
        except (OSError, ValueError) as error:
            self.give_up(getattr(error, "strerror", None) or str(error))

    def give_up(self, why: str) -> None:
        """Stop keeping copies."""
        self.trouble = self.trouble or f"{self._place} on {os.uname().nodename}: {why}"

    def copy(self, name: str) -> str | None:
        """Give the path of a copy, or None."""
        if self.trouble:
            return None
        source = f"{self._directory}/{name}"
        try:
            state = _state(source)
        except OSError:  # whoever reads it says what is wrong with it
            return None
        target = f"{self._folder}/{name}.{hashlib.sha256(repr(state).encode()).hexdigest()[:16]}"
        try:
            if not _is_whole(target, state):
                self._make(source, target, state)
        except OSError as error:
            self.give_up(error.strerror or str(error))
            return None
        return target

    def _make(self, source: str, target: str, state: _State) -> None:
        """Copy a file or folder, unless another process of the node is at it: then wait for that one, which may die at it."""
        Path(target).parent.mkdir(exist_ok=True)  # the run's own folder goes at its end, and is not made again
        with Path(f"{target}.lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _is_whole(target, state):
                return
            size = sum(each for _, each, _ in state)
            if shutil.disk_usage(self._folder).free < size:
                raise OSError(errno.ENOSPC, f"no room for {size:,} bytes")
            temporary = f"{target}.{secrets.token_hex(4)}.tmp"
            try:
                for inner, expected, _ in state:
                    path = _inside(temporary, inner)
                    path.parent.mkdir(exist_ok=True)
                    shutil.copyfile(_inside(source, inner), path)
                    if path.stat().st_size != expected:
                        raise OSError(errno.EIO, f"a copy of {name_of(source)} is not of its size")
                with suppress(FileNotFoundError):
                    _remove(target)  # which is not whole
                Path(temporary).rename(target)
            finally:
                with suppress(FileNotFoundError):
                    _remove(temporary)
            self.copies, self.bytes = self.copies + 1, self.bytes + size


_STAGES: dict[str, Stage] = {}
"""Of this process, by run directory."""


def name_of(path: str) -> str:
    """Name what is copied, for people."""
    return Path(path).name


def _inside(path: str, inner: str) -> Path:
    return Path(path, inner) if inner else Path(path)


def _state(path: str) -> _State:
    """Look at a file, or at the files of a folder."""
    if not Path(path).is_dir():
        status = Path(path).stat()
        return [("", status.st_size, status.st_mtime_ns)]
    with os.scandir(path) as found:
        return sorted((each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in found)


def _is_whole(path: str, state: _State) -> bool:
    """Tell whether there is a copy, every file of it of its size."""
    try:
        return all(_inside(path, inner).stat().st_size == size for inner, size, _ in state)
    except OSError:
        return False


def _remove(path: str) -> None:
    shutil.rmtree(path) if Path(path).is_dir() else Path(path).unlink()


def _own(folder: Path) -> None:
    """Make a folder for this user's eyes alone, in one that is there; others may write to that one, and have made it first."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise PermissionError(errno.EPERM, f"{folder.name} there is not this user's alone") from None
