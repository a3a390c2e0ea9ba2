"""Bytes of text files: by range where the format allows it (plain, BGZF), from the beginning to the end everywhere (gzip too)."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from isal import isal_zlib  # three times as fast as zlib

from tidalign.pipeline.errors import InputError

_Damaged: Any = isal_zlib.error  # whose type is said to be an exception, not a class of them

crc32: Callable[..., int] = isal_zlib.crc32
"""CRC-32 of bytes, after a value of those before them: some gigabytes a second."""

GZIP_MAGIC = b"\x1f\x8b"

BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""The empty block that ends every BGZF file (SAM specification, section 4.1.2)."""

TRUNCATED_BGZF = ("BGZF's empty block at the end", "none (truncated)", "copy or compress it again with bgzip")

READ_BYTES = 65_536
"""Compressed bytes handled at once."""

PIECE_BYTES = 4_000_000
"""Text that comes of them at once at most: gzip packs up to 1032 to 1."""

PLAIN_BYTES = 1 << 27
"""Plain text read at once at most: more than a block of many records has."""

_GZIP = 31  # zlib's word for a gzip header and trailer around the deflated data
_HEADER = 64  # bytes enough for a gzip header with BGZF's extra field
_AGAIN = "copy or compress it again; `gzip -t` tells whether it is whole"


class Damage(Exception):
    """Says what is wrong with compressed data: expected, found, way out. Who knows the file and the record makes an InputError of it."""


def is_bgzf(head: bytes) -> bool:
    """Tell whether a file that begins with `head` is in the blocks of BGZF rather than plain gzip."""
    return _block_bytes(head) > 0


def _block_bytes(header: bytes) -> int:
    """Read the size of a BGZF block from its header; 0 if it is not one. SAM specification, section 4.1."""
    if header[:4] != b"\x1f\x8b\x08\x04":
        return 0
    field, end = 12, 12 + int.from_bytes(header[10:12], "little")
    while field + 6 <= min(end, len(header)):
        size = int.from_bytes(header[field + 2 : field + 4], "little")
        if header[field : field + 2] == b"BC" and size == 2:
            return int.from_bytes(header[field + 4 : field + 6], "little") + 1
        field += 4 + size
    return 0


def bgzf_blocks(path: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find where the blocks of a BGZF file begin, and its end [blocks + 1], and the bytes in each when decompressed [blocks].

    Reads the headers and trailers only. Raises InputError where a block is not one, or the file ends within it.
    """
    positions, sizes = [0], []
    with Path(path).open("rb", buffering=0) as file:
        end = file.seek(0, 2)
        while positions[-1] < end:
            file.seek(positions[-1])
            size = _block_bytes(file.read(_HEADER))
            if not size or positions[-1] + size > end:
                found = "other bytes" if not size else "the end of the file"
                raise InputError(path, f"a whole BGZF block at byte {positions[-1]}", found, "compress it again with bgzip")
            positions.append(positions[-1] + size)
            file.seek(positions[-1] - 4)
            sizes.append(int.from_bytes(file.read(4), "little"))
    return np.array(positions, np.int64), np.array(sizes, np.int64)


def read_range(path: str, compression: str, start: int, stop: int) -> bytes:
    """Read the text between two places [start, stop) of a file, in bytes of the file as it lies on the disk.

    compression: `none`, or `bgzf`: then both are places where a block begins, or the file's end.
    """
    return b"".join(range_pieces(path, compression, start, stop))


def range_pieces(path: str, compression: str, start: int, stop: int) -> Iterator[bytes]:
    """Read what `read_range` gives in pieces: of at most PLAIN_BYTES, or the blocks of BGZF."""
    most = PLAIN_BYTES if compression == "none" else max(1, stop - start)
    with Path(path).open("rb") as file:
        file.seek(start)
        for begin in range(start, stop, most):
            raw = file.read(min(most, stop - begin))
            if len(raw) < min(most, stop - begin):
                raise changed(path)
            yield from [raw] if compression == "none" else _blocks(path, start, raw)


class _Held(threading.local):
    memory = np.empty(0, np.uint8)  # not a bytearray: that is filled with zeros, for which every thread of the process would wait


_HELD = _Held()


def plain_range(path: str, start: int, stop: int) -> memoryview | bytes:
    """Read the bytes between two places [start, stop) of a plain file. They lie in memory of this thread that its next call uses again, unless they are more
    than PLAIN_BYTES: new memory costs the system more than reading what a file's cache holds."""
    size = stop - start
    if size > PLAIN_BYTES:
        return read_range(path, "none", start, stop)
    if len(_HELD.memory) < size:
        _HELD.memory = np.empty(size + size // 4, np.uint8)
    view, done = _HELD.memory.data[:size], 0
    with Path(path).open("rb", buffering=0) as file:
        file.seek(start)
        while done < size:
            count = file.readinto(view[done:])
            if not count:
                raise changed(path)
            done += count
    return view


def _blocks(path: str, start: int, raw: bytes) -> Iterator[bytes]:
    """Decompress each of the blocks of BGZF that lie at `start` in a file."""
    place, view = 0, memoryview(raw)
    while place < len(raw):
        size = _block_bytes(raw[place : place + _HEADER])
        try:
            yield isal_zlib.decompress(view[place : place + size], _GZIP)
        except _Damaged as error:
            raise InputError(path, "whole BGZF data", f"a damaged block at byte {start + place} ({error})", _AGAIN) from error
        place += size


def changed(path: str) -> InputError:
    """Make the error to raise when a file is not what it was when its blocks were planned."""
    return InputError(path, "the file that was planned", "another one of that name", "start again in a new run directory")


def decompress(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Decompress a gzip file of one member or several, in pieces.

    read: as a file's `read`. Raises Damage for data that are damaged, cut short or followed by others.
    """
    decoder, bgzf, last = None, False, b""

    def more(count: int) -> bytes:
        nonlocal last
        data = read(count)
        last = (last + data)[-len(BGZF_END) :]
        return data

    while data := more(READ_BYTES):
        piece = b""
        while data or len(piece) == PIECE_BYTES:
            if decoder is None:
                if not data.strip(b"\0"):
                    break  # padded with zeros, as tapes are
                if len(data) < _HEADER:
                    data += more(_HEADER)
                if not data.startswith(GZIP_MAGIC):
                    raise Damage("the end of the file after the gzip data", f"{data[:8]!r}", _AGAIN)
                bgzf = bgzf or is_bgzf(data)
                decoder = isal_zlib.decompressobj(_GZIP)
            try:
                piece = decoder.decompress(data, PIECE_BYTES)
            except _Damaged as error:
                raise Damage("whole gzip data", f"damaged data ({error})", _AGAIN) from error
            if piece:
                yield piece
            data = decoder.unconsumed_tail
            if decoder.eof:
                data, piece, decoder = decoder.unused_data, b"", None
    if decoder is not None:
        raise Damage("whole gzip data", "the end of the file (truncated)", _AGAIN)
    if bgzf and last != BGZF_END:
        raise Damage(*TRUNCATED_BGZF)
