"""Read tables of jobs and lists of genomes; tell which lines of a table were added since a run was begun, and refuse it where others changed."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidalign.pipeline.errors import InputError, ManifestMismatch, MissingInput
from tidalign.pipeline.genome.input.source import GenomeSource, Pair, pair_name, safe, stem

_JOBS = "a header line with target, query and, if wanted, name, with tabs between"
_GENOMES = "a header line with genome and, if wanted, name, with tabs between"
_BEGIN = 4096
"""Bytes in which the header line of a list is looked for."""


def read_jobs(path: str) -> tuple[Pair, ...]:
    """Read the pairs of a table of jobs: a header line with target, query and, if wanted, name; tabs between. Paths are taken from the table's folder.

    Raises MissingInput and InputError.
    """
    pairs = []
    for line, values in _rows(path, ("target", "query"), _JOBS, "job"):
        target, query = values["target"], values["query"]
        pairs.append(Pair(_name(path, line, values.get("name") or pair_name(target, query)), target, query, line))
    _see_names(path, pairs)
    return tuple(pairs)


def is_list(path: str) -> bool:
    """Tell whether a file is a list of genomes, and not a genome: by its header line."""
    try:
        with Path(path).open("rb") as file:
            begin = file.read(_BEGIN)
    except OSError:  # whoever reads it says what is wrong
        return False
    lines = (line for line in begin.splitlines() if line.strip() and not line.startswith(b"#"))
    return b"genome" in next(lines, b"").split(b"\t")


def read_list(path: str) -> tuple[Pair, ...]:
    """Read the pairs of a list of genomes, a header line with genome and, if wanted, name: each, as target, with those after it.

    Raises MissingInput and InputError.
    """
    genomes = []
    for line, values in _rows(path, ("genome",), _GENOMES, "genome"):
        genomes.append(Pair(_name(path, line, values.get("name") or stem(values["genome"])), values["genome"], "", line))
    _see_names(path, genomes)
    if len(genomes) < 2:
        raise InputError(path, "two genomes or more, to be aligned with each other", "one", "add lines")
    # In an order that genomes which are added to the list do not change.
    return tuple(Pair(f"{one.name}__{other.name}", one.target, other.target, other.line) for place, other in enumerate(genomes) for one in genomes[:place])


def _rows(path: str, needed: Sequence[str], expected: str, of: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Give the number and the values of each line but the header; paths from the table's folder."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError as error:
        raise MissingInput(f"{path}: {error.strerror or error}; name a table of {of}s") from error
    except UnicodeDecodeError as error:
        raise InputError(path, "a table of text", "other bytes") from error
    rows = [(number, line.split("\t")) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if not rows:
        raise MissingInput(f"{path}: expected a header line and a line for each {of}, found none")
    header = rows[0][1]
    if not set(needed) <= set(header) <= {*needed, "name"} or len(set(header)) < len(header):
        raise InputError(path, expected, repr(lines[rows[0][0] - 1]), "name the columns", line=rows[0][0])
    folder = Path(path).parent
    for number, fields in rows[1:]:
        if len(fields) != len(header) or not all(fields):
            raise InputError(path, f"{len(header)} fields with tabs between", f"{len([field for field in fields if field])}", "fill them in", line=number)
        values = dict(zip(header, fields, strict=True))
        yield number, values | {name: str(folder / values[name]) for name in needed}
    if not rows[1:]:
        raise MissingInput(f"{path}: expected a line for each {of} after the header, found none")


def _name(path: str, line: int, name: str) -> str:
    if name != safe(name):
        raise InputError(path, "a name that can be one of a file", repr(name), "use letters, digits and . _ + -", line=line)
    return name


def _see_names(path: str, pairs: Sequence[Pair]) -> None:
    seen: set[str] = set()
    for pair in pairs:
        if pair.name in seen:
            raise InputError(path, "a name of its own for each line", f"{pair.name!r} twice", "add a column `name`", line=pair.line)
        seen.add(pair.name)


def begun_with(directory: str, begun: Mapping[str, Any], source: GenomeSource) -> int:
    """Tell of how many of a table's jobs a run was begun, all of which come first. ManifestMismatch, naming the line, where one of these changed or is gone.

    begun: the source in plan.json.
    """
    old, new = begun["genomes"], source.to_json()["genomes"]
    for place, (was, now) in enumerate(zip(old, new, strict=False)):
        if was != now:
            raise _changed(directory, source, place, was, now)
    if len(new) < len(old):
        raise _changed(directory, source, len(new), old[len(new)], None)
    return len(old)


def _changed(directory: str, source: GenomeSource, place: int, was: Mapping[str, str], now: Mapping[str, str] | None) -> ManifestMismatch:
    line = source.pairs[place].line if now else source.pairs[-1].line + 1
    where = f"{source.table}: line {line}" if source.table else f"job {place + 1}"
    other = next((key for key in ("target", "query") if now and now["name"] == was["name"] and was[key] != now[key]), None)
    expected = f"{other} {was[other]!r} of job {was['name']!r}" if other else f"job {was['name']!r}"
    found = "none" if not now else repr(now[other or "name"])
    way_out = "put it back: jobs are added after all others; or use --new or another folder"
    return ManifestMismatch(f"{where}: expected {expected}, with which the run in {directory} was begun, found {found}; {way_out}")
