"""Genome runs write what they have when it is time, and go on from there: the same answer, wherever they are cut or stopped."""

import gzip
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tidalign.cluster.errors import Stopped
from tidalign.cluster.stop import Stop
from tidalign.pipeline.device import CPU
from tidalign.pipeline.genome import plan
from tidalign.pipeline.genome import units as stages
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.manifest import read_manifest
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import Tile
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.genome.stages import guards, host, independent
from tidalign.pipeline.genome.walk import walk
from tidalign.workflows.commands.demo import DATA
from tidalign.workflows.run import devices
from tidalign.workflows.run.devices import Resources
from tidalign.workflows.run.genome import tasks
from tidalign.workflows.run.genome.run import run_genomes
from tidalign.workflows.status import Exit

BARE = {"gfextend": False, "step": 40}

CHANGES: list[dict[str, Any]] = [
    {},
    {"mode": "independent", **BARE},
    {"gapped": False},
    {"query_hsp_limit": 20, "query_hsp_keep": True},
    {"chain": (0, 0)},
    {"cells": 100_000, "mode": "independent"},
]


@pytest.fixture(scope="module")
def flies(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Write two fly sequences; the query's two contigs are there three times under other names, so that there are twelve units."""
    folder = tmp_path_factory.mktemp("flies")
    for name, copies in (("fly_melanogaster", 1), ("fly_pseudoobscura", 3)):
        text = gzip.decompress((DATA / f"{name}.fa.gz").read_bytes())
        (folder / name).write_bytes(b"".join(text.replace(b">", b">%d_" % copy) for copy in range(copies)))
    return str(folder / "fly_melanogaster"), str(folder / "fly_pseudoobscura")


def run(place: Path, flies: tuple[str, str], change: dict[str, Any], seconds: float = 1e9) -> Any:
    """Run `run_genomes` with tiles of so many estimated seconds: all units in one, or each by itself; in this process."""
    with mock.patch.object(plan, "TILE_SECONDS", seconds):
        return run_genomes(place, GenomeSource((Pair("pair", *flies),)), replace(GenomeParameters(), **change), resources=Resources(workers=0))


def answer(place: Path) -> tuple[bytes, Any]:
    results = GenomeResults(place)
    results.export(f"{place}.maf")
    return Path(f"{place}.maf").read_bytes(), results.to_table()


def parts(place: Path) -> list[str]:
    return sorted(path.name for path in (place / "parts").iterdir())


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_parts_are_cut_by_the_clock(tmp_path: Path, flies: Any, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]) -> None:
    monkeypatch.setattr(guards, "CUT_SECONDS", 1e9)  # kernels that are compiled on the way may take longer
    assert run(tmp_path / "once", flies, change).exit in (Exit.COMPLETE, Exit.PARTIAL)
    assert len(parts(tmp_path / "once")) == 1
    monkeypatch.setattr(guards, "CUT_SECONDS", 0.0)
    monkeypatch.setattr(stages, "LETTERS_TOGETHER", 1)
    report = run(tmp_path / "cut", flies, change)
    assert len(parts(tmp_path / "cut")) >= (6 if "query_hsp_limit" in change else 12)  # the strands of a query stay together where they must
    assert answer(tmp_path / "cut") == answer(tmp_path / "once") and report.rows > 0
    assert [*(tmp_path / "cut" / "stages").iterdir(), *(tmp_path / "cut" / "extended").iterdir()] == []


