"""A run whose calls end before its work does: small jobs do not wait behind the largest, which gets on in each call."""

import random
import re
import signal
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tidalign.cluster.errors import Stopped
from tidalign.cluster.stop import limited
from tidalign.pipeline.genome import plan
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.manifest import read_manifest
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.store import parts
from tidalign.workflows.run.devices import Resources
from tidalign.workflows.run.genome import slots, tasks
from tidalign.workflows.run.genome.run import Genomes, run_genomes
from tidalign.workflows.run.genome.tiles import Tiles

SIZES = [400, 40_000, 900, 6_000, 300]


@pytest.fixture
def source(tmp_path: Path) -> GenomeSource:
    """Write pairs of genomes of very different sizes, the largest neither first nor last."""
    chance = random.Random(4)
    pairs = []
    for number, size in enumerate(SIZES):
        letters = "".join(chance.choices("ACGT", k=size))
        for name, text in (("t", letters), ("q", "".join(chance.choice("ACGT") if chance.random() < 0.1 else letter for letter in letters))):
            (tmp_path / f"{name}{number}.fa").write_text(f">{name}{number}\n{text}\n")
        pairs.append(Pair(f"p{number}", str(tmp_path / f"t{number}.fa"), str(tmp_path / f"q{number}.fa")))
    return GenomeSource(tuple(pairs))


def run(directory: Path, source: GenomeSource) -> Any:
    """Run each unit in stages, in this process, one after the other."""
    with mock.patch.object(plan, "TILE_SECONDS", 0.0), mock.patch.object(Genomes, "reading_threads", 1):
        return run_genomes(directory, source, GenomeParameters(), resources=Resources(workers=0))


def answer(directory: Path) -> Any:
    return GenomeResults(directory).to_table()


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note which jobs were worked on, in their order."""
    jobs: list[int] = []
    perform = tasks._STAGES.copy()
    for stage, function in perform.items():

        def noted(directory: str, run: str, tile: Any, *rest: Any, function: Any = function) -> Any:
            jobs.append(tile.job)
            return function(directory, run, tile, *rest)

        monkeypatch.setitem(tasks._STAGES, stage, noted)
    return jobs


def test_the_longest_go_first_where_there_is_time(tmp_path: Path, source: GenomeSource, order: list[int]) -> None:
    run(tmp_path / "run", source)
    assert order[:4] == [1, 1, 1, 1]


def test_small_jobs_do_not_wait_where_time_is_short(tmp_path: Path, source: GenomeSource, order: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "time_left", lambda: 0.001)
    run(tmp_path / "run", source)
    assert list(dict.fromkeys(order)) == sorted(range(len(SIZES)), key=lambda job: SIZES[job])
    run(tmp_path / "same", source)
    assert answer(tmp_path / "run") == answer(tmp_path / "same")


def test_a_run_that_was_stopped_before_has_little_time(tmp_path: Path, source: GenomeSource, order: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever stopped it."""
    seed = tasks._STAGES["seed"]
    monkeypatch.setitem(tasks._STAGES, "seed", mock.Mock(side_effect=Stopped(signal.SIGTERM)))
    with pytest.raises(Stopped):
        run(tmp_path / "run", source)
    monkeypatch.setitem(tasks._STAGES, "seed", seed)
    order.clear()
    run(tmp_path / "run", source)
    assert list(dict.fromkeys(order)) == sorted(range(len(SIZES)), key=lambda job: SIZES[job])


def test_half_of_the_workers_begin_with_the_largest(tmp_path: Path, source: GenomeSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "time_left", lambda: 0.001)
    run(tmp_path / "run", source)
    for part in (tmp_path / "run" / "parts").iterdir():
        part.unlink()
    manifest = read_manifest(str(tmp_path / "run"))
    tracker = Tiles(str(tmp_path / "run"), manifest, mock.Mock(number=None), lambda *_: None)
    made = tracker.ordered(tracker.tasks(), 4)
    jobs = [int(re.match(r"j(\d+)", task.key)[1]) for task in sorted(made, key=lambda task: -task.weight)]  # type: ignore[index]
    assert jobs[:2] == [1, 1]  # both strands
    assert jobs[2:] == [job for job in sorted(range(len(SIZES)), key=lambda job: SIZES[job]) for _ in range(2) if job != 1]


def test_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    with limited(500):
        assert 400 < slots.time_left({}) <= 500
        assert slots.time_left({"SLURM_JOB_END_TIME": "1000"}) < 0
    monkeypatch.setattr(slots.signal, "getitimer", lambda _: (0.0, 0.0))  # whoever runs these tests has set one
    assert slots.time_left({}) == float("inf") == slots.time_left({"SLURM_JOB_END_TIME": "unknown"})


def test_slots_end_in_the_bytes_of_one_run(tmp_path: Path, source: GenomeSource, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them so short that it gets no further than two signs of life."""
    run(tmp_path / "once", source)
    done: list[int] = []
    claimed = tasks._claimed
    begun = 0

    def stopping(tile: Any, device: Any) -> Any:
        nonlocal begun
        begun += 1
        if begun > 2 and tasks._stop:
            tasks._stop.ask(signal.SIGALRM)
        return claimed(tile, device)

    monkeypatch.setattr(tasks, "_claimed", stopping)
    while len(done) < 100:
        begun = 0
        try:
            run(tmp_path / "slots", source)
        except Stopped:
            found, _ = parts.scan(str(tmp_path / "slots" / "parts"), read_manifest(str(tmp_path / "once")).run)
            done.append(sum(part.stop - part.start for part in parts.all_parts(found)))
            continue
        break
    assert 4 <= len(done) < 20 and done == sorted(done) and done[1] > 0
    assert answer(tmp_path / "slots") == answer(tmp_path / "once")
