"""Gather the results of a run over pairs block by block: a row for each, in input order, with the letters of the input where a format wants them."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.errors import Damaged, ManifestMismatch, MissingInput
from tidalign.pipeline.formats.export import export
from tidalign.pipeline.in_turn import Call
from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.manifest import BlockRecord, PairManifest, letters_path
from tidalign.pipeline.pairs.scored import ScoreParameters
from tidalign.pipeline.schema import ALIGNMENTS
from tidalign.pipeline.store.files import read_lasting
from tidalign.pipeline.store.layout import PAIRS
from tidalign.pipeline.store.results import Reader, RunResults, batches, read_rows
from tidalign.pipeline.text import in_batches, in_order

LETTERS = 18_000_000
"""Letters of the input that a thread reads at once, both sides together, about: of fewer, threads wait for each other's turns of the interpreter."""


class Results(RunResults[PairManifest]):
    """Give the alignments of a run, one row for each pair of the input, in `schema.ALIGNMENTS`.

    Only one block of the input is held in memory at a time, whatever the size of the run. Raises MissingInput when `path` holds no run or,
    on reading, when the run is not finished; ManifestMismatch when it was made with another layout.
    """

    layout = PAIRS
    manifest_type = PairManifest
    counted = "rows"

    @property
    def parameters(self) -> PairParameters | ScoreParameters:
        """Say what was computed: parameters of one of the aligners."""
        parameters: PairParameters | ScoreParameters = self._manifest.parameters
        return parameters

    @property
    def cigars(self) -> bool:
        """Tell whether the rows have CIGARs."""
        return not self.parameters.penalty_only

    @property
    def placed(self) -> bool:
        """Tell whether the rows have places."""
        return has_places(self.parameters)

    def __len__(self) -> int:
        """Count the pairs of the input, which is rows of the table."""
        return self._manifest.pairs

    def export(self, output: str | Path, *, format: str | None = None, notice: Callable[[str], None] | None = None, **options: Any) -> int:
        """Write the rows as SAM, BAM, PAF, TSV or Parquet, by the ending of `output` or `format`: see `pipeline.formats.export.export`.

        options: cigar, `=X`, or `M` for matches and mismatches alike; cs=True, the tag with the letters that differ (PAF, SAM and BAM); rg, a read group as
        `ID:x\\tSM:y` (SAM and BAM); lift, the path of a .fai file or True, for places on the contigs that targets are named after (all text and BAM);
        sort=True, by coordinate, with an index beside BAM (SAM and BAM).
        """
        if isinstance(options.get("lift"), bool):
            options["lift"] = "" if options["lift"] else None
        return export(self, str(output), format, notice=notice, **options)

    def pieces(self, letters: bool = False) -> Iterator[Call[Iterable[pa.RecordBatch]]]:
        """Give what makes the batches that formats take, in order; with `letters`, those of `schema.LETTERS` beside the rows (EXECUTION.md 13)."""
        if not letters:
            yield from super().pieces()
            return
        rows = _Blocks(self._manifest.blocks, list(self._readers(self.schema.names)))
        stop = 0
        for first, pairs, read in self._originals():
            stop = first + pairs
            yield Call(partial(_lettered, partial(rows.between, first, stop), read))
        if stop != len(self):
            raise _changed("the input")

    def groups(self, most: int) -> Iterator[Call[Iterable[pa.Table]]]:
        """Give what makes tables of each block (`formats.request.Rows`)."""
        for read in self._readers(self.schema.names):
            yield Call(partial(_cut, read, most))

    def _originals(self) -> Iterator[tuple[int, int, Callable[[], Any]]]:
        """Give pieces of the letters, in order: first pair, how many, and what reads them, kept ones or the input again. ManifestMismatch where it has changed,
        MissingInput where it is gone."""
        from tidalign.pipeline.pairs.input.read import PairSource, plan, read_block, stream_blocks  # nobody else wants what reads

        kept = [(block["first"], block["pairs"], letters_path(str(self.path), block["id"])) for block in self._manifest.blocks]
        there = [Path(path).exists() for *_, path in kept]
        if all(there):
            yield from ((first, pairs, partial(read_lasting, path, _ANEW)) for first, pairs, path in kept)
            return
        if any(there):
            raise Damaged(kept[there.index(False)][2], "gone", _ANEW)
        source = replace(PairSource.from_json(self.source), whole=True)
        _see_unchanged(source)
        if not source.has_ranges:
            yield from ((block.first, block.pairs, partial(_given, pairs)) for block, pairs in stream_blocks(source, block_bases=LETTERS))
            return
        blocks = plan(source, block_bases=LETTERS)
        yield from ((block.first, block.pairs, partial(read_block, source, block)) for block in blocks or ())

    def _readers(self, columns: list[str]) -> Iterator[Reader]:
        """Give what reads each block of the input, in order."""
        parts = self._parts
        for block in self._manifest.blocks:
            paths = [part.path for chunk in block["chunks"] for part in parts[chunk["id"]]]
            yield partial(_ordered, paths, self._manifest.run, columns, block)


