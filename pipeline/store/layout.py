"""The layout of run directories: folders and tables of each kind of run, and the refusal of a run that was made with another layout.

plan.json says kind, FORMAT and a digest of the schema of every table: what another layout wrote is refused, never misread.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidalign.pipeline.errors import CannotWrite, ManifestMismatch
from tidalign.pipeline.schema import (
    AHEAD,
    ALIGNMENTS,
    ANCHORS,
    CHUNK,
    EXTENDED,
    GENOME_ALIGNMENTS,
    HSPS,
    KEPT,
    LETTERS,
    RECORDS,
    SEARCH_HITS,
    SEQUENCES,
    WALK,
)

FORMAT = 4
"""Number of the layout of all kinds: raised when a schema of a table below changes, or what a JSON file says (tests/pipeline/store/test_layout.py).

A number that no release has yet stays: its digests in the test change."""

_PLAN: dict[str, type] = {
    "version": str,
    "kind": str,
    "tables": dict,
    "parameters": dict,
    "source": dict,
}
"""What plan.json has beside `format`."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A kind of run: the command that makes it, its folders with a pattern of the paths in each, and the schema of every table that is written to them."""

    kind: str
    folders: Mapping[str, str]
    tables: Mapping[str, Any]

    def entries(self, directory: str) -> Iterator[Path]:
        """Give the files and folders of a run directory, what is in a folder before it. CannotWrite, naming it, at one that no run of this kind makes."""
        for entry in _below(directory):
            name = os.path.relpath(entry.path, directory)
            if not self._makes(entry, name):
                if (kind := _kind(directory)) not in ("", self.kind):
                    expected = f"expected a new run directory or one of `tidalign {self.kind}`"
                    raise CannotWrite(f"{directory}: {expected}, found one of `tidalign {kind}`; choose another place with -o, or remove this run first")
                raise CannotWrite(f"{directory}: expected a new or earlier run directory, found a folder with {name!r} in it; choose another place with -o")
            yield Path(entry.path)

    def removed(self, directory: str) -> list[Path]:
        """List `entries` in the order in which all are removed: what says that something is done before what it was done with, and plan.json, which says that
        there is a run, last, so that a run which is half removed is one that goes on, or is thrown away."""

        def place(path: Path) -> int:
            name = path.relative_to(directory).parts[0]
            return _DONE.index(name) - len(_DONE) if name in _DONE else int(name == "plan.json")

        return sorted(self.entries(directory), key=place)

    def _makes(self, entry: os.DirEntry[str], name: str) -> bool:
        if entry.is_symlink():
            return False
        if entry.is_dir():
            return name in self.folders or _FOLDER.fullmatch(name) is not None
        folder, _, rest = name.rpartition("/")
        pattern = "|".join(map(re.escape, FILES)) + "|probe|beat|scratch" if not folder else self.folders.get(folder.partition("/")[0], "(?!)")
        inside = name.partition("/")[2] or rest
        return re.fullmatch(rf"(?:{pattern})(?:{_TEMPORARY})*", inside) is not None and inside not in ("probe", "beat", "scratch")

    def digests(self) -> dict[str, str]:
        """Digest the schema of each table: names, types and nullability of its columns, in their order."""
        return {name: _digest(schema) for name, schema in self.tables.items()}


def of_kind(kind: str) -> Layout:
    """Give the layout of a kind of run, by its name in plan.json."""
    return _LAYOUTS[kind]


