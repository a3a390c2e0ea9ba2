"""Lift places to the genome: a target that is named `chr:start-end`, from 1 and both ends included as `samtools faidx` has it, says where it was cut out.

A contig's length is that of a .fai file, whose contigs and order the header then has. Without one it is the largest end of any target, and contigs come as they
appear: enough for who reads the file, but not for who compares its header with the genome.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.text.lines import copy_ranges, numbers_behind
from tidalign.pipeline.errors import InputError, MissingInput, shown
from tidalign.pipeline.formats.request import Batches
from tidalign.pipeline.text import content_of

Numbers = npt.NDArray[np.int64]

_EXPECTED = "a target named chr:start-end, from 1 and both ends included, as `samtools faidx` names it"


@dataclass(frozen=True)
class Contigs:
    """Hold the contigs that targets were cut out of: names, a string array, and lengths."""

    names: Any
    lengths: Numbers

    def __len__(self) -> int:
        return len(self.names)

    def batches(self) -> Iterator[tuple[Any, Numbers]]:
        """Give names and lengths, in the order of the header."""
        yield self.names, self.lengths

    def numbers(self, names: Any) -> Numbers:
        """Number names by their contigs, int64[n], from 0; -1 for one that is not there."""
        found: Numbers = pc.fill_null(pc.index_in(names, self.names), -1).to_numpy().astype(np.int64)
        return found

    def lifted(self, batch: Any) -> Any:
        """Name the contigs of a batch's rows as their targets, and add `offset`, letters of the contig before the target."""
        contig, start, _ = _parsed(batch)
        number = self.numbers(contig)
        columns = {name: batch[name] for name in batch.schema.names}
        columns |= {"target_name": contig, "target_length": pa.array(self.lengths[number]), "offset": pa.array(start - 1)}
        return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def place(rows: Any, name: str) -> Any:
    """Give a column of places on targets: on contigs, where rows are lifted."""
    return pc.add(rows[name], rows["offset"]) if "offset" in rows.schema.names else rows[name]


Where = Callable[[str, int], tuple[str, int]]


def contigs(rows: Batches, fai: str, where: Where = lambda role, ordinal: ("--lift", ordinal + 1)) -> Contigs:
    """Find the contigs of all targets, and look at every name. InputError for one that says no place, or a wrong one.

    fai: path of that file; empty: there is none. where: says the file and record of a target.
    """
    lengths = _read(fai) if fai else {}
    known = bool(lengths)
    for batch in rows.to_batches(["ordinal", "target_name", "target_length"]):
        contig, start, end = _parsed(batch)
        wrong = np.flatnonzero((end < 0) | (end - start + 1 != batch["target_length"].to_numpy()))
        if len(wrong):
            raise _error(batch, int(wrong[0]), lengths, fai, where)
        names = pc.dictionary_encode(contig)
        numbers, each = names.indices.to_numpy(), names.dictionary.to_pylist()
        if known:
            most = np.array([lengths.get(name, 0) for name in each], np.int64)
            if len(wrong := np.flatnonzero(end > most[numbers])):
                raise _error(batch, int(wrong[0]), lengths, fai, where)
            continue
        last = np.zeros(len(each), np.int64)
        np.maximum.at(last, numbers, end)
        for name, letters in zip(each, last.tolist(), strict=True):
            lengths[name] = max(lengths.get(name, 0), letters)
    return Contigs(pa.array(list(lengths), pa.string()), np.array(list(lengths.values()), np.int64))


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


def _error(batch: Any, row: int, lengths: dict[str, int], fai: str, where: Where) -> InputError:
    """Say what is wrong with the name of a target."""
    contig, start, end = (column[row] for column in _parsed(batch))
    file, record = where("target", batch["ordinal"][row].as_py())
    name, letters = shown(batch["target_name"][row].as_py()), batch["target_length"][row].as_py()
    if not contig.is_valid:
        return InputError(file, _EXPECTED, name, "leave --lift out", record=record)
    if end - start + 1 != letters:
        return InputError(file, f"{end - start + 1} letters in {name}", f"{letters}", "name it from 1, both ends included, or leave --lift out", record=record)
    found = f"one of {lengths[contig.as_py()]:,}" if contig.as_py() in lengths else "none"
    return InputError(file, f"a contig for {name} in {fai}", found, "give the .fai of the genome that targets were cut out of", record=record)


def _read(fai: str) -> dict[str, int]:
    """Read the lengths of a .fai file by name, in its order."""
    lengths: dict[str, int] = {}
    try:
        lines = Path(fai).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise MissingInput(f"{fai}: cannot be read as the .fai of --lift: {error}") from error
    for number, line in enumerate(lines):
        name, _, rest = line.partition("\t")
        length = rest.partition("\t")[0]
        if not name or not length.isdecimal() or name in lengths:
            found = f"{name} again" if name in lengths else shown(line)
            raise InputError(fai, "a contig and its length, as `samtools faidx` writes them", found, "make it again: samtools faidx", line=number + 1)
        lengths[name] = int(length)
    if not lengths:
        raise MissingInput(f"{fai}: empty; make it again: samtools faidx")
    return lengths
