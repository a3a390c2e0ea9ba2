"""Lift places to the genome: a target that is named `chr:start-end`, from 1 and both ends included as `samtools faidx` has it, says where it was cut out.

A contig's length is that of a .fai file, whose contigs and order the header then has; a target may then be a whole contig, under its name, or end with its
contig before the end in its name, as `samtools faidx` cuts it. Without one it is the largest end of any target, and contigs come as they appear: enough for who
reads the file, but not for who compares its header with the genome.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.text.lines import copy_ranges, numbers_behind
from tidalign.pipeline.errors import InputError, MissingInput, shown
from tidalign.pipeline.formats.request import Pieces
from tidalign.pipeline.pairs.formats.targets import Piece, T, look
from tidalign.pipeline.text import content_of

Numbers = npt.NDArray[np.int64]

_EXPECTED = "a target named chr:start-end, from 1 and both ends included, as `samtools faidx` names it"


@dataclass(frozen=True)
class Contigs:
    """Hold the contigs that targets were cut out of: names, a string array, and lengths. whole: these are all of the genome, by its .fai file."""

    names: Any
    lengths: Numbers
    whole: bool = True

    def __len__(self) -> int:
        return len(self.names)

    def each(self, function: Callable[[Any, Numbers], T]) -> Iterator[T]:
        """Give what a function makes of the names and lengths, in the order of the header."""
        yield function(self.names, self.lengths)

    def numbers(self, names: Any) -> Numbers:
        """Number names by their contigs, int64[n], from 0; -1 for one that is not there."""
        found: Numbers = pc.fill_null(pc.index_in(names, self.names), -1).to_numpy().astype(np.int64)
        return found

    def lifted(self, batch: Any) -> Any:
        """Name the contigs of a batch's rows as their targets, and add `offset`, letters of the contig before the target."""
        contig, start, _ = _placed(batch, self if self.whole else None)
        number = self.numbers(contig)
        columns = {name: batch[name] for name in batch.schema.names}
        columns |= {"target_name": contig, "target_length": pa.array(self.lengths[number]), "offset": pa.array(start - 1)}
        return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def place(rows: Any, name: str) -> Any:
    """Give a column of places on targets: on contigs, where rows are lifted."""
    return pc.add(rows[name], rows["offset"]) if "offset" in rows.schema.names else rows[name]


Where = Callable[[str, int], tuple[str, int]]


def contigs(rows: Pieces, fai: str, where: Where = lambda role, ordinal: ("--lift", ordinal + 1)) -> Contigs:
    """Find the contigs of all targets, and look at every name. InputError for one that says no place, or a wrong one.

    fai: path of that file; empty: there is none. where: says the file and record of a target.
    """
    known = read_fai(fai) if fai else None
    lengths: dict[str, int] = {}
    for ends in look(rows, partial(_ends, known, fai, where)):
        for name, letters in ends:
            lengths[name] = max(lengths.get(name, 0), letters)
    return known or Contigs(*_columns(lengths), whole=False)


def _ends(known: Contigs | None, fai: str, where: Where, piece: Piece) -> list[tuple[str, int]]:
    """Look at the names of some targets; returns the contigs in them, none where they are known, with the largest end on each."""
    found: list[tuple[str, int]] = []
    for batch in piece():
        contig, start, end = _placed(batch, known)
        wrong = (end < 0) | (end - start + 1 != batch["target_length"].to_numpy())
        if known:
            number = known.numbers(contig)
            wrong |= (number < 0) | (end > known.lengths[number])
        if wrong.any():
            raise _error(batch, int(wrong.argmax()), known, fai, where)
        if known:
            continue
        names = pc.dictionary_encode(contig)
        last = np.zeros(len(names.dictionary), np.int64)
        np.maximum.at(last, names.indices.to_numpy(), end)
        found += zip(names.dictionary.to_pylist(), last.tolist(), strict=True)
    return found


def _columns(lengths: dict[str, int]) -> tuple[Any, Numbers]:
    return pa.array(list(lengths), pa.string()), np.array(list(lengths.values()), np.int64)


