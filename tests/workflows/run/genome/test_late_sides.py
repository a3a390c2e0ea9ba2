"""Sides that workers of other hosts read, on file systems that show late what others made, and that something was not there long after it is."""

from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidalign.pipeline.errors import Damaged
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.store import parts, rundir
from tidalign.workflows.run.genome import run
from tidalign.workflows.run.genome.run import Genomes


@pytest.fixture
def kind(tmp_path: Path) -> Genomes:
    for name in ("t", "q"):
        (tmp_path / f"{name}.fa").write_text(f">{name}\n{'ACGTTGCA' * 20}\n")
    return Genomes(GenomeSource((Pair("pair", str(tmp_path / "t.fa"), str(tmp_path / "q.fa")),)), GenomeParameters())


def test_sides_are_looked_for_once_they_are_read_and_waited_for(kind: Genomes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    known = run.folder_records

    def late(*arguments: Any) -> Any:
        events.append("looked for")
        return known(*arguments) if len(events) > 3 else None

    def read(function: Callable[..., Any], *arguments: Iterable[Any], here: bool) -> list[Any]:
        assert not here
        events.append("read")
        return list(map(function, *arguments))

    monkeypatch.setattr(run, "folder_records", late)
    monkeypatch.setattr(parts, "LOOK_SECONDS", 0.0)
    directory = str(tmp_path / "run")
    kind.begin(directory)
    manifest = kind.read(SimpleNamespace(directory=directory, map=read), lambda *_: None, "workers", None)  # type: ignore[arg-type]
    assert events == ["read", *["looked for"] * 3] and len(manifest.sides) == 2


def test_what_never_comes_is_looked_for_so_many_times(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setattr(parts, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(parts, "LOOKS", 5)
    assert parts.once_seen(lambda: looks.append(1) or len(looks), lambda seen: seen > 0) == 5
    assert len(looks) == 5


def test_a_damaged_side_that_is_not_seen_any_more_is_mended(kind: Genomes, tmp_path: Path) -> None:
    directory = str(tmp_path / "run")
    kind.begin(directory)
    rundir.mend(directory, Damaged(f"{directory}/sides/s0000/codes", "gone"))
