"""Keep the sides of a genome run on disk: each file is read once, and every task maps its letters and their codes.

sides/s<folder>/letters, codes     of one large file, or of many small ones one after the other
sides/s<folder>/genome.json        for each side there, all but its letters, and where these begin
sides/s<folder>/side.json          what is said of each side (`read_sides`), and a CRC-32 of each file that is mapped

A side is known by a number, IN_A_FOLDER times that of its folder, and its place there. A file that is target and query has its letters there once.
"""

import os
import secrets
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tidalign.kernels.letters.nucleotides import Codes, encode
from tidalign.pipeline.errors import Damaged, MissingInput
from tidalign.pipeline.files.decompress import crc32
from tidalign.pipeline.genome.input.read import read_roles
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.store.files import lasts, nearest, read_json, write_json, writing_error

IN_A_FOLDER = 1000
"""Sides that one folder can have."""

LETTERS, CODES, _PLACES, _RECORD = "letters", "codes", "genome.json", "side.json"
_PIECE = 1 << 24

Side = tuple[str, str]
"""Role and specifier (`path[actions]`)."""

_State = tuple[int, int, int]
"""Inode, size and time of change."""


def folder_name(folder: int) -> str:
    """Name a folder of sides as seen from the run directory."""
    return f"sides/s{folder:04d}"


def read_sides(directory: str, folder: int, sides: Sequence[Side], ambiguous: str | None, identity: str = "") -> list[dict[str, Any]]:
    """Read the sides of a folder, those of one file beside each other, into the run directory, all or none; returns the record of each:
    {id, role, spec, sequences, bases, empty}.

    identity: tells whether their files are the same again. What is there of the same is left alone.
    """
    path = f"{directory}/{folder_name(folder)}"
    if (records := folder_records(directory, folder, sides, identity)) is not None:
        return records
    shutil.rmtree(path, ignore_errors=True)  # of a call that stopped before it had planned with what it read
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    records, places, sums = [], [], [0, 0]
    try:
        Path(temporary).mkdir(parents=True)
        with Path(temporary, LETTERS).open("wb") as letters, Path(temporary, CODES).open("wb") as codes:
            for spec in dict.fromkeys(spec for _, spec in sides):
                roles, at = [role for role, each in sides if each == spec], letters.tell()
                genomes = read_roles(spec, roles, ambiguous)
                for role, genome in zip(roles, genomes, strict=True):
                    said = {"sequences": len(genome), "bases": int(genome.lengths.sum()), "empty": len(genome.empty)}
                    records.append({"id": IN_A_FOLDER * folder + len(records), "role": role, "spec": spec, **said})
                    places.append({"at": at, "size": len(genome.letters), **genome.to_json()})
                sums = _write(genomes[0], (letters, codes), sums)
            for file in (letters, codes):
                file.flush()
                if lasts(path):
                    os.fsync(file.fileno())
    except MissingInput:  # of what was to be written
        raise
    except OSError as error:
        raise writing_error(path, error) from error
    write_json(f"{temporary}/{_PLACES}", {"genomes": places})
    write_json(f"{temporary}/{_RECORD}", {"sides": records, "identity": identity, "sums": dict(zip((LETTERS, CODES), sums, strict=True))})
    try:
        Path(temporary).rename(path)
    except OSError as error:
        shutil.rmtree(temporary)
        if (other := folder_records(directory, folder, sides, identity)) is None:  # else another process was first
            raise writing_error(path, error) from error
        return other
    return records


def _write(genome: Genome, files: tuple[BinaryIO, BinaryIO], sums: list[int]) -> list[int]:
    """Write letters and codes behind those that are there; returns the checksums of all."""

    def letters() -> int:
        files[0].write(genome.letters.data)
        return crc32(genome.letters.data, sums[0])

    def codes() -> int:
        summed = sums[1]
        for start in range(0, len(genome.letters), _PIECE):
            piece = encode(genome.letters[start : start + _PIECE]).data
            files[1].write(piece)
            summed = crc32(piece, summed)
        return summed

    if len(genome.letters) <= _PIECE:
        return [letters(), codes()]
    with ThreadPoolExecutor(1) as beside:
        saved = beside.submit(letters)
        summed = codes()
        return [saved.result(), summed]


def folder_records(directory: str, folder: int, sides: Sequence[Side], identity: str) -> list[dict[str, Any]] | None:
    """Read what `read_sides` said of a folder; None where it is not there, or has others."""
    try:
        said = read_json(f"{directory}/{folder_name(folder)}/{_RECORD}")
    except FileNotFoundError:
        return None
    records: list[dict[str, Any]] = said["sides"]
    return records if [(record["role"], record["spec"]) for record in records] == list(sides) and said["identity"] == identity else None


def load_side(directory: str, run: str, side: int, sequence: int | None = None) -> tuple[Genome, Codes]:
    """Load a side of a run and the codes of its array, both mapped; `sequence`: as if its file held only this one of its sequences.

    Every process looks once at all its bytes: Damaged where they are not what was written.
    """
    folder, place = divmod(side, IN_A_FOLDER)

    def mapped(path: str) -> tuple[Genome, Codes]:
        states = check_folder(path)
        try:
            return _load_side(path, run, place, sequence, states)
        except FileNotFoundError as error:
            raise Damaged(error.filename, "gone") from error

    return nearest(directory, folder_name(folder), mapped)


def check_folder(path: str) -> tuple[_State, ...]:
    """Check the files of a folder of sides, each once as long as it does not change; returns their states. Damaged, naming the file, where one is not whole."""
    try:
        sums = _sums(path, _state(f"{path}/{_RECORD}"))
        return tuple(_check_mapped(f"{path}/{name}", sums[name]) for name in (LETTERS, CODES))
    except FileNotFoundError as error:
        raise Damaged(error.filename, "gone") from error


def _state(path: str) -> _State:
    status = os.stat(path)  # noqa: PTH116  # of thousands of sides many times
    return status.st_ino, status.st_size, status.st_mtime_ns


@lru_cache(maxsize=4096)
def _sums(path: str, state: _State) -> dict[str, int]:
    return dict(read_json(f"{path}/{_RECORD}")["sums"])


def _check_mapped(path: str, expected: int) -> _State:
    state = _state(path)
    if not _fits(path, expected, state):
        raise Damaged(path, "damaged or cut short: its checksum does not fit")
    return state


@lru_cache(maxsize=4096)
def _fits(path: str, expected: int, state: _State) -> bool:
    return bool(state[1]) and crc32(np.memmap(path, np.uint8, "r").data) == expected


@lru_cache(maxsize=4)
def _load_folder(path: str, run: str, states: tuple[_State, ...]) -> list[tuple[Genome, Codes]]:
    """Map all sides of a folder, with their codes."""
    letters, codes = (np.asarray(np.memmap(Path(path, name), np.uint8, "r")) for name in (LETTERS, CODES))  # of which thousands of slices are made
    found = []
    for said in read_json(f"{path}/{_PLACES}")["genomes"]:
        mine = slice(said["at"], said["at"] + said["size"])
        found.append((Genome.from_json(said, letters[mine]), codes[mine]))
    return found


@lru_cache(maxsize=4)
def _load_side(path: str, run: str, place: int, sequence: int | None, states: tuple[_State, ...]) -> tuple[Genome, Codes]:
    genome, codes = _load_folder(path, run, states)[place]
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
    )
    return alone, codes[start : start + length]
