"""Write files whole or not at all: under a temporary name, forced to disk, renamed; seal them, and read none that is not what was written.

The seal is a CRC-32 of all other bytes of the file, in eight digits that are part of it: of a Parquet file's metadata, or the last entry of a JSON object.
"""

import errno
import json
import mmap
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from tidalign.pipeline import text
from tidalign.pipeline.errors import CannotWrite, Damaged, DiskFull, MissingInput
from tidalign.pipeline.files.decompress import crc32

_SEAL, _DIGITS = b"tidalign.crc32=", 8
UNSEALED = f"{_SEAL.decode()}{0:0{_DIGITS}x}"

T = TypeVar("T")


def nearest(directory: str, name: str, read: Callable[[str], T]) -> T:
    """Read a file or folder of a run directory, given its path: that of this node's copy, where the run keeps such (staging.py) and it is whole."""
    from tidalign.pipeline.store import staging  # by few

    if Path(directory, staging.MARK).exists() and (copy := staging.copy_of(directory, name)):
        try:
            return read(copy)
        except (Damaged, OSError) as error:
            staging.refuse(directory, f"{staging.name_of(copy)}: {error.found if isinstance(error, Damaged) else error.strerror or error}")
    return read(f"{directory}/{name}")


def durably(path: str, write: Callable[[str], None], named: Callable[[], str] | None = None, *, forced: bool = True) -> None:
    """Let `write` fill a temporary file beside `path`, force it to disk and give it its name. DiskFull or CannotWrite where that fails.

    named: gives another name, in the same folder, once it is known what was written.
    forced: False for what is made again where a machine that lost its power has lost it: the disk may take its time.
    """
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        try:
            write(temporary)
            if forced:
                _force(temporary)
            Path(temporary).replace(named() if named else path)
            if forced:
                _force(str(Path(path).parent))
        finally:
            Path(temporary).unlink(missing_ok=True)  # which a file system that is only read refuses as well
    except MissingInput:  # of what was to be written
        raise
    except OSError as error:
        raise writing_error(path, error) from error


def link(source: str, target: str) -> None:
    """Give a file, which never changes, one more name, which outlives the other; copy it where that cannot be: another file system, or another owner's."""
    try:
        os.link(source, target)
    except OSError:
        durably(target, partial(_copy, source))


def _copy(source: str, target: str) -> None:
    shutil.copyfile(source, target)


_passing: list[str] = []


@contextmanager
def passing(directory: str) -> Iterator[None]:
    """Force nothing below a directory to disk while the context lasts: nobody needs it after a loss of power, where it goes with the command."""
    _passing.append(f"{directory}/")
    try:
        yield
    finally:
        _passing.remove(f"{directory}/")


def lasts(path: str) -> bool:
    """Tell whether what is written here may have to outlive the machine's power."""
    return not any(path.startswith(directory) for directory in _passing)


