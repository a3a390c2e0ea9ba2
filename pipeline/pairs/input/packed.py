"""Read a block of pairs straight into the columns of a chunk, where nothing in it is unusual: as `read_block` and `pack_pairs` do, in a third of the time and
with few returns to the interpreter, for whose lock threads wait."""

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.kernels.letters.packing import AMBIGUOUS, STRETCH_LETTERS
from tidalign.kernels.letters.sequences import PackedSequences
from tidalign.kernels.text import records
from tidalign.kernels.text.lines import is_plain_dna
from tidalign.pipeline.errors import MOST_HEADER, MOST_NAME
from tidalign.pipeline.files.decompress import PLAIN_BYTES, plain_range, read_range
from tidalign.pipeline.files.sniff import Input
from tidalign.pipeline.pairs.input import tables
from tidalign.pipeline.pairs.input.index import PairBlock, RecordSpan
from tidalign.pipeline.pairs.input.read import PairSource, reached
from tidalign.pipeline.pairs.pack import RecordPlace, column, pack_pairs, packed, pair_table
from tidalign.pipeline.schema import CHUNK


def packed_block(source: PairSource, block: PairBlock, *, ambiguous: str) -> Any:
    """Read the pairs of a planned block in `schema.CHUNK`; None where what is in it must be looked at more closely: errors, names and letters that few files
    have, and all that has to be kept as it was read."""
    if source.alphabet != "dna" or source.whole or source.same_names:
        return None
    if source.inputs[0].is_table:
        return _of_table(source, block, ambiguous)
    columns: dict[str, Any] = {"ordinal": pa.array(np.arange(block.first, block.first + block.pairs))}
    sides = [(0, 0, 2), (0, 1, 2)] if source.interleaved else [(0, 0, 1), (1, 0, 1)]
    found: dict[int, Any] = {}
    for side, (place, first, step) in zip(("query", "target"), sides, strict=True):
        if place not in found:  # the text of one side is looked at no more when that of the other is read, into the same memory
            found[place] = _found(source.inputs[place], block.spans[place])
        short = _packed(found[place], first, step, block.pairs, ambiguous) if found[place] else None
        if short is None:
            return None
        columns |= {f"{side}_{name}" if name else side: values for name, values in short.items()}
        if source.inputs[place].format == "seq":
            columns[f"{side}_name"] = columns["ordinal"].cast(pa.string())
    return pa.table([columns[name] for name in CHUNK.names], schema=CHUNK)