def has_places(parameters: PairParameters | ScoreParameters) -> bool:
    """Tell whether rows that are made with these parameters have places."""
    return not isinstance(parameters, ScoreParameters) or parameters.report != "score"


def _cut(read: Reader, most: int) -> Iterator[Any]:
    return in_batches(read(), most)


def _ordered(paths: list[str], run: str, wanted: list[str], block: BlockRecord) -> Iterator[Any]:
    """Read the rows of one block by ordinal, the columns wanted, in tables."""
    columns = ["ordinal", *(name for name in wanted if name != "ordinal")]
    schema = pa.schema([ALIGNMENTS.field(name) for name in columns])
    table = pa.concat_tables([schema.empty_table(), *(rows for path in paths for rows in read_rows(path, run, schema))])
    ordinals = table["ordinal"].to_numpy()
    order = np.argsort(ordinals, kind="stable")
    if not np.array_equal(ordinals[order], np.arange(block["first"], block["first"] + block["pairs"])):
        raise RuntimeError(f"block {block['id']}: its parts do not hold each of its {block['pairs']} pairs once")
    yield from in_order(table.select(wanted), order)


_WITHOUT = "export .paf, .tsv or .parquet, which have no letters"


_ANEW = f"start again with --new and the same input, or {_WITHOUT}"
"""Says the way out where the letters are lost of an input that came through a pipe: a finished run reads nothing again."""


def _see_unchanged(source: Any) -> None:
    """Raise MissingInput where an input cannot be read again, ManifestMismatch where it is another than was read."""
    from tidalign.pipeline.files.sniff import sniff, with_time

    for known in source.inputs:
        if known.stream:
            raise MissingInput(
                f"{known.path}: expected the letters of the input, found a pipe, and none kept of it; run again with --new -o OUT.sam, or {_WITHOUT}"
            )
        try:
            found = sniff(known.path, allow_empty=True)
        except MissingInput as error:
            raise MissingInput(f"{error}; its letters are needed: put the input back, or {_WITHOUT}") from error
        if replace(found, mtime_ns=known.mtime_ns) != known:
            raise _changed(known.path)
        if found != known:
            wanted = "the input that was aligned, for its letters, found another time of change"
            raise ManifestMismatch(f"{known.path}: expected {wanted}; {with_time(known.path, known.mtime_ns)}; else run again, or {_WITHOUT}")


def _changed(path: str) -> ManifestMismatch:
    return ManifestMismatch(f"{path}: expected the input that was aligned, for its letters, found one that has changed since; run again, or {_WITHOUT}")


def _given(pairs: Any) -> Any:
    return pairs


class _Blocks:
    """Give the rows of any range of pairs: the thread that first wants a block reads it, and it is held until all of its rows were given."""

    def __init__(self, blocks: list[BlockRecord], readers: list[Reader]) -> None:
        self._firsts = [block["first"] for block in blocks]
        self._left = [block["pairs"] for block in blocks]
        self._stops = [first + pairs for first, pairs in zip(self._firsts, self._left, strict=True)]
        self._readers = readers
        self._tables: list[Any] = [None] * len(blocks)
        self._locks = [Lock() for _ in blocks]

    def between(self, start: int, stop: int) -> Iterator[Any]:
        """Read the rows of pairs [start, stop), in tables."""
        for place in range(bisect_right(self._firsts, start) - 1, bisect_left(self._firsts, stop)):
            first, last = max(start, self._firsts[place]), min(stop, self._stops[place])
            yield self._taken(place, last - first).slice(first - self._firsts[place], last - first)

    def _taken(self, place: int, rows: int) -> Any:
        with self._locks[place]:
            if self._tables[place] is None:
                self._tables[place] = pa.concat_tables(self._readers[place]())
            table = self._tables[place]
            self._left[place] -= rows
            if not self._left[place]:
                self._tables[place] = None
        return table


def _lettered(read: Reader, originals: Callable[[], Any]) -> Iterator[Any]:
    """Give a piece of the rows in record batches, the letters of their pairs beside them."""
    pairs = originals()  # before the rows: meanwhile another thread may read their block
    qualities = pairs["query_quality"] if "query_quality" in pairs.column_names else pa.nulls(len(pairs), pa.large_binary())
    first = pairs["ordinal"][0].as_py() if len(pairs) else 0
    for batch in batches(read):
        start, rows = batch["ordinal"][0].as_py() - first, len(batch)
        columns = {name: _one(pairs[name].slice(start, rows)) for name in ("query", "target")} | {"query_quality": _one(qualities.slice(start, rows))}
        for side in ("query", "target"):
            if len(columns[side]) != rows or not pc.all(pc.equal(pc.binary_length(columns[side]), batch[f"{side}_length"])).as_py():
                raise _changed(f"the input, pairs from {batch['ordinal'][0].as_py() + 1} on")
        yield pa.RecordBatch.from_arrays([*batch.columns, *columns.values()], [*batch.schema.names, *columns])


def _one(column: Any) -> Any:
    """Make a column one array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
