"""Compress an output in blocks, BGZF (SAM's specification, section 4.1): gzip to who reads from the beginning, and each block can be read by itself.

A block depends on its own bytes alone, so threads make them, without the interpreter lock, and the file is the same for any number of them.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from isal import isal_zlib

BLOCK_BYTES = 65_280
"""Of what a block holds, as bgzip takes it: what cannot be compressed fits as well."""

LEVEL = 1
"""Of ISA-L, of 0 to 3: of reads with qualities 2 and 3 make no smaller files, 0 makes them a third larger."""

END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""The empty block that ends a file."""

_HEADER = struct.Struct("<4BI2BH2B2H")
_TRAILER = struct.Struct("<2I")


def gathered(pieces: Iterable[Any]) -> Iterator[bytes]:
    """Give the same bytes in pieces of a block at least, but for the last."""
    held: list[Any] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= BLOCK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def compressed(pieces: Iterable[Any]) -> Iterator[bytes]:
    """Give the blocks of each piece."""
    for piece in pieces:
        view = memoryview(piece)
        for start in range(0, len(view), BLOCK_BYTES):
            yield block(view[start : start + BLOCK_BYTES])


def block(data: Any) -> bytes:
    """Make one block of at most BLOCK_BYTES."""
    deflated = isal_zlib.compress(data, level=LEVEL, wbits=-15)
    if len(deflated) > len(data) + 5:
        deflated = struct.pack("<BHH", 1, len(data), 0xFFFF ^ len(data)) + bytes(data)  # as it is
    size = _HEADER.size + len(deflated) + _TRAILER.size
    head = _HEADER.pack(31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, size - 1)
    return b"".join((head, deflated, _TRAILER.pack(isal_zlib.crc32(data), len(data))))
