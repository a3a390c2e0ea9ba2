"""Tell from the headers of Parquet's pages in which rows of a row group how many letters lie: nothing is decompressed or decoded for that.

PyArrow gives sizes of whole column chunks alone, a row group may be as large as its file, and where what tells of them is damaged it ends the process.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

_HIDDEN = 8_000_000
"""Letters that rows of a dictionary's entries may have beyond what the pages tell."""

_PLAIN, _DELTA_LENGTHS, _ENTRIES = 0, 6, (2, 8)
"""Encodings of pages: those that hold the letters of each value, once, and next to nothing else but lengths, and those of numbers of a dictionary's entries."""

_LENGTH = 4
"""Bytes of a length before the letters of a value in plain pages."""

_HEADER, _LONGEST = 1 << 12, 1 << 24
"""Bytes that are read of a header at first, which few have more of, and at most: where none lies it might go on to the end of the file."""

_BOOLS, _ONE_BYTE, _NUMBERS, _DOUBLE, _BYTES, _LIST, _STRUCT = (1, 2), (1, 2, 3), (4, 5, 6), 7, 8, 9, 12
"""Kinds of values in Thrift's compact protocol, as far as Parquet has any."""

_TEXT = 6
"""Type of a column of strings in Parquet's format."""

_WRONG = (AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""Errors of reading where something else lies."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Rows and letters before each page of a column chunk [pages + 1], and the row from which on these are known: before it are pages whose form does not tell
    them, as where entries of a dictionary come again."""

    rows: npt.NDArray[np.int64]
    letters: npt.NDArray[np.float64]
    known: int

    def before(self, rows: npt.NDArray[np.int64], free: int = 0) -> npt.NDArray[np.float64]:
        """Count the letters before rows, evenly within a page. free: of each value, that do not count."""
        counted = np.maximum(np.diff(self.letters) - free * np.diff(self.rows), 0)
        return cast("npt.NDArray[np.float64]", np.interp(rows, self.rows, np.concatenate([[0.0], np.cumsum(counted)])))


def column_chunks(path: str) -> list[dict[str, tuple[int, int]]]:
    """Tell of each row group of a file where the pages of each column of text begin, and how many values they have; nothing of one that is not as it should
    be."""
    with suppress(*_WRONG), Path(path).open("rb") as file:
        end = file.seek(0, SEEK_END) - 8
        size = int.from_bytes(_read(file, end, 4), "little")
        footer, _ = _struct(_read(file, end - size, size), 0)
        return [{name: found for chunk in group[1] for name, found in _of_chunk(chunk[3])} for group in footer[4]]
    return []


def _of_chunk(chunk: dict[int, Any]) -> Iterator[tuple[str, tuple[int, int]]]:
    if chunk[1] == _TEXT and len(chunk[3]) == 1:
        yield chunk[3][0].decode(), (min(chunk[9], chunk.get(11) or chunk[9]), chunk[5])


def pages(path: str, first: int, count: int) -> Pages | None:
    """Look at the pages from a place on until so many rows were seen; None where they are not as they should be: who decodes them says why."""
    with suppress(*_WRONG), Path(path).open("rb") as file:
        return _of_headers(_headers(file, first, count))
    return None


def _of_headers(headers: Iterator[dict[int, Any]]) -> Pages:
    rows, letters, known = [0], [0.0], 0
    entries = size = by_entry = last = 0  # of the dictionary: how many, and their letters; rows that are numbers of them, and the last page of such
    for header in headers:
        if dictionary := header.get(7):
            entries, size = dictionary[1], header[2] - _LENGTH * dictionary[1]
        elif data := header.get(5) or header.get(8):  # of version 1 or 2 of Parquet
            values, encoding = data[1], data[2 if 5 in header else 4]
            rows.append(rows[-1] + values)
            if encoding in _ENTRIES:
                by_entry, last = by_entry + values, rows[-1]
                letters.append(letters[-1] + values * size / max(1, entries))
            else:
                letters.append(letters[-1] + max(0, header[2] - _LENGTH * values * (encoding == _PLAIN)))
                if encoding not in (_PLAIN, _DELTA_LENGTHS):
                    known = rows[-1]
    # Where there are as many rows as entries each is there once, unless a dictionary was cut down to some rows; each row more may have the longest one.
    if by_entry and not 0 <= (by_entry - entries) * size <= _HIDDEN:
        known = max(known, last)
    return Pages(np.array(rows, np.int64), np.array(letters, np.float64), known)


def _headers(file: BinaryIO, at: int, count: int) -> Iterator[dict[int, Any]]:
    """Read the headers of pages until so many rows were seen: fields by their numbers in Parquet's format."""
    while count:
        header, length = _header(file, at)
        data = header.get(5) or header.get(8)
        if header[3] < 0 or (data and not 0 <= data[1] <= count):
            raise ValueError("no header of a page")
        at += length + header[3]
        count -= data[1] if data else 0
        yield header


def _header(file: BinaryIO, at: int, most: int = _HEADER) -> tuple[dict[int, Any], int]:
    """Read the header at a place of the file, and how long it is."""
    content = _read(file, at, most)
    try:
        return _struct(content, 0)
    except IndexError:
        if len(content) < most or most >= _LONGEST:
            raise
    return _header(file, at, 16 * most)


def _read(file: BinaryIO, at: int, size: int) -> bytes:
    if not 0 <= at < 1 << 62:
        raise ValueError("no place in a file")
    file.seek(at)
    return file.read(size)


def _struct(content: bytes, at: int) -> tuple[dict[int, Any], int]:
    """Read a struct of Thrift's compact protocol, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while head := content[at]:
        at += 1
        if head >> 4:
            number += head >> 4
        else:
            number, at = _number(content, at)
        if head & 15 in _BOOLS:  # which the kind tells
            fields[number] = head & 15 == 1
        else:
            fields[number], at = _value(content, at, head & 15)
    return fields, at + 1


def _value(content: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in _NUMBERS:
        return _number(content, at)
    if kind == _STRUCT:
        return _struct(content, at)
    if kind in _ONE_BYTE or kind == _DOUBLE:
        stop = at + (8 if kind == _DOUBLE else 1)
        return content[at:stop], stop
    if kind == _LIST:
        size, kind, at = content[at] >> 4, content[at] & 15, at + 1
        if size == 15:  # or more
            size, at = _varint(content, at)
        values = []
        for _ in range(size):
            value, at = _value(content, at, kind)
            values.append(value)
        return values, at
    if kind != _BYTES:
        raise ValueError("nothing of Parquet's")
    size, at = _varint(content, at)
    return content[at : at + size], at + size


def _number(content: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(content, at)
    return value >> 1 ^ -(value & 1), at


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        byte, at = content[at], at + 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("no number")
