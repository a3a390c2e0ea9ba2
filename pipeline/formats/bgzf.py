"""Compress an output in blocks, BGZF (SAM's specification, section 4.1): gzip to who reads from the beginning, and each block can be read by itself.

Every block but the last holds BLOCK_BYTES, wherever the pieces of an output were cut, and depends on them alone: so threads make blocks, without the
interpreter lock, and the file is the same for any number of them and any batches.
"""

import struct
from collections.abc import Iterable
from functools import partial
from itertools import chain
from typing import Any

from isal import isal_zlib

from tidalign.pipeline.files.decompress import BGZF_END
from tidalign.pipeline.in_turn import Call, in_turn

BLOCK_BYTES = 65_280
"""Of what a block holds, as bgzip takes it: what cannot be compressed fits as well."""

LEVEL = 3
"""Choose the level of ISA-L, of 0 to 3. On x86-64 levels 1 and 2 hash a register that nobody set for the third position of a block (`.write_first_byte` of
igzip_icf_body_h1_gr_bt.asm, to ISA-L 2.32 at least): it holds an address of the thread's stack, so that bytes differed from thread to thread. Level 0 makes BAM
half as large again. 3 takes a tenth more CPU time of a whole export than 1, and makes files 1 to 3 % smaller."""

AT_ONCE = 64
"""Say how many blocks a thread makes before it hands them on."""

_HEADER = struct.Struct("<4BI2BH2B2H")
_TRAILER = struct.Struct("<2I")


def cut(texts: Iterable[Any]) -> tuple[list[Any], bytes]:
    """Cut a text, given in pieces, into what each full block holds; and its end, which fills none."""
    blocks: list[Any] = []
    held: list[Any] = []
    room = BLOCK_BYTES
    for text in texts:
        view = memoryview(text)
        while len(view) >= room:
            blocks.append(b"".join([*held, view[:room]]) if held else view[:room])
            view, held, room = view[room:], [], BLOCK_BYTES
        held.append(view)
        room -= len(view)
    return blocks, b"".join(held)


def block(data: Any) -> bytes:
    """Make the block that holds at most BLOCK_BYTES."""
    deflated = isal_zlib.compress(data, level=LEVEL, wbits=-15)
    if len(deflated) > len(data) + 5:
        deflated = struct.pack("<BHH", 1, len(data), 0xFFFF ^ len(data)) + bytes(data)  # as it is
    size = _HEADER.size + len(deflated) + _TRAILER.size
    head = _HEADER.pack(31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, size - 1)
    return b"".join((head, deflated, _TRAILER.pack(isal_zlib.crc32(data), len(data))))


def blocks(texts: list[Any], threads: int) -> list[bytes]:
    """Make the blocks that hold these, by so many threads."""
    pieces = (texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE))
    return list(chain.from_iterable(in_turn((Call(partial(_made, piece)) for piece in pieces), threads)))


def _made(texts: list[Any]) -> list[bytes]:
    return list(map(block, texts))


def ended(rest: bytes) -> list[bytes]:
    """Make the last blocks of a file: that of what filled none, and the empty one."""
    return [block(rest), BGZF_END] if rest else [BGZF_END]
