"""Run directories: every table in them is one of their layout, and commands refuse those of another layout with status 78."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidalign
from tidalign.pipeline.genome import plan
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages import seeded
from tidalign.pipeline.genome.units import warm_up
from tidalign.pipeline.genome.walk import walk
from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.input.read import inspect
from tidalign.pipeline.schema import KEPT
from tidalign.pipeline.store.layout import GENOMES, PAIRS
from tidalign.workflows import cli
from tidalign.workflows.run.genome.run import run_genomes
from tidalign.workflows.run.pairs.run import run_pairs


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Write a sequence of 3,000 letters, and the same with every 97th changed."""
    letters = np.random.default_rng(1).choice(list("ACGT"), 3000)
    changed = np.where(np.arange(3000) % 97 == 0, np.roll(letters, 1), letters)
    for name, sequence in (("target", letters), ("query", changed)):
        (tmp_path / f"{name}.fa").write_text(f">{name}\n{''.join(sequence)}\n")
    return str(tmp_path / "target.fa"), str(tmp_path / "query.fa")


# ---- what is written


def _table(path: Path) -> tuple[str, pa.Schema]:
    """Name in its layout and schema of a table of a run directory."""
    folder = path.parent.name
    if path.suffix == ".arrow":
        schema = pa.ipc.open_file(pa.memory_map(str(path))).schema
        return "stages/anchors without gaps" if "length" in schema.names else "stages/anchors", schema
    if folder == "stages":
        return f"stages/{path.stem.rpartition('.')[2]}", pq.read_schema(path)
    return f"kept/{folder}" if path.parent.parent.name == "kept" else folder, pq.read_schema(path)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[pa.Schema]]:
    """Note the schemas of all tables that get their names, by table."""
    found: dict[str, list[pa.Schema]] = {}
    replace = Path.replace

    def seen(path: Path, target: Any) -> Path:
        at = replace(path, target)
        if at.suffix in (".parquet", ".arrow"):
            name, schema = _table(at)
            found.setdefault(name, []).append(schema)
        return at

    monkeypatch.setattr(Path, "replace", seen)
    return found


def _all_as_described(written: dict[str, list[pa.Schema]], tables: Any) -> None:
    assert written.keys() == tables.keys()
    for name, schemas in written.items():
        assert all(schema.equals(tables[name]) for schema in schemas), name


def test_every_table_of_pairs_is_in_the_layout(tmp_path: Path, files: tuple[str, str], written: dict[str, list[pa.Schema]]) -> None:
    run_pairs(tmp_path / "run", inspect(*files), PairParameters())
    kept = {name: schema for name, schema in PAIRS.tables.items() if name != "letters"}  # those of a pipe: tests/workflows/test_letters.py
    _all_as_described(written, kept)


def test_every_table_of_genomes_is_in_the_layout(
    tmp_path: Path, files: tuple[str, str], written: dict[str, list[pa.Schema]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(seeded, "SECONDS", 0.0)
    monkeypatch.setattr(seeded, "WRITING_SHARE", float("inf"))
    source = GenomeSource((Pair("pair", *files),), keep=tuple(KEPT))
    for number, change in enumerate([{}, {"gapped": False}, {"mode": "independent"}]):
        with mock.patch.object(plan, "TILE_SECONDS", 0.0):  # every unit in stages
            run_genomes(tmp_path / str(number), source, GenomeParameters(**change))
    warm_up(GenomeParameters())  # extends ahead
    _all_as_described(written, GENOMES.tables)


# ---- what is refused


@pytest.fixture
def keep_signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def older(plan: dict[str, Any]) -> str:
    """Write the plan as the first layout was."""
    return json.dumps({"format": 1} | {name: plan[name] for name in ("version", "parameters", "source")}, indent=1)


CHANGES = (
    (older, f"made by tidalign {tidalign.__version__} with another table layout (format 1, now "),
    (lambda plan: json.dumps({**plan, "tables": {**plan["tables"], "parts": "0123456789abcdef"}}), "(other columns in parts)"),
    (lambda plan: json.dumps({**plan, "tables": None}), "without a valid 'tables'"),
    (lambda plan: "[1", "not the JSON"),
)


@pytest.mark.parametrize(("command", "format"), [("pairs", "paf"), ("genome", "maf")])
def test_commands_refuse_a_run_of_another_layout(
    command: str, format: str, tmp_path: Path, files: Any, keep_signals: None, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = str(tmp_path / "run"), tmp_path / f"out.{format}"
    make, export = [command, *files, "-o", run, "--quiet"], ["export", run, "-o", str(out), "--quiet"]
    other = ["partition", *files, "-o", run] if command == "pairs" else ["plot", run, "-o", str(tmp_path / "out.png")]
    assert cli.main(make) == 0
    plan = json.loads(Path(run, "plan.json").read_text())
    del plan["seal"]  # older ones have none
    for change, said in CHANGES:
        Path(run, "plan.json").write_text(change(plan))
        for arguments in (export, make, other):
            capsys.readouterr()
            assert cli.main(arguments) == 78, arguments
            (line,) = capsys.readouterr().err.splitlines()
            assert line.startswith(f"tidalign: {run}") and said in line and "--new" in line
    assert not list(tmp_path.glob("out.*"))
    assert cli.main([*make, "--new"]) == 73  # nothing says that the last plan was ours
    Path(run, "plan.json").write_text(older(plan))
    assert (cli.main([*make, "--new"]), cli.main(export)) == (0, 0)
    assert out.stat().st_size > 0
