"""A writer of small .2bit files, from UCSC's description of the format."""

import re
import struct
from collections.abc import Iterable
from pathlib import Path


def _blocks(pattern: str, letters: str, order: str) -> bytes:
    found = [match.span() for match in re.finditer(pattern, letters)]
    numbers = [len(found), *(start for start, _ in found), *(end - start for start, end in found)]
    return struct.pack(f"{order}{len(numbers)}I", *numbers)


def _record(letters: str, order: str) -> bytes:
    bits = ["TCAG".find(letter) & 3 for letter in letters.upper().replace("N", "T") + "T" * (-len(letters) % 4)]
    packed = bytes(bits[i] << 6 | bits[i + 1] << 4 | bits[i + 2] << 2 | bits[i + 3] for i in range(0, len(bits), 4))
    size, reserved = struct.pack(f"{order}I", len(letters)), bytes(4)
    return size + _blocks("[Nn]+", letters, order) + _blocks("[a-z]+", letters, order) + reserved + packed


def write(path: Path, records: Iterable[tuple[str, str]], *, order: str = "<", version: int = 0) -> None:
    """Write records: (name, letters ACGTN of either case). order: of bytes, < or >."""
    names = [name.encode() for name, _ in records]
    parts = [_record(letters, order) for _, letters in records]
    width = 8 if version else 4
    place = 16 + sum(1 + len(name) + width for name in names)
    index = b""
    for name, part in zip(names, parts, strict=True):
        index += bytes([len(name)]) + name + struct.pack(f"{order}{'Q' if version else 'I'}", place)
        place += len(part)
    path.write_bytes(struct.pack(f"{order}4I", 0x1A412743, version, len(names), 0) + index + b"".join(parts))
