"""The results of a finished run, gathered from its parts as Arrow tables in input order."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidalign.pipeline.errors import MissingInput
from tidalign.pipeline.pairs.parameters import PairParameters
from tidalign.pipeline.schema import ALIGNMENTS, STATUSES
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import PAIRS
from tidalign.pipeline.store.parts import Part, counts, scan

BATCH_ROWS = 65_536
"""Most rows of a batch that `to_batches` gives."""

THREADS = 12
"""Blocks of the input that `map` works on at a time, at most."""


class Results:
    """Alignments of a run, one row for each pair of the input, in `schema.ALIGNMENTS`.

    Only one block of the input is held in memory at a time, whatever the size of the run. Raises MissingInput when `path` holds no run or,
    on reading, when the run is not finished; ManifestMismatch when it was made with another layout.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        rundir.require(str(path), PAIRS)
        manifest = rundir.read_manifest(str(path))
        if manifest is None:
            raise MissingInput(f"{path}: the run stopped before its input was partitioned; run the same command again to go on")
        self._manifest = manifest

    @property
    def schema(self) -> Any:
        """The Arrow schema of the rows."""
        return ALIGNMENTS

    @property
    def parameters(self) -> PairParameters:
        from tidalign.pipeline.pairs.aligner import described

        parameters: PairParameters = described(self._manifest["parameters"])[1]
        return parameters

    @property
    def source(self) -> dict[str, Any]:
        """What was read, as the run recorded it."""
        return dict(self._manifest["source"])

    @property
    def complete(self) -> bool:
        """Every pair has its row. Some may be capped or rejected: see `statuses`."""
        return rundir.finished(str(self.path)) is not None

    def __len__(self) -> int:
        """Pairs of the input, which is rows of the table."""
        return int(self._manifest["pairs"])

    def statuses(self) -> dict[str, int]:
        """Rows by status, every status named."""
        return dict.fromkeys(STATUSES, 0) | counts(self._parts())

    def to_batches(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Record batches of at most `BATCH_ROWS` rows in input order, all columns or those named."""
        for table in self._tables(columns):
            yield from table().to_batches(max_chunksize=BATCH_ROWS)

    def map(self, function: Callable[[Any], Any]) -> Iterator[Any]:
        """`function` of every batch of `to_batches`, in input order, made by up to `THREADS` threads, which hold a block each."""

        def made(table: Callable[[], Any]) -> list[Any]:
            return [function(batch) for batch in table().to_batches(max_chunksize=BATCH_ROWS)]

        coming: deque[Future[list[Any]]] = deque()
        threads = min(THREADS, os.cpu_count() or 1)
        with ThreadPoolExecutor(threads) as pool:
            try:
                for table in self._tables():
                    coming.append(pool.submit(made, table))
                    if len(coming) > threads:
                        yield from coming.popleft().result()
                while coming:
                    yield from coming.popleft().result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _tables(self, columns: list[str] | None = None) -> Iterator[Callable[[], Any]]:
        """What reads each block of the input, in order."""
        wanted = ALIGNMENTS.names if columns is None else columns
        parts = self._parts()
        for block in self._manifest["blocks"]:
            paths = [part.path for chunk in block["chunks"] for part in parts[chunk["id"]]]
            yield partial(_in_order, paths, wanted, block)

    def to_table(self, columns: list[str] | None = None) -> Any:
        """All rows as one table, which must fit in memory; `to_batches` needs no more than a block of them."""
        schema = ALIGNMENTS if columns is None else pa.schema([ALIGNMENTS.field(name) for name in columns])
        return pa.Table.from_batches(self.to_batches(columns), schema=schema)

    def export(self, output: str | Path, *, format: str | None = None, cigar: str = "=X", notice: Callable[[str], None] | None = None) -> int:
        """Write the rows as PAF, SAM, TSV or Parquet, by the suffix of `output` or `format`: see `pipeline.export.export`."""
        from tidalign.pipeline.pairs.formats.export import export  # it imports this module

        return export(self, str(output), format=format, cigar=cigar, notice=notice)

    def _parts(self) -> dict[str, list[Part]]:
        """The parts of each chunk. Refuses a run that is not finished, or has lost a part since."""
        if not self.complete:
            raise MissingInput(f"{self.path}: the run is not finished; run the same command again to go on")
        parts, _ = scan(f"{self.path}/parts", self._manifest["run"])
        for chunk in (chunk for block in self._manifest["blocks"] for chunk in block["chunks"]):
            rows = sum(part.stop - part.start for part in parts.get(chunk["id"], []))
            if rows != chunk["rows"]:
                found = f"whole parts for {rows} of the {chunk['rows']} rows of chunk {chunk['id']}"
                raise MissingInput(f"{self.path}/parts: found {found}; run the same command again to mend it")
        return parts


def _in_order(paths: list[str], wanted: list[str], block: dict[str, Any]) -> Any:
    """The rows of one block by ordinal, the columns wanted."""
    columns = ["ordinal", *(name for name in wanted if name != "ordinal")]
    schema = pa.schema([ALIGNMENTS.field(name) for name in columns])
    table = pa.concat_tables([schema.empty_table(), *(pq.read_table(path, columns=columns).cast(schema) for path in paths)])
    ordinals = table["ordinal"].to_numpy()
    order = np.argsort(ordinals, kind="stable")
    if not np.array_equal(ordinals[order], np.arange(block["first"], block["first"] + block["pairs"])):
        raise RuntimeError(f"block {block['id']}: its parts do not hold each of its {block['pairs']} pairs once")
    return table.take(pa.array(order)).combine_chunks().select(wanted)