def _force(path: str) -> None:
    """Force a file, or the names in a folder, to disk."""
    if not lasts(path):
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def writing_error(path: str, error: OSError) -> Exception:
    """Make the error that tells the user what a failed write means."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{path}: no space left; free some, then run the same command again")
    if isinstance(error, NotADirectoryError | FileExistsError):
        return CannotWrite(f"{path}: expected a folder, or room for one, found a file there; choose another name")
    return CannotWrite(f"{path}: cannot be written: {error.strerror or error}")


def _digits(data: Any, at: int) -> bytes:
    """Compute the seal that belongs at a place of a file."""
    with memoryview(data) as view:
        return b"%0*x" % (_DIGITS, crc32(view[at + _DIGITS :], crc32(view[:at])))


def seal(path: str) -> None:
    """Write the seal into a file that has UNSEALED in its metadata."""
    with Path(path).open("r+b") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.rfind(_SEAL) + len(_SEAL)
        file.seek(at)
        file.write(_digits(data, at))


def _check_seal(path: str, data: Any) -> None:
    at = data.rfind(_SEAL) + len(_SEAL)
    if at < len(_SEAL) or data[at : at + _DIGITS] != _digits(data, at):
        raise Damaged(path, "damaged or cut short: its checksum does not fit")


def checked(path: str) -> Any:
    """Map a file that `write_table` or `write_json` wrote. FileNotFoundError where there is none, Damaged where it is not what was written."""
    try:
        with Path(path).open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise Damaged(path, "cut short: nothing is left of it")
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Damaged(path, f"cannot be read ({error.strerror})") from error
    _check_seal(path, data)
    return data


def open_table(path: str) -> Any:
    """Open a Parquet file that `write_table` wrote, its bytes mapped: every table of a run is read here. Raises what `checked` does.

    Arrow maps it a second time: its threads let go of their buffers after a table is there, and a buffer of Python's, let go of while the interpreter ends,
    ends the process with SIGABRT.
    """
    checked(path).close()
    return pq.ParquetFile(pa.memory_map(path))


def read_table(path: str, columns: list[str] | None = None) -> Any:
    """Read the columns, or all, of a Parquet file that `write_table` wrote. Raises what `checked` does."""
    return open_table(path).read(columns=columns)


def read_lasting(path: str, way_out: str) -> Any:
    """Read a Parquet file that a finished run makes no more: Damaged then names this way out."""
    try:
        return read_table(path)
    except Damaged as damaged:
        raise Damaged(damaged.path, damaged.found, way_out) from damaged


def write_table(path: str, table: Any, *, row_group_size: int | None = None, metadata: Mapping[str, str] | None = None, forced: bool = True) -> None:
    """Write a Parquet file whole or not at all. `metadata` becomes the file's key-value metadata; nothing is compressed.
    forced: as `durably` has it."""
    table = table.replace_schema_metadata({**(metadata or {}), "seal": UNSEALED})
    rows = row_group_size or max(1, len(table))

    def write(temporary: str) -> None:
        # Chunks of short pairs are a sixth larger than with zstd, and are written, and read again, in two thirds of the time.
        numbers = {field.name: "DELTA_BINARY_PACKED" for field in table.schema if field.type == pa.int64()}
        pq.write_table(table, temporary, row_group_size=rows, compression="none", use_dictionary=False, column_encoding=numbers, write_statistics=False)
        seal(temporary)

    durably(path, write, forced=forced)


class _Foreign(Exception):
    """Carry an error of who makes the rows past those who look for errors of writing."""


def write_tables(
    path: str,
    schema: Any,
    tables: Iterable[Any],
    metadata: Callable[[], Mapping[str, str]],
    most: int | None = None,
    named: Callable[[], str] | None = None,
    *,
    forced: bool = True,
) -> None:
    """Write a Parquet file of tables as they come, whole or not at all, in row groups of at most `most` bytes, BATCH_BYTES if None.

    metadata, named: give the file's key-value metadata, and the name that it is to have, when all rows are written. No file is opened before the first row
    group is full, or all rows are there. forced: as `durably` has it.
    """
    batches = text.in_batches(tables, text.BATCH_BYTES if most is None else most)
    first = next(batches, schema.empty_table())

    def write(temporary: str) -> None:
        with pq.ParquetWriter(temporary, schema.remove_metadata(), **_encoded(schema)) as writer:
            for table in chain([first], _marked(batches)):
                writer.write_table(table.replace_schema_metadata(None), row_group_size=max(1, len(table)))
            writer.add_key_value_metadata({**metadata(), "seal": UNSEALED})
        seal(temporary)

    try:
        durably(path, write, named, forced=forced)
    except _Foreign as error:
        raise (error.__cause__ or error) from None


def _marked(tables: Iterator[Any]) -> Iterator[Any]:
    """Pass tables on; errors of the system that come of making them are no errors of writing."""
    while True:
        try:
            table = next(tables, None)
        except OSError as error:
            raise _Foreign from error
        if table is None:
            return
        yield table


def _encoded(schema: Any) -> dict[str, Any]:
    """Say how Parquet files of results are encoded."""
    # Packed bases do not compress; everything else does, cheaply: of a part of short pairs 187 bytes a row become 17 in 0.4 µs of a core, more than half of it
    # zstd's. LZ4 would take 0.1 µs less, and twice the room.
    compression = {field.name: "none" if pa.types.is_large_binary(field.type) else "zstd" for field in schema}
    return {
        "compression": compression,
        "compression_level": {name: 1 for name, codec in compression.items() if codec == "zstd"},
        "use_dictionary": False,
        # Most bytes of numbers are 0: with bytes of one place together they are compressed faster, and smaller.
        "column_encoding": {field.name: "BYTE_STREAM_SPLIT" for field in schema if field.type == pa.int64()},
        "write_statistics": False,
    }


def write_json(path: str, value: Mapping[str, Any], *, forced: bool = True) -> None:
    """Write a JSON file whole or not at all, an entry of the object a line: with the layout that `indent` makes, in Python, of each list of millions of numbers
    it takes longer than to read what they are of. forced: as `durably` has it."""

    def write(temporary: str) -> None:
        entries = ",\n ".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in {**value, "seal": UNSEALED}.items())
        Path(temporary).write_text(f"{{\n {entries}\n}}\n")
        seal(temporary)

    durably(path, write, forced=forced)


def read_json(path: str, look: Callable[[dict[str, Any]], None] = lambda _: None) -> dict[str, Any]:
    """Read what `write_json` wrote of a run. look: may refuse it, and first where it has no seal, as older ones. Damaged where it is not what was written."""
    data = Path(path).read_bytes()
    try:
        value = json.loads(data)
    except ValueError as error:
        raise Damaged(path, f"not the JSON that tidalign wrote ({error})") from error
    if not isinstance(value, dict):
        raise Damaged(path, f"expected a JSON object, found {type(value).__name__}")
    if "seal" not in value:
        look(value)
    _check_seal(path, data)
    del value["seal"]
    look(value)
    return value
