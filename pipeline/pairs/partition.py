"""Partition pairs into chunk files: one length bin each, sorted by length, bounded by estimated work and bytes.

A block of the input is read, cut into chunks and written by itself, so that blocks can be done in any order,
by any worker, again after a crash, and give the same files.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.pipeline.errors import ManifestMismatch
from tidalign.pipeline.in_turn import Call
from tidalign.pipeline.pairs.aligner import Aligner, Lengths, described
from tidalign.pipeline.pairs.input.index import PairBlock
from tidalign.pipeline.pairs.input.packed import packed_block
from tidalign.pipeline.pairs.input.read import PairSource, read_block
from tidalign.pipeline.pairs.manifest import (
    BlockRecord,
    ChunkRecord,
    chunk_name,
    chunk_path,
    letters_path,
    read_block_record,
    read_manifest,
    recorded,
    write_block_record,
)
from tidalign.pipeline.pairs.pack import pack_pairs
from tidalign.pipeline.schema import LETTERS
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.files import nearest, open_table, write_table
from tidalign.pipeline.text import cuts

CHUNK_WORK = 1.5e9
"""Estimated wavefront cells of a chunk: about ten seconds of one core, so that a lost task costs little and a scheduler's overhead nothing."""

CHUNK_ROWS = 262_144

ROW_GROUP_ROWS = 32_768
"""A range of a chunk is read without reading all of it."""


def length_bin(query_lengths: Lengths, target_lengths: Lengths) -> npt.NDArray[np.int64]:
    """Count the bits of the longer side: bin b holds lengths 2^(b-1)..2^b - 1, bin 0 pairs of two empty sides."""
    longer = np.maximum(query_lengths, target_lengths)
    return np.where(longer > 0, np.frexp(longer.astype(np.float64))[1], 0).astype(np.int64)


def by_length(query_lengths: Lengths, target_lengths: Lengths) -> npt.NDArray[np.int64]:
    """Order pairs by their longer side, then by the shorter one; equal ones as they came."""
    longer, shorter = np.maximum(query_lengths, target_lengths), np.minimum(query_lengths, target_lengths)
    if longer.max(initial=0) < 1 << 16:
        longer, shorter = longer.astype(np.uint16), shorter.astype(np.uint16)  # which NumPy sorts by radix, in a seventh of the time
    return np.lexsort((shorter, longer))  # stable; by its last key first


def partition_block(directory: str, source: PairSource, block: PairBlock) -> BlockRecord:
    """Read one block and write its chunks, then its record, which is returned."""
    if done := read_block_record(directory, block.id):
        return done
    aligner, parameters = described(rundir.read_plan(directory)["parameters"])
    table = None if parameters.plain else packed_block(source, block, ambiguous=parameters.ambiguous)
    return _write(directory, block, table, aligner, forced=False) if table is not None else write_block(directory, source, block, read_block(source, block))


def write_block(directory: str, source: PairSource, block: PairBlock, pairs: Any) -> BlockRecord:
    """Write the chunks of a block's pairs, then its record, which is returned; nothing where that was done. ManifestMismatch where others came before."""
    if block.digest:
        _check_piped(directory, source, block)
    if done := read_block_record(directory, block.id):
        return done
    aligner, parameters = described(rundir.read_plan(directory)["parameters"])
    if source.whole:
        _keep_letters(directory, block, pairs)
    table = pack_pairs(pairs, ambiguous=parameters.ambiguous, file=source.queries, plain=parameters.plain)
    return _write(directory, block, table, aligner, forced=not source.has_ranges)


def _check_piped(directory: str, source: PairSource, block: PairBlock) -> None:
    """Raise ManifestMismatch where other pairs came through a pipe before. Records of older runs may have no digest."""
    whole, known = _begun_with(directory, block.id)
    if known and known.get("digest", block.digest) != block.digest:
        raise _mismatch(directory, source, f"pairs {known['first'] + 1:,} to {known['first'] + known['pairs']:,}", "others")
    if whole and not known and whole[-1].get("digest"):
        raise _mismatch(directory, source, f"{whole[-1]['first'] + whole[-1]['pairs']:,} pairs", "more")


def check_end(directory: str, source: PairSource, records: Sequence[BlockRecord]) -> None:
    """Raise ManifestMismatch where more pairs than those of all these blocks came through a pipe before."""
    following = _begun_with(directory, len(records))[1] if source.has_pipe else None
    if following and following.get("digest"):
        raise _mismatch(directory, source, f"pairs from {following['first'] + 1:,} on", "none")


