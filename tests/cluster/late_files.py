"""A file system that shows late what others do, as NFS and Lustre do with their caches: what a folder holds, whether a name is there, how large a file is.

python late_files.py FOLDER MOUNT SECONDS mounts FOLDER at MOUNT for as long as the process that started it lives. Each mount is a host of its own: it sees
at once what was done through it, and up to so many seconds later what was done through others; what is opened anew is read as it is (close-to-open).
"""

import ctypes
import errno
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import fuse


class LateFiles(fuse.Operations):
    """Passes all on to a folder, and hides for a while from lists what others made there. The kernel keeps names, sizes and what is not there as long."""

    def __init__(self, folder: str, seconds: float) -> None:
        self._folder, self._seconds = folder, seconds
        self._own: set[str] = set()

    def _at(self, path: str) -> str:
        return self._folder + path

    def getattr(self, path: str, fh: Any = None) -> dict[str, Any]:
        try:
            found = os.lstat(self._at(path))
        except OSError as error:
            raise fuse.FuseOSError(error.errno) from error
        names = ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid")
        return {name: getattr(found, name) for name in names}

    def readdir(self, path: str, fh: Any) -> list[str]:
        now, seen = time.time(), []
        for entry in os.scandir(self._at(path)):
            try:
                late = now - entry.stat(follow_symlinks=False).st_ctime < self._seconds
            except FileNotFoundError:
                continue
            if not late or f"{path.rstrip('/')}/{entry.name}" in self._own:
                seen.append(entry.name)
        return [".", "..", *seen]

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        self._own.add(path)
        return os.open(self._at(path), os.O_RDWR | os.O_CREAT | os.O_TRUNC, mode)

    def mkdir(self, path: str, mode: int) -> None:
        self._own.add(path)
        Path(self._at(path)).mkdir(mode)

    def rename(self, old: str, new: str) -> None:
        self._own.add(new)
        Path(self._at(old)).replace(self._at(new))

    def open(self, path: str, flags: int) -> int:
        try:
            return os.open(self._at(path), flags & ~os.O_APPEND)
        except OSError as error:
            raise fuse.FuseOSError(error.errno) from error

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        return os.pwrite(fh, data, offset)

    def truncate(self, path: str, length: int, fh: Any = None) -> None:
        os.truncate(self._at(path), length)

    def release(self, path: str, fh: int) -> None:
        os.close(fh)

    def fsync(self, path: str, datasync: int, fh: int) -> None:
        os.fsync(fh)

    def fsyncdir(self, path: str, datasync: int, fh: int) -> None:
        pass

    def unlink(self, path: str) -> None:
        try:
            Path(self._at(path)).unlink()
        except OSError as error:
            raise fuse.FuseOSError(error.errno) from error

    def rmdir(self, path: str) -> None:
        Path(self._at(path)).rmdir()

    def link(self, target: str, source: str) -> None:
        raise fuse.FuseOSError(errno.EPERM)

    def chmod(self, path: str, mode: int) -> None:
        Path(self._at(path)).chmod(mode)

    def utimens(self, path: str, times: Any = None) -> None:
        os.utime(self._at(path), times)

    def statfs(self, path: str) -> dict[str, Any]:
        found = os.statvfs(self._at(path))
        return {
            name: getattr(found, name)
            for name in ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_flag", "f_frsize", "f_namemax")
        }


ON_A_HOST = """
python=$1 script=$2 folder=$3 mount=$4 seconds=$5; shift 5
"$python" "$script" "$folder" "$mount" "$seconds" &
until mountpoint -q "$mount"; do sleep 0.05; done
exec "$@"
"""
"""For `unshare --mount sh -c`: what follows runs with a mount of its own."""


def on_a_host(folder: Path, mount: Path, seconds: float) -> tuple[str, ...]:
    """Give the words before a command that have it run on a host of its own."""
    return ("unshare", "--mount", "sh", "-c", ON_A_HOST, "sh", sys.executable, str(Path(__file__).resolve()), str(folder), str(mount), str(seconds))


def main() -> None:
    folder, mount, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    fuse.FUSE(
        LateFiles(folder, seconds),
        mount,
        foreground=True,
        nothreads=False,
        entry_timeout=seconds,
        negative_timeout=seconds,
        attr_timeout=seconds,
        big_writes=True,
    )


if __name__ == "__main__":
    main()
