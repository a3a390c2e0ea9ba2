"""Write down how far the seeding of a query strand is, and what was found until then, for whoever goes on with it.

<unit>.<strand>.<a>-<b>.hsps.parquet   the segments of hits at query places [a, b)
<unit>.<strand>.records.parquet        what is known of diagonals where the last of them ends; written after it, with a checksum of each

Hits come by query place. A tile may end amid those of one place, which then come again; the record of each one's diagonal is beyond it, so it is passed over.
Who begins elsewhere ends tiles elsewhere: segments of one process and records of another do not go together.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.kernels.ungapped.hsps import Segments
from tidalign.pipeline.files.decompress import crc32
from tidalign.pipeline.schema import HSPS, RECORDS
from tidalign.pipeline.store.files import checked, open_table, read_table, write_table, write_tables

SECONDS = 5.0
"""Of seeding, at least, between two times that it is written down."""

WRITING_SHARE = 0.05
"""Of the time, at most, that goes into that: records of diagonals of two chromosomes, each with its own, are hundreds of megabytes."""

HELD = 1 << 21
"""Segments that may be held before they are written down: 64 MB."""

MOST_UNWRITTEN = 1 << 22
"""Segments that are held where they may come faster than they are written: with more of them nothing of a strand is written down."""

_PAGES = 1 << 10
"""Pages of records in a row group."""

WRITING = 2e-7
"""Seconds that writing a segment down takes, about."""

Tiles = Callable[[int], Iterator[tuple[Segments, int]]]
"""Gives the segments that are found from a query place on, tile by tile, and a place up to which all are found."""


class Known(Protocol):
    """Holds what is known of diagonals while hits come in (`HitFilter`, or on a GPU).

    dtype: of records. quick: whether segments may come faster than they are written. ahead: whether more is known than what was given tells.
    """

    dtype: Any
    quick: bool

    @property
    def ahead(self) -> bool: ...

    def pause(self, due: Callable[[], bool]) -> None:
        """Have nothing be known ahead of what is given where it is time to write that down."""

    def rest(self) -> tuple[Segments, int] | None:
        """Give the segments that nobody was given yet, and a place up to which all are found: whoever asks wants no others."""

    def state(self) -> tuple[Any, Any, Any]: ...

    def restore(self, touched: Any, pages: Any, origins: Any) -> None: ...


class Seeded:
    """Holds what was found of a strand, until it is written down.

    stem: of the paths of its files. run: the id that they carry.
    """

    def __init__(self, stem: str, run: str) -> None:
        self._stem, self._run = stem, run
        self._held: list[Segments] = []
        self._stretches: list[tuple[int, int, int]] = []  # begin, end and checksum of each file of segments
        self._rows = self._at = self._reached = 0
        self._most, self._gone = float("inf"), False  # held at most, and whether there were more: then nothing is written down any more
        self._saved, self._took = time.monotonic(), 0.0

    def segments(self, records: Known | None, tiles: Tiles, beat: Callable[[int], None]) -> Iterator[Segments]:
        """Give the segments of all hits in their order, those first that are on disk. `beat` is called with the place that was reached.

        records: what `tiles` knows of diagonals, and learns; None: nothing, as every hit counts.
        """
        at = self._restored(records)
        self._remove(self._stretches)
        yield from self._read()
        self._at = self._reached = at
        quick = records is not None and records.quick
        if records is not None:
            records.pause(self._due)
            self._most = MOST_UNWRITTEN if quick else self._most
        for segments, reached in tiles(at):
            self._hold(segments, reached)
            try:
                yield segments
                beat(self._reached)
                if (self._rows >= HELD and not quick) or (self._due() and not (records and records.ahead)):
                    self._save(records)
            except BaseException:  # whoever wants no more of it now may want the rest later
                self._leave(records)
                raise
        if self._at and not (records and records.ahead):  # it takes long, and so may what is made of it
            self._save(records)

    def _hold(self, segments: Segments, reached: int) -> None:
        self._rows, self._reached = self._rows + len(segments), max(self._reached, reached)
        if self._rows > self._most:
            self._held, self._gone = [], True
        elif not self._gone:
            self._held.append(segments)

    def _due(self) -> bool:
        """Tell whether it is time to write down what is held."""
        return not self._gone and time.monotonic() - self._saved >= max(SECONDS, max(self._took, WRITING * self._rows) / WRITING_SHARE)

    def _leave(self, records: Known | None) -> None:
        """Write down what was found, also what nobody was given yet."""
        if records and (rest := records.rest()):
            self._hold(*rest)
        if not (records and records.ahead):
            self._save(records)

    def forget(self) -> None:
        """Remove what was written down."""
        Path(self._records).unlink(missing_ok=True)
        self._remove([])

    def _remove(self, kept: Iterable[tuple[int, int, int]]) -> None:
        """Remove all files of segments but these."""
        paths = {self._path(a, b) for a, b, _ in kept}
        stem = Path(self._stem)
        for path in stem.parent.glob(f"{stem.name}.*-*.hsps.parquet"):
            if str(path) not in paths:
                path.unlink(missing_ok=True)

    @property
    def _records(self) -> str:
        return f"{self._stem}.records.parquet"

    def _path(self, a: int, b: int) -> str:
        return f"{self._stem}.{a}-{b}.hsps.parquet"

    def _save(self, records: Known | None) -> None:
        """Write down what is held, and then how far this is."""
        if self._gone or self._reached <= self._at:
            return
        began = time.monotonic()
        held = Segments.concat(self._held)
        again = held.take(held.query >= self._reached) if records is None else held.take(np.arange(0))
        found = held.take(held.query < self._reached) if records is None else held
        table = pa.table([found.target, found.query, found.length, found.score], schema=HSPS)
        write_table(path := self._path(self._at, self._reached), table, row_group_size=HELD, metadata={"tidalign.run": self._run})
        self._stretches.append((self._at, self._reached, crc32(Path(path).read_bytes())))
        write_tables(self._records, RECORDS, _tables(records), lambda: {"tidalign.run": self._run, "tidalign.stretches": json.dumps(self._stretches)})
        self._at, self._held, self._rows = self._reached, [again], len(again)
        self._saved = time.monotonic()
        self._took = self._saved - began

    def _restored(self, records: Known | None) -> int:
        """Have `records` know what was written down; up to where that is, 0: nothing is to be used."""
        if not Path(self._records).exists():
            return 0
        file = open_table(self._records)
        labels: dict[bytes, bytes] = file.metadata.metadata or {}
        if labels.get(b"tidalign.run") != self._run.encode():
            return 0
        stretches = [(int(a), int(b), int(checksum)) for a, b, checksum in json.loads(labels[b"tidalign.stretches"])]
        if any(not Path(path := self._path(a, b)).exists() or crc32(checked(path)) != checksum for a, b, checksum in stretches):
            return 0
        self._stretches = stretches
        if records is not None:
            _restore(records, file.read())
        return stretches[-1][1]

    def _read(self) -> Iterator[Segments]:
        for a, b, _ in self._stretches:
            table = read_table(self._path(a, b))
            yield Segments(*(table[name].to_numpy() for name in HSPS.names))


def _tables(records: Known | None) -> Iterator[pa.Table]:
    """Make tables (RECORDS) of what is known of diagonals: a row a page, and the origins in a row of its own, page -1."""
    if records is None:
        return
    touched, pages, origins = records.state()
    yield _table([-1], [origins])
    for first in range(0, len(touched), _PAGES):
        yield _table(touched[first : first + _PAGES].tolist(), list(pages[first : first + _PAGES]))


def _table(numbers: list[int], arrays: list[npt.NDArray[Any]]) -> pa.Table:
    return pa.table([pa.array(numbers, pa.int64()), pa.array([array.tobytes() for array in arrays], pa.large_binary())], schema=RECORDS)


def _restore(records: Known, table: pa.Table) -> None:
    rows = dict(zip(table["page"].to_pylist(), table["records"], strict=True))
    origins = np.frombuffer(rows.pop(-1).as_buffer(), np.int64)
    arrays = [np.frombuffer(row.as_buffer(), records.dtype) for row in rows.values()]
    records.restore(np.array([*rows], np.int64), np.stack(arrays) if arrays else np.empty((0, 1), records.dtype), origins)
