"""Keep what a run makes of a target before it meets a query, for many runs: the folder that `tidalign genome-index` writes.

letters, codes, qualities, genome.json, side.json   as sides/s<folder>/ of a run has them (sides.py), in both roles: a run gives these files one more name
begins, places, tags, marks                         where the target's words are (`Index`), mapped by every process that looks them up on the host
index.json                                          what it was made of and for, and checksums of that and of the tables; written last

Letters of a run stay when the index is gone; tables are built again then. A GPU builds its own, faster than it could read them.
"""

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np

from tidalign import __version__
from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.seed.index import TABLES, SeedPattern, WordIndex, build_index, read_only
from tidalign.pipeline.errors import CannotWrite, Damaged, InputError, MissingInput
from tidalign.pipeline.files.decompress import crc32
from tidalign.pipeline.genome.input.actions import Specifier
from tidalign.pipeline.genome.input.sequences import CODES
from tidalign.pipeline.genome.input.sides import ROLES, check_folder, check_mapped, refused, side_record, write_sides
from tidalign.pipeline.genome.input.source import INDEX, GenomeSource, absolute, identity, index_at
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.store.files import read_json, write_json, writing_error

FORMAT = 1
"""Number of what an index is: raised when its files, codes or tables change (tests/pipeline/genome/input/test_genome_index.py)."""

_AGAIN = "make it again with `tidalign genome-index`"


def make(spec: str, out: str, parameters: GenomeParameters) -> dict[str, Any]:
    """Read a target and index its words into the folder `out`, whole or not at all; returns the record of its side. An index that is there is replaced.

    Takes what reading takes, and the tables in memory. Raises MissingInput and InputError as reading does, CannotWrite and DiskFull.
    """
    path = str(Path(out).absolute())
    if index_at(spec):
        raise CannotWrite(f"{spec}: an index already; give the sequences that it was made of, or align with it as it is")
    if Path(path).exists() and not Path(path, INDEX).is_file():
        raise CannotWrite(f"{out}: expected a new name, or an index to replace, found a {'folder' if Path(path).is_dir() else 'file'}; choose another with -o")
    spec = absolute(spec)
    named = Specifier.parse(spec)
    files = [identity(each) for each in (named.path, named.subset) if each]
    whole = {file["path"]: _sum(file["path"]) for file in files if file["size"] >= 0}
    with _filled(path) as temporary:
        records = write_sides(temporary, [(role, spec) for role in ROLES], _ambiguous(parameters))
        codes = np.memmap(f"{temporary}/{CODES}", np.uint8, "r")
        index = build_index(codes, SeedPattern.parse(parameters.seed), parameters.step, parameters.max_word_count)
        tables = {name: {"type": str(array.dtype), "length": len(array), "sum": _write(f"{temporary}/{name}", array)} for name, array in index.tables().items()}
        made = {"format": FORMAT, "version": __version__, "spec": spec, "files": files, "sums": whole, "ambiguous": _ambiguous(parameters)}
        write_json(f"{temporary}/{INDEX}", {**made, "words": words_of(parameters), "shift": index.shift, "tables": tables})
    return records[0]


