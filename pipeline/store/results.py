"""Gather the results of a finished run of any kind from its parts: a kind says what its chunks are, its schema and its order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from html import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline import text
from tidalign.pipeline.device import cores
from tidalign.pipeline.errors import Damaged, ManifestMismatch, MissingInput
from tidalign.pipeline.in_turn import WRITERS, Call
from tidalign.pipeline.schema import STATUSES
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.files import open_table
from tidalign.pipeline.store.layout import Layout
from tidalign.pipeline.store.parts import PartFile, all_parts, counts, scan, tables_of

if TYPE_CHECKING:
    import pandas
    import polars

BATCH_ROWS = 65_536
"""Most rows of a batch that `to_batches` gives."""

PLOTTED_ROWS = 20_000
"""About how many rows the small plot of a notebook is of, at most."""

Reader = Callable[[], Iterable[Any]]
"""Reads a piece of the rows, as tables one after the other."""

M = TypeVar("M", bound=rundir.Manifest)
P = TypeVar("P")


class RunResults(Generic[M]):
    """Give the rows of a finished run; a kind adds `layout`, `manifest_type`, `counted`, `parameters`, `cigars`, `placed`, `_readers` and `export`.

    Only one piece of the rows is held in memory at a time. Raises MissingInput when `path` holds no run of this kind or, on reading, when it is not finished
    or has lost a part; ManifestMismatch when it was made with another layout, and Damaged, which is one, where a file is not what was written.
    """

    layout: Layout
    manifest_type: type[M]
    counted: str
    """What a chunk is counted in."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()  # the process may go elsewhere, or the results to another one
        rundir.require(str(path), self.layout)
        self._manifest = rundir.read_manifest(str(path), self.manifest_type)

    @cached_property
    def threads(self) -> int:
        """Say how many pieces are turned into text at a time, at most."""
        return min(WRITERS, cores())

    def __repr__(self) -> str:
        """Describe the results in a line."""
        return f"<{type(self).__name__} of tidalign {self.kind} in {str(self.path)!r}: {self._counts()}>"

    def _repr_html_(self) -> str:
        """Show it in a notebook: rows by status, and of some of them the identities."""
        head = f"<p><b>tidalign {self.kind}</b> <code>{escape(str(self.path))}</code>: {self._counts()}</p>"
        rows = [(status, count) for status, count in self.statuses().items() if count] if self.complete else []
        cells = "".join(f"<tr><td>{status}</td><td style='text-align:right'>{count:,}</td></tr>" for status, count in rows)
        return f"{head}<table>{cells}</table>{self._chart()}"

    def _chart(self) -> str:
        if not self.complete:
            return ""
        from tidalign.pipeline.store.notebook import identities, shares  # nobody else draws here

        return identities(
            shares(self.sampled([name for name in ("identity", "matches", "mismatches", "gap_letters") if name in self.schema.names], PLOTTED_ROWS))
        )

    def _counts(self) -> str:
        return f"{len(self):,} rows" if self.complete else "not finished"

    @property
    def kind(self) -> str:
        """Name the kind of run, as plan.json has it."""
        return self.layout.kind

    @property
    def schema(self) -> pa.Schema:
        """Give the Arrow schema of the rows."""
        return self.layout.tables["parts"]

    @property
    def source(self) -> dict[str, Any]:
        """Say what was read, as the run recorded it."""
        return dict(self._manifest.source)

    @property
    def complete(self) -> bool:
        """Tell whether everything was aligned. Some may be capped, rejected or given up: see `statuses`."""
        return rundir.finished(str(self.path)) is not None

    def __len__(self) -> int:
        """Count the rows."""
        return sum(counts(self._parts).values())

    def statuses(self) -> dict[str, int]:
        """Count the rows by status, every status named."""
        return dict.fromkeys(STATUSES, 0) | counts(self._parts)

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Give record batches of at most `BATCH_ROWS` rows and, but for a longer row, `BATCH_BYTES` in order, all columns or those named."""
        for piece in self.pieces_of(columns):
            yield from piece.do()

    def pieces_of(self, columns: list[str] | None = None) -> Iterator[Call[Iterable[pa.RecordBatch]]]:
        """Give what makes the batches of `to_batches`, in order (`formats.request.Pieces`)."""
        for read in self._readers(self._checked(columns)):
            yield Call(partial(batches, read))

    def _checked(self, columns: list[str] | None) -> list[str]:
        """Give the columns that are wanted, all where None. ValueError for what is no list of some of them, each once."""
        if columns is None:
            return list(self.schema.names)
        if isinstance(columns, str):
            raise ValueError(f"columns: expected a list of names, not {columns!r}; give [{columns!r}]")
        wanted = list(columns)
        if unknown := next((name for name in wanted if name not in self.schema.names), None):
            raise ValueError(f"columns: expected some of {', '.join(self.schema.names)}, not {unknown!r}")
        if twice := next((name for name in wanted if wanted.count(name) > 1), None):
            raise ValueError(f"columns: expected each name once, found {twice!r} {wanted.count(twice)} times")
        return wanted

    def to_table(self, columns: list[str] | None = None) -> pa.Table:
        """Gather all rows as one table, which must fit in memory; `to_batches` needs no more than a piece of them."""
        wanted = self._checked(columns)
        return pa.Table.from_batches(self.to_batches(wanted), schema=pa.schema([self.schema.field(name) for name in wanted]))

    def to_pandas(self, columns: list[str] | None = None) -> "pandas.DataFrame":
        """Gather all rows, or the columns named of them, as a DataFrame of pandas, which is to be installed."""
        return self.to_table(columns).to_pandas()

    def to_polars(self, columns: list[str] | None = None) -> "polars.DataFrame":
        """Gather all rows, or the columns named of them, as a DataFrame of polars, which is to be installed."""
        import polars

        frame = polars.from_arrow(self.to_table(columns))
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the rows to whoever takes Arrow's stream of C (PyCapsule): polars, DuckDB, `pyarrow.table`. A batch is read when it is asked for."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches()).__arrow_c_stream__(requested_schema)

    def pieces(self, letters: bool = False) -> Iterator[Call[Iterable[pa.RecordBatch]]]:
        """Give what makes the batches that formats take, in order (`formats.request.Rows`); a kind of run that has `letters` beside its rows adds them."""
        return self.pieces_of()

    def groups(self, most: int) -> Iterator[Call[Iterable[pa.Table]]]:
        """Give what makes tables of all rows of at most `most` bytes each (`formats.request.Rows`); where pieces are small, threads read them."""
        for table in text.in_batches(chain.from_iterable(read() for read in self._readers(self.schema.names)), most):
            yield Call(partial(list, [table]))

    def sampled(self, columns: list[str], most: int) -> Iterator[pa.Table]:
        """Give tables of about `most` rows at most, in no order: all, or those of parts that lie evenly among all, and of their row groups where these are
        many."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        parts = [(part, sum(part.counts.values())) for part in all_parts(self._parts)]
        for part, rows in evenly([(each, rows) for each, rows in parts if rows], most):
            file = opened(part.path, self._manifest.run)
            groups = [(group, file.metadata.row_group(group).num_rows) for group in range(file.num_row_groups)]
            for group, _ in evenly(groups, most) if rows > most else groups:
                yield file.read_row_group(group, columns=columns).select(columns).cast(schema)

    def unfinished(self, columns: list[str], most: int) -> Iterator[pa.Table]:
        """Give tables of rows that are capped or rejected, about the first `most`; of a search also those that are no hit in the end."""
        left = most
        for part in all_parts(self._parts):
            if left > 0 and (part.counts.get("capped") or part.counts.get("rejected")):
                for table in read_rows(part.path, self._manifest.run, pa.schema([self.schema.field(name) for name in dict.fromkeys((*columns, "status"))])):
                    found = table.filter(pc.is_in(table["status"], pa.array(["capped", "rejected"]))).select(columns)
                    left -= len(found)
                    yield found

    def _readers(self, columns: list[str]) -> Iterator[Reader]:
        """Give what reads each piece of the rows, in order: these columns of it."""
        raise NotImplementedError

    @cached_property
    def _parts(self) -> dict[str, list[PartFile]]:
        """Find the parts of each chunk. Refuses a run that is not finished, or has lost a part since."""
        if not self.complete:
            way_out = "run the same command again to go on; a shard that is done goes to `tidalign merge`, with the others"
            raise MissingInput(f"{self.path}: the run is not finished; {way_out}")
        parts, broken = scan(f"{self.path}/parts", self._manifest.run)
        for chunk, wanted in self._manifest.chunks.items():
            whole = sum(part.stop - part.start for part in parts.get(chunk, []))
            if whole != wanted and broken:
                raise Damaged(broken[0], "damaged, cut short, or of another run")
            if whole != wanted:
                found = f"whole parts for {whole} of the {wanted} {self.counted} of chunk {chunk}"
                raise MissingInput(f"{self.path}/parts: found {found}; run the same command again to mend it")
        return parts


