"""Parts: aligned row ranges of chunks. Which rows of a run are done is what its parts say, and nothing else."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidalign.pipeline.schema import ALIGNMENTS
from tidalign.pipeline.store.ranges import cover
from tidalign.pipeline.store.rundir import write_table

_NAME = re.compile(r"(.+)\.(\d+)-(\d+)\.parquet$")


@dataclass(frozen=True, slots=True)
class Part:
    """Rows [start, stop) of a chunk: rows of each status, letters of both sides."""

    path: str
    chunk: str
    start: int
    stop: int
    counts: dict[str, int]
    bases: int


def part_path(directory: str, chunk: str, start: int, stop: int) -> str:
    """Where the alignments of rows [start, stop) of a chunk are, or will be."""
    return f"{directory}/parts/{chunk}.{start}-{stop}.parquet"


def write_part(directory: str, run: str, chunk: str, start: int, stop: int, table: Any) -> Part:
    """Write the alignments (`schema.ALIGNMENTS`) of rows [start, stop) of a chunk, sorted by ordinal. The same range written twice is the same file."""
    if len(table) != stop - start or table.schema != ALIGNMENTS:
        raise RuntimeError(f"chunk {chunk}: rows {start}..{stop} gave {len(table)} alignments")
    table = table.sort_by("ordinal")
    counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(table["status"]).to_pylist()}
    bases = pc.sum(table["query_length"]).as_py() + pc.sum(table["target_length"]).as_py()
    path = part_path(directory, chunk, start, stop)
    labels = {
        "tidalign.run": run,
        "tidalign.part": Path(path).stem,
        "tidalign.rows": str(len(table)),
        "tidalign.counts": json.dumps(counts),
        "tidalign.bases": str(bases),
    }
    write_table(path, table, metadata=labels)
    return Part(path, chunk, start, stop, counts, bases)


def read_part(path: str, run: str) -> Part | None:
    """What a part file says of itself; None unless it is whole and belongs to the run."""
    named = _NAME.match(Path(path).name)
    if named is None:
        return None
    start, stop = int(named[2]), int(named[3])
    try:
        footer = pq.read_metadata(path)
    except (OSError, pa.ArrowException):
        return None
    labels = {key.decode(): value.decode() for key, value in (footer.metadata or {}).items()}
    if labels.get("tidalign.run") != run or labels.get("tidalign.part") != Path(path).stem or footer.num_rows != stop - start:
        return None
    return Part(path, named[1], start, stop, json.loads(labels["tidalign.counts"]), int(labels["tidalign.bases"]))


def scan(directory: str, run: str, known: dict[str, Part] | None = None) -> tuple[dict[str, list[Part]], list[str]]:
    """The run's parts, disjoint and in order by chunk, and the paths of files that are no parts of it (cut short, or of another run).

    `known`: parts by path that were read before and need not be again; new ones are added to it.
    """
    known = {} if known is None else known
    broken: list[str] = []
    by_chunk: dict[str, dict[tuple[int, int], Part]] = {}
    for file in sorted(Path(directory, "parts").glob("*.parquet")):
        path = str(file)
        part = known.get(path) or read_part(path, run)
        if part is None:
            broken.append(path)
            continue
        known[path] = part
        by_chunk.setdefault(part.chunk, {})[part.start, part.stop] = part
    return {chunk: [parts[rows] for rows in cover(parts)] for chunk, parts in by_chunk.items()}, broken


def total(parts: dict[str, list[Part]]) -> tuple[Counter[str], int]:
    """Rows of each status and letters over all parts."""
    counts: Counter[str] = Counter()
    bases = 0
    for part in (part for chunk in parts.values() for part in chunk):
        counts.update(part.counts)
        bases += part.bases
    return counts, bases
