"""Gather the results of a search chunk by chunk of its queries: of each the best hits first."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.export import export
from tidalign.pipeline.in_turn import Call
from tidalign.pipeline.schema import SEARCH_HITS, STATUSES
from tidalign.pipeline.search.hits import merged
from tidalign.pipeline.search.manifest import Queries, SearchManifest
from tidalign.pipeline.search.parameters import SearchParameters
from tidalign.pipeline.store.layout import SEARCH
from tidalign.pipeline.store.parts import PartFile
from tidalign.pipeline.store.results import Reader, RunResults, batches, evenly, read_rows
from tidalign.pipeline.text import in_order

KEYS = ("ordinal", "score", "target_ordinal", "strand", "status")


class SearchResults(RunResults[SearchManifest]):
    """Give the hits of a search in `schema.SEARCH_HITS`: queries in the order of the input, of each the best first; a query without a hit has no row.

    Only the hits of one chunk of queries are held in memory at a time. Raises MissingInput when `path` holds no run or, on reading, when the run is not
    finished; ManifestMismatch when it was made with another layout.
    """

    layout = SEARCH
    manifest_type = SearchManifest
    counted = "queries"

    @property
    def parameters(self) -> SearchParameters:
        """Say what was computed."""
        parameters: SearchParameters = self._manifest.parameters
        return parameters

    @property
    def cigars(self) -> bool:
        """Tell whether the rows have CIGARs."""
        return bool(self.parameters.report == "cigar")

    @property
    def placed(self) -> bool:
        """Tell whether the rows have places."""
        return bool(self.parameters.report != "score")

    def __len__(self) -> int:
        """Count the rows."""
        return sum(self.statuses().values())

    def statuses(self) -> dict[str, int]:
        """Count the rows by status, every status named."""
        return dict.fromkeys(STATUSES, 0) | self._counted[0]

    @property
    def without_hits(self) -> int:
        """Count the queries that have no row."""
        return sum(self._manifest.chunks[next(self._manifest.parts_of(each))[0]] for each in self._manifest.queries) - self._counted[1]

    @cached_property
    def _counted(self) -> tuple[Counter[str], int]:
        return counted(self._manifest, self._parts)

    def export(self, output: str | Path, *, format: str | None = None, cigar: str = "=X", notice: Callable[[str], None] | None = None) -> int:
        """Write the rows as BLAST tabular (.m8), PAF, SAM, TSV or Parquet, by the ending of `output` or `format`: see `pipeline.formats.export.export`.

        cigar: `=X`, or `M` for matches and mismatches alike (PAF and SAM).
        """
        return export(self, str(output), format, cigar=cigar, notice=notice)

    def pieces(self, letters: bool = False) -> Iterator[Call[Iterable[pa.RecordBatch]]]:
        """Give what makes the batches that formats take, in order, with what `with_firsts` adds."""
        for read in self._readers(self.schema.names):
            yield Call(partial(with_firsts, read))

    def sampled(self, columns: list[str], most: int) -> Iterator[pa.Table]:
        """Give tables of about `most` hits at most, of chunks of queries that lie evenly among all."""
        chunks = [(read, 1) for read in self._readers(columns)]
        share = min(1.0, most / max(1, len(self)))
        for read, _ in evenly(chunks, max(1, round(share * len(chunks)))):
            yield from read()

    def _readers(self, columns: list[str]) -> Iterator[Reader]:
        """Give what reads the hits of each chunk of queries, in order."""
        for queries in self._manifest.queries:
            yield partial(_best, self._manifest, self._parts, queries, columns)


def with_firsts(read: Reader) -> Iterator[pa.RecordBatch]:
    """Give the rows of a chunk of queries in record batches with the column `first`: whether a row is the first of its query, whose rows may go on from one
    batch to the next."""
    before = -1
    for batch in batches(read):
        ordinals = batch["ordinal"].to_numpy()
        yield batch.append_column("first", pa.array(np.diff(ordinals, prepend=before) != 0))
        before = ordinals[-1]


def counted(manifest: SearchManifest, parts: dict[str, list[PartFile]]) -> tuple[Counter[str], int]:
    """Count the rows of a search by status, and the queries that have any, from the parts of its chunks."""
    statuses: Counter[str] = Counter()
    queries = 0
    for each in manifest.queries:
        last = np.array([-1])  # one table's last query may go on in the next
        for table in _best(manifest, parts, each, ["ordinal", "status"]):
            statuses.update({entry["values"]: entry["counts"] for entry in pc.value_counts(table["status"]).to_pylist()})
            ordinals = np.append(last, table["ordinal"].to_numpy())
            queries, last = queries + len(np.unique(ordinals)) - 1, ordinals[-1:]
    return statuses, queries


def _best(manifest: SearchManifest, parts: dict[str, list[PartFile]], queries: Queries, wanted: list[str]) -> Iterator[Any]:
    """Read the best hits of a chunk of queries, the columns wanted, in tables."""
    paths = [part.path for chunk, _ in manifest.parts_of(queries) for part in parts[chunk]]
    if len(manifest.database.slices) == 1:  # nothing is to be merged
        schema = pa.schema([SEARCH_HITS.field(name) for name in wanted])
        for path in paths:
            yield from read_rows(path, manifest.run, schema)
        return
    schema = pa.schema([SEARCH_HITS.field(name) for name in dict.fromkeys((*wanted, *KEYS))])
    table = pa.concat_tables([schema.empty_table(), *(rows for path in paths for rows in read_rows(path, manifest.run, schema))])
    order, rank = merged(table, manifest.parameters.top)
    if "rank" in wanted:
        table = table.set_column(table.schema.get_field_index("rank"), schema.field("rank"), rank)
    yield from in_order(table.select(wanted), order)
