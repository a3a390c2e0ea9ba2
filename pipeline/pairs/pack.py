"""Make pairs: give every query its target, check names and letters, and pack letters for the kernels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.letters.sequences import PackedSequences, Sequences, pack
from tidalign.kernels.text.lines import has_controls, is_plain_dna, is_protein
from tidalign.pipeline.errors import MOST_NAME, SHORT_NAME, SHORTEN, InputError, shown
from tidalign.pipeline.schema import CHUNK, PAIRS


def split(records: Any) -> tuple[Any, Any]:
    """Split interleaved records into queries and targets."""
    rows = np.arange(0, len(records), 2)
    return records.take(rows), records.take(rows + 1)


def count_pairs(files: Sequence[str], records: Sequence[int], *, interleaved: bool) -> int:
    """Count the pairs in files of so many records; InputError if a record has no mate."""
    if interleaved:
        if records[0] % 2:
            raise InputError(files[0], "an even number of records, queries and targets in turn", f"{records[0]}", "add what is missing")
        return records[0] // 2
    if len(set(records)) > 1:
        way_out = "the i-th records are a pair: remove or add what has no mate"
        if records[0] >= 10 * records[1]:
            way_out = "each query needs a target of its own: this is no read mapper; docs/pairs.md says how windows are made of a mapper's BAM file"
        raise InputError(files[0], f"as many records as in {files[1]} ({records[1]})", f"{records[0]}", way_out)
    return records[0]


def pair_table(file: str, first: int, query: Any, target: Any, *, same_names: bool = False) -> Any:
    """Join two tables of `name` and `letters` (and `quality`, of queries) to one in `schema.PAIRS`, from ordinal `first`; a side without names gets its
    ordinals.

    same_names: the names of a pair must agree, but for /1 and /2 at their ends. file: for messages.
    """
    if same_names:
        if query["name"].null_count != target["name"].null_count:
            side = "query" if query["name"].null_count else "target"
            raise InputError(file, "names of both sides", f"none of the {side} sequences", f"add a column {side}_name, or leave out --same-names")
        bare = [pc.replace_substring_regex(side["name"], "/[12]$", "") for side in (query, target)]
        others = np.flatnonzero(pc.not_equal(*bare).fill_null(False).to_numpy())
        if len(others):
            row = int(others[0])
            found = " and ".join(shown(side["name"][row].as_py()) for side in (query, target))
            raise InputError(file, f"one name in pair {first + row + 1}", found, "leave out --same-names if the order alone tells pairs")
    ordinals = pa.array(np.arange(first, first + len(query)))
    columns = {"ordinal": ordinals}
    for side, records in (("query", query), ("target", target)):
        columns[f"{side}_name"] = ordinals.cast(pa.string()) if records["name"].null_count else records["name"]
        columns[side] = records["letters"]
    table = pa.table(columns, schema=PAIRS)
    if "quality" in query.column_names:
        table = table.append_column("query_quality", query["quality"])
    return table.combine_chunks()


def flat(column: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Give bytes [offsets[-1]] and offsets [rows + 1] of a large_binary column; a null row is empty. Zero copy for one chunk."""
    array = column
    if isinstance(column, pa.ChunkedArray):
        array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # which copies one chunk, too
    _, offset_buffer, data = array.buffers()
    if offset_buffer is None or len(array) == 0:
        return np.empty(0, np.uint8), np.zeros(len(array) + 1, np.int64)
    # A slice keeps its parent's buffers.
    offsets = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
    letters = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return letters[offsets[0] : offsets[-1]], offsets - offsets[0]


def column(letters: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], *, empty_is_null: bool = False) -> Any:
    """Make a large_binary array over the given bytes and offsets, zero copy."""
    validity = pa.py_buffer(np.packbits(np.diff(offsets) > 0, bitorder="little")) if empty_is_null else None
    buffers = [validity, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(letters))]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def sequences(letters: Any) -> Sequences:
    """Give a large_binary column of letters as the kernels take them."""
    return Sequences(*flat(letters))


def packed(chunk: Any, side: str, *, plain: bool = False) -> PackedSequences | Sequences:
    """Give the `query` or `target` side of a table in `schema.CHUNK`. plain: its letters are as they were read."""
    if plain:
        return sequences(chunk[side])
    codes, code_offsets = flat(chunk[side])
    ambiguous, ambiguous_offsets = flat(chunk[f"{side}_ambiguous"])
    return PackedSequences(codes, code_offsets, chunk[f"{side}_length"].to_numpy(), ambiguous, ambiguous_offsets)


