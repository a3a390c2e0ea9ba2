"""Keep the blocks of a run over pairs on disk: the chunks that each became, and its record, written after them.

chunks/<chunk>.parquet  pairs, `schema.CHUNK`
blocks/b<id>.json       what a block of the input became
"""

from pathlib import Path
from typing import TypedDict, cast

from tidalign.pipeline.store.files import read_json, write_json


class ChunkRecord(TypedDict):
    """Say of a chunk: how many rows, their length bin, estimated work, bytes of the file, letters of the longest sequence."""

    id: str
    rows: int
    bin: int
    work: float
    bytes: int
    longest: int


class BlockRecord(TypedDict):
    """Say of a block: ordinal of its first pair, how many pairs, and the chunks that it became."""

    id: int
    first: int
    pairs: int
    chunks: list[ChunkRecord]


def chunk_path(directory: str, chunk: str) -> str:
    """Name the file of a chunk's pairs."""
    return f"{directory}/chunks/{chunk}.parquet"


def _block_path(directory: str, block: int) -> str:
    return f"{directory}/blocks/b{block:05d}.json"


def write_block_record(directory: str, record: BlockRecord) -> None:
    """Write that a block is partitioned. Its chunks must be there."""
    write_json(_block_path(directory, record["id"]), record)


def read_block_record(directory: str, block: int) -> BlockRecord | None:
    """Read the record of a block that was partitioned; None where it was not, or its chunk files are gone."""
    try:
        record = cast("BlockRecord", read_json(_block_path(directory, block)))
    except FileNotFoundError:
        return None
    whole = all(_size(chunk_path(directory, chunk["id"])) == chunk["bytes"] for chunk in record["chunks"])
    return record if whole else None


def _size(path: str) -> int | None:
    try:
        return Path(path).stat().st_size
    except FileNotFoundError:
        return None