def _kind(directory: str) -> str:
    """Read what kind of run a directory is of; empty where it cannot be told."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        kind = json.loads(Path(directory, "plan.json").read_bytes())["kind"] if own(directory) else ""
        return kind if kind in _LAYOUTS else ""
    return ""


def own(directory: str) -> bool:
    """Tell whether plan.json is one that tidalign wrote, whole or damaged; without one, whether there is nothing that comes after it."""
    plan = Path(directory, "plan.json")
    if not plan.exists():
        files = [path for path in Path(directory).rglob("*") if not path.is_dir() and path.suffix != ".tmp"]
        begins = {"run.lock": b"process ", "journal.jsonl": b'{"time": '}
        return all(path.name in begins and begins[path.name].startswith(path.read_bytes()[: len(begins[path.name])]) for path in files)
    begin = plan.read_bytes()[:64]
    return begin.startswith(b'{\n "format": ')


def _below(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as open_folder:
        entries = list(open_folder)  # whoever stops early leaves no folder open
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path)
        yield entry


def _digest(schema: Any) -> str:
    columns = "\n".join(f"{field.name} {field.type} {field.nullable}" for field in schema)
    return hashlib.sha256(columns.encode()).hexdigest()[:16]


FILES = ("plan.json", "manifest.json", "journal.jsonl", "report.json", "report.html", "tidalign_mqc.json", "run.lock", "SUCCESS", "PARTIAL")
"""Names that may be in a run directory beside the folders of its layout."""

_DONE = ("SUCCESS", "PARTIAL", "report.json", "manifest.json", "parts", "blocks")
"""Names by which it is known that something is done."""

_TEMPORARY = r"\.[0-9a-f]{1,8}\.tmp"
"""What a name has at its end until the file is whole."""

_CHUNK = r"b\d{5,}-\d{2,}-\d{3,}"
_JOB = r"j\d{6,}"
_UNIT = rf"{_JOB}\.u\d+"
_RANGE = r"\.\d+-\d+"
_LOG = {"logs": r"[A-Za-z0-9-]+\.log"}
"""Names the files of what workers say, by host and process (cluster/worker.py)."""

_FOLDER = re.compile(rf"sides/s\d{{4,}}(?:{_TEMPORARY})?|kept/(?:hits|hsps|anchors)")

PAIRS = Layout(
    "pairs",
    _LOG
    | {
        "chunks": rf"{_CHUNK}\.parquet",
        "blocks": r"b\d{5,}\.json",
        "letters": r"b\d{5,}\.parquet",
        "parts": rf"{_CHUNK}{_RANGE}\.parquet",
        "claims": rf"{_CHUNK}{_RANGE}\.[0-9a-f]{{8}}",
    },
    {"chunks": CHUNK, "letters": LETTERS, "parts": ALIGNMENTS},
)

GENOMES = Layout(
    "genome",
    _LOG
    | {
        "sides": rf"s\d{{4,}}(?:{_TEMPORARY})?/(?:letters|qualities|codes|genome\.json|side\.json)",
        "stages": rf"{_UNIT}(?:\.anchors\.arrow|\.anchors\.json|\.(?:walk|inner)\.parquet|\.asked|{_RANGE}\.ahead\.parquet"
        rf"|\.(?:plus|minus)(?:\.records|{_RANGE}\.hsps)\.parquet)",
        "extended": rf"{_UNIT}\.extend{_RANGE}\.parquet",
        "parts": rf"{_JOB}{_RANGE}\.parquet",
        "kept": rf"(?:hits|hsps|anchors)/{_UNIT}\.parquet",
        "claims": rf"(?:{_JOB}|{_UNIT}\.[a-z]+){_RANGE}\.[0-9a-f]{{8}}",
    },
    {
        "parts": GENOME_ALIGNMENTS,
        "extended": EXTENDED,
        "stages/anchors": ANCHORS,
        "stages/anchors without gaps": HSPS,
        "stages/hsps": HSPS,
        "stages/records": RECORDS,
        "stages/walk": WALK,
        "stages/ahead": AHEAD,
        **{f"kept/{stage}": schema for stage, schema in KEPT.items()},
    },
)

_QUERIES = r"q\d{5,}"

SEARCH = Layout(
    "search",
    _LOG
    | {
        "database": r"sequences\.parquet",
        "queries": rf"{_QUERIES}\.parquet",
        "parts": rf"{_QUERIES}-d\d{{5,}}{_RANGE}\.parquet",
        "claims": rf"{_QUERIES}-d\d{{5,}}{_RANGE}\.[0-9a-f]{{8}}",
    },
    {"database": SEQUENCES, "queries": SEQUENCES, "parts": SEARCH_HITS},
)

_LAYOUTS = {layout.kind: layout for layout in (PAIRS, GENOMES, SEARCH)}


def check(directory: str, plan: dict[str, Any]) -> None:
    """Raise ManifestMismatch unless this is the plan of a run with the layout that its kind has here."""
    found = plan.get("format")
    if not isinstance(found, int):
        raise _no_plan(directory, "format")
    if found != FORMAT:
        raise _other_layout(directory, plan, f"format {found}, now {FORMAT}")
    if wrong := next((name for name, type_ in _PLAN.items() if name not in plan or not isinstance(plan[name], type_)), None):
        raise _no_plan(directory, wrong)
    if plan["kind"] not in _LAYOUTS:
        raise _other_layout(directory, plan, f"kind {plan['kind']!r}, now {', '.join(_LAYOUTS)}")
    digests = _LAYOUTS[plan["kind"]].digests()
    if different := sorted(name for name in {*digests, *plan["tables"]} if plan["tables"].get(name) != digests.get(name)):
        raise _other_layout(directory, plan, f"other columns in {', '.join(different)}")


def _other_layout(directory: str, plan: dict[str, Any], what: str) -> ManifestMismatch:
    made = f"made by tidalign {plan.get('version', 'of an unknown version')} with another table layout ({what})"
    return ManifestMismatch(f"{directory}: {made}; run it again with --new, or export it with that version")


def _no_plan(directory: str, lacking: str) -> ManifestMismatch:
    return ManifestMismatch(f"{directory}/plan.json: expected the plan of a run, found one without a valid {lacking!r}; run it again with --new")
