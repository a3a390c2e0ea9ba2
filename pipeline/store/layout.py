"""The layout of run directories: folders and tables of each kind of run, and the refusal of a run that was made with another layout.

plan.json says kind, FORMAT and a digest of the schema of every table: what another layout wrote is refused, never misread.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any

from tidalign.pipeline.errors import ManifestMismatch
from tidalign.pipeline.schema import AHEAD, ALIGNMENTS, ANCHORS, CHUNK, EXTENDED, GENOME_ALIGNMENTS, HSPS, KEPT, WALK

FORMAT = 3
"""Number of the layout of all kinds: raised when a schema of a table below changes, or what a JSON file says (tests/pipeline/store/test_layout.py).

A number that no release has yet stays: its digests in the test change."""

_PLAN: dict[str, type | tuple[type, ...]] = {
    "version": str,
    "kind": str,
    "tables": dict,
    "parameters": dict,
    "source": dict,
    "blocks": (list, NoneType),
}
"""What plan.json has beside `format`."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A kind of run: the command that makes it, its folders, and the schema of every table that is written to them."""

    kind: str
    folders: tuple[str, ...]
    tables: Mapping[str, Any]

    def digests(self) -> dict[str, str]:
        """A digest of the schema of each table: of names, types and nullability of its columns, in their order."""
        return {name: _digest(schema) for name, schema in self.tables.items()}


def _digest(schema: Any) -> str:
    columns = "\n".join(f"{field.name} {field.type} {field.nullable}" for field in schema)
    return hashlib.sha256(columns.encode()).hexdigest()[:16]


PAIRS = Layout("pairs", ("chunks", "blocks", "parts", "claims"), {"chunks": CHUNK, "parts": ALIGNMENTS})

GENOMES = Layout(
    "genome",
    ("sides", "stages", "extended", "parts", "kept", "claims"),
    {
        "parts": GENOME_ALIGNMENTS,
        "extended": EXTENDED,
        "stages/anchors": ANCHORS,
        "stages/anchors without gaps": HSPS,
        "stages/walk": WALK,
        "stages/ahead": AHEAD,
        **{f"kept/{stage}": schema for stage, schema in KEPT.items()},
    },
)

_LAYOUTS = {layout.kind: layout for layout in (PAIRS, GENOMES)}


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