@contextmanager
def _filled(path: str) -> Iterator[str]:
    """Give a folder to fill, which gets its name `path` at the end; what others who died left of theirs is removed. Each holds a lock of its own on it."""
    for left in Path(path).parent.glob(f"{escape(Path(path).name)}.????????.tmp"):
        with suppress(OSError):
            _remove_unless_held(left)
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        Path(temporary).mkdir(parents=True)
        handle = os.open(temporary, os.O_RDONLY)
    except OSError as error:
        raise writing_error(path, error) from error
    try:
        with suppress(OSError):  # file systems without locks: nothing is removed there
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield temporary
        before = f"{path}.{secrets.token_hex(4)}.tmp"
        with suppress(FileNotFoundError):
            Path(path).rename(before)
        Path(temporary).rename(path)
        shutil.rmtree(before, ignore_errors=True)
    except MissingInput:  # of what was to be written
        raise
    except OSError as error:
        raise writing_error(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        os.close(handle)


def _remove_unless_held(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(handle)


def _write(path: str, array: Any) -> int:
    """Write an array, forced to disk; returns its checksum."""
    with Path(path).open("wb") as file:
        file.write(array.data)
        file.flush()
        os.fsync(file.fileno())
    return crc32(array.data)


def words_of(parameters: GenomeParameters) -> dict[str, Any]:
    """Say which words of a target are indexed."""
    return {"seed": parameters.seed, "step": parameters.step, "maxwordcount": parameters.max_word_count}


def _ambiguous(parameters: GenomeParameters) -> str | None:
    return parameters.scoring.ambiguous[0] if parameters.scoring.ambiguous else None


def check(source: GenomeSource, parameters: GenomeParameters) -> None:
    """Refuse indexes that a run cannot take, before it reads anything: InputError for one of another format, of other sequences than are there now, with other
    actions, and, of targets, for other words."""
    for role, spec in source.sides():
        if path := index_at(spec):
            with refused(path):
                _check(path, spec, read_json(f"{path}/{INDEX}"), parameters, target=role == "target")


def _check(path: str, spec: str, said: dict[str, Any], parameters: GenomeParameters, *, target: bool) -> None:
    if said.get("format") != FORMAT:
        raise InputError(path, f"an index of format {FORMAT}", f"one of format {said.get('format')}, of tidalign {said.get('version')}", _AGAIN)
    given, made = Specifier.parse(spec), Specifier.parse(said["spec"])
    if replace(given, path="", select=None) not in (Specifier(""), replace(made, path="", select=None)):
        actions = said["spec"][len(made.path) :]
        raise InputError(spec, f"no actions, or those it was made with ({actions or 'none'})", "others", "give them to `tidalign genome-index`")
    if parameters.with_itself and made.separator:
        raise InputError(spec, "no separator beside --self", "one", "leave it out: the pieces of a sequence are one query to LASTZ, and none here")
    for before in said["files"]:
        if before["size"] >= 0 and Path(before["path"]).is_file() and not _is_same(before, said.get("sums", {})):
            raise InputError(path, f"{before['path']} as it was read", "one that has changed since", f"{_AGAIN}, or move that file away")
    if said["ambiguous"] == "iupac" != _ambiguous(parameters):
        raise InputError(path, "an index for these options", "one made with --ambiguous=iupac", f"give that option, or {_AGAIN}")
    wanted = words_of(parameters)
    if target and said["words"] != wanted:
        differing = [name for name in wanted if said["words"][name] != wanted[name]]
        expected, found = (" and ".join(f"--{name}={each[name]}" for name in differing) for each in (wanted, said["words"]))
        raise InputError(path, f"an index for {expected}", f"one for {found}", f"{_AGAIN} and these options, or give those to this run")


def _is_same(before: dict[str, Any], sums: dict[str, int]) -> bool:
    """Tell whether a file is what it was: by its identity, or, where that has another time of change alone, by the checksum of all of it. sums: of files, by
    path; none in indexes that were made without."""
    path = before["path"]
    now = identity(path)
    return now == before or (now | {"mtime_ns": before["mtime_ns"]} == before and path in sums and _sum(path) == sums[path])


def _sum(path: str) -> int:
    """Compute the checksum of a file."""
    return crc32(np.memmap(path, np.uint8, "r").data) if Path(path).stat().st_size else 0


def verify(path: str) -> str:
    """Check every file of an index; returns the specifier that it was made of. InputError for the first file that is not what was written."""
    with refused(path):
        said = {each.name: read_json(str(each)) for each in Path(path).glob("*.json")}[INDEX]
        check_folder(path)
        for name in TABLES:
            _table(f"{path}/{name}", **said["tables"][name])
    return str(said["spec"])


def load(record: dict[str, Any], codes: Codes, pattern: SeedPattern, step: int, max_word_count: str | None) -> WordIndex | None:
    """Map the words of a target side that was read of an index, by the side's record; None where that is gone, or another has its name now. InputError where a
    table is damaged."""
    path = record["index"]
    try:
        said = read_json(f"{path}/{INDEX}")
        if side_record(path)["sums"][CODES] != record["codes"]:
            return None
    except (Damaged, FileNotFoundError):
        return None
    if said["words"] != {"seed": pattern.text, "step": step, "maxwordcount": max_word_count} or said["format"] != FORMAT:
        return None
    with refused(path):
        tables = {name: _table(f"{path}/{name}", **said["tables"][name]) for name in TABLES}
    return WordIndex.of_tables(read_only(codes), pattern, step, said["shift"], tables)


def _table(path: str, type: str, length: int, sum: int) -> Any:
    if not length:  # which cannot be mapped
        return np.empty(0, type)
    check_mapped(path, sum)
    return np.asarray(np.memmap(path, type, "r"))
