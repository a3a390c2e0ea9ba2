"""Look at the begin of an input of pairs: how many pairs it has by that, and a sample of them."""

import io
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.files.decompress import Damage, decompress
from tidalign.pipeline.files.sniff import Input
from tidalign.pipeline.pairs.input import stream, tables
from tidalign.pipeline.pairs.input.read import PairSource
from tidalign.pipeline.pairs.pack import pack_pairs, pair_table
from tidalign.pipeline.schema import CHUNK, SEQUENCES

HEAD_BYTES = 1 << 20
"""Of a file, as it lies on the disk."""

HEAD_BASES = 4_000_000


@dataclass(frozen=True, slots=True)
class Head:
    """Hold the begin of an input: its pairs (`schema.CHUNK`), how many pairs there are in all, about, and the bytes of all text, unpacked.

    whole: whether that is all, and the numbers exact. qualities: of the queries, where they are asked for and there are any.
    """

    chunk: Any
    pairs: float
    text: float
    whole: bool
    qualities: Any = None

    @property
    def scale(self) -> float:
        """Tell how many pairs of the input one of the begin stands for."""
        return self.pairs / max(1, len(self.chunk))

    @property
    def targets(self) -> float:
        """Estimate how many names of targets there are: few that come again and again are all."""
        names = len(pc.unique(self.chunk["target_name"]))
        return names * (self.scale if 2 * names > len(self.chunk) else 1.0)

    @property
    def letters(self) -> float:
        """Count the letters of the begin, both sides."""
        return sum(float(self.chunk[f"{side}_length"].to_numpy().sum()) for side in tables.SIDES)


def head(source: PairSource, ambiguous: str, *, plain: bool) -> Head:
    """Read the begin of an input. InputError for one that can be read only once, and for what is wrong in it."""
    if source.has_pipe:
        raise InputError(source.queries, "a file, to look at before it is read", "a pipe, which can be read only once", "write it to a file")
    if source.inputs[0].format == "empty":
        return Head(CHUNK.empty_table(), 0, 0, whole=True)
    if source.inputs[0].is_table:
        query, target, pairs = _of_table(source)
        text, whole = float(source.inputs[0].size), len(query) == pairs
    else:
        blocks = stream.stream_pairs(source.inputs, interleaved=source.interleaved, alphabet=source.alphabet, bases=HEAD_BASES, qualities=source.whole)
        query, target = next(blocks)
        whole = next(blocks, None) is None
        texts = [_text(each) for each in source.inputs]
        text = sum(of_all for of_all, _ in texts)
        pairs = texts[0][0] / texts[0][1] / (2 if source.interleaved else 1)
    table = pair_table(source.queries, 0, query, target)
    chunk = pack_pairs(table, ambiguous=ambiguous, file=source.queries, plain=plain)
    qualities = table["query_quality"] if "query_quality" in table.column_names else None
    return Head(chunk, float(len(chunk)) if whole else pairs, text, whole, qualities)


def _text(source: Input) -> tuple[float, float]:
    """Give the bytes of a file's text, unpacked, and of one record, by its begin."""
    with Path(source.path).open("rb") as file:
        raw = file.read(HEAD_BYTES)
    text = raw
    if source.compression != "none":
        pieces: list[bytes] = []
        reading = io.BytesIO(raw)
        with suppress(Damage):  # it was cut short here
            pieces.extend(decompress(reading.read))
        text = b"".join(pieces)
    lines = text.count(b"\n") or 1
    records = {"fastq": lines / 4, "seq": float(lines)}.get(source.format) or float(text.count(b"\n>") + text.startswith(b">")) or 1.0
    return source.size * len(text) / max(1, len(raw)), max(1.0, len(text)) / max(records, 0.25)


def _of_table(source: PairSource) -> tuple[Any, Any, float]:
    """Give the first rows of a table's two sides, and how many rows it has."""
    first = source.inputs[0]
    sides = [
        _first_rows(first, column, f"{side}_name", source.alphabet)
        for side, column in zip(tables.SIDES, (source.query_column, source.target_column), strict=True)
    ]
    rows = min(map(len, sides))
    return sides[0].slice(0, rows), sides[1].slice(0, rows), _rows_of(first)


def _first_rows(source: Input, column: str, name: str, alphabet: str) -> Any:
    """Give the first rows of a table that has any: batches before them may have none."""
    return next((table for table in tables.records(source, column, name, alphabet) if len(table)), SEQUENCES.empty_table())


def _rows_of(source: Input) -> float:
    """Count the rows of a table."""
    if source.format == "parquet":
        return float(pq.read_metadata(source.path).num_rows)
    file = pa.ipc.open_file(pa.memory_map(source.path))
    return float(sum(file.get_batch(batch).num_rows for batch in range(file.num_record_batches)))


def records(source: Input, alphabet: str) -> tuple[float, float, Any]:
    """Count the sequences of a side of a search, and their letters, by the begin of its file, and give the letters of those that are there. InputError for a
    file that can be read only once."""
    if source.stream:
        raise InputError(source.path, "a file, to look at before it is read", "a pipe, which can be read only once", "write it to a file")
    if source.is_table:
        table, count = _first_rows(source, "sequence", "name", alphabet), _rows_of(source)
    else:
        table, (text, record) = next(iter(stream.records(source, alphabet))), _text(source)
        count = text / record
    return count, count * float(pc.sum(pc.binary_length(table["letters"]), min_count=0).as_py()) / max(1, len(table)), table["letters"]