def opened(path: str, run: str) -> Any:
    """Open a part that was found in a run. ManifestMismatch where it is gone, or is another run's, since: the directory is written anew."""
    with suppress(FileNotFoundError):
        file = open_table(path)
        if (file.metadata.metadata or {}).get(b"tidalign.run") == run.encode():
            return file
    raise changed(path)


def changed(path: str) -> ManifestMismatch:
    """Say of a part that it is no longer what was found of a run."""
    return ManifestMismatch(f"{path}: expected a part of the run that is read, which has changed meanwhile; read it again when it is finished")


def read_rows(path: str, run: str, schema: Any) -> Iterator[Any]:
    """Read the rows of a part of a run, a row group at a time: tables with the columns of a schema. Raises what `opened` does."""
    return tables_of(opened(path, run), schema)


def evenly(pieces: Sequence[tuple[P, int]], most: int) -> Iterator[tuple[P, int]]:
    """Give pieces with about `most` rows at most in all, or one, that lie evenly among all of them. pieces: each with its rows."""
    share = min(1.0, most / max(1, sum(rows for _, rows in pieces)))
    due = max((rows for _, rows in pieces[:1]), default=0) / 2
    for piece, rows in pieces:
        due += rows * share
        if share == 1.0 or due >= rows / 2:
            due -= rows
            yield piece, rows


def batches(read: Reader) -> Iterator[Any]:
    """Give a piece of the rows in record batches."""
    for table in text.in_batches(read(), text.BATCH_BYTES):
        yield from table.combine_chunks().to_batches(max_chunksize=BATCH_ROWS)
