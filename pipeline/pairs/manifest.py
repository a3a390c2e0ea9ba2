"""Write and read what says that pairs are partitioned: the record of each block of the input, and manifest.json when all are there and the counts agree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, Self, TypedDict, cast

from tidalign.pipeline.pairs.aligner import Aligner, described
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.files import read_json, write_json
from tidalign.pipeline.store.layout import PAIRS


class ChunkRecord(TypedDict):
    """Say of a chunk: how many rows, their length bin, estimated work, bytes of the file, letters of the longest sequence."""

    id: str
    rows: int
    bin: int
    work: float
    bytes: int
    longest: int


class BlockRecord(TypedDict):
    """Say of a block: ordinal of its first pair, how many pairs, where they lie in the input, their digest (`PairBlock`), and the chunks that it became."""

    id: int
    first: int
    pairs: int
    spans: list[dict[str, Any]]
    digest: NotRequired[str]
    chunks: list[ChunkRecord]


def chunk_path(directory: str, chunk: str) -> str:
    """Name the file of a chunk's pairs."""
    return f"{directory}/{chunk_name(chunk)}"


def chunk_name(chunk: str) -> str:
    """Name the file of a chunk as seen from the run directory."""
    return f"chunks/{chunk}.parquet"


def letters_path(directory: str, block: int) -> str:
    """Name the file of a block's letters, of an input that can be read only once."""
    return f"{directory}/letters/b{block:05d}.parquet"


def _block_path(directory: str, block: int) -> str:
    return f"{directory}/blocks/b{block:05d}.json"


def write_block_record(directory: str, record: BlockRecord, *, forced: bool) -> None:
    """Write the record that says that a block is partitioned. Its chunks must be there. forced: as `durably` has it."""
    write_json(_block_path(directory, record["id"]), record, forced=forced)


def read_block_record(directory: str, block: int) -> BlockRecord | None:
    """Read the record of a block that was partitioned; None where it was not, or its chunk files are gone."""
    record = recorded(directory, block)
    return record if record and all(_size(chunk_path(directory, chunk["id"])) == chunk["bytes"] for chunk in record["chunks"]) else None


def recorded(directory: str, block: int) -> BlockRecord | None:
    """Read the record of a block, whether or not its chunk files are there; None where there is none."""
    try:
        return cast("BlockRecord", read_json(_block_path(directory, block)))
    except FileNotFoundError:
        return None


def _size(path: str) -> int | None:
    try:
        return Path(path).stat().st_size
    except FileNotFoundError:
        return None


@dataclass(frozen=True, slots=True)
class PairManifest(rundir.Manifest):
    """Hold what manifest.json says of a run over pairs: the blocks of the input, in its order."""

    aligner: Aligner[Any]
    blocks: list[BlockRecord]

    @property
    def pairs(self) -> int:
        """Count the pairs of the input."""
        return sum(self.chunks.values())

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Make one of what manifest.json holds."""
        aligner, parameters = described(values["parameters"])
        return cls(values["run"], parameters, values["source"], values["chunks"], aligner, values[PAIRS.kind]["blocks"])


Check = Callable[[Sequence[BlockRecord]], None]
"""Looks at the names of the pairs of some blocks that are read. Raises InputError for one that the command cannot write."""


def write_manifest(directory: str, records: Sequence[BlockRecord], check: Check | None = None) -> PairManifest:
    """Close the partition stage: see that the blocks follow each other and that every pair is in a chunk, write manifest.json, unless `check` raises an error,
    and return it."""
    blocks = sorted(records, key=lambda record: record["id"])
    first = 0
    for place, block in enumerate(blocks):
        rows = sum(chunk["rows"] for chunk in block["chunks"])
        if (block["id"], block["first"], block["pairs"]) != (place, first, rows):
            raise RuntimeError(f"{directory}: block {block['id']} has {rows} rows from ordinal {block['first']}; expected block {place} from {first}")
        first += rows
    chunks = {chunk["id"]: chunk["rows"] for block in blocks for chunk in block["chunks"]}
    if check:
        check(blocks)
    return rundir.write_manifest(directory, PairManifest, chunks, {"blocks": blocks})


def read_manifest(directory: str) -> PairManifest:
    """Read manifest.json of a run over pairs. MissingInput while the partition stage is not over."""
    return rundir.read_manifest(directory, PairManifest)
