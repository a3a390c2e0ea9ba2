"""Write files whole or not at all: under a temporary name, forced to disk, renamed; and say in the user's words what went wrong."""

import errno
import json
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidalign.pipeline.errors import CannotWrite, DiskFull, ManifestMismatch


def durably(path: str, write: Callable[[str], None]) -> None:
    """Let `write` fill a temporary file beside `path`, force it to disk and give it its name. DiskFull or CannotWrite where that fails."""
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        write(temporary)
        handle = os.open(temporary, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        Path(temporary).replace(path)
        folder = os.open(Path(path).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise writing_error(path, error) from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def writing_error(path: str, error: OSError) -> Exception:
    """What a failed write means to the user."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{path}: no space left; free some, then run the same command again: what is finished is kept")
    return CannotWrite(f"{path}: cannot be written: {error.strerror or error}")


def write_table(path: str, table: Any, *, row_group_size: int | None = None, metadata: Mapping[str, str] | None = None) -> None:
    """Write a Parquet file whole or not at all. `metadata` becomes the file's key-value metadata; sequences are stored as they are, the rest compressed."""
    table = table.replace_schema_metadata(dict(metadata) if metadata else None)
    # Packed bases do not compress; everything else does, cheaply.
    compression = {field.name: "none" if pa.types.is_large_binary(field.type) else "zstd" for field in table.schema}
    # Most bytes of numbers are 0: with bytes of one place together they are compressed faster, and smaller.
    encoding = {field.name: "BYTE_STREAM_SPLIT" for field in table.schema if field.type == pa.int64()}
    durably(
        path,
        lambda temporary: pq.write_table(
            table,
            temporary,
            row_group_size=row_group_size or max(1, len(table)),
            compression=compression,
            compression_level={name: 1 for name, codec in compression.items() if codec == "zstd"},
            use_dictionary=False,
            column_encoding=encoding,
            write_statistics=False,
        ),
    )


def write_json(path: str, value: Any) -> None:
    """Write a JSON file whole or not at all."""

    def write(temporary: str) -> None:
        Path(temporary).write_text(json.dumps(value, indent=1) + "\n")

    durably(path, write)


def read_json(path: str) -> dict[str, Any]:
    """What `write_json` wrote of a run. ManifestMismatch where the file holds anything but a JSON object."""
    try:
        value = json.loads(Path(path).read_text())
    except ValueError as error:
        raise ManifestMismatch(f"{path}: not the JSON that tidalign wrote ({error}); start again with --new") from error
    if not isinstance(value, dict):
        raise ManifestMismatch(f"{path}: expected a JSON object, found {type(value).__name__}; start again with --new")
    return value
