"""What a genome run reads: pairs of sides, from the command line, from a table of jobs, or every sequence of one file against every one of another."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.files.sniff import sampled
from tidalign.pipeline.genome.input.actions import Specifier, is_there, name_a_file
from tidalign.pipeline.genome.input.sequences import LETTERS

STANDARD_INPUT = ("-", "/dev/stdin")
"""What is read by the command's own process alone, whatever it is."""

READ_ONCE = "a pipe, which can be read once, for one of the sides", "it for both", "write it to a file first; --self aligns one side with itself"

INDEX = "index.json"
"""In a folder that `tidalign genome-index` wrote (index.py): what it was made of, and for."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A target and a query (`path[actions]`), and what their output is called. line: of the table of jobs that has it; 0: of none."""

    name: str
    target: str
    query: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class GenomeSource:
    """pairs: what is aligned with what. all_vs_all: the one pair is to be taken sequence by sequence. segments: path of the anchors' segments, or None.
    keep: stages whose tables are wanted (`schema.KEPT`). known: what a finished run says of its files, which may be gone.
    triangle: of all_vs_all, where both are one file: each sequence with those after it. table: path of the table of jobs. seen: see `found`.
    """

    pairs: tuple[Pair, ...]
    all_vs_all: bool = False
    segments: str | None = None
    keep: tuple[str, ...] = ()
    known: tuple[dict[str, Any], ...] = ()
    triangle: bool = False
    table: str | None = None
    seen: tuple[dict[str, Any], ...] = ()

    def sides(self) -> list[tuple[str, str]]:
        """List each (role, specifier) that is to be read, once."""
        return list(dict.fromkeys((role, getattr(pair, role)) for pair in self.pairs for role in ("target", "query")))

    def paths(self) -> list[str]:
        """List every file that is read."""
        named = [Specifier.parse(text) for _, text in self.sides()]
        more = [specifier.subset for specifier in named] + [self.segments]
        return list(dict.fromkeys([*(specifier.path for specifier in named), *(path for path in more if path)]))

    def found(self) -> "GenomeSource":
        """Give the same source, its files looked at once for all who ask. MissingInput where there is none."""
        return replace(self, seen=tuple(self.files()))

    def size(self) -> int:
        """Count the bytes of all files."""
        return sum(file["size"] for file in self.files())

    def sizes(self) -> dict[str, int]:
        """Give the bytes of the file of each specifier; -1 of a pipe."""
        of_path = {file["path"]: file["size"] for file in self.files()}
        return {spec: of_path[Specifier.parse(spec).path] for _, spec in self.sides()}

    def files(self) -> list[dict[str, Any]]:
        """Tell by what the inputs are known to be the same again: path, size in bytes (-1: a pipe), time of change and a digest. MissingInput where there is
        none, InputError where one pipe would be read twice: a file is read once for all sides that have its actions, too."""
        if self.seen:
            return list(self.seen)
        pipes = [Specifier.parse(spec).path for spec in dict.fromkeys(spec for _, spec in self.sides()) if piped(spec)]
        read = ["-" if path in STANDARD_INPUT else path for path in pipes]
        if once := next((path for path, each in zip(pipes, read, strict=True) if read.count(each) > 1), None):
            raise InputError(once, *READ_ONCE)
        known = {file["path"]: file for file in self.known}
        files = [self._identity(path, known.get(_rooted(path))) for path in self.paths()]
        if self.segments is not None and (self.segments == "-" or Path(self.segments).is_dir()):
            found = {"": "no name", "-": "standard input"}.get(self.segments, "a folder")
            raise MissingInput(f"{self.segments!r}: expected a file of segments, found {found}; name one")
        return files

    def _identity(self, path: str, known: dict[str, Any] | None) -> dict[str, Any]:
        """Give the identity of a file; MissingInput where there is none, with the line of the table that names it."""
        try:
            return identity(path, known)
        except MissingInput as error:
            job = next((pair for pair in self.pairs if pair.line and path in replace(self, pairs=(pair,)).paths()), None)
            if job is None:
                raise
            raise MissingInput(f"{self.table}: line {job.line}, job {job.name!r}: {error}") from error

    def identities(self, groups: Mapping[int, Sequence[tuple[str, str]]]) -> dict[int, str]:
        """Digest what tells whether the files of some sides are the same again, by group."""
        files = {file["path"]: [file["size"], file["mtime_ns"], file["digest"]] for file in self.files()}
        found = {}
        for group, sides in groups.items():
            named = [Specifier.parse(spec) for _, spec in sides]
            said = [[path, *files[path]] for specifier in named for path in (specifier.path, specifier.subset) if path]
            found[group] = hashlib.sha256(json.dumps(said).encode()).hexdigest()
        return found

    def absolute(self) -> "GenomeSource":
        """Name the same files from the root: workers may have another working directory."""
        pairs = tuple(replace(pair, target=absolute(pair.target), query=absolute(pair.query)) for pair in self.pairs)
        there = replace(self, pairs=pairs, segments=self.segments and _rooted(self.segments), seen=())
        seen = {_rooted(file["path"]): file for file in self.seen}
        return replace(there, seen=tuple({**seen[_rooted(path)], "path": path} for path in there.paths())) if seen else there

    def first(self, count: int) -> "GenomeSource":
        """Give a source of the first pairs alone."""
        there = replace(self, pairs=self.pairs[:count], seen=())
        seen = {file["path"]: file for file in self.files()}
        return replace(there, seen=tuple(seen[path] for path in there.paths()))

    def to_json(self) -> dict[str, Any]:
        pairs = [{"name": pair.name, "target": pair.target, "query": pair.query} for pair in self.pairs]
        more = {"all_vs_all": self.all_vs_all, "triangle": self.triangle, "segments": self.segments, "keep": list(self.keep)}
        return {"genomes": pairs, **more, "files": self.files()}

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> Self:
        """Make one of what `to_json` gave; its files may be gone."""
        pairs = tuple(Pair(**pair) for pair in said["genomes"])
        more = said["segments"], tuple(said["keep"]), tuple(said["files"]), said["triangle"]
        return cls(pairs, said["all_vs_all"], *more)


