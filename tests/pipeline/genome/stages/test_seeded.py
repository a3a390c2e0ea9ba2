"""What was seeded is written down, and gone on from: the anchors are those of a strand that was seeded in one go, wherever that was left."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tidalign.pipeline.errors import Damaged
from tidalign.pipeline.genome.input.folders import read_all
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.manifest import write_manifest
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages import anchoring, host, seeded
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES

TILE = 300
"""Hits of a tile: there are places of the query with more, and places with fewer."""

OPTIONS: list[dict[str, Any]] = [
    {"transitions": 2},
    {"seed": "11111111", "transitions": 0, "hspthresh": 900},
    {"mode": "independent", "seed": "11111111", "transitions": 0, "hspthresh": 900},
    {"gfextend": False, "seed": "11111111", "transitions": 0},
    {"gfextend": False, "seed": "11111111", "transitions": 0, "mode": "independent"},
    {"gfextend": False, "gapped": False, "seed": "11111111", "transitions": 0},
    {"xdrop": 200_000_000, "seed": "11111111", "transitions": 0},
    {"chain": (0, 0), "seed": "11111111", "transitions": 0, "hspthresh": 900},
    {"query_hsp_best": 5, "seed": "11111111", "transitions": 0, "hspthresh": 900},
]


def begun(folder: Path, parameters: GenomeParameters) -> str:
    """Begin a run of a target with repeats, so that many hits are at one place of the query, and of a query like it."""
    rng = np.random.default_rng(3)
    letters = np.frombuffer(b"ACGT", np.uint8)
    unit = rng.choice(letters, 40)
    target = np.concatenate([rng.choice(letters, 900), *[unit] * 12, rng.choice(letters, 600), np.frombuffer(b"A" * 30, np.uint8), rng.choice(letters, 300)])
    query = np.where(rng.random(len(target)) < 0.04, rng.choice(letters, len(target)), target)
    query = np.concatenate([query[200:1500], query[:1200]])
    folder.mkdir()
    for name, sequence in (("t", target), ("q", query)):
        (folder / f"{name}.fa").write_bytes(b">%s\n%s\n" % (name.encode(), sequence.tobytes()))
    source = GenomeSource((Pair("pair", str(folder / "t.fa"), str(folder / "q.fa")),))
    run = str(folder / "run")
    rundir.probe(run, GENOMES)
    rundir.create(run, parameters.to_json(), source.to_json(), GENOMES)
    write_manifest(run, read_all(run, source))
    return run


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let hits come a few at a time; gives the query places from which on they were sought."""
    starts: list[int] = []
    hits = host.HostWords.hits

    def few(self: Any, query: Any, parameters: Any, start: int = 0) -> Iterator[Any]:
        starts.append(start)
        return hits(self, query, parameters, start, tile=TILE)

    monkeypatch.setattr(host.HostWords, "hits", few)
    return starts


def anchors(run: str, beat: Any = lambda _: None) -> Any:
    """Seed the strand +, and give its anchors as their file has them."""
    unit = next(unit for unit in (Unit(run, 0, 0), Unit(run, 0, 1)) if unit.strand == "+")
    anchoring.write_anchors(unit, beat)
    found = pa.Table.from_batches(anchoring.read_anchors(unit).to_batches())
    for path in Path(run, "stages").glob("*.anchors.*"):
        path.unlink()
    return found


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_whoever_is_killed_loses_nothing_that_was_written(tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, small_tiles: Any) -> None:
    run = begun(tmp_path / "pair", replace(GenomeParameters(), **options))
    stages = Path(run, "stages")
    expected = anchors(run)
    assert len(expected) >= 2 and list(stages.iterdir()) == []  # it was quick
    monkeypatch.setattr(seeded, "SECONDS", 0.0)
    monkeypatch.setattr(seeded, "WRITING_SHARE", float("inf"))
    kept: list[Path] = []

    def keep(place: int) -> None:
        kept.append(tmp_path / f"kept{len(kept)}")
        shutil.copytree(stages, kept[-1])

    assert anchors(run, keep) == expected and list(stages.iterdir()) == []
    assert len(kept) > 2
    for number, folder in list(enumerate(kept))[:: max(1, len(kept) // 6)]:
        shutil.rmtree(stages)
        shutil.copytree(folder, stages)
        small_tiles.clear()
        assert anchors(run) == expected, number
        assert number < 2 or small_tiles[0] > 0


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_stop_writes_down_what_was_found(tmp_path: Path, options: dict[str, Any], small_tiles: Any) -> None:
    """However often it comes, and after how few tiles."""
    run = begun(tmp_path / "pair", replace(GenomeParameters(), **options))
    expected = anchors(run)

    class Enough(Exception):
        pass

    for _ in range(200):
        left = 4

        def stop(place: int) -> None:
            nonlocal left
            left -= 1
            if not left:
                raise Enough

        small_tiles.clear()
        try:
            found = anchors(run, stop)
        except Enough:
            continue
        break
    assert small_tiles[0] > 0 and found == expected


def test_what_is_written_down_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged file is named; without a stretch, or of another run, seeding begins anew."""
    run = begun(tmp_path / "pair", replace(GenomeParameters(), **OPTIONS[1]))
    expected = anchors(run)

    class Enough(Exception):
        pass

    def stop(place: int) -> None:
        if place > 1000:
            raise Enough

    monkeypatch.setattr(seeded, "SECONDS", 0.0)
    monkeypatch.setattr(seeded, "WRITING_SHARE", float("inf"))
    with pytest.raises(Enough):
        anchors(run, stop)
    files = sorted(Path(run, "stages").iterdir())
    assert len(files) > 3
    assert set(files) <= set(GENOMES.entries(run))  # which refuses others
    for path in (files[0], files[-1]):
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(Damaged, match=path.name):
            anchors(run)
        path.write_bytes(whole)
    next(path for path in files if path.name.endswith(".hsps.parquet")).unlink()
    assert anchors(run) == expected


@pytest.mark.parametrize("options", OPTIONS[1:5], ids=str)
def test_files_of_different_processes_are_not_mixed(tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one that was killed before it could say how far it was, or that went on though it was thought dead, with other tiles."""
    run = begun(tmp_path / "pair", replace(GenomeParameters(), **options))
    stages = Path(run, "stages")
    expected = anchors(run)
    monkeypatch.setattr(seeded, "SECONDS", 0.0)
    monkeypatch.setattr(seeded, "WRITING_SHARE", float("inf"))
    kept: list[Path] = []

    def keep(place: int) -> None:
        kept.append(tmp_path / f"kept{len(kept)}")
        shutil.copytree(stages, kept[-1])

    anchors(run, keep)
    monkeypatch.setattr(f"{__name__}.TILE", 170)
    anchors(run, keep)
    random = np.random.default_rng(1)
    for trial in range(12):
        monkeypatch.setattr(f"{__name__}.TILE", int(random.integers(100, 400)))
        for path in stages.iterdir():
            path.unlink()
        first, second = random.choice(kept, 2)
        for folder in (first, second):  # the second one's records, and files of segments of both
            for path in folder.iterdir():
                shutil.copy(path, stages)
        if trial % 2:
            shutil.copy(next(first.glob("*.records.parquet"), next(second.glob("*.records.parquet"))), stages)
        assert anchors(run) == expected, trial
