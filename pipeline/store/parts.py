"""Keep parts: rows of a range of a chunk, a Parquet file each. Which ranges of a run are done is what its parts say, and nothing else."""

import json
import re
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.compute as pc

from tidalign.pipeline.errors import Damaged
from tidalign.pipeline.store.files import open_table, write_tables

Range = tuple[int, int]
T = TypeVar("T")

LOOK_SECONDS, LOOKS = 0.5, 180
"""Seconds between looks at what other hosts made, and how many: NFS shows it within a minute (`acdirmax`)."""


def once_seen(look: Callable[[], T], late: Callable[[T], bool]) -> T:
    """Look at what other hosts made until nothing of it is late, or `LOOKS` times; gives what was seen last."""
    for _ in range(LOOKS - 1):
        if not late(found := look()):
            return found
        time.sleep(LOOK_SECONDS)
    return look()


def cover(ranges: Iterable[Range]) -> list[Range]:
    """Choose disjoint ranges out of the given ones that hold the most rows, in order; among equals the fewest and longest.

    Weighted interval scheduling. Two writers can leave overlapping ranges only when a task was started again while its first worker,
    thought dead, finished after all; a whole cover is found whenever there is one.
    """
    ordered = sorted(set(ranges), key=lambda r: (r[1], r[0]))
    stops = [stop for _, stop in ordered]
    best: list[tuple[int, int, int]] = [(0, 0, -1)]  # (rows, -ranges, place of the last range) over the first i ranges
    before: list[int] = []
    for i, (start, stop) in enumerate(ordered):
        j = bisect_right(stops, start, 0, i)
        before.append(j)
        taken = (best[j][0] + stop - start, best[j][1] - 1, i)
        best.append(taken if taken[:2] > best[i][:2] else best[i])
    chosen = []
    place = best[-1][2]
    while place >= 0:
        chosen.append(ordered[place])
        place = best[before[place]][2]
    return chosen[::-1]


def gaps(start: int, stop: int, done: Iterable[Range]) -> list[Range]:
    """Find what of [start, stop) no range of `done` holds, in order."""
    left = []
    position = start
    for a, b in sorted(done):
        if a > position:
            left.append((position, min(a, stop)))
        position = max(position, b)
        if position >= stop:
            break
    if position < stop:
        left.append((position, stop))
    return [(a, b) for a, b in left if a < b]


def suspects(start: int, stop: int, claims: Iterable[Range]) -> list[Range]:
    """Find parts of [start, stop) that lie in two or more claims: two workers died while they ran these rows, so one of the rows may be at fault."""
    edges = sorted(edge for a, b in claims for edge in ((max(a, start), 1), (min(b, stop), -1)) if max(a, start) < min(b, stop))
    found: list[Range] = []
    depth, since = 0, start
    for position, step in edges:
        if depth >= 2 and position > since:
            if found and found[-1][1] == since:
                found[-1] = (found[-1][0], position)
            else:
                found.append((since, position))
        depth, since = depth + step, position
    return found


def touches(start: int, stop: int, ranges: Iterable[Range]) -> bool:
    """Tell whether one of some ranges has a row of [start, stop)."""
    return any(lo < stop and start < hi for lo, hi in ranges)


FEW_BYTES = 1 << 20
"""Bytes of a row group up to which one thread reads all of its columns: to wake others takes longer."""

_NAME = re.compile(r"(.+)\.(\d+)-(\d+)\.parquet$")
_PREFIX = "tidalign."


@dataclass(frozen=True, slots=True)
class PartFile:
    """Hold what a part says of itself: it is [start, stop) of a chunk.

    counts: rows of each status. labels: what its kind of run says beside them (pairs: `bases`; genomes: `shortfalls`).
    """

    path: str
    chunk: str
    start: int
    stop: int
    counts: dict[str, int]
    labels: dict[str, Any] = field(default_factory=dict)


def part_path(folder: str, chunk: str, start: int, stop: int) -> str:
    """Name the file of [start, stop) of a chunk; folder: RUN/parts, or another folder of parts."""
    return f"{folder}/{chunk}.{start}-{stop}.parquet"