def _rooted(path: str) -> str:
    """Name a file from the root; standard input stays."""
    return path if path in STANDARD_INPUT else str(Path(path).absolute())


def piped(side: str) -> bool:
    """Tell whether a specifier, `path[actions]`, names standard input or a pipe that is there."""
    return is_pipe(Specifier.parse(side).path)


def is_pipe(path: str) -> bool:
    """Tell whether a path is standard input's or that of a pipe that is there."""
    return path in STANDARD_INPUT or (Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir())


def index_at(side: str) -> str | None:
    """Give the path of the index that a specifier, `path[actions]`, names; None where it names a file of sequences."""
    if is_there(side, Path.is_file):  # of thousands
        return None
    path = Specifier.parse(side).path
    return path if path not in STANDARD_INPUT and Path(path, INDEX).is_file() else None


def absolute(text: str) -> str:
    """Name the files of a specifier, `path[actions]`, from the root; standard input stays."""
    named = Specifier.parse(text)
    if named.path == "-":
        return text
    actions = text[len(named.path) :]
    if named.subset and not set(",[]") & set(subset := str(Path(named.subset).absolute())):  # actions cannot say these
        actions = actions.replace(f"subset={named.subset}", f"subset={subset}")
    return f"{Path(named.path).absolute()}{actions}"


def identity(path: str, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Tell by what a file is known to be the same again (`GenomeSource.files`); an index by what it says of its files, and by the size of its letters. known:
    of a file that is gone; MissingInput where there is none."""
    pipe = {"path": path, "size": -1, "mtime_ns": 0, "digest": ""}
    if path in STANDARD_INPUT:
        return pipe
    try:
        said = Path(path, INDEX) if Path(path, INDEX).is_file() else Path(path)
        state = said.stat()
        if not said.is_file():
            return pipe
        with said.open("rb") as file:
            digest = sampled(file, state.st_size)
        size = state.st_size if said == Path(path) else Path(path, LETTERS).stat().st_size
        return {"path": path, "size": size, "mtime_ns": state.st_mtime_ns, "digest": digest}
    except OSError as error:
        if known:
            return known
        raise MissingInput(f"{path}: {error.strerror or error}; {name_a_file(path)}") from error


def pair_name(target: str, query: str) -> str:
    """Name the output of a pair of files, whether they are there or not."""
    return f"{stem(target)}__{stem(query)}"


def stem(text: str) -> str:
    """Name the output of a file."""
    name = Path(Specifier.parse(text).path).name
    for suffix in (".tgx", ".gz", ".bgz", ".fa", ".fasta", ".fna", ".2bit"):
        name = name.removesuffix(suffix)
    return safe(name)


def safe(name: str) -> str:
    """Make a name fit to be part of a file's name."""
    return "".join(letter if letter.isalnum() or letter in "._+-" else "_" for letter in name) or "_"