def sides(chunk: Any, *, plain: bool) -> tuple[PackedSequences | Sequences, PackedSequences | Sequences]:
    """Take queries and targets of a table in `schema.CHUNK` as the kernels do: copied, where the table is of several pieces."""
    return packed(chunk, "query", plain=plain), packed(chunk, "target", plain=plain)


def pack_pairs(pairs: Any, *, ambiguous: str = "mismatch", file: str = "input", plain: bool = False) -> Any:
    """Pack `schema.PAIRS` to `schema.CHUNK`, in the same row order; with `plain` letters stay as they are.

    With `ambiguous="error"` a letter other than ACGT raises InputError naming `file`, the record and the place.
    """
    columns: dict[str, Any] = {name: pairs[name] for name in ("ordinal", "query_name", "target_name")}
    for side in ("query", "target"):
        columns |= pack_side(pairs, side, ambiguous=ambiguous, file=file, plain=plain)
    return pa.table(columns, schema=CHUNK)


def pack_side(pairs: Any, side: str, *, ambiguous: str, file: str, plain: bool) -> dict[str, Any]:
    """Give the columns of `schema.CHUNK` with the letters of one side of a table that has `ordinal` and of the side name and letters."""
    letters = sequences(pairs[side])
    lengths = {f"{side}_length": np.diff(letters.offsets)}
    if plain and ambiguous != "error":
        return lengths | {side: pairs[side], f"{side}_ambiguous": pa.nulls(len(pairs), pa.large_binary())}
    short = pack(letters)
    if ambiguous == "error" and len(short.ambiguous):
        _refuse(pairs, side, letters, short, file)
    ambiguous_letters = column(short.ambiguous, short.ambiguous_offsets, empty_is_null=True)
    return lengths | {side: column(short.codes, short.code_offsets), f"{side}_ambiguous": ambiguous_letters}


def _refuse(pairs: Any, side: str, plain: Sequences, short: PackedSequences, file: str) -> None:
    row = int(np.flatnonzero(np.diff(short.ambiguous_offsets))[0])
    start, stop = int(plain.offsets[row]), int(plain.offsets[row + 1])
    letters = bytes(plain.letters[start:stop])
    place = next(i for i, letter in enumerate(letters) if letter not in b"ACGTacgt")
    name = pairs[f"{side}_name"][row].as_py()
    raise InputError(
        file,
        "only A, C, G and T",
        f"{chr(letters[place])!r} at position {place + 1} of {side} {shown(name)}",
        "use --ambiguous mismatch or match",
        record=pairs["ordinal"][row].as_py() + 1,
    )


DNA = b"ACGTRYKMSWBDHVNacgtrykmswbdhvn"
"""ACGT and the IUPAC codes for one of several bases, in both cases."""

PROTEIN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz*"
"""Amino acids, the letters for one of several, and the stop."""

ALPHABETS = {"dna": (DNA, "DNA letters (ACGT, IUPAC codes)"), "protein": (PROTEIN, "protein letters (A to Z, *)")}
"""Letters that are read, and what messages call them."""

SURELY_DNA, OTHER_CODES = 200, 0.05
"""Say from how many letters on proteins are DNA that are all codes of bases, and up to which part of them codes may be none of _BASES."""

_BASES = b"ACGTUNacgtun"
_IS_BASE = np.isin(np.arange(256), np.frombuffer(_BASES, np.uint8))

RECORD_OF_DNA, BASES_OF_DNA = 50, 3
"""Say from how many letters on a record of proteins that are all _BASES, as many different ones, is DNA, whatever the others are."""

_CONTROLS = bytes([*range(32), 127])
_NAME_BYTES = bytes(sorted({*range(256)} - {*_CONTROLS}))
_AT_ONCE = 1_000_000  # bytes

_PROTEIN = "protein and other letters cannot be aligned as DNA; of proteins say so: --alphabet protein, of pairs with --matrix blosum62"
_NO_PROTEIN = "leave --alphabet protein, or the matrix of proteins, out: DNA has scores of its own"

