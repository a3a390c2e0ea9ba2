"""Make text of whole columns without a loop over rows: strings, lines, CIGARs as flat arrays of operations; and cut tables where their text is long.

The limits below are the only ones; a table, batch or row group of any stage is bounded by one of them, but for a row that is longer by itself.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.wavefront.alignments import Alignments, cigar_text
from tidalign.pipeline.schema import COUNTS

TABLE_BYTES = 1 << 27
"""Most bytes of rows that are held together, sorted together, or are one array: far below the 2 GiB of Arrow's strings, whose offsets have 32 bits."""

BATCH_BYTES = 1 << 26
"""Most bytes of a row group of a part, and of a batch that results give: several are held at a time."""

PIECE_BYTES = 1 << 22
"""Most bytes of a piece of a sorted run, of which one of each run is held while many are merged."""

MAX_TEXT_BYTES = (1 << 31) - 1
"""Bytes of one value of a column of strings, in Arrow and in Parquet."""


def cuts(weights: npt.NDArray[Any], limit: float, most: int) -> list[tuple[int, int]]:
    """Cut rows into consecutive ranges of at most `most` rows whose weights add up to at most `limit` (a heavier row stands alone)."""
    ranges = []
    start, total = 0, len(weights)
    sums = np.cumsum(weights)
    while start < total:
        base = sums[start - 1] if start else 0
        stop = int(np.searchsorted(sums, base + limit, side="right"))
        stop = min(max(stop, start + 1), start + most, total)
        ranges.append((start, stop))
        start = stop
    return ranges


def row_bytes(rows: Any) -> npt.NDArray[np.int64]:
    """Count the bytes of each row of a table or batch, int64[n]: 8 for each column, and its texts and letters."""
    sizes = np.full(rows.num_rows, 8 * rows.num_columns, np.int64)
    for column in rows.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type):
            sizes += pc.fill_null(pc.binary_length(column), 0).to_numpy()
    return sizes


def in_batches(tables: Iterable[Any], most: int) -> Iterator[Any]:
    """Cut the rows of tables, in order, into tables of at most `most` bytes, as many in each as fit; where they are cut depends on the rows alone."""
    held: list[Any] = []
    room = most
    for table in tables:
        sums, start = np.cumsum(row_bytes(table)), 0
        while start < len(sums):
            base = int(sums[start - 1]) if start else 0
            stop = int(np.searchsorted(sums, base + room, side="right"))
            if stop <= start and held:
                yield pa.concat_tables(held)
                held, room = [], most
                continue
            stop = max(stop, start + 1)
            held.append(table.slice(start, stop - start))
            room -= int(sums[stop - 1]) - base
            start = stop
    if held:
        yield pa.concat_tables(held)


def in_order(table: Any, order: npt.NDArray[Any]) -> Iterator[Any]:
    """Take the rows of a table at these indices, in their order, in tables of at most TABLE_BYTES. The table itself may be of any size."""
    sizes = row_bytes(table)[order]
    if sizes.sum() <= TABLE_BYTES:
        yield table.combine_chunks().take(pa.array(order))
        return
    wide = pa.schema([field.with_type(pa.large_string()) if field.type == pa.string() else field for field in table.schema])
    whole = table.cast(wide).combine_chunks()
    for start, stop in cuts(sizes, TABLE_BYTES, max(len(order), 1)):
        yield whole.take(pa.array(order[start:stop])).cast(table.schema)


def narrow(texts: Any) -> Any:
    """Make a large_string array without nulls a chunked array of strings, the type of columns. MemoryError for a text that a string cannot hold."""
    _, offset_buffer, data = texts.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[texts.offset : texts.offset + len(texts) + 1] if len(texts) else np.zeros(1, np.int64)
    sizes = np.diff(offsets)
    if sizes.max(initial=0) > MAX_TEXT_BYTES:
        raise MemoryError(f"a text of {sizes.max():,} bytes in one row, of at most {MAX_TEXT_BYTES:,}")
    chunks = []
    for start, stop in cuts(sizes, TABLE_BYTES, max(len(sizes), 1)):
        places = (offsets[start : stop + 1] - offsets[start]).astype(np.int32)
        letters = data.slice(int(offsets[start]), int(places[-1])) if data is not None else pa.py_buffer(b"")
        chunks.append(pa.Array.from_buffers(pa.string(), stop - start, [None, pa.py_buffer(places), letters]))
    return pa.chunked_array(chunks, pa.string())


