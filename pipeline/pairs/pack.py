"""Arrow columns of sequences to and from the flat arrays of the kernels, without a copy where the bytes agree."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.kernels.letters.sequences import PackedSequences, Sequences, pack
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.schema import CHUNK


def flat(column: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Bytes [offsets[-1]] and offsets [rows + 1] of a large_binary column; a null row is empty. Zero copy for one chunk."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    _, offset_buffer, data = array.buffers()
    if offset_buffer is None or len(array) == 0:
        return np.empty(0, np.uint8), np.zeros(len(array) + 1, np.int64)
    # A slice keeps its parent's buffers.
    offsets = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
    letters = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return letters[offsets[0] : offsets[-1]], offsets - offsets[0]


def column(letters: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], *, empty_is_null: bool = False) -> Any:
    """A large_binary array over the given bytes and offsets, zero copy."""
    validity = pa.py_buffer(np.packbits(np.diff(offsets) > 0, bitorder="little")) if empty_is_null else None
    buffers = [validity, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(letters))]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def sequences(letters: Any) -> Sequences:
    """A large_binary column of letters as the kernels take them."""
    return Sequences(*flat(letters))


def packed(chunk: Any, side: str) -> PackedSequences:
    """The `query` or `target` side of a table in `schema.CHUNK`."""
    codes, code_offsets = flat(chunk[side])
    ambiguous, ambiguous_offsets = flat(chunk[f"{side}_ambiguous"])
    return PackedSequences(codes, code_offsets, chunk[f"{side}_length"].to_numpy(), ambiguous, ambiguous_offsets)


def pack_pairs(pairs: Any, *, ambiguous: str = "mismatch", file: str = "input") -> Any:
    """`schema.PAIRS` to `schema.CHUNK`, in the same row order.

    With `ambiguous="error"` a letter other than ACGT raises InputError naming `file`, the record and the place.
    """
    columns: dict[str, Any] = {name: pairs[name] for name in ("ordinal", "query_name", "target_name")}
    for side in ("query", "target"):
        plain = sequences(pairs[side])
        short = pack(plain)
        if ambiguous == "error" and len(short.ambiguous):
            _refuse(pairs, side, plain, short, file)
        columns[f"{side}_length"] = np.diff(plain.offsets)
        columns[side] = column(short.codes, short.code_offsets)
        columns[f"{side}_ambiguous"] = column(short.ambiguous, short.ambiguous_offsets, empty_is_null=True)
    return pa.table(columns, schema=CHUNK)


def _refuse(pairs: Any, side: str, plain: Sequences, short: PackedSequences, file: str) -> None:
    row = int(np.flatnonzero(np.diff(short.ambiguous_offsets))[0])
    start, stop = int(plain.offsets[row]), int(plain.offsets[row + 1])
    letters = bytes(plain.letters[start:stop])
    place = next(i for i, letter in enumerate(letters) if letter not in b"ACGTacgt")
    name = pairs[f"{side}_name"][row].as_py()
    raise InputError(
        file,
        "only A, C, G and T",
        f"{chr(letters[place])!r} at position {place + 1} of {side} {name!r}",
        "use --ambiguous mismatch or match",
        record=pairs["ordinal"][row].as_py() + 1,
    )
