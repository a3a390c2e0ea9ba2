"""The run directory: the one truth about a run, on disk, whatever died.

Files are written under a temporary name, forced to disk and renamed, so a name that exists is a whole file. Layout:

    plan.json                      layout (layout.py), parameters, source and blocks; written first, compared when a run is taken up again
    chunks/<chunk>.parquet         pairs, `schema.CHUNK`
    blocks/b<id>.json              what a block of the input became; written after its chunks
    manifest.json                  written when every block is there and the counts agree
    parts/<chunk>.<a>-<b>.parquet  rows [a, b) of a chunk, aligned (parts.py)
    claims/                        what was being run when a worker died (claims.py)
    journal.jsonl report.json      what happened, for people
    run.lock                       held while a run lasts
    SUCCESS or PARTIAL             the run is finished, without or with capped or rejected rows
"""

import errno
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidalign.pipeline.errors import CannotWrite, DiskFull, ManifestMismatch, MissingInput
from tidalign.pipeline.store.layout import FORMAT, PAIRS, Layout, check

_MARKERS = ("SUCCESS", "PARTIAL")


# ---- whole files


def durably(path: str, write: Callable[[str], None]) -> None:
    """Let `write` fill a temporary file beside `path`, force it to disk and give it its name. DiskFull or CannotWrite where that fails."""
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        write(temporary)
        handle = os.open(temporary, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        Path(temporary).replace(path)
        folder = os.open(Path(path).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise writing_error(path, error) from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def writing_error(path: str, error: OSError) -> Exception:
    """What a failed write means to the user."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{path}: no space left; free some, then run the same command again: what is finished is kept")
    return CannotWrite(f"{path}: cannot be written: {error.strerror or error}")


def write_table(path: str, table: Any, *, row_group_size: int | None = None, metadata: Mapping[str, str] | None = None) -> None:
    """Write a Parquet file whole or not at all. `metadata` becomes the file's key-value metadata; sequences are stored as they are, the rest compressed."""
    table = table.replace_schema_metadata(dict(metadata) if metadata else None)
    # Packed bases do not compress; everything else does, cheaply.
    compression = {field.name: "none" if pa.types.is_large_binary(field.type) else "zstd" for field in table.schema}
    # Most bytes of numbers are 0: with bytes of one place together they are compressed faster, and smaller.
    encoding = {field.name: "BYTE_STREAM_SPLIT" for field in table.schema if field.type == pa.int64()}
    durably(
        path,
        lambda temporary: pq.write_table(
            table,
            temporary,
            row_group_size=row_group_size or max(1, len(table)),
            compression=compression,
            compression_level={name: 1 for name, codec in compression.items() if codec == "zstd"},
            use_dictionary=False,
            column_encoding=encoding,
            write_statistics=False,
        ),
    )


def write_json(path: str, value: Any) -> None:
    """Write a JSON file whole or not at all."""

    def write(temporary: str) -> None:
        Path(temporary).write_text(json.dumps(value, indent=1) + "\n")

    durably(path, write)


def read_json(path: str) -> dict[str, Any]:
    """What `write_json` wrote of a run. ManifestMismatch where the file holds anything but a JSON object."""
    try:
        value = json.loads(Path(path).read_text())
    except ValueError as error:
        raise ManifestMismatch(f"{path}: not the JSON that tidalign wrote ({error}); start again with --new") from error
    if not isinstance(value, dict):
        raise ManifestMismatch(f"{path}: expected a JSON object, found {type(value).__name__}; start again with --new")
    return value


# ---- names


def chunk_path(directory: str, chunk: str) -> str:
    """Where a chunk's pairs are."""
    return f"{directory}/chunks/{chunk}.parquet"


def _block_path(directory: str, block: int) -> str:
    return f"{directory}/blocks/b{block:05d}.json"


# ---- a run's life


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


# ---- blocks and the manifest


def write_block_record(directory: str, record: dict[str, Any]) -> None:
    """Say that a block is partitioned: {id, first, pairs, chunks: [{id, rows, bin, work, bytes, longest}]}. Its chunks must be there."""
    write_json(_block_path(directory, record["id"]), record)


def read_block_record(directory: str, block: int) -> dict[str, Any] | None:
    """The record of a block that was partitioned; None where it was not, or its chunk files are gone."""
    try:
        record = read_json(_block_path(directory, block))
    except FileNotFoundError:
        return None
    whole = all(_size(chunk_path(directory, chunk["id"])) == chunk["bytes"] for chunk in record["chunks"])
    return record if whole else None


def _size(path: str) -> int | None:
    try:
        return Path(path).stat().st_size
    except FileNotFoundError:
        return None


def run_id(parameters: dict[str, Any], source: dict[str, Any]) -> str:
    """What a part must carry to belong to a run."""
    return hashlib.sha256(json.dumps([parameters, source], sort_keys=True).encode()).hexdigest()


def write_manifest(directory: str, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Close the partition stage: check that the blocks follow each other and that every pair is in a chunk, write manifest.json and return it."""
    plan = read_plan(directory)
    records = sorted(records, key=lambda record: int(record["id"]))
    first = 0
    for place, record in enumerate(records):
        rows = sum(chunk["rows"] for chunk in record["chunks"])
        if (record["id"], record["first"], record["pairs"]) != (place, first, rows):
            raise RuntimeError(f"{directory}: block {record['id']} has {rows} rows from ordinal {record['first']}; expected block {place} from {first}")
        first += rows
    if plan["blocks"] is not None and [(r["id"], r["pairs"]) for r in records] != [(b["id"], b["pairs"]) for b in plan["blocks"]]:
        raise RuntimeError(f"{directory}: {len(records)} blocks were written, not the {len(plan['blocks'])} that were planned")
    manifest = {
        "format": plan["format"],
        "version": plan["version"],
        "run": run_id(plan["parameters"], plan["source"]),
        "parameters": plan["parameters"],
        "source": plan["source"],
        "pairs": first,
        "blocks": records,
    }
    write_json(f"{directory}/manifest.json", manifest)
    return manifest


def read_manifest(directory: str) -> dict[str, Any] | None:
    """manifest.json; None while the partition stage is not over."""
    try:
        return read_json(f"{directory}/manifest.json")
    except FileNotFoundError:
        return None


# ---- the end, and what people read


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
