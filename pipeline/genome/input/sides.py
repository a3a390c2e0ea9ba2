"""Keep the sides of a genome run on disk: each file is read once, and every task maps its letters and their codes.

sides/s<folder>/letters, codes     of one large file, or of many small ones one after the other; and qualities, of those that are FASTQ
sides/s<folder>/genome.json        for each side there, all but these, and where they begin
sides/s<folder>/side.json          what is said of each side (`read_sides`), and a CRC-32 of each file that is mapped

A side is known by a number, IN_A_FOLDER times that of its folder, and its place there. A file that is target and query has its letters there once.
"""

import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tidalign.kernels.letters.nucleotides import Codes
from tidalign.pipeline.errors import Damaged, InputError, ManifestMismatch, MissingInput
from tidalign.pipeline.files.decompress import crc32
from tidalign.pipeline.files.sniff import sniff
from tidalign.pipeline.genome.input.actions import Specifier
from tidalign.pipeline.genome.input.arrays import Files
from tidalign.pipeline.genome.input.read import read_genome, read_roles
from tidalign.pipeline.genome.input.sequences import CODES, LETTERS, QUALITIES, Genome
from tidalign.pipeline.genome.input.source import INDEX, STANDARD_INPUT, index_at
from tidalign.pipeline.genome.input.twobit import is_twobit
from tidalign.pipeline.store.files import lasts, link, nearest, read_json, write_json, writing_error

READERS = 4
"""Most files that threads of one process read at a time."""

IN_A_FOLDER = 1000
"""Sides that one folder can have."""

_PLACES, _RECORD = "genome.json", "side.json"

ROLES = "target", "query"
"""Roles of the sides of an index, in their order there."""

Side = tuple[str, str]
"""Role and specifier (`path[actions]`)."""

_State = tuple[int, int, int]
"""Inode, size and time of change."""


def folder_name(folder: int) -> str:
    """Name a folder of sides as seen from the run directory."""
    return f"sides/s{folder:04d}"


def read_sides(directory: str, folder: int, sides: Sequence[Side], ambiguous: str | None, identity: str = "") -> list[dict[str, Any]]:
    """Read the sides of a folder, those of one file beside each other, into the run directory, all or none; returns the record of each:
    {id, role, spec, sequences, bases, empty}, of an index also {index, of, codes}: its path, what it was made of, and the checksum of its codes.

    identity: tells whether their files are the same again. What is there of the same is left alone.
    """
    path = f"{directory}/{folder_name(folder)}"
    if (records := folder_records(directory, folder, sides, identity)) is not None:
        return records
    shutil.rmtree(path, ignore_errors=True)  # of a call that stopped before it had planned with what it read
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        records = write_sides(temporary, sides, ambiguous, IN_A_FOLDER * folder, identity)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    try:
        Path(temporary).rename(path)
    except OSError as error:
        shutil.rmtree(temporary)
        if (other := folder_records(directory, folder, sides, identity)) is None:  # else another process was first
            raise writing_error(path, error) from error
        return other
    return records


def write_sides(path: str, sides: Sequence[Side], ambiguous: str | None, first: int = 0, identity: str = "") -> list[dict[str, Any]]:
    """Read sides into an empty folder; returns their records, numbers from `first` on. Of an index that is alone there the files get one more name."""
    records, places, sums = list[dict[str, Any]](), list[dict[str, Any]](), dict[str, int]()
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        with Files(path, forced=lasts(path)) as files:
            for spec in dict.fromkeys(spec for _, spec in sides):
                roles = [role for role, each in sides if each == spec]
                index, before = index_at(spec), {name: files.at(name) for name in (LETTERS, QUALITIES)}
                genomes = read_roles(spec, roles, ambiguous, files) if index is None else _mapped_roles(index, roles)
                mapped = genomes[0].mapped()
                if index and len(roles) == len(sides):
                    for name in (*mapped, CODES):
                        link(f"{index}/{name}", f"{path}/{name}")
                    sums = side_record(index)["sums"]
                elif index:
                    files.write_all(mapped)
                for role, genome in zip(roles, genomes, strict=True):
                    said = {"sequences": len(genome), "bases": int(genome.lengths.sum()), "empty": len(genome.empty)}
                    records.append({"id": first + len(records), "role": role, "spec": spec, **said, **(_of_index(index) if index else {})})
                    places.append({"at": {name: before[name] for name in mapped}, "size": len(genome.letters), **genome.to_json()})
    except MissingInput:  # of what was to be written
        raise
    except OSError as error:
        raise writing_error(path, error) from error
    write_json(f"{path}/{_PLACES}", {"genomes": places})
    write_json(f"{path}/{_RECORD}", {"sides": records, "identity": identity, "sums": sums | files.sums})
    return records