def strings(values: Any) -> Any:
    """Make a column large_string, for offsets of 64 bits: long CIGARs of one batch may pass 2 GiB."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return array if array.type == pa.large_string() else array.cast(pa.large_string())


def empty() -> Any:
    return pa.scalar("", pa.large_string())


def joined(*pieces: Any) -> Any:
    """Join columns (of texts or whole numbers; a null is an empty text) and constant texts (str, bytes), one after the other, to one large_string for each row;
    of `Words` it is bytes, of no encoding."""
    from tidalign.kernels.text import writing  # numba is not loaded before it is wanted

    held = [_piece(piece) for piece in pieces]  # whose memory is read by address
    rows = next((len(values) for kind, values, *_ in held if kind != writing.CONSTANT), None)
    if rows is None:
        raise ValueError("only constant texts: give a column, whose rows are counted")
    columns = np.array([[kind, *addresses] for kind, _, *addresses in held], np.int64)
    ends = np.empty(rows + 1, np.int64)
    writing.measure_lines(columns, ends)
    text = np.empty(ends[-1], np.uint8)
    writing.write_lines(columns, ends, text)
    return pa.Array.from_buffers(pa.large_string(), rows, [None, pa.py_buffer(ends), pa.py_buffer(text)])


@dataclass(frozen=True, slots=True)
class Words:
    """Hold numbers that `joined` writes as the four bytes of a word, the lowest first. values: int64[n], of 32 bits, with a sign or without."""

    values: npt.NDArray[np.int64]


def _piece(piece: Any) -> tuple[Any, ...]:
    """Describe a piece of `joined`: its kind, what holds its memory, and the addresses that `measure_lines` takes."""
    from tidalign.kernels.text import writing

    if isinstance(piece, pa.Scalar):
        piece = piece.as_py() or ""
    if isinstance(piece, str | bytes):
        constant = piece.encode() if isinstance(piece, str) else piece
        held = np.frombuffer(constant or b" ", np.uint8)
        return writing.CONSTANT, held, held.ctypes.data, len(constant), 0, 0
    if isinstance(piece, Words):
        held = np.ascontiguousarray(piece.values, np.int64)
        return writing.WORDS, held, held.ctypes.data, 0, 0, 0
    array = piece.combine_chunks() if isinstance(piece, pa.ChunkedArray) else pa.array(piece) if isinstance(piece, np.ndarray) else piece
    if pa.types.is_integer(array.type):
        kind, array = writing.NUMBERS, array.cast(pa.int64())
    elif array.type in (pa.string(), pa.binary()):
        kind = writing.SHORT_TEXTS
    else:
        kind, array = writing.TEXTS, array if array.type == pa.large_binary() else array.cast(pa.large_string())
    buffers = array.buffers()
    bits = buffers[0].address if buffers[0] is not None and array.null_count else 0
    if kind == writing.NUMBERS:
        return kind, array, buffers[1].address + 8 * array.offset if buffers[1] else 0, 0, bits, array.offset
    offsets = buffers[1].address + (4 if kind == writing.SHORT_TEXTS else 8) * array.offset if buffers[1] else 0
    return kind, array, buffers[2].address if buffers[2] else 0, offsets, bits, array.offset


def content(lines: Any) -> memoryview:
    """Give the bytes of a large_string array, one row after the other, without a copy."""
    _, offset_buffer, data = lines.buffers()
    if len(lines) == 0 or data is None:
        return memoryview(b"")
    offsets = np.frombuffer(offset_buffer, np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(data)[offsets[0] : offsets[-1]]


def two_kinds(batch: Any, first: Any, first_lines: Any, second_lines: Any) -> Any:
    """Write lines of a batch whose rows are of two kinds, those where `first` holds and the others, each by its own function, in the order of the rows."""
    if pc.all(first).as_py() is not False:
        return first_lines(batch)
    mask = first.to_numpy(zero_copy_only=False)
    lines = pa.concat_arrays([first_lines(batch.filter(first)), second_lines(batch.filter(pc.invert(first)))])
    # Place of every row among the lines of its kind, those of the second kind after all of the first.
    places = np.where(mask, np.cumsum(mask) - 1, mask.sum() + np.cumsum(~mask) - 1)
    return lines.take(pa.array(places))


def alignment_score(batch: Any) -> Any:
    """Give the column of AS tags: the score, or minus the penalty."""
    if "penalty" not in batch.schema.names:
        return batch["score"]
    return pc.coalesce(batch["score"], pc.negate(batch["penalty"]))


def differences(form: int, rows: Any, alphabet: str) -> tuple[Any, npt.NDArray[np.int64]]:
    """Make a column of the tag `form` (`writing.MD`, `writing.CS`) of rows with CIGARs and letters, and count the letters that differ, int64[n].

    rows: their queries on the strand that is aligned (`strand_letters`)."""
    from tidalign.kernels.text import writing

    cigar, offsets = content_of(rows["cigar"])
    sides = []
    for side in ("query", "target"):
        letters, places = content_of(rows[side])
        sides += [letters, places[:-1] + rows[f"{side}_start"].to_numpy()]
    edits, ends, codes = np.empty(len(offsets) - 1, np.int64), np.zeros(len(offsets), np.int64), writing.BASES if alphabet == "dna" else writing.RESIDUES
    spans = sum(int(pc.sum(pc.subtract(rows[f"{side}_end"], rows[f"{side}_start"])).as_py() or 0) for side in ("query", "target"))
    text = np.empty(3 * spans + writing.NUMBER_BYTES * (len(edits) + 1), np.uint8)  # what is not written to takes no memory
    writing.differences(form, cigar, offsets, *sides, codes, edits, ends, text)
    return pa.Array.from_buffers(pa.large_string(), len(edits), [None, pa.py_buffer(ends), pa.py_buffer(text)]), edits


def content_of(column: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Give the bytes of a column of texts, and where each row lies in them, int64[n + 1]."""
    array = column.cast(pa.large_binary()) if column.type in (pa.string(), pa.large_string()) else column
    _, offset_buffer, data = array.buffers()
    places = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + len(array) + 1] if len(array) else np.zeros(1, np.int64)
    content = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    content.flags.writeable = places.flags.writeable = False  # whatever Arrow says of its buffers: kernels are compiled for one type of them
    return content, places