_WAYS_OUT = {
    "U": "RNA: convert U to T",
    "\r": "line ends of CR alone: convert them to LF, tr '\\r' '\\n'",
    "-": "remove the gaps: sequences are aligned from the beginning",
    ".": "remove the gaps: sequences are aligned from the beginning",
    " ": "remove white space within sequences",
    "\t": "remove white space within sequences",
}


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Says where rows come from: `first` records of the file before them, `lines` lines a record (0: not known), `records` counted as one; and what their
    letters may be, of ALPHABETS."""

    file: str
    first: int
    lines: int = 0
    records: int = 1
    alphabet: str = "dna"

    def error(self, row: int, expected: str, found: str, way_out: str = "", *, line: int | None = None) -> InputError:
        """Make an InputError about a row. line: of the record, from 1."""
        record = self.first + int(row)
        number = record * self.lines + (line or 1) if self.lines else None
        return InputError(self.file, expected, found, way_out, record=record // self.records + 1, line=number)


def _others(letters: Any, allowed: bytes) -> bytes:
    """Find the first bytes that are not allowed; empty if all are."""
    for start in range(0, len(letters), _AT_ONCE):
        piece = letters[start : start + _AT_ONCE]
        usual = (allowed is DNA and is_plain_dna(piece)) or (allowed is PROTEIN and is_protein(piece)) or (allowed is _NAME_BYTES and not has_controls(piece))
        others = b"" if usual else bytes(piece).translate(None, allowed)
        if others:
            return others
    return b""


def check_letters(letters: Any, names: Any, place: RecordPlace) -> Any:
    """Check that a large_binary column, which is given back, is of the place's alphabet, and proteins are not DNA. names: to name the record by, or None."""
    data, offsets = flat(letters)
    allowed, expected = ALPHABETS[place.alphabet]
    others = _others(data, allowed)
    if not others:
        if place.alphabet == "protein":
            _check_proteins(data, offsets, expected, place)
        return letters
    at = int(np.flatnonzero(data == others[0])[0])
    row = int(np.searchsorted(offsets, at, "right")) - 1
    letter = bytes(data[at : min(at + 4, int(offsets[row + 1]))]).decode("utf-8", "ignore")[:1] if others[0] > 127 else chr(others[0])
    letter = letter or chr(others[0])
    of = f" of {shown(names[row].as_py())}" if names is not None else ""
    way_out = _WAYS_OUT.get(letter.upper(), _PROTEIN if letter in PROTEIN.decode() else "correct or remove the record")
    raise place.error(row, expected, f"{letter!r} at position {at - int(offsets[row]) + 1}{of}", way_out, line=min(2, place.lines))


def _check_proteins(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], expected: str, place: RecordPlace) -> None:
    """Refuse DNA among proteins: a record of nothing else, and records that together are hardly anything else."""
    rows = np.flatnonzero(np.diff(offsets) >= RECORD_OF_DNA)
    for letter in range(RECORD_OF_DNA):  # of proteins few are left after some
        rows = rows[_IS_BASE[data[offsets[rows] + letter]]]
    for row in rows.tolist():
        record = bytes(data[offsets[row] : offsets[row + 1]])
        if not record.translate(None, _BASES) and len({*record.upper()} - {ord("N")}) >= BASES_OF_DNA:
            raise place.error(row, expected, f"{len(record):,} letters that are all A, C, G, T, U or N", _NO_PROTEIN)
    if len(data) >= SURELY_DNA and (besides := _besides_bases(data)) <= OTHER_CODES * len(data):
        raise place.error(0, expected, f"{'hardly any' if besides else 'none'} but A, C, G, T, U and N among {len(data):,}", _NO_PROTEIN)


def _besides_bases(letters: npt.NDArray[np.uint8]) -> int:
    """Count the letters that are none of _BASES, where all are codes of bases; else all letters."""
    return len(letters) if _others(letters, DNA + b"Uu") else len(bytes(letters).translate(None, _BASES))


def check_names(names: Any, place: RecordPlace) -> Any:
    """Check names, a large_binary column, and give them as string. Names are UTF-8, have a letter at least, and no control characters."""
    data, offsets = flat(names)
    lengths = np.diff(offsets)
    if lengths.min(initial=1) == 0:
        raise place.error(int(lengths.argmin()), "a name", "none", "name every record")
    if lengths.max(initial=0) > MOST_NAME:
        raise place.error(int((lengths > MOST_NAME).argmax()), SHORT_NAME, "a longer one", SHORTEN)
    if others := _others(data, _NAME_BYTES):
        at = int(np.flatnonzero(data == others[0])[0])
        row = int(np.searchsorted(offsets, at, "right")) - 1
        way_out = _WAYS_OUT.get(chr(others[0]), "remove it")
        raise place.error(row, "a name of printable characters", f"{chr(others[0])!r} at its position {at - int(offsets[row]) + 1}", way_out)
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        for row, name in enumerate(names.to_pylist()):
            try:
                name.decode()
            except UnicodeDecodeError:
                raise place.error(row, "a name in UTF-8", shown(name), "convert it: iconv -f latin1 -t utf8") from None
        raise