def _begun_with(directory: str, block: int) -> tuple[list[BlockRecord], BlockRecord | None]:
    """Read the records of all blocks, where all were read before, and that of one, where there is one."""
    if not rundir.has_manifest(directory):
        return [], recorded(directory, block)
    whole = read_manifest(directory).blocks
    return whole, next((record for record in whole if record["id"] == block), None)


def _mismatch(directory: str, source: PairSource, expected: str, found: str) -> ManifestMismatch:
    pipes = " and ".join(each.path for each in source.inputs if each.stream)
    way_out = "hand over the same pairs to go on, or use another run directory; --new throws this run away and starts again"
    return ManifestMismatch(f"{directory}: expected the {expected} that this run was begun with, found {found} from {pipes}; {way_out}")


def _write(directory: str, block: PairBlock, table: Any, aligner: Aligner[Any], *, forced: bool) -> BlockRecord:
    """Write the chunks of a block, whose pairs are `table` in `schema.CHUNK`, then its record. forced: to disk, as they cannot be read again."""
    if len(table) != block.pairs:
        raise RuntimeError(f"block {block.id} has {block.pairs} pairs by its plan and {len(table)} when read")
    query_lengths, target_lengths = (table[f"{side}_length"].to_numpy() for side in ("query", "target"))
    bins = length_bin(query_lengths, target_lengths)
    order = by_length(query_lengths, target_lengths)
    bins, weights = bins[order], aligner.work(query_lengths, target_lengths)[order]
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    chunks: list[ChunkRecord] = []
    for start, stop in zip(starts, np.append(starts[1:], len(order)), strict=True):
        for piece, (a, b) in enumerate(cuts(weights[start:stop], CHUNK_WORK, CHUNK_ROWS)):
            rows = order[start + a : start + b]
            name = f"b{block.id:05d}-{bins[start]:02d}-{piece:03d}"
            path = chunk_path(directory, name)
            write_table(path, table.take(rows), row_group_size=ROW_GROUP_ROWS, forced=forced)
            chunks.append(
                {
                    "id": name,
                    "rows": len(rows),
                    "bin": int(bins[start]),
                    "work": float(weights[start + a : start + b].sum()),
                    "bytes": Path(path).stat().st_size,
                    "longest": int(max(query_lengths[rows].max(), target_lengths[rows].max())),
                }
            )
    record = cast("BlockRecord", {**block.to_json(), "chunks": chunks})
    write_block_record(directory, record, forced=forced)
    return record


def _keep_letters(directory: str, block: PairBlock, pairs: Any) -> None:
    """Write what formats with letters cannot read again (EXECUTION.md 13)."""
    if "query_quality" not in pairs.column_names:
        pairs = pairs.append_column("query_quality", pa.nulls(len(pairs), pa.large_binary()))
    write_table(letters_path(directory, block.id), pairs.select(LETTERS.names).cast(LETTERS))


NAME_COLUMNS = ("ordinal", "query_name", "target_name", "target_length")


@dataclass(frozen=True)
class Names:
    """Give what is known of the pairs of some blocks when they are read, in the order of these: columns of `NAME_COLUMNS`, a block of the input at a time."""

    directory: str
    blocks: Sequence[BlockRecord]

    def to_batches(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Record batches, all columns or those named, `ordinal` among them."""
        for piece in self.pieces_of(columns):
            yield from piece.do()

    def pieces_of(self, columns: list[str] | None = None) -> Iterator[Call[Iterable[Any]]]:
        """Give what makes the batches of each block, in order."""
        for block in self.blocks:
            paths = [chunk_path(self.directory, chunk["id"]) for chunk in block["chunks"]]
            yield Call(partial(_batches, paths, list(columns or NAME_COLUMNS)))


def _batches(paths: list[str], columns: list[str]) -> list[Any]:
    """Read columns of the chunks of a block, by ordinal."""
    tables = [open_table(path).read(columns=columns) for path in paths]
    return list(pa.concat_tables(tables).sort_by("ordinal").combine_chunks().to_batches()) if tables else []


def read_chunk(directory: str, chunk: str, start: int, stop: int) -> Any:
    """Read rows [start, stop) of a chunk, in `schema.CHUNK`; decodes only the row groups that hold them. Damaged where the file is not what was written."""
    file = nearest(directory, chunk_name(chunk), open_table)
    bounds = np.cumsum([0] + [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)])
    groups = [i for i in range(file.num_row_groups) if bounds[i] < stop and bounds[i + 1] > start]
    return file.read_row_groups(groups).slice(start - int(bounds[groups[0]]), stop - start)