def read_roles_of(spec: str, roles: Sequence[str], ambiguous: str | None = None) -> list[Genome]:
    """Read a file of sequences (`read_roles`), or map an index of one, whose letters are checked, in each role. InputError for an index that is damaged."""
    path = index_at(spec)
    return read_roles(spec, roles, ambiguous) if path is None else _mapped_roles(path, roles)


def _mapped_roles(path: str, roles: Sequence[str]) -> list[Genome]:
    with refused(path):
        genomes = _load_folder(path, "", check_folder(path))
        return [genomes[ROLES.index(role)][0] for role in roles]


@contextmanager
def refused(path: str) -> Iterator[None]:
    """Refuse an index that is not what was written: InputError, naming its file."""
    try:
        yield
    except (Damaged, FileNotFoundError) as error:
        file, found = (error.path, error.found) if isinstance(error, Damaged) else (error.filename, "none")
        raise InputError(str(file), "what `tidalign genome-index` wrote", found, f"make {Path(path).name} again") from error


def _of_index(path: str) -> dict[str, Any]:
    """Say in the record of a side which index it was read of."""
    return {"index": path, "of": read_json(f"{path}/{INDEX}")["spec"], "codes": side_record(path)["sums"][CODES]}


def side_record(path: str) -> dict[str, Any]:
    """Read what is said of the sides of a folder."""
    return read_json(f"{path}/{_RECORD}")


def _sums_of(genome: Genome) -> dict[str, int]:
    return {name: crc32(array.data) for name, array in genome.mapped().items()}


def check_piped(directory: str, folder: int, side: Side, ambiguous: str | None, identity: str) -> None:
    """Raise ManifestMismatch where a side was read before and other sequences come through its pipe now. A terminal is not asked, and none at all will do."""
    path = Specifier.parse(side[1]).path
    both = [(role, side[1]) for role in ROLES]
    if all(folder_records(directory, folder, sides, identity) is None for sides in ([side], both)):
        return
    if path in STANDARD_INPUT and (sys.stdin is None or sys.stdin.isatty()):
        return
    if not is_twobit(path) and sniff(path, allow_empty=True).format == "empty":
        return
    there = f"{directory}/{folder_name(folder)}"
    genome, sums = read_genome(side[1], role=side[0], ambiguous=ambiguous), read_json(f"{there}/{_RECORD}")["sums"]
    if genome.names != read_json(f"{there}/{_PLACES}")["genomes"][0]["names"] or _sums_of(genome) | {CODES: sums[CODES]} != sums:
        way_out = "hand over the same sequences, or none, to go on; --new throws this run away and starts again"
        raise ManifestMismatch(f"{directory}: this run was begun with other sequences from {path}; {way_out}")


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
        return tuple(check_mapped(f"{path}/{name}", sums[name]) for name in sums)
    except FileNotFoundError as error:
        raise Damaged(error.filename, "gone") from error


def _state(path: str) -> _State:
    status = os.stat(path)  # noqa: PTH116  # of thousands of sides many times
    return status.st_ino, status.st_size, status.st_mtime_ns


@lru_cache(maxsize=4096)
def _sums(path: str, state: _State) -> dict[str, int]:
    return dict(read_json(f"{path}/{_RECORD}")["sums"])


def check_mapped(path: str, expected: int) -> _State:
    """Check a file, once as long as it does not change. Damaged where its checksum is another."""
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
    names = (name for name in (LETTERS, CODES, QUALITIES) if name != QUALITIES or Path(path, name).exists())
    mapped = {name: np.asarray(np.memmap(Path(path, name), np.uint8, "r")) for name in names}  # of which thousands of slices are made
    found = []
    for said in read_json(f"{path}/{_PLACES}")["genomes"]:
        arrays = {name: mapped[name][at : at + said["size"]] for name, at in said["at"].items()}
        at = said["at"][LETTERS]
        found.append((Genome.from_json(said, arrays[LETTERS], arrays.get(QUALITIES)), mapped[CODES][at : at + said["size"]]))
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
        qualities=None if genome.qualities is None else genome.qualities[start : start + length],
    )
    return alone, codes[start : start + length]
