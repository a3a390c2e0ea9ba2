"""The run directory: the one truth about a run, on disk, whatever died; from its plan to its end.

A name that exists is a whole file (files.py). Every kind of run has

    plan.json                      layout (layout.py), parameters, source and blocks; written first, compared when a run is taken up again
    manifest.json                  what is to be done, when the input is read (manifest.py)
    parts/<chunk>.<a>-<b>.parquet  what became of [a, b) of a chunk (parts.py)
    claims/                        what was being run when a worker died (claims.py)
    journal.jsonl report.json      what happened, for people
    run.lock                       held while a run lasts
    SUCCESS or PARTIAL             the run is finished, without or with capped or rejected rows

and folders of its own: chunks and blocks of pairs (pipeline/pairs/blocks.py), sides and stages of genomes (pipeline/genome/plan/manifest.py).
"""

import hashlib
import json
import os
import secrets
import shutil
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tidalign.pipeline.errors import CannotWrite, ManifestMismatch, MissingInput
from tidalign.pipeline.store.files import read_json, write_json, writing_error
from tidalign.pipeline.store.layout import FORMAT, PAIRS, Layout, check

_MARKERS = ("SUCCESS", "PARTIAL")

FILES = ("plan.json", "manifest.json", "journal.jsonl", "report.json", "run.lock", *_MARKERS)
"""Names that may be in a run directory beside the folders of its layout."""


def probe(directory: str, layout: Layout = PAIRS) -> None:
    """Make the run directory and its folders, and write a byte in it: CannotWrite or DiskFull before any work is done."""
    try:
        for folder in layout.folders:
            Path(directory, folder).mkdir(parents=True, exist_ok=True)
        trial = Path(directory, f"probe.{secrets.token_hex(4)}.tmp")
        trial.write_bytes(b"\0")
        trial.unlink()
    except OSError as error:
        raise writing_error(directory, error) from error


def create(directory: str, parameters: dict[str, Any], source: dict[str, Any], blocks: list[dict[str, Any]] | None, layout: Layout = PAIRS) -> None:
    """Begin a run: folders and plan.json. `blocks` is None where the input can only be read in sequence."""
    probe(directory, layout)
    made = {"format": FORMAT, "version": version("tidalign"), "kind": layout.kind, "tables": layout.digests()}
    write_json(f"{directory}/plan.json", {**made, "parameters": parameters, "source": source, "blocks": blocks})


def exists(directory: str) -> bool:
    """Whether a run was begun here."""
    return Path(directory, "plan.json").exists()


def require(directory: str, layout: Layout | None = None) -> dict[str, Any]:
    """plan.json of a run of any kind, or of this one. MissingInput where no such run was begun, saying what is there instead; else as `read_plan`."""
    if not exists(directory):
        path = Path(directory)
        found = "a folder without plan.json" if path.is_dir() else "a file" if path.exists() else "no such folder"
        way_out = "name that of `tidalign pairs` or `genome` (OUT or OUT.run), or of `genomes` (DIR/run)"
        raise MissingInput(f"{directory}: expected a run directory, found {found}; {way_out}")
    plan = read_plan(directory)
    if layout and plan["kind"] != layout.kind:
        raise MissingInput(f"{directory}: expected a run of `tidalign {layout.kind}`, found one of `tidalign {plan['kind']}`")
    return plan


def read_plan(directory: str) -> dict[str, Any]:
    """plan.json: {format, version, kind, tables, parameters, source, blocks}. ManifestMismatch where it was made with another layout or is no plan;
    CannotWrite where this machine does not see it."""
    try:
        plan = read_json(f"{directory}/plan.json")
    except FileNotFoundError as error:
        host = os.uname().nodename
        raise CannotWrite(f"{directory}: no run directory seen from {host}; it must be on a file system that every worker shares") from error
    check(directory, plan)
    return plan


def compare(directory: str, parameters: dict[str, Any], source: dict[str, Any], layout: Layout = PAIRS) -> None:
    """Raise ManifestMismatch, naming what differs, unless the run here was begun with these parameters and inputs by this version."""
    plan = read_plan(directory)
    wanted = json.loads(json.dumps({"kind": layout.kind, "version": version("tidalign"), "parameters": parameters, "source": source}))
    differences = _differences({name: plan[name] for name in wanted}, wanted)
    if differences:
        way_out = "use another run directory, or the same inputs and options; --new throws this run away and starts again"
        raise ManifestMismatch(f"{directory}: this run was begun with {'; '.join(differences)}; {way_out}")


def _differences(old: Any, new: Any, name: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        if old != new and old.keys() & new.keys() >= {"path", "mtime_ns"}:  # a file; where another is read, its size and time tell nothing more
            same = old["path"] == new["path"]
            return [f"{old['path']}, which has changed since" if same else f"{name} {old['path']!r}, now {new['path']!r}"]
        return [line for key in sorted({*old, *new}) for line in _differences(old.get(key), new.get(key), f"{name} {key}".strip())]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [line for place, (a, b) in enumerate(zip(old, new, strict=True)) for line in _differences(a, b, f"{name}[{place}]")]
    if isinstance(old, list) and isinstance(new, list) and any(isinstance(one, dict) for one in (*old, *new)):
        return [f"{len(old)} {name}, now {len(new)}"]
    return [] if old == new else [f"{name} {old!r}, now {new!r}"]


def tidy(directory: str) -> None:
    """Remove what writers that died left behind; only the holder of the lock may."""
    for left in [path for deep in ("*.tmp", "*/*.tmp", "*/*/*.tmp") for path in Path(directory).glob(deep)]:
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)


def run_id(parameters: dict[str, Any], source: dict[str, Any]) -> str:
    """What a part must carry to belong to a run."""
    return hashlib.sha256(json.dumps([parameters, source], sort_keys=True).encode()).hexdigest()


def finished(directory: str) -> str | None:
    """SUCCESS, PARTIAL, or None while the run is not over."""
    return next((marker for marker in _MARKERS if Path(directory, marker).exists()), None)


def finish(directory: str, report: dict[str, Any], *, partial: bool) -> None:
    """Write report.json, then the marker."""
    write_json(f"{directory}/report.json", report)
    write_json(f"{directory}/{_MARKERS[partial]}", {"run": report["run"]})


def reopen(directory: str) -> None:
    """Take the marker away: the run is not over after all (a part is gone)."""
    for marker in _MARKERS:
        Path(directory, marker).unlink(missing_ok=True)


def read_report(directory: str) -> dict[str, Any]:
    """report.json of a finished run."""
    return read_json(f"{directory}/report.json")


def journal(directory: str, event: str, **details: Any) -> None:
    """Append a line to journal.jsonl."""
    try:
        with Path(directory, "journal.jsonl").open("a") as lines:
            lines.write(json.dumps({"time": round(time.time(), 3), "event": event, **details}) + "\n")
    except OSError as error:
        raise writing_error(f"{directory}/journal.jsonl", error) from error
