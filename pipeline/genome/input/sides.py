"""The sides of a genome run on disk: each file read once, its letters and their codes mapped by every task."""

import os
import secrets
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tidalign.kernels.letters.nucleotides import Codes, encode
from tidalign.pipeline.errors import Damaged, ManifestMismatch
from tidalign.pipeline.files.decompress import crc32
from tidalign.pipeline.files.sniff import sniff
from tidalign.pipeline.genome.input.actions import Specifier
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.input.source import STANDARD_INPUT
from tidalign.pipeline.genome.input.twobit import is_twobit
from tidalign.pipeline.store.files import lasts, nearest, read_json, write_json, writing_error

_CODES, _RECORD = "codes", "side.json"
_PIECE = 1 << 24

_State = tuple[int, int, int]
"""Inode, size and time of change."""


def side_path(directory: str, side: int) -> str:
    """Name the folder of a side."""
    return f"{directory}/{side_name(side)}"


def side_name(side: int) -> str:
    """Name it as seen from the run directory."""
    return f"sides/s{side:04d}"


def read_side(directory: str, side: int, role: str, spec: str, ambiguous: str | None) -> dict[str, Any]:
    """Read a side into the run directory, whole or not at all; returns its record {id, role, spec, sequences, bases, empty, sums}.

    sums: a CRC-32 of each file of the side that is mapped. What is there is left alone.
    """
    path = side_path(directory, side)
    record = side_record(directory, side)
    if record is not None:
        return record
    genome = read_genome(spec, role=role, ambiguous=ambiguous)
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        Path(temporary).mkdir(parents=True)
    except OSError as error:
        raise writing_error(path, error) from error
    with ThreadPoolExecutor(1) as beside:
        saved = beside.submit(_save, genome, temporary)
        summed = _save_codes(genome, path, temporary)
        sums = saved.result() | {_CODES: summed}
    record = {"id": side, "role": role, "spec": spec, "sequences": len(genome), "bases": int(genome.lengths.sum()), "empty": len(genome.empty), "sums": sums}
    write_json(f"{temporary}/{_RECORD}", record)
    try:
        Path(temporary).rename(path)
    except OSError as error:
        shutil.rmtree(temporary)
        if (other := side_record(directory, side)) is None:  # else another process was first
            raise writing_error(path, error) from error
        return other
    return record


def _save(genome: Genome, folder: str) -> dict[str, int]:
    """Save a genome; returns the checksum of each file that is mapped."""
    genome.save(folder)
    return _sums(genome)


def _sums(genome: Genome) -> dict[str, int]:
    return {name: crc32(array.data) for name, array in genome.mapped().items()}


def _save_codes(genome: Genome, path: str, folder: str) -> int:
    """Write the codes of a genome into a folder that is to be `path`; returns their checksum."""
    summed = 0
    try:
        with Path(folder, _CODES).open("wb") as file:
            for start in range(0, len(genome.letters), _PIECE):
                codes = encode(genome.letters[start : start + _PIECE]).data
                file.write(codes)
                summed = crc32(codes, summed)
            file.flush()
            if lasts(path):
                os.fsync(file.fileno())
    except OSError as error:
        raise writing_error(path, error) from error
    return summed


def check_piped(directory: str, side: int, role: str, spec: str, ambiguous: str | None) -> None:
    """Raise ManifestMismatch where a side was read before and other sequences come through its pipe now. A terminal is not asked, and none at all will do."""
    record, path = side_record(directory, side), Specifier.parse(spec).path
    if record is None or (path in STANDARD_INPUT and (sys.stdin is None or sys.stdin.isatty())):
        return
    if not is_twobit(path) and sniff(path, allow_empty=True).format == "empty":
        return
    genome, before = read_genome(spec, role=role, ambiguous=ambiguous), Genome.load(side_path(directory, side))
    if genome.names != before.names or _sums(genome) | {_CODES: record["sums"][_CODES]} != record["sums"]:
        way_out = "hand over the same sequences, or none, to go on; --new throws this run away and starts again"
        raise ManifestMismatch(f"{directory}: this run was begun with other sequences from {path}; {way_out}")


def side_record(directory: str, side: int) -> dict[str, Any] | None:
    """Read what `read_side` said of a side; None where it is not there."""
    try:
        return read_json(f"{side_path(directory, side)}/{_RECORD}")
    except FileNotFoundError:
        return None


def load_side(directory: str, run: str, side: int, sequence: int | None = None) -> tuple[Genome, Codes]:
    """Load a side of a run and the codes of its array, both mapped; `sequence`: as if its file held only this one of its sequences.

    Every process looks once at all its bytes: Damaged where they are not what was written.
    """

    def mapped(path: str) -> tuple[Genome, Codes]:
        states = check_side(path)
        try:
            return _load_side(path, run, sequence, states)
        except FileNotFoundError as error:
            raise Damaged(error.filename, "gone") from error

    return nearest(directory, side_name(side), mapped)


def check_side(path: str) -> tuple[_State, ...]:
    """Check the files of a side's folder, each once as long as it does not change; returns their states. Damaged, naming the file, where one is not whole."""
    try:
        sums = read_json(f"{path}/{_RECORD}")["sums"]
        return tuple(_check_mapped(f"{path}/{name}", sums[name]) for name in sums)
    except FileNotFoundError as error:
        raise Damaged(error.filename, "gone") from error


def _check_mapped(path: str, expected: int) -> _State:
    status = Path(path).stat()
    state = status.st_ino, status.st_size, status.st_mtime_ns
    if not _fits(path, expected, state):
        raise Damaged(path, "damaged or cut short: its checksum does not fit")
    return state


@lru_cache(maxsize=4096)
def _fits(path: str, expected: int, state: _State) -> bool:
    return bool(state[1]) and crc32(np.memmap(path, np.uint8, "r").data) == expected


@lru_cache(maxsize=4)
def _load_side(path: str, run: str, sequence: int | None, states: tuple[_State, ...]) -> tuple[Genome, Codes]:
    genome = Genome.load(path)
    codes: Codes = np.asarray(np.memmap(Path(path, _CODES), np.uint8, "r"))  # of which thousands of slices are made
    return (genome, codes) if sequence is None else only(genome, codes, sequence)


def only(genome: Genome, codes: Codes, sequence: int) -> tuple[Genome, Codes]:
    """Make of one sequence of a side a side."""
    start, length = int(genome.starts[sequence]), int(genome.lengths[sequence])
    one = slice(sequence, sequence + 1)
    alone = Genome(
        genome.letters[start : start + length],
        genome.names[one],
        np.zeros(1, np.int64),
        genome.lengths[one],
        genome.offsets[one],
        genome.full_lengths[one],
        np.zeros(1, np.int64),
        genome.bounds(sequence),
        qualities=None if genome.qualities is None else genome.qualities[start : start + length],
    )
    return alone, codes[start : start + length]
