"""The run directory: the one truth about a run, on disk, whatever died; from its plan to its end.

A name that exists is a whole file (files.py). Every kind of run has

    plan.json                      layout (layout.py), parameters and source; written first, compared when a run is taken up again
    manifest.json                  what is to be done, when the input is read (Manifest)
    parts/<chunk>.<a>-<b>.parquet  what became of [a, b) of a chunk (parts.py)
    claims/                        what was being run when a worker died (claims.py)
    journal.jsonl report.json      what happened, for people
    run.lock                       held while a run lasts
    SUCCESS or PARTIAL             the run is finished, without or with capped or rejected rows

and folders of its own: chunks and blocks of pairs (pipeline/pairs/manifest.py), sides and stages of genomes (pipeline/genome/manifest.py).
"""

import fcntl
import hashlib
import json
import logging
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Self, TypeVar

from tidalign import __version__
from tidalign.pipeline.errors import CannotWrite, Damaged, ManifestMismatch, MissingInput
from tidalign.pipeline.files.sniff import with_time
from tidalign.pipeline.store.files import read_json, write_json, writing_error
from tidalign.pipeline.store.layout import FORMAT, PAIRS, Layout, check, own


@contextmanager
def locked(directory: str) -> Iterator[None]:
    """Hold the run directory for this process. CannotWrite naming the holder where another one has it; the kernel lets go when a holder dies."""
    path = Path(directory, "run.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)  # who held it may have removed both meanwhile
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise writing_error(str(path), error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 200, 0).decode(errors="replace").strip() or "another process"
            raise CannotWrite(f"{directory}: in use by {holder}; wait for it, stop it, or use another run directory") from None
        except OSError as error:
            raise CannotWrite(f"{path}: its file system cannot lock files ({error.strerror}); use a run directory on one that can") from error
        if not _is(path, handle):  # who held it has removed it, and another may hold the next
            with locked(directory):
                yield
            return
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {os.uname().nodename}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def _is(path: Path, handle: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(handle))
    return False


_MARKERS = ("SUCCESS", "PARTIAL")


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


def create(directory: str, parameters: dict[str, Any], source: dict[str, Any], layout: Layout = PAIRS) -> None:
    """Begin a run: folders and plan.json."""
    probe(directory, layout)
    made = {"format": FORMAT, "version": __version__, "kind": layout.kind, "tables": layout.digests()}
    write_json(f"{directory}/plan.json", {**made, "parameters": parameters, "source": source})


def exists(directory: str) -> bool:
    """Tell whether a run was begun here."""
    return Path(directory, "plan.json").exists()


def require(directory: str, layout: Layout | None = None) -> dict[str, Any]:
    """Read plan.json of a run of any kind, or of this one. MissingInput where no such run was begun, saying what is there instead; else as `read_plan`."""
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
    """Read plan.json: {format, version, kind, tables, parameters, source}. ManifestMismatch where it was made with another layout or is no plan; CannotWrite
    where this machine does not see it."""
    try:
        return read_json(f"{directory}/plan.json", partial(check, directory))
    except Damaged as error:
        raise Damaged(error.path, error.found, "start again with --new, which throws this run away, or in another place with -o") from error
    except FileNotFoundError as error:
        raise CannotWrite(f"{directory}: no run directory seen from {os.uname().nodename}; it must be on a file system that every worker shares") from error


def compare(directory: str, parameters: dict[str, Any], source: dict[str, Any], layout: Layout = PAIRS) -> None:
    """Raise ManifestMismatch, naming what differs, unless the run here was begun with these parameters and inputs by this version."""
    plan = read_plan(directory)
    wanted = json.loads(json.dumps({"kind": layout.kind, "version": __version__, **parameters, **source}))
    if differences := _differences({"kind": plan["kind"], "version": plan["version"], **plan["parameters"], **plan["source"]}, wanted):
        way_out = "use another run directory, or the same inputs and options; --new throws this run away and starts again"
        raise ManifestMismatch(f"{directory}: this run was begun with {'; '.join(differences)}; {way_out}")


def _differences(old: Any, new: Any, name: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        if old != new and old.keys() & new.keys() >= {"path", "mtime_ns"}:  # a file; where another is read, its size and time tell nothing more
            if old["path"] != new["path"]:
                return [f"{name} {old['path']!r}, now {new['path']!r}"]
            touched = {**old, "mtime_ns": new["mtime_ns"]} == new and Path(old["path"]).is_file()
            found = f"another time of change ({with_time(old['path'], old['mtime_ns'])})" if touched else "changed since"
            return [f"{old['path']}, which has {found}"]
        return [line for key in sorted({*old, *new}) for line in _differences(old.get(key), new.get(key), f"{name} {key}".strip())]
    listed = isinstance(old, list) and isinstance(new, list)
    if not listed or not any(isinstance(one, dict) for one in (*old, *new)):
        return [] if old == new else [f"{name} {', now '.join(','.join(map(str, each)) if listed else repr(each) for each in (old, new))}"]
    if len(old) != len(new):
        return [f"{len(old)} {name}, now {len(new)}"]
    return [line for place, (a, b) in enumerate(zip(old, new, strict=True)) for line in _differences(a, b, f"{name.removesuffix('s')} {place + 1}")]


def tidy(directory: str, layout: Layout) -> None:
    """Remove what writers that died left behind; only the holder of the lock may. CannotWrite where there is what no run makes."""
    left = [path for path in layout.entries(directory) if ".tmp" in str(path.relative_to(directory))]
    for path in left if own(directory) else ():
        path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)


def empty(directory: str, layout: Layout) -> None:
    """Remove all of a run but its lock. CannotWrite, and nothing is removed, where there is what no run makes, or plan.json is somebody else's."""
    entries = layout.removed(directory)
    if not own(directory):
        raise CannotWrite(f"{directory}/plan.json: expected that of a run, which may be thrown away, found another or none; choose another place with -o")
    for path in entries:
        if path.is_dir():
            path.rmdir()
        elif path.name != "run.lock":
            path.unlink(missing_ok=True)


def run_id(parameters: dict[str, Any], source: dict[str, Any]) -> str:
    """Compute what a part must carry to belong to a run."""
    return hashlib.sha256(json.dumps([parameters, source], sort_keys=True).encode()).hexdigest()


def run_of(plan: dict[str, Any]) -> str:
    """Give the `run_id` of a run, by its plan: where jobs were added to it, that with which it was begun."""
    return str(plan.get("run") or run_id(plan["parameters"], plan["source"]))


def finished(directory: str) -> str | None:
    """Tell how a run ended: SUCCESS, PARTIAL, or None while it is not over."""
    return next((marker for marker in _MARKERS if Path(directory, marker).exists()), None)


def finished_source(directory: str, layout: Layout) -> dict[str, Any] | None:
    """Say what a finished run of this kind read, which may be gone since; None where there is none."""
    plan = read_plan(directory) if exists(directory) and finished(directory) else None
    return dict(plan["source"]) if plan and plan["kind"] == layout.kind else None


def finish(directory: str, report: dict[str, Any], *, partial: bool) -> None:
    """Write report.json, then the marker."""
    write_json(f"{directory}/report.json", report)
    write_json(f"{directory}/{_MARKERS[partial]}", {"run": report["run"]})


def reopen(directory: str) -> None:
    """Remove the marker of a run's end: the run is not over after all (a part is gone)."""
    for marker in _MARKERS:
        Path(directory, marker).unlink(missing_ok=True)


def mend(directory: str, damaged: Damaged) -> None:
    """Remove a damaged file, and what is of no use without it, for who makes it again; the holder of the lock may. Raises `damaged` where nobody can."""
    place = Path(damaged.path).relative_to(directory)
    if place.name == "plan.json":
        raise damaged
    journal(directory, "removed", file=str(place), why=damaged.found)
    reopen(directory)
    if place.parts[0] == "sides":
        shutil.rmtree(Path(directory, *place.parts[:2]), ignore_errors=True)  # it may not be seen here yet; what stays is met again
        return
    anchors = [place.with_suffix(suffix) for suffix in (".json", ".arrow")] if place.stem.endswith(".anchors") else []
    for each in {place, *anchors}:
        Path(directory, each).unlink(missing_ok=True)


def read_report(directory: str) -> dict[str, Any]:
    """Read report.json of a finished run."""
    read_json(f"{directory}/{finished(directory)}")
    return read_json(f"{directory}/report.json")


def journal(directory: str, event: str, **details: Any) -> None:
    """Append a line to journal.jsonl, and tell whoever logs."""
    logging.getLogger("tidalign").info("%s %s", event, details)
    try:
        with Path(directory, "journal.jsonl").open("a") as lines:
            lines.write(json.dumps({"time": round(time.time(), 3), "event": event, **details}) + "\n")
    except OSError as error:
        raise writing_error(f"{directory}/journal.jsonl", error) from error


@dataclass(frozen=True, slots=True)
class Manifest:
    """Hold what manifest.json says of any kind of run; each kind adds its own fields.

    run: what a part must carry to belong to the run. parameters, source: as in plan.json, in the types of the kind.
    chunks: for each chunk, in the order of the results, how much its parts must hold in all: rows of pairs, units of genomes.
    """

    run: str
    parameters: Any
    source: dict[str, Any]
    chunks: dict[str, int]

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Make one of what manifest.json holds."""
        raise NotImplementedError


M = TypeVar("M", bound=Manifest)


def write_manifest(
    directory: str,
    kind: type[M],
    chunks: dict[str, int],
    section: dict[str, Any],
    check: Callable[[M], None] | None = None,
    source: dict[str, Any] | None = None,
) -> M:
    """Write manifest.json of the run whose plan is there, with the section of its kind, unless `check` raises an error. source: the plan's from now on; what is
    done of the run stays."""
    before = read_plan(directory)
    plan = before if source in (None, before["source"]) else {**before, "source": source, "run": run_of(before)}
    common = {name: plan[name] for name in ("format", "version", "kind", "parameters", "source")}
    values = {**common, "run": run_of(plan), "chunks": chunks, plan["kind"]: section}
    manifest = kind.from_json(values)
    if check:
        check(manifest)
    if plan is not before:
        write_json(f"{directory}/plan.json", plan)
        reopen(directory)
    write_json(_manifest_path(directory), values)
    return manifest


def has_manifest(directory: str) -> bool:
    """Tell whether the input was read to its end and manifest.json written."""
    return Path(_manifest_path(directory)).exists()


def read_manifest(directory: str, kind: type[M]) -> M:
    """Read manifest.json; once, as long as it does not change. MissingInput where there is none."""
    try:
        with Path(_manifest_path(directory)).open("rb") as file:  # by which network file systems see whether it is still the same
            state = os.fstat(file.fileno())
    except FileNotFoundError as error:
        raise MissingInput(f"{directory}: the run stopped before its input was read, or reads it now; the same command again goes on") from error
    manifest: M = _load_manifest(directory, kind.from_json, state.st_mtime_ns, state.st_size)
    return manifest


@lru_cache(maxsize=2)
def _load_manifest(directory: str, parse: Callable[[dict[str, Any]], Any], changed: int, size: int) -> Any:
    return parse(read_json(_manifest_path(directory)))


def _manifest_path(directory: str) -> str:
    return f"{directory}/manifest.json"
