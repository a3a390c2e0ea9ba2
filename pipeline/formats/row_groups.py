"""Encode tables as row groups of Parquet one by one, and put them into one file: pages stay as they were encoded, their places in the footer are moved.

PyArrow encodes by one thread a file, and cannot join files. So each row group is encoded as a file of its own, and of its footer (Thrift's compact protocol)
only the numbers that say where something lies are written anew.
"""

import struct
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

_MAGIC = b"PAR1"
_TAIL = struct.Struct("<I4s")

# Fields of parquet.thrift by their numbers: FileMetaData.row_groups, RowGroup.columns and .file_offset, ColumnChunk.file_offset, .meta_data and places of its
# indexes, ColumnMetaData's places of pages and of the Bloom filter.
_COLUMN: dict[int, Any] = {9: True, 10: True, 11: True, 14: True}
_PLACES: dict[int, Any] = {4: {1: {2: True, 3: _COLUMN, 4: True, 6: True}, 5: True}}

_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12


def encoded(table: Any) -> Any:
    """Encode a table as a Parquet file of one row group, in memory; the same bytes for the same rows, however they were cut before."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, compression="zstd") as writer:
        writer.write_table(table.combine_chunks(), row_group_size=max(1, len(table)))
    return sink.getvalue()


class File:
    """Write a Parquet file of row groups that `encoded` made, one after the other; `close` writes the footer."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._size = sink.write(_MAGIC)
        self._footer: Any = None

    def append(self, group: Any) -> int:
        """Write a row group; returns how many rows it has."""
        with memoryview(group) as data:
            length, magic = _TAIL.unpack(data[-_TAIL.size :])
            assert magic == _MAGIC
            end = len(data) - _TAIL.size - length
            footer = moved(bytes(data[end : -_TAIL.size]), self._size - len(_MAGIC))
            self._sink.write(data[len(_MAGIC) : end])
        self._size += end - len(_MAGIC)
        found = pq.read_metadata(pa.BufferReader(_MAGIC + footer + _TAIL.pack(len(footer), _MAGIC)))
        if self._footer is None:
            self._footer = found
        else:
            self._footer.append_row_groups(found)
        return int(found.num_rows)

    def close(self) -> None:
        """Write the footer, after the last row group of at least one."""
        whole = pa.BufferOutputStream()
        self._footer.write_metadata_file(whole)
        self._sink.write(memoryview(whole.getvalue())[len(_MAGIC) :])


def moved(footer: bytes, by: int) -> bytes:
    """Write a footer anew whose pages lie `by` bytes further on; a place of 0 is none, and stays."""
    out = bytearray()
    end = _copy(footer, 0, _STRUCT, _PLACES, by, out)
    assert end == len(footer)
    return bytes(out)


def _copy(data: bytes, at: int, kind: int, places: Any, by: int, out: bytearray) -> int:
    """Copy a value of Thrift's compact protocol to `out`; returns where it ends. places: True for a number that is a place, by field of a struct, or of the
    structs of a list, what is there; None: nothing."""
    begin = at
    if kind == _STRUCT:
        number = 0
        while head := data[at]:
            at, place = at + 1, at
            if head >> 4:
                number += head >> 4
            else:
                number, at = _varint(data, at)
                number = number >> 1 ^ -(number & 1)
            out += data[place:at]
            if head & 15 not in _BOOLEANS:
                at = _copy(data, at, head & 15, places.get(number) if places else None, by, out)
        out.append(0)
        return at + 1
    if kind in _LISTS:
        count, at = (data[at] >> 4, at + 1) if data[at] >> 4 < 15 else _varint(data, at + 1)
        out += data[begin:at]
        for _ in range(count):
            at = _copy(data, at, _BYTE if data[begin] & 15 in _BOOLEANS else data[begin] & 15, places, by, out)
        return at
    if kind in _INTEGERS:
        value, at = _varint(data, at)
        if places and value:
            _write_varint(value + 2 * by, out)  # zigzag: a place is not negative
            return at
    elif kind == _BINARY:
        length, at = _varint(data, at)
        at += length
    else:
        at += {_BYTE: 1, _DOUBLE: 8}[kind]
    out += data[begin:at]
    return at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def _write_varint(value: int, out: bytearray) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