def test_a_unit_of_independent_mode_is_written_in_pieces(tmp_path: Path, flies: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both one in stages and one that was thought to be small."""
    change = {"mode": "independent", **BARE, "step": 4, "strand": "plus"}
    run(tmp_path / "once", flies, change)
    monkeypatch.setattr(guards, "CUT_SECONDS", 0.0)
    monkeypatch.setattr(host, "FOUND_SECONDS", 0.0)
    written = mock.Mock(wraps=independent.write_part)
    monkeypatch.setattr(independent, "write_part", written)
    for name, seconds in (("small", 1e9), ("stages", 0.0)):
        with mock.patch.multiple(devices, CPU=replace(CPU, tile_anchors=1 << 20)):
            run(tmp_path / name, flies, change, seconds)
        assert written.call_count > 12, name
        assert answer(tmp_path / name) == answer(tmp_path / "once")
        written.reset_mock()


class Enough(Exception):
    pass


@pytest.mark.parametrize("change", CHANGES[:-1], ids=str)
def test_whoever_dies_at_a_unit_loses_no_other(tmp_path: Path, flies: Any, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]) -> None:
    """What was cut off before is there, and is not done again."""
    run(tmp_path / "once", flies, change)
    monkeypatch.setattr(guards, "CUT_SECONDS", 0.0)
    monkeypatch.setattr(stages, "LETTERS_TOGETHER", 1)
    begun: list[int] = []
    deadly = True

    def die(tile: Tile, place: int, device: Any) -> None:
        begun.append(place)
        if place == 7 and deadly:
            raise Enough

    monkeypatch.setenv("TIDALIGN_TEST_SLOW", "0")  # faults are looked for
    monkeypatch.setattr(tasks, "_inject", die)
    with pytest.raises(Enough):
        run(tmp_path / "dead", flies, change)
    kept = 6 if "query_hsp_limit" in change else 7  # the strands of a query stay together
    assert sorted(int(name.split(".")[1].split("-")[1]) for name in parts(tmp_path / "dead")) == list(range(1 + (kept == 6), kept + 1, 1 + (kept == 6)))
    deadly = False
    begun.clear()
    run(tmp_path / "dead", flies, change)
    assert min(begun) == kept
    assert answer(tmp_path / "dead") == answer(tmp_path / "once")


@pytest.mark.parametrize("seconds", [1e9, 0.0], ids=["together", "in stages"])
@pytest.mark.parametrize("change", [{}, {"mode": "independent", **BARE}], ids=str)
def test_slots_of_almost_no_time_get_on(tmp_path: Path, flies: Any, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], seconds: float) -> None:
    """A stop that comes soon after each begin: what is done is kept, and in the end all of it."""
    run(tmp_path / "once", flies, change)
    monkeypatch.setattr(stages, "LETTERS_TOGETHER", 1)
    monkeypatch.setattr(host, "FOUND_SECONDS", 0.0)
    done, beats = False, 0
    claimed = tasks._claimed

    @contextmanager
    def stopping(tile: Tile, device: Any) -> Iterator[Any]:
        with claimed(tile, device) as beat:

            def beaten(place: int) -> None:
                nonlocal beats
                beats += 1
                if beats == (100 if "mode" in change else 3) and tasks._stop:
                    tasks._stop.ask(signal.SIGTERM)
                beat(place)

            yield beaten

    monkeypatch.setattr(tasks, "_claimed", stopping)
    monkeypatch.setattr(Stop, "at_once", lambda _: False)
    slots = 0
    while not done:
        beats, slots = 0, slots + 1
        try:
            run(tmp_path / "slots", flies, change, seconds)
        except Stopped:
            assert slots < 100
            continue
        done = True
    assert slots > 1  # how many depends on how far threads are ahead when the stop comes
    assert answer(tmp_path / "slots") == answer(tmp_path / "once")


@pytest.mark.parametrize("change", [{}, {"gapped": False}, {"gfextend": False, "step": 7}], ids=str)
def test_a_unit_that_takes_long_among_others_is_done_alone(tmp_path: Path, flies: Any, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]) -> None:
    run(tmp_path / "once", flies, change)
    whole = mock.Mock(wraps=stages.whole)
    monkeypatch.setattr(stages, "whole", whole)
    monkeypatch.setattr(stages, "SLOW_SECONDS", -1.0)
    monkeypatch.setattr(walk, "WALKED_TOGETHER", 0)
    hits = host.HostWords.hits
    monkeypatch.setattr(host.HostWords, "hits", lambda self, query, parameters, start=0: hits(self, query, parameters, start, tile=100))
    run(tmp_path / "slow", flies, change)
    assert whole.call_count >= 6
    assert answer(tmp_path / "slow") == answer(tmp_path / "once")


def test_progress_of_seeding_is_seen(tmp_path: Path, flies: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the letters of the query that are done."""
    run(tmp_path / "run", flies, {})
    manifest = read_manifest(str(tmp_path / "run"))
    hits = host.HostWords.hits
    monkeypatch.setattr(host.HostWords, "hits", lambda self, query, parameters, start=0: hits(self, query, parameters, start, tile=100))
    places: list[int] = []
    tile = Tile("seed", 0, 0, 0, 30_000)
    tasks._seed(str(tmp_path / "run"), manifest.run, tile, places.append, CPU)
    assert places == sorted(places) and len(set(places)) > 5 and places[-1] > 1000
