"""Claims: which batch a worker is at, on disk before the batch begins, so that a death can be blamed on it.

A claim is 20 bytes, (lo, hi) as two little-endian 64-bit integers and a CRC-32 of them, in claims/<chunk>.<a>-<b>.<attempt>. It is written with pwrite, which
outlives the process, and closed each time, which is when a network file system shows it to others. A worker that ends well removes its claim;
those left over are the deaths, and two that overlap make their common rows suspect (parts.suspects, EXECUTION.md 4).
"""

import os
import re
import struct
from pathlib import Path

from tidalign.pipeline.errors import Damaged
from tidalign.pipeline.files.decompress import crc32
from tidalign.pipeline.store.files import writing_error
from tidalign.pipeline.store.parts import Range

_ROWS, _CHECK = struct.Struct("<qq"), struct.Struct("<I")
_NAME = re.compile(r"(.+)\.(\d+)-(\d+)\.([0-9a-f]+)$")


def claim_path(directory: str, chunk: str, start: int, stop: int, attempt: str) -> str:
    """Name the file where the worker that runs rows [start, stop) of a chunk says how far it is; `attempt` is a hexadecimal word of its own."""
    return f"{directory}/claims/{chunk}.{start}-{stop}.{attempt}"


def write(path: str, lo: int, hi: int) -> None:
    """Write a claim: rows [lo, hi) begin now."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(handle, _record(lo, hi), 0)
        finally:
            os.close(handle)
    except OSError as error:
        raise writing_error(path, error) from error


def _record(lo: int, hi: int) -> bytes:
    rows = _ROWS.pack(lo, hi)
    return rows + _CHECK.pack(crc32(rows))


def read(path: str) -> Range | None:
    """Read the batch a claim names, the whole of its range where it does not name one inside it; None if there is no such claim."""
    named = _NAME.match(Path(path).name)
    try:
        record = Path(path).read_bytes()
    except OSError:
        return None
    if named is None:
        return None
    start, stop = int(named[2]), int(named[3])
    lo, hi = _ROWS.unpack_from(record) if len(record) >= _ROWS.size else (start, stop)
    return (lo, hi) if record == _record(lo, hi) and start <= lo < hi <= stop else (start, stop)


def check(path: str) -> None:
    """Raise Damaged for a claim that was not written as it is; an empty one is of a process that died before it wrote it."""
    record = Path(path).read_bytes()
    if record and (len(record) < _ROWS.size or record != _record(*_ROWS.unpack_from(record))):
        raise Damaged(path, "damaged or cut short: its checksum does not fit")


def remove(path: str) -> None:
    """Remove a claim."""
    Path(path).unlink(missing_ok=True)


def leftover(directory: str) -> dict[str, list[tuple[Range, str]]]:
    """List every claim there is, by chunk: (rows, path)."""
    found: dict[str, list[tuple[Range, str]]] = {}
    for path in sorted(Path(directory, "claims").iterdir()):
        named, rows = _NAME.match(path.name), read(str(path))
        if named and rows:
            found.setdefault(named[1], []).append((rows, str(path)))
    return found


def some(directory: str) -> bool:
    """Tell whether there is any claim; there is none where there is no run."""
    folder = Path(directory, "claims")
    return folder.is_dir() and any(folder.iterdir())


def changed(path: str) -> int:
    """Tell when a claim was last written, in nanoseconds of its file system's clock; 0 where there is none."""
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0