def _placed(batch: Any, known: Contigs | None) -> tuple[Any, Numbers, Numbers]:
    """Find contig, first and last letter of each target, as `_parsed`; where contigs are known also of a whole one, and of what ends with its contig."""
    contig, start, end = _parsed(batch)
    if known is None:
        return contig, start, end
    letters, number = batch["target_length"].to_numpy(), known.numbers(batch["target_name"])
    whole = (number >= 0) & (known.lengths[number] == letters)
    if whole.any():
        contig = pc.if_else(pa.array(whole), batch["target_name"], contig)
        start, end = np.where(whole, 1, start), np.where(whole, letters, end)
    lengths = known.lengths[known.numbers(contig)]
    return contig, start, np.where((end > lengths) & (start - 1 + letters == lengths), lengths, end)


def _parsed(batch: Any) -> tuple[Any, Numbers, Numbers]:
    """Parse contig, first and last letter of each target; null, and -1, where a name says none."""
    letters, places = content_of(batch["target_name"])
    stops, first, last = (np.empty(len(batch), np.int64) for _ in range(3))
    numbers_behind(letters, places, stops, first, last)
    ends = np.concatenate(([0], np.cumsum(np.where(stops < 0, 0, stops - places[:-1]))))
    contigs = np.empty(ends[-1], np.uint8)
    copy_ranges(letters, places[:-1], ends, contigs)
    known = pa.py_buffer(np.packbits(stops >= 0, bitorder="little"))
    return pa.Array.from_buffers(pa.string(), len(batch), [known, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(contigs)]), first, last


def _error(batch: Any, row: int, known: Contigs | None, fai: str, where: Where) -> InputError:
    """Say what is wrong with the name of a target."""
    contig, start, end = (column[row] for column in _parsed(batch))
    file, record = where("target", batch["ordinal"][row].as_py())
    name, letters = shown(batch["target_name"][row].as_py()), batch["target_length"][row].as_py()
    lengths = dict(zip(known.names.to_pylist(), known.lengths.tolist(), strict=True)) if known else {}
    if not contig.is_valid and (length := lengths.get(batch["target_name"][row].as_py())):
        return InputError(file, f"the {length:,} letters of {name} in {fai}", f"{letters:,}", "name its place, chr:start-end", record=record)
    if not contig.is_valid:
        return InputError(file, _EXPECTED, name, "leave --lift out" + ("" if known else ", or give FILE.fai if it is a whole contig"), record=record)
    if end < start and end - start + 1 != letters:
        return InputError(file, f"{_EXPECTED}, its end not before its start", name, "correct the name, or leave --lift out", record=record)
    if known and (contig.as_py() not in lengths or start > lengths[contig.as_py()] + 1 or (end > lengths[contig.as_py()] and end - start + 1 == letters)):
        found = f"one of {lengths[contig.as_py()]:,}" if contig.as_py() in lengths else "none"
        return InputError(file, f"a contig for {name} in {fai}", found, "give the .fai of the genome that targets were cut out of", record=record)
    over = "" if known or letters > end - start + 1 else "give --lift FILE.fai where the contig ends before, "
    expected = min(end, lengths.get(contig.as_py(), end)) - start + 1
    return InputError(file, f"{expected:,} letters in {name}", f"{letters:,}", f"{over}name it from 1, both ends included, or leave --lift out", record=record)


def read_fai(fai: str) -> Contigs:
    """Read the contigs of a .fai file, in its order. MissingInput where it cannot be read, InputError where it is none."""
    lengths: dict[str, int] = {}
    try:
        lines = Path(fai).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        trouble = getattr(error, "strerror", None) or error
        raise MissingInput(f"{fai}: cannot be read as the .fai of --lift: {trouble}; `samtools faidx GENOME.fa` makes GENOME.fa.fai") from error
    for number, line in enumerate(lines):
        name, _, rest = line.partition("\t")
        length = rest.partition("\t")[0]
        if not name or not length.isdecimal() or name in lengths:
            found = f"{name} again" if name in lengths else shown(line)
            raise InputError(fai, "a contig and its length, as `samtools faidx` writes them", found, "make it again: samtools faidx", line=number + 1)
        lengths[name] = int(length)
    if not lengths:
        raise MissingInput(f"{fai}: empty; make it again: samtools faidx")
    return Contigs(*_columns(lengths))
