"""What a genome run reads: pairs of sides, from the command line, from a table of jobs, or every sequence of one file against every one of another."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.files.sniff import sampled
from tidalign.pipeline.genome.input.actions import Specifier

STANDARD_INPUT = ("-", "/dev/stdin")
"""What is read by the command's own process alone, whatever it is."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A target and a query (`path[actions]`), and what their output is called."""

    name: str
    target: str
    query: str


@dataclass(frozen=True, slots=True)
class GenomeSource:
    """pairs: what is aligned with what. all_vs_all: the one pair is to be taken sequence by sequence. segments: path of the anchors' segments, or None.
    keep: stages whose tables are wanted (`schema.KEPT`). known: what a finished run says of its files, which may be gone."""

    pairs: tuple[Pair, ...]
    all_vs_all: bool = False
    segments: str | None = None
    keep: tuple[str, ...] = ()
    known: tuple[dict[str, Any], ...] = ()

    def sides(self) -> list[tuple[str, str]]:
        """List each (role, specifier) that is to be read, once."""
        return list(dict.fromkeys((role, getattr(pair, role)) for pair in self.pairs for role in ("target", "query")))

    def paths(self) -> list[str]:
        """List every file that is read."""
        named = [Specifier.parse(text) for _, text in self.sides()]
        more = [specifier.subset for specifier in named] + [self.segments]
        return list(dict.fromkeys([*(specifier.path for specifier in named), *(path for path in more if path)]))

    def size(self) -> int:
        """Count the bytes of all files."""
        return sum(file["size"] for file in self.files())

    def files(self) -> list[dict[str, Any]]:
        """Tell by what the inputs are known to be the same again: path, size in bytes (-1: a pipe), time of change and a digest. MissingInput where there is
        none, InputError where both sides are one pipe."""
        pipes = [Specifier.parse(spec).path for _, spec in self.sides() if piped(spec)]
        if once := next((path for path in pipes if pipes.count(path) > 1), None):
            raise InputError(once, "a pipe, which can be read once, for one of the sides", "it for both", "write it to a file first")
        known = {file["path"]: file for file in self.known}
        return [_identity(path, known.get(path)) for path in self.paths()]

    def absolute(self) -> "GenomeSource":
        """Name the same files from the root: workers may have another working directory."""
        pairs = tuple(replace(pair, target=absolute(pair.target), query=absolute(pair.query)) for pair in self.pairs)
        return replace(self, pairs=pairs, segments=self.segments and str(Path(self.segments).absolute()))

    def to_json(self) -> dict[str, Any]:
        pairs = [{"name": pair.name, "target": pair.target, "query": pair.query} for pair in self.pairs]
        more = {"all_vs_all": self.all_vs_all, "segments": self.segments, "keep": list(self.keep)}
        return {"genomes": pairs, **more, "files": self.files()}


def piped(side: str) -> bool:
    """Whether a specifier, `path[actions]`, names standard input or a pipe that is there."""
    path = Specifier.parse(side).path
    return path in STANDARD_INPUT or (Path(path).exists() and not Path(path).is_file())


def absolute(text: str) -> str:
    """Name the files of a specifier, `path[actions]`, from the root; standard input stays."""
    named = Specifier.parse(text)
    if named.path == "-":
        return text
    actions = text[len(named.path) :]
    if named.subset and not set(",[]") & set(subset := str(Path(named.subset).absolute())):  # actions cannot say these
        actions = actions.replace(f"subset={named.subset}", f"subset={subset}")
    return f"{Path(named.path).absolute()}{actions}"


def _identity(path: str, known: dict[str, Any] | None) -> dict[str, Any]:
    pipe = {"path": path, "size": -1, "mtime_ns": 0, "digest": ""}
    if path in STANDARD_INPUT:
        return pipe
    try:
        state = Path(path).stat()
        if not Path(path).is_file():
            return pipe
        with Path(path).open("rb") as file:
            return {"path": path, "size": state.st_size, "mtime_ns": state.st_mtime_ns, "digest": sampled(file, state.st_size)}
    except OSError as error:
        if known:
            return known
        raise MissingInput(f"{path}: {error.strerror or error}; name a file of sequences") from error


def pair_name(target: str, query: str) -> str:
    """Name the output of a pair of files, whether they are there or not."""
    return f"{_stem(target)}__{_stem(query)}"


def _stem(text: str) -> str:
    name = Path(Specifier.parse(text).path).name
    for suffix in (".gz", ".bgz", ".fa", ".fasta", ".fna", ".2bit"):
        name = name.removesuffix(suffix)
    return safe(name)


def safe(name: str) -> str:
    """Make a name fit to be part of a file's name."""
    return "".join(letter if letter.isalnum() or letter in "._+-" else "_" for letter in name) or "_"


def read_jobs(path: str) -> tuple[Pair, ...]:
    """Read the pairs of a table of jobs: a header line with target, query and, if wanted, name; tabs between. Paths are taken from the table's folder.

    Raises MissingInput and InputError.
    """
    try:
        lines = Path(path).read_text().splitlines()
    except OSError as error:
        raise MissingInput(f"{path}: {error.strerror or error}; name a table of jobs") from error
    except UnicodeDecodeError as error:
        raise InputError(path, "a table of text", "other bytes") from error
    rows = [(number, line.split("\t")) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if not rows:
        raise MissingInput(f"{path}: expected a header line and a line for each job, found none")
    header = rows[0][1]
    known = ("target", "query", "name")
    if not {"target", "query"} <= set(header) <= set(known) or len(set(header)) < len(header):
        expected = "a header line with target, query and, if wanted, name, with tabs between"
        raise InputError(path, expected, repr(lines[rows[0][0] - 1]), "name the columns", line=rows[0][0])
    folder = Path(path).parent
    pairs = []
    for number, fields in rows[1:]:
        if len(fields) != len(header) or not all(fields):
            raise InputError(path, f"{len(header)} fields with tabs between", f"{len([field for field in fields if field])}", "fill them in", line=number)
        values = dict(zip(header, fields, strict=True))
        target, query = (str(folder / values[side]) for side in ("target", "query"))
        name = values.get("name") or pair_name(target, query)
        if name != safe(name):
            raise InputError(path, "a name that can be one of a file", repr(name), "use letters, digits and . _ + -", line=number)
        pairs.append(Pair(name, target, query))
    if not pairs:
        raise MissingInput(f"{path}: expected a line for each job after the header, found none")
    names = [pair.name for pair in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise InputError(path, "a name of its own for each job", f"{twice!r} twice", "add a column `name`")
    return tuple(pairs)
