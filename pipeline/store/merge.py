"""Put the parts of shards, run directories of the same run that each did a share of it, into one run directory."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tidalign.pipeline.errors import ManifestMismatch, MissingInput
from tidalign.pipeline.store import parts, rundir
from tidalign.pipeline.store.files import link, read_json, writing_error
from tidalign.pipeline.store.layout import Layout, of_kind

_ONCE = ("run.lock", "journal.jsonl", "report.json", "report.html", "tidalign_mqc.json", "SUCCESS", "PARTIAL", "claims", "logs", "parts")
"""What a run directory has for itself."""


def merge(runs: Sequence[str], out: str, look: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """Fill the run directory `out`, whose lock the caller holds, with what is in shards; its plan. Nothing that is there is written again.

    look: is called before each file, and may raise to stop.

    Raises MissingInput where a run is none or something is in no shard, ManifestMismatch where they are not of one run.
    """
    plans = {run: rundir.require(run) for run in runs}
    first, layout = runs[0], of_kind(plans[runs[0]]["kind"])
    manifests = {run: _manifest(run) for run in runs}
    for run in runs[1:]:
        if any(plans[run][name] != plans[first][name] for name in ("kind", "version", "parameters", "source")) or manifests[run] != manifests[first]:
            raise ManifestMismatch(f"{run}: expected a shard of the run of {first}, found other inputs, options or another version; merge those of one command")
    if rundir.exists(out) and rundir.read_plan(out) != plans[first]:
        raise ManifestMismatch(f"{out}: expected a new run directory, or one of the same run, found another; --new throws it away")
    _check_whole(runs, manifests[first])
    for place in [path for path in layout.entries(first) if path.is_file() and path.relative_to(first).parts[0] not in _ONCE]:
        if place.suffix != ".tmp" and place.relative_to(first).parts[0] not in ("plan.json", "manifest.json"):
            look()
            _link(place, Path(out, place.relative_to(first)))
    for run in runs:
        for folder in ("parts", "kept"):
            for part in sorted(Path(run, folder).rglob("*.parquet")):
                look()
                _link(part, Path(out, part.relative_to(run)))
    look()
    for name in ("manifest.json", "plan.json"):  # last: until then there is nothing that could be gone on with
        _link(Path(first, name), Path(out, name))
    return plans[first]


def _manifest(run: str) -> dict[str, Any]:
    try:
        return read_json(f"{run}/manifest.json")
    except FileNotFoundError as error:
        raise MissingInput(f"{run}: the shard stopped before its input was read; run its command again") from error


def _check_whole(runs: Sequence[str], manifest: dict[str, Any]) -> None:
    """Check that every range of every chunk is in some shard."""
    found: dict[str, list[parts.Range]] = {}
    for run in runs:
        for chunk, ranges in parts.scan(f"{run}/parts", manifest["run"])[0].items():
            found.setdefault(chunk, []).extend((part.start, part.stop) for part in ranges)
    left = {chunk: count - sum(b - a for a, b in parts.cover(found.get(chunk, []))) for chunk, count in manifest["chunks"].items()}
    if lacking := sum(left.values()):
        of = next(chunk for chunk, count in left.items() if count)
        total = sum(manifest["chunks"].values())
        raise MissingInput(f"{lacking:,} of {total:,} rows or units are in none of {len(runs)} shards, first of {of}: finish the shards, and name all")


def _link(source: Path, target: Path) -> None:
    """Give a file a second name below the run that is made, unless it has it."""
    if target.exists():
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        link(str(source), str(target))
    except OSError as error:
        raise writing_error(str(target), error) from error


def layout_of(run: str) -> Layout:
    """Give the layout of a run's kind."""
    return of_kind(rundir.require(run)["kind"])
