"""Read the sequences of one side of a search from one file: FASTA, FASTQ, Parquet or Arrow; checked, in tables of bounded size."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidalign.kernels.local.memory import MAX_LETTERS
from tidalign.pipeline.errors import InputError, MissingInput, shown
from tidalign.pipeline.files.sniff import Input, sniff
from tidalign.pipeline.pairs.input import stream, tables
from tidalign.pipeline.schema import SEQUENCES

COLUMN, NAME = "sequence", "name"
"""Of a table: letters, and names if it has any."""

READERS = 4
"""Threads that read one side, at most: more than that wait for who takes what they have read."""

INDEX = "tidalign.index"
"""In the metadata of a packed database."""


def inspect(path: str, role: str) -> Input:
    """Look at the file of a side (`queries`, `database`). MissingInput where there is none, or no query; InputError for what is none, or an empty database."""
    found = sniff(path, allow_empty=True)
    if found.format == "seq":
        raise InputError(found.path, "sequences in FASTA, FASTQ, Parquet or Arrow", "pairs (.seq)", "`tidalign pairs` aligns them")
    rows = found.format != "empty"
    if is_index(found):
        if role != "database":
            raise InputError(found.path, "queries in FASTA, FASTQ, Parquet or Arrow", "an index of a database", "give the sequences that it was made of")
        return found
    if found.is_table:
        rows = tables.check_schema(found, (COLUMN,), ("rename the column of letters; names are in a column `name`",), (NAME,))
    if not rows:
        if role == "database":
            raise empty_database(found.path)
        raise MissingInput(f"{found.path}: expected queries, found nothing: the file is empty; name another one")
    return found


def is_index(source: Input) -> bool:
    """Tell whether a database is packed: by its metadata, not its name."""
    if source.format != "parquet":
        return False
    try:
        return INDEX.encode() in (pq.read_metadata(source.path).metadata or {})
    except Exception:  # pyarrow has an error of its own for every kind of damage; who reads the table names it
        return source.path.endswith(".tidx")


def empty_database(path: str) -> InputError:
    """Say that there is nothing to search."""
    return InputError(path, "a database of one letter at least", "none", "name a file with sequences")


def records(source: Input, alphabet: str, threads: int = 1) -> Iterator[Any]:
    """Read all sequences as tables in `schema.SEQUENCES`, in order, by so many threads. Raises InputError for the first that is not right or too long."""
    first = 0
    for table in tables.records(source, COLUMN, NAME, alphabet) if source.is_table else stream.records(source, alphabet, threads=threads):
        lengths = pc.binary_length(table["letters"]).to_numpy()
        if lengths.max(initial=0) > MAX_LETTERS:
            row = int(lengths.argmax())
            found = f"{lengths[row]:,} in {shown(table['name'][row].as_py())}"
            raise InputError(source.path, f"sequences of at most {MAX_LETTERS:,} letters", found, "cut it", record=first + row + 1)
        yield sequences(table["name"], table["letters"], first)
        first += len(table)


def sequences(names: Any, letters: Any, first: int) -> Any:
    """Make a table in `schema.SEQUENCES` of names, or nulls for none, and letters, from ordinal `first` on."""
    ordinals = pa.array(np.arange(first, first + len(letters)))
    lengths = pc.binary_length(letters)
    named = ordinals.cast(pa.string()) if names is None or names.null_count else names
    return pa.table([ordinals, named, lengths.cast(pa.int64()), letters], schema=SEQUENCES)