def status_tags(batch: Any) -> Any:
    """Write SAM's and PAF's tags `st:Z` (status) and `rs:Z` (reason) of the rows that are not exact: a column, or an empty text when all are."""
    exact = pc.equal(batch["status"], "exact")
    if pc.all(exact).as_py() is not False:
        return ""
    # Z takes printable ASCII only.
    reason = pc.replace_substring_regex(batch["reason"], "[^ -~]", " ")
    tag = pc.if_else(pc.is_valid(reason), pa.scalar("\trs:Z:", pa.large_string()), empty())
    return pc.if_else(exact, empty(), joined("\tst:Z:", batch["status"], tag, reason))


_CODES = np.zeros(256, np.int64)
_CODES[np.frombuffer(b"MIDNSHP=X", np.uint8)] = np.arange(9)
"""Of the letters, in the words of kernels/wavefront/alignments.py."""


_MERGED = np.arange(256, dtype=np.uint8)
_MERGED[np.frombuffer(b"=X", np.uint8)] = ord("M")


def counted(counts: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Give the columns `schema.COUNTS` by name from what kernels count of operations, int64[4, n] in that order."""
    return dict(zip((name for name, _ in COUNTS), counts, strict=True))


@dataclass(frozen=True, slots=True)
class Operations:
    """Operations of all rows, one after the other: row i has those of offsets[i]:offsets[i + 1]."""

    letters: npt.NDArray[np.uint8]  # [operations], ASCII
    lengths: npt.NDArray[np.int64]  # [operations]
    offsets: npt.NDArray[np.int64]  # [rows + 1]

    @classmethod
    def parse(cls, cigars: Any) -> "Operations":
        """Parse a string column of CIGARs such as `70=1X29=`; a null row has none."""
        from tidalign.kernels.text import columns  # numba is not loaded before it is wanted

        array = strings(cigars).fill_null("")
        _, offset_buffer, data = array.buffers()
        bounds = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
        text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
        return cls(*columns.parse(text, bounds))

    def merged(self) -> "Operations":
        """Merge operations: the same alignments with M for matches and mismatches alike; one without operations has 0M, as LASTZ writes HSPs of no letters."""
        letters = _MERGED[self.letters]
        # An operation starts a new run where its letter changes or its row begins.
        fresh = np.concatenate(([True], letters[1:] != letters[:-1])) if len(letters) else np.empty(0, bool)
        firsts = self.offsets[:-1][self.offsets[:-1] < self.offsets[1:]]
        fresh[firsts] = True
        places = np.flatnonzero(fresh)
        lengths = np.add.reduceat(self.lengths, places) if len(places) else self.lengths
        offsets = np.concatenate(([0], np.cumsum(fresh)))[self.offsets]
        without = np.diff(offsets) == 0
        before = offsets[:-1][without]
        inserted = np.concatenate(([0], np.cumsum(without)))
        return Operations(np.insert(letters[places], before, ord("M")), np.insert(lengths, before, 0), offsets + inserted)

    def text(self) -> Any:
        """Write a large_string column of CIGARs."""
        if self.lengths.max(initial=0) >= 1 << 28:
            return self._text_of_any_length()
        words = (self.lengths << 4 | _CODES[self.letters]).astype(np.uint32)
        none = np.zeros(len(self.offsets) - 1, np.int64)
        offsets = np.ascontiguousarray(self.offsets, np.int64)
        text, offsets = cigar_text(Alignments(none, none, none, none, none, cigar=words, cigar_offsets=offsets))
        return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(text)])

    def _text_of_any_length(self) -> Any:
        letters = pa.Array.from_buffers(
            pa.large_string(), len(self.letters), [None, pa.py_buffer(np.arange(len(self.letters) + 1)), pa.py_buffer(np.ascontiguousarray(self.letters))]
        )
        return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(self.offsets), joined(pa.array(self.lengths), letters)), empty())