class _Side:
    """Collects one side of a block's rows in memory for all of them, some rows at a time.

    lengths: of their letters [rows].
    """

    def __init__(self, rows: int) -> None:
        self.lengths = np.empty(rows, np.int64)
        self._code_ends = np.zeros(rows + 1, np.int64)
        self._codes = np.empty(0, np.uint8)
        self._spans = np.empty((5, 0), np.int64)
        self._masks: dict[int, tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]] = {}

    def pack(self, first: int, letters: Any, ambiguous: str) -> bool:
        """Pack the letters of rows from `first` on, as they lie in Arrow's memory; tells whether nothing is unusual about them, else `put` is to follow."""
        short = pa.types.is_string(letters.type) or pa.types.is_binary(letters.type)
        if letters.null_count or not (short or pa.types.is_large_string(letters.type) or pa.types.is_large_binary(letters.type)):
            return False
        _, offsets, data = letters.buffers()
        bounds = np.frombuffer(offsets, np.int32 if short else np.int64)[letters.offset : letters.offset + len(letters) + 1]
        text = np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8)
        text.flags.writeable = False  # as in `_found`
        if self._spans.shape[1] != len(letters):
            self._spans = np.zeros((5, len(letters)), np.int64)
        spans = self._spans
        spans[records.LETTERS], spans[records.LETTERS_STOP] = bounds[:-1], bounds[1:]
        np.subtract(bounds[1:], bounds[:-1], out=spans[records.LENGTH])
        if spans[records.LENGTH].min() < 0 or bounds[0] < 0 or bounds[-1] > len(text):
            return False
        # What lies near the end of the memory is copied to be packed, without ends of lines.
        last = max(0, int(np.searchsorted(bounds, len(text) - STRETCH_LETTERS, "right")) - 1)
        if not is_plain_dna(text[bounds[last] : bounds[-1]]):
            return False
        rows, others = slice(first, first + len(letters)), np.empty(len(letters), np.bool_)
        name_ends, code_ends = np.empty(len(letters) + 1, np.int32), self._code_ends[first : rows.stop + 1]
        before = int(code_ends[0])
        longest = records.measure(spans, 0, 1, name_ends, self.lengths[rows], code_ends)
        code_ends += before
        self._make_room(rows.stop)
        if not records.fill(text, spans, 0, 1, longest, name_ends, np.empty(0, np.uint8), code_ends, self._codes, others):
            return False
        if others.any():
            self._masks[first] = _masks(text, spans, 0, 1, longest, self.lengths[rows], others)
        return ambiguous != "error" or not others.any()

    def put(self, first: int, rows: PackedSequences) -> None:
        """Put rows that were packed elsewhere in the places from `first` on."""
        stop = first + len(rows)
        self.lengths[first:stop] = rows.lengths
        self._code_ends[first : stop + 1] = self._code_ends[first] + rows.code_offsets
        self._make_room(stop)
        self._codes[self._code_ends[first] : self._code_ends[stop]] = rows.codes
        self._masks[first] = rows.ambiguous, rows.ambiguous_offsets

    def _make_room(self, rows: int) -> None:
        """Have room for the codes of all rows up to these, and if those that follow are as long for these, too."""
        if self._code_ends[rows] + records.SPARE > len(self._codes):
            codes = np.empty(max(self._code_ends[rows] * len(self.lengths) // rows, len(self._codes)) * 9 // 8 + records.SPARE, np.uint8)
            codes[: len(self._codes)] = self._codes
            self._codes = codes

    def columns(self) -> dict[str, Any]:
        """Make the columns of all rows."""
        masks: Any = pa.nulls(len(self.lengths), pa.large_binary())
        bit_ends = np.zeros(len(self.lengths) + 1, np.int64)
        for first, (_, ends) in self._masks.items():
            bit_ends[first + 1 : first + len(ends)] = np.diff(ends)
        if bit_ends.any():
            masks = column(np.concatenate([bits for bits, _ in self._masks.values()]), np.cumsum(bit_ends), empty_is_null=True)
        return {"length": self.lengths, "": column(self._codes[: self._code_ends[-1]], self._code_ends), "ambiguous": masks}


def _of_table(source: PairSource, block: PairBlock, ambiguous: str) -> Any:
    """Pack the rows of a table, some as soon as they are decoded: what is unusual among them is looked at more closely there."""
    table, letters, first = source.inputs[0], (source.query_column, source.target_column), 0
    sides = {side: _Side(block.pairs) for side in tables.SIDES}
    names: dict[str, list[Any]] = {side: [] for side in tables.SIDES}

    def made(batch: Any) -> Any:
        nonlocal first
        rows, place = pa.Table.from_batches([batch]), RecordPlace(table.path, block.first + first)
        plain = all(sides[side].pack(first, batch.column(name), ambiguous) for side, name in zip(tables.SIDES, letters, strict=True))
        if plain and tables.is_valid(batch.select([name for name in batch.schema.names if name not in letters])):
            found = {side: tables.names(rows, name, place) for side, name in zip(tables.SIDES, tables.NAMES, strict=True)}
            found["target"] = tables.placed(found["target"], sides["target"].lengths[first : first + len(batch)], rows, place)
        else:
            tables.see_valid(table, batch)
            pairs = pair_table(table.path, place.first, *(parsed := tables.sides(rows, letters, place)))
            chunk = pack_pairs(pairs, ambiguous=ambiguous, file=table.path)
            for side in tables.SIDES:
                sides[side].put(first, cast("PackedSequences", packed(chunk, side)))
            found = {side: each["name"].combine_chunks() for side, each in zip(tables.SIDES, parsed, strict=True)}
        for side in tables.SIDES:
            names[side].append(found[side])
        first += len(batch)
        return range(len(batch))

    with reached(source):
        tables.taken(table, letters, block.spans[0], made, checked=False)
    columns: dict[str, Any] = {"ordinal": pa.array(np.arange(block.first, block.first + block.pairs))}
    numbers = columns["ordinal"].cast(pa.string()) if any(found[0].null_count for found in names.values()) else None
    for side in tables.SIDES:
        columns |= {f"{side}_{name}" if name else side: values for name, values in sides[side].columns().items()}
        columns[f"{side}_name"] = numbers if names[side][0].null_count else pa.concat_arrays(names[side])
    return pa.table([columns[name] for name in CHUNK.names], schema=CHUNK)


def _found(text: Input, span: RecordSpan) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]] | None:
    """Read a span, and find its records; None where one is not plain."""
    if span.stop - span.start > PLAIN_BYTES:
        return None
    plain = text.compression == "none"
    try:
        read = plain_range(text.path, span.start, span.stop) if plain else read_range(text.path, text.compression, span.start, span.stop)
    except OSError:
        return None
    content, spans = np.frombuffer(read, np.uint8), np.empty((5, span.records), np.int64)
    content.flags.writeable = False  # whatever it was read into: kernels are compiled for one type of it
    whole = records.FINDERS[text.format](content, span.line_start, span.skip, MOST_NAME, MOST_HEADER, spans) == span.records
    return (content, spans) if whole else None


def _packed(found: tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]], first: int, step: int, count: int, ambiguous: str) -> dict[str, Any] | None:
    """Make the columns of a side, of every `step`-th record from `first` on; None where letters or names must be looked at."""
    text, spans = found
    name_ends, lengths, code_ends = np.empty(count + 1, np.int32), np.empty(count, np.int64), np.empty(count + 1, np.int64)
    longest = records.measure(spans, first, step, name_ends, lengths, code_ends)
    if longest < 0:
        return None
    names, codes = (np.empty(ends[-1] + records.SPARE, np.uint8) for ends in (name_ends, code_ends))
    others = np.empty(count, np.bool_)
    if not records.fill(text, spans, first, step, longest, name_ends, names, code_ends, codes, others) or (ambiguous == "error" and others.any()):
        return None
    masks = column(*_masks(text, spans, first, step, longest, lengths, others), empty_is_null=True) if others.any() else pa.nulls(count, pa.large_binary())
    named = pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(name_ends), pa.py_buffer(names[: name_ends[-1]])])
    return {"name": named, "length": lengths, "": column(codes[: code_ends[-1]], code_ends), "ambiguous": masks}


def _masks(
    text: npt.NDArray[np.uint8],
    spans: npt.NDArray[np.int64],
    first: int,
    step: int,
    longest: int,
    lengths: npt.NDArray[np.int64],
    others: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Mark letters other than A, C, G and T of the records that have `others`: bytes, and where those of each record end."""
    bit_ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.where(others, (lengths + 7) // 8, 0), out=bit_ends[1:])
    bits = np.zeros(bit_ends[-1], np.uint8)
    records.mask(text, spans, first, step, longest, AMBIGUOUS, bit_ends, bits)
    return bits, bit_ends