def write_part(
    folder: str,
    run: str,
    chunk: str,
    start: int,
    stop: int,
    schema: Any,
    tables: Iterable[Any],
    reached: Callable[[], int] | None = None,
    **labels: Any,
) -> PartFile:
    """Write the rows of [start, stop) of a chunk as they come, in tables of any size, which have a column `status`. The same range written twice is the same
    file. reached: tells where the part ends, once all rows are there, if not at `stop`. labels: JSON, looked at when all rows are there."""

    def path() -> str:
        return part_path(folder, chunk, start, stop if reached is None else reached())

    counts: Counter[str] = Counter()

    def counted() -> Iterator[Any]:
        for table in tables:
            counts.update({entry["values"]: entry["counts"] for entry in pc.value_counts(table["status"]).to_pylist()})
            yield table

    def said() -> dict[str, str]:
        words = {"part": Path(path()).stem, "counts": json.dumps(counts)} | {name: json.dumps(value) for name, value in labels.items()}
        return {f"{_PREFIX}run": run} | {f"{_PREFIX}{name}": text for name, text in words.items()}

    write_tables(part_path(folder, chunk, start, stop), schema, counted(), said, named=path)
    return PartFile(path(), chunk, start, stop if reached is None else reached(), dict(counts), labels)


def read_tables(path: str, schema: Any) -> Iterator[Any]:
    """Read the rows of a part, a row group at a time: tables with the columns of a schema."""
    return tables_of(open_table(path), schema)


def tables_of(file: Any, schema: Any) -> Iterator[Any]:
    """Read the rows of a part that is open, as `read_tables` does."""
    for group in range(file.num_row_groups):
        shared = file.metadata.row_group(group).total_byte_size > FEW_BYTES
        yield file.read_row_group(group, columns=schema.names, use_threads=shared).select(schema.names).cast(schema)


def read_part(path: str, run: str) -> PartFile | None:
    """Read what a part file says of itself; None unless it is whole and belongs to the run."""
    named = _NAME.match(Path(path).name)
    if named is None:
        return None
    try:
        footer = open_table(path).metadata
    except (OSError, Damaged):
        return None
    said = {key.decode().removeprefix(_PREFIX): value.decode() for key, value in (footer.metadata or {}).items() if key.startswith(_PREFIX.encode())}
    if said.pop("run", None) != run or said.pop("part", None) != Path(path).stem:
        return None
    labels = {name: json.loads(text) for name, text in said.items()}
    counts = labels.pop("counts")
    if sum(counts.values()) != footer.num_rows:
        return None
    return PartFile(path, named[1], int(named[2]), int(named[3]), counts, labels)


def scan(folder: str, run: str, pattern: str = "*.parquet", known: dict[str, PartFile] | None = None) -> tuple[dict[str, list[PartFile]], list[str]]:
    """Find the run's parts, disjoint and in order by chunk, and the paths of files that are no parts of it (damaged, or of another run).

    known: parts by path that were read before and need not be again; new ones are added to it.
    """
    known = {} if known is None else known
    broken: list[str] = []
    by_chunk: dict[str, dict[tuple[int, int], PartFile]] = {}
    for path in (str(file) for file in sorted(Path(folder).glob(pattern)) if _NAME.match(file.name)):
        part = known.get(path) or read_part(path, run)
        if part is None:
            broken.append(path)
            continue
        known[path] = part
        by_chunk.setdefault(part.chunk, {})[part.start, part.stop] = part
    return {chunk: [parts[rows] for rows in cover(parts)] for chunk, parts in by_chunk.items()}, broken


def scan_written(folder: str, run: str, known: dict[str, PartFile], written: Iterable[str]) -> tuple[dict[str, list[PartFile]], list[str]]:
    """Scan as `scan` does, once the folder's list has what is there by the names of files that were written: network file systems list others' late."""

    def late(found: tuple[dict[str, list[PartFile]], list[str]]) -> bool:
        return any(path not in known and path not in found[1] and Path(path).exists() for path in written)

    return once_seen(lambda: scan(folder, run, known=known), late)


def scan_chunk(folder: str, run: str, chunk: str) -> list[PartFile]:
    """Find the parts of one chunk, disjoint and in order."""
    found, _ = scan(folder, run, f"{chunk}.*-*.parquet")
    return found.get(chunk, [])


def left(folder: str, run: str, chunk: str, start: int, stop: int) -> list[Range]:
    """Find what of [start, stop) of a chunk no part within it holds, by looking at none beyond."""
    named = (_NAME.match(file.name) for file in Path(folder).glob(f"{chunk}.*-*.parquet"))
    inside = [(int(name[2]), int(name[3])) for name in named if name and name[1] == chunk]
    done = [(a, b) for a, b in inside if start <= a and b <= stop and read_part(part_path(folder, chunk, a, b), run)]
    return gaps(start, stop, cover(done))


def all_parts(parts: Mapping[str, Iterable[PartFile]]) -> list[PartFile]:
    """List the parts of all chunks, chunks by name."""
    return [part for chunk in sorted(parts) for part in parts[chunk]]


def counts(parts: Mapping[str, Iterable[PartFile]]) -> Counter[str]:
    """Count the rows of each status over all parts."""
    found: Counter[str] = Counter()
    for part in all_parts(parts):
        found.update(part.counts)
    return found
