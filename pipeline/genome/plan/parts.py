"""Parts of a genome run: rows of a range of units, or of a range of a unit's anchors. What is done is what the parts say, and nothing else."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidalign.pipeline.store.ranges import cover
from tidalign.pipeline.store.rundir import write_table

_NAME = re.compile(r"(.+)\.(\d+)-(\d+)\.parquet$")


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of [start, stop) of a chunk (`plan.Tile.chunk`).

    counts: rows of each status. shortfalls: what was cut or given up: [{job, query_name, strand, status, reason}].
    """

    path: str
    chunk: str
    start: int
    stop: int
    counts: dict[str, int]
    shortfalls: list[dict[str, Any]]


def part_path(folder: str, chunk: str, start: int, stop: int) -> str:
    """Where the part is, or will be; `folder` is RUN/parts or RUN/extended."""
    return f"{folder}/{chunk}.{start}-{stop}.parquet"


def write_part(folder: str, run: str, chunk: str, start: int, stop: int, table: Any, shortfalls: list[dict[str, Any]]) -> None:
    """Write the rows of [start, stop) of a chunk. The same range written twice is the same file."""
    path = part_path(folder, chunk, start, stop)
    counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(table["status"]).to_pylist()}
    labels = {
        "tidalign.run": run,
        "tidalign.part": Path(path).stem,
        "tidalign.counts": json.dumps(counts),
        "tidalign.shortfalls": json.dumps(shortfalls),
    }
    write_table(path, table, metadata=labels)


def read_part(path: str, run: str) -> Part | None:
    """What a part file says of itself; None unless it is whole and belongs to the run."""
    named = _NAME.match(Path(path).name)
    if named is None:
        return None
    try:
        footer = pq.read_metadata(path)
    except (OSError, pa.ArrowException):
        return None
    labels = {key.decode(): value.decode() for key, value in (footer.metadata or {}).items()}
    counts, shortfalls = (json.loads(labels.get(f"tidalign.{name}", "null")) for name in ("counts", "shortfalls"))
    if labels.get("tidalign.run") != run or labels.get("tidalign.part") != Path(path).stem or sum(counts.values()) != footer.num_rows:
        return None
    return Part(path, named[1], int(named[2]), int(named[3]), counts, shortfalls)


def scan_chunk(folder: str, run: str, chunk: str) -> list[Part]:
    """The parts of one chunk, disjoint and in order."""
    found, _ = scan(folder, run, f"{chunk}.*-*.parquet")
    return found.get(chunk, [])


def scan(folder: str, run: str, pattern: str = "*.parquet") -> tuple[dict[str, list[Part]], list[str]]:
    """The parts in a folder, disjoint and in order by chunk, and the paths of files that are no parts of the run (cut short, or of another one)."""
    broken: list[str] = []
    by_chunk: dict[str, dict[tuple[int, int], Part]] = {}
    for file in sorted(Path(folder).glob(pattern)):
        part = read_part(str(file), run)
        if part is None:
            broken.append(str(file))
        else:
            by_chunk.setdefault(part.chunk, {})[part.start, part.stop] = part
    return {chunk: [parts[rows] for rows in cover(parts)] for chunk, parts in by_chunk.items()}, broken


def total(parts: dict[str, list[Part]]) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Rows of each status, and everything that was cut or given up."""
    counts: Counter[str] = Counter()
    shortfalls = []
    for part in (part for chunk in sorted(parts) for part in parts[chunk]):
        counts.update(part.counts)
        shortfalls += part.shortfalls
    return counts, shortfalls
