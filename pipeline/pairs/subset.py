"""Align any subset of the pairs of two sides, which numbers name: each side is read and packed once, whatever the pairs."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.pipeline.device import Device
from tidalign.pipeline.errors import shown
from tidalign.pipeline.pairs.aligner import Aligner, align_batch, rows
from tidalign.pipeline.pairs.pack import pack_side, packed
from tidalign.pipeline.pairs.threads import on_threads, shared
from tidalign.pipeline.schema import CHUNK

Numbers = npt.NDArray[np.int64]


def checked(pairs: Any, queries: int, targets: int) -> tuple[Numbers, Numbers]:
    """Read (i, j), numbers of queries and targets, as int64[k] each. ValueError for what is none, or names what is not there."""
    if not isinstance(pairs, tuple | list) or len(pairs) != 2:
        raise ValueError(f"pairs: expected (i, j), two arrays of whole numbers, found {shown(pairs)}")
    found = []
    for name, given, there, kind in (("i", pairs[0], queries, "queries"), ("j", pairs[1], targets, "targets")):
        try:
            numbers = np.asarray(given)
        except ValueError:  # lists of several lengths
            raise ValueError(f"pairs: expected {name} as an array of whole numbers, one for each pair, found {shown(given)}") from None
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise ValueError(f"pairs: expected {name} as an array of whole numbers, one for each pair, found {numbers.dtype} of {numbers.ndim} dimensions")
        outside = np.flatnonzero((numbers < 0) | (numbers >= there))
        if len(outside):
            raise ValueError(f"pairs: expected numbers of {kind} from 0 to {there - 1}, found {numbers[outside[0]]} at place {outside[0]} of {name}")
        found.append(numbers.astype(np.int64))
    if len(found[0]) != len(found[1]):
        raise ValueError(f"pairs: expected as many numbers in i as in j, found {len(found[0])} and {len(found[1])}")
    return found[0], found[1]


def side(letters: Any, names: Any, role: str, ambiguous: str, *, plain: bool) -> Any:
    """Pack a side: the columns of `schema.CHUNK` that are its own. names: a string array, or None for numbers from 0."""
    ordinals = pa.array(range(len(letters)), pa.int64())
    table = pa.table({"ordinal": ordinals, f"{role}_name": ordinals.cast(pa.string()) if names is None else names, role: letters})
    columns = {f"{role}_name": table[f"{role}_name"], **pack_side(table, role, ambiguous=ambiguous, file=f"{role} side", plain=plain)}
    return pa.table(columns, schema=pa.schema([CHUNK.field(name) for name in columns]))


def align(aligner: Aligner[Any], queries: Any, targets: Any, pairs: tuple[Numbers, Numbers], parameters: Any, on: Device, threads: int = 1) -> Any:
    """Align query i with target j for each of the pairs, by so many threads: a table in the aligner's schema, in their order."""
    sides = (queries, targets)
    lengths = [table[f"{role}_length"].to_numpy() for role, table in zip(("query", "target"), sides, strict=True)]
    weights = aligner.work(*(lengths[place][numbers] for place, numbers in enumerate(pairs)))
    form = aligner.on(on)
    letters = [packed(table, role, plain=parameters.plain) for role, table in zip(("query", "target"), sides, strict=True)]
    coded = form.coded(letters[0], letters[1], parameters) if form.coded and parameters.strand == "plus" else None

    def batch(start: int, stop: int) -> Any:
        numbers = [each[start:stop] for each in pairs]
        if coded is None:
            chunk = _joined([table.take(pa.array(each)) for table, each in zip(sides, numbers, strict=True)], start)
            return align_batch(aligner, chunk, parameters, on)
        named = [
            table.select([f"{role}_name", f"{role}_length"]).take(pa.array(each)) for role, table, each in zip(("query", "target"), sides, numbers, strict=True)
        ]
        return rows(aligner, _joined(named, start), coded(*numbers))

    tables = on_threads(batch, shared(weights, on, threads), on, threads)
    return pa.concat_tables([aligner.schema.empty_table(), *tables]).combine_chunks()


def _joined(sides: list[Any], first: int) -> Any:
    """Put columns of both sides beside each other, with ordinals from `first` on."""
    columns = {name: side[name] for side in sides for name in side.column_names}
    names = [name for name in CHUNK.names if name in columns]
    return pa.table({"ordinal": np.arange(first, first + len(sides[0])), **{name: columns[name] for name in names}})
