"""Genome runs: the same answer however they are cut, spread, killed and taken up again."""

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import psutil
import pyarrow as pa
import pytest
from ending import wait_until

from tidalign.cluster.errors import NoWorkers, Stopped
from tidalign.cluster.stop import Stop
from tidalign.pipeline.device import CPU
from tidalign.pipeline.errors import Damaged, InputError, ManifestMismatch, MissingInput
from tidalign.pipeline.genome import plan
from tidalign.pipeline.genome import units as stages
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.manifest import read_manifest
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.genome.stages import anchoring, anchors_file
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.walk import walk
from tidalign.pipeline.schema import ANCHORS
from tidalign.pipeline.store import claims
from tidalign.workflows.commands.demo import DATA
from tidalign.workflows.run import devices
from tidalign.workflows.run.devices import Resources
from tidalign.workflows.run.genome import run as genome_run
from tidalign.workflows.run.genome import tasks as genome_tasks
from tidalign.workflows.run.genome import tiles as genome_tiles
from tidalign.workflows.run.genome.run import run_genomes
from tidalign.workflows.status import Exit

WORKFLOWS = Path(__file__).parents[2]
from genome_chaos import chaos, drive  # noqa: E402


@pytest.fixture(scope="module")
def flies(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Write two fly sequences; the query's two contigs are there twice under other names, so that there are eight units."""
    folder = tmp_path_factory.mktemp("flies")
    paths = []
    for name, copies in (("fly_melanogaster", 1), ("fly_pseudoobscura", 2)):
        text = gzip.decompress((DATA / f"{name}.fa.gz").read_bytes())
        path = folder / f"{name}.fa"
        path.write_bytes(b"".join(text.replace(b">", b">%d_" % copy) for copy in range(copies)))
        paths.append(str(path))
    return paths[0], paths[1]


@pytest.fixture(scope="module")
def answers(flies: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, Any]]:
    """Give, by mode, what a run in this process in one go gives, as MAF and as a table."""
    return {mode: _answer(tmp_path_factory.mktemp(mode) / "run", flies, mode) for mode in ("exact", "independent")}


def _answer(run: Path, flies: tuple[str, str], mode: str) -> tuple[bytes, Any]:
    assert drive(str(run), *flies, mode, staged=False).exit == Exit.COMPLETE
    return answer(run)


def answer(run: Path) -> tuple[bytes, Any]:
    results = GenomeResults(run)
    results.export(f"{run}.maf")
    return Path(f"{run}.maf").read_bytes(), results.to_table()


def gathered(done: Any) -> tuple[Any, Any]:
    """Gather rows, which come in tables, and what was given up."""
    tables, shortfalls = done
    return pa.concat_tables(tables), shortfalls


def events(run: Path, event: str) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, (run / "journal.jsonl").read_text().splitlines()) if line["event"] == event]


def client(run: Path, flies: tuple[str, str], mode: str, **environment: str) -> "psutil.Popen":
    """Start a process of its own that runs with two workers."""
    command = [sys.executable, str(WORKFLOWS / "genome_chaos.py"), "--drive", str(run), *flies, mode]
    return psutil.Popen(command, env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


# ---- the same answer


def test_exact_mode_gives_what_lastz_prints(tmp_path: Path) -> None:
    genomes = WORKFLOWS.parent / "data" / "genomes"
    assert drive(str(tmp_path / "run"), str(genomes / "yeast_scer.fa.gz"), str(genomes / "yeast_spar.fa.gz")).exit == Exit.COMPLETE
    golden = gzip.decompress((genomes / "yeast.maf.gz").read_bytes())
    assert alignments(answer(tmp_path / "run")[0]) == alignments(golden) != []


def alignments(maf: bytes) -> list[bytes]:
    return [line for line in maf.splitlines() if not line.startswith(b"#")]


@pytest.mark.parametrize("workers", [None, pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", ["exact", "independent"])
def test_any_number_of_workers_and_any_tiles(tmp_path: Path, flies: Any, answers: Any, mode: str, workers: int | None) -> None:
    report = drive(str(tmp_path / "run"), *flies, mode, workers=workers)
    assert (report.exit, report.workers) == (Exit.COMPLETE, workers or 0)
    assert answer(tmp_path / "run") == answers[mode]
    assert [*(tmp_path / "run" / "stages").iterdir(), *(tmp_path / "run" / "extended").iterdir(), *(tmp_path / "run" / "claims").iterdir()] == []


@pytest.mark.parametrize(
    "change",
    [
        {"gapped": False},
        {"query_hsp_best": 5},
        {"query_hsp_limit": 20, "query_hsp_keep": True},
        {"chain": (0, 0), "strand": "minus"},
        {"mode": "independent", "gfextend": False, "step": 40, "filters": (("identity", 70.0, 100.0),)},
    ],
    ids=str,
)
def test_small_units_at_once_or_large_ones_in_stages(tmp_path: Path, flies: Any, change: dict[str, Any]) -> None:
    source, parameters = GenomeSource((Pair("pair", *flies),)), GenomeParameters(**change)
    for name, seconds in (("once", 1e9), ("stages", 0.0)):
        with mock.patch.object(plan, "TILE_SECONDS", seconds):
            assert run_genomes(tmp_path / name, source, parameters).exit == Exit.COMPLETE
    assert answer(tmp_path / "once") == answer(tmp_path / "stages")
    assert len(GenomeResults(tmp_path / "once")) > 0


def test_a_finished_run_only_answers(tmp_path: Path, flies: Any, answers: Any) -> None:
    first = drive(str(tmp_path / "run"), *flies, staged=False)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "parts").iterdir()}
    assert drive(str(tmp_path / "run"), *flies, staged=False) == first
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "parts").iterdir()} == before


def test_a_part_that_is_lost_is_made_again(tmp_path: Path, flies: Any, answers: Any) -> None:
    drive(str(tmp_path / "run"), *flies)
    lost, cut = sorted((tmp_path / "run" / "parts").iterdir())[1:3]
    lost.unlink()
    cut.write_bytes(cut.read_bytes()[:100])
    with pytest.raises(Damaged, match=f"{cut.name}: damaged, cut short, .* run the same command again"):
        GenomeResults(tmp_path / "run").to_table()
    cut.unlink()
    with pytest.raises(MissingInput, match="run the same command again to mend it"):
        GenomeResults(tmp_path / "run").to_table()
    drive(str(tmp_path / "run"), *flies)
    assert answer(tmp_path / "run") == answers["exact"]


# ---- kills


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["exact", "independent"])
def test_killed_workers_and_clients_lose_nothing(tmp_path: Path, flies: Any, mode: str) -> None:
    result = chaos(tmp_path, *flies, kills=3, slow=1.5 if mode == "exact" else 0.4, seed=5, mode=mode)
    assert (result["kills"], result["status"], result["same bytes"], result["shortfalls"]) == (3, 0, True, [])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_long_tasks_soon(tmp_path: Path, flies: Any, answers: Any, number: int) -> None:
    process = client(tmp_path / "run", flies, "exact", TIDALIGN_TEST_SLOW="1000")
    wait_until(lambda: any(path.suffix != ".tmp" for path in (tmp_path / "run").glob("claims/*")), process)
    process.send_signal(number)
    assert process.wait(500) == 1  # Stopped, which this process does not catch
    assert [*(tmp_path / "run" / "claims").iterdir()] == []
    drive(str(tmp_path / "run"), *flies)
    assert answer(tmp_path / "run") == answers["exact"]


def test_a_signal_ends_a_tile_of_this_process(tmp_path: Path, flies: Any, answers: Any) -> None:
    run = tmp_path / "run"
    drive(str(run), *flies)
    (lost := sorted((run / "parts").iterdir())[0]).unlink()
    stop = Stop(patient=False)
    stop.ask(signal.SIGINT)
    claim = claims.claim_path(str(run), "j000000.u0.seed", 0, 1, "x")
    arguments = (str(run), read_manifest(str(run)).run, plan.Tile("seed", 0, 0, 0, 1, claim))
    with genome_tasks.heeding(stop):
        genome_tasks.perform(*arguments)  # there is time left
        (run / "stages" / "j000000.u0.anchors.arrow").unlink()
        with mock.patch.object(Stop, "at_once", lambda _: True), pytest.raises(Stopped):
            genome_tasks.perform(*arguments)
    assert not Path(claim).exists()
    drive(str(run), *flies)
    assert lost.exists() and answer(run) == answers["exact"]


def test_a_walk_goes_on_from_its_checkpoint(tmp_path: Path, flies: Any, answers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "CHECKPOINT_SECONDS", 0.0)
    run = str(tmp_path / "run")

    class Enough(Exception):
        pass

    def stop_later(place: int) -> None:
        if place >= 10:
            raise Enough

    drive(run, *flies)
    unit = Unit(run, 0, 1, replace(CPU, slice_seconds=1e-4))
    anchoring.write_anchors(unit, lambda _: None)
    anchors = anchoring.read_anchors(unit)
    whole = gathered(walk.walk(unit, anchors, lambda _: None, checkpoint=False))
    with pytest.raises(Enough):
        walk.walk(unit, anchors, stop_later, checkpoint=True)
    begun: list[int] = []
    assert gathered(walk.walk(unit, anchors, begun.append, checkpoint=True)) == whole
    assert begun[0] >= 9


@pytest.mark.parametrize("mode", ["exact", "independent"])
def test_anchors_do_not_depend_on_how_many_are_in_memory(tmp_path: Path, flies: Any, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    run = str(tmp_path / "run")
    drive(run, *flies, mode)
    unit = Unit(run, 0, 1)
    count = anchoring.write_anchors(unit, lambda _: None)
    anchors = anchoring.read_anchors(unit)
    stages.forget(unit)
    monkeypatch.setattr(anchors_file, "ROWS", 5)
    monkeypatch.setattr(anchors_file, "in_lastz_order", partial(anchors_file.in_lastz_order, rows=10, stride=3))
    assert anchoring.write_anchors(unit, lambda _: None) == count == len(anchors) > 20
    assert anchoring.read_anchors(unit) == anchors
    assert anchoring.read_anchors(unit, 3, 17) == anchors.slice(3, 14)


def test_seeding_ends_with_what_takes_its_anchors(tmp_path: Path, flies: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU would be held for it, and another unit wait."""
    run = str(tmp_path / "run")
    drive(run, *flies, "independent")
    ended = []

    def endless(*_: Any) -> Iterator[Any]:
        try:
            while True:
                yield pa.table([[1], [2], [3]], schema=ANCHORS)
        finally:
            ended.append(True)

    monkeypatch.setattr(anchors_file, "ROWS", 5)
    monkeypatch.setattr(anchoring.seeding, "find_anchors", endless)
    with pytest.raises(Stopped) as held:
        anchoring.write_anchors(Unit(run, 0, 1), mock.Mock(side_effect=Stopped(signal.SIGTERM)))
    assert ended and held
    assert not list(Path(run, "stages").iterdir())


def test_what_is_extended_ahead_changes_nothing(tmp_path: Path, flies: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = str(tmp_path / "run")
    drive(run, *flies)
    unit = Unit(run, 0, 1)
    count = anchoring.write_anchors(unit, lambda _: None)
    whole = gathered(walk.walk(unit, anchoring.read_anchors(unit), lambda _: None, checkpoint=False))
    monkeypatch.setattr(walk, "ANSWER_SECONDS", 0.0)
    ahead = [walk.extend_range_ahead(unit, start, min(start + 7, count)) for start in range(3, count, 14)]
    assert 0 < sum(ahead) < count  # some were left to the walk
    assert walk.extend_range_ahead(unit, 3, 10) == 0  # done already
    walks = []
    begin = walk.gapped.commit
    monkeypatch.setattr(walk.gapped, "commit", lambda unit: walks.append(begin(unit)) or walks[-1])
    assert gathered(walk.walk(unit, anchoring.read_anchors(unit), lambda _: None, checkpoint=True, shared=True)) == whole
    assert walks[0].stood > 0
    stages.forget(unit)
    assert walk.extend_range_ahead(unit, 3, 10) == 0  # the walk is over


@pytest.mark.parametrize("workers", [3, 0])
def test_who_has_nothing_else_works_ahead(tmp_path: Path, flies: Any, answers: Any, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    """Workers, or threads of the command."""
    monkeypatch.setattr(genome_run, "cores", lambda: 3)
    monkeypatch.setattr(genome_tiles, "AHEAD_ANCHORS", 5)
    monkeypatch.setattr(genome_tiles, "AHEAD_FIRST", 1)
    monkeypatch.setenv("TIDALIGN_TEST_SLOW", "3" if workers else "1.5")  # longer than others take to load their kernels, on a busy machine too
    source = GenomeSource((Pair("pair", flies[0], flies[1] + "[subset=" + str(tmp_path / "one") + "]"),))
    (tmp_path / "one").write_text("0_3210101\n")
    with mock.patch.object(plan, "TILE_SECONDS", 0.0):
        report = run_genomes(tmp_path / "run", source, GenomeParameters(strand="minus"), resources=Resources(workers=workers))
    assert report.exit == Exit.COMPLETE and report.work["ahead"] > 0
    expected = [row for row in answers["exact"][1].to_pylist() if (row["query_name"], row["strand"]) == ("0_3210101", "-")]
    assert GenomeResults(tmp_path / "run").to_table().to_pylist() == expected
    assert [*(tmp_path / "run" / "stages").iterdir()] == []


def test_a_unit_that_kills_its_worker_is_given_up(tmp_path: Path, flies: Any, answers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDALIGN_TEST_POISON", "j000000:3")
    report = drive(str(tmp_path / "run"), *flies, staged=False, workers=2)
    assert report.exit == Exit.PARTIAL and report.deaths >= 2
    results = GenomeResults(tmp_path / "run")
    assert [(s["query_name"], s["strand"], s["status"]) for s in results.shortfalls()] == [("0_3214968", "-", "rejected")]
    assert "SIGKILL" in results.shortfalls()[0]["reason"]
    assert results.statuses()["rejected"] == 1
    expected = [row for row in answers["exact"][1].to_pylist() if (row["query_name"], row["strand"]) != ("0_3214968", "-")]
    assert results.to_table().to_pylist() == expected


@pytest.mark.slow
def test_an_anchor_that_kills_its_worker_is_given_up_alone(tmp_path: Path, flies: Any, answers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDALIGN_TEST_POISON", "j000000.u1.extend:3")
    report = drive(str(tmp_path / "run"), *flies, "independent", workers=2)
    assert report.exit == Exit.PARTIAL
    (shortfall,) = GenomeResults(tmp_path / "run").shortfalls()
    assert (shortfall["query_name"], shortfall["strand"], shortfall["anchor"], shortfall["status"]) == ("0_3210101", "-", 3, "rejected")
    rows = GenomeResults(tmp_path / "run").to_table().to_pylist()
    assert all(row in answers["independent"][1].to_pylist() for row in rows if row["query_name"] != "0_3210101")


# ---- guards


@pytest.mark.parametrize("mode", ["exact", "independent"])
def test_a_guard_cuts_and_says_so(tmp_path: Path, flies: Any, answers: Any, mode: str) -> None:
    source = GenomeSource((Pair("pair", *flies),))
    report = run_genomes(tmp_path / "run", source, GenomeParameters(mode=mode, cells=4_000_000))
    assert report.exit == Exit.PARTIAL and report.shortfalls and report.work["cells"] >= 4_000_000
    assert all(shortfall["status"] == "capped" and "--cells=4e+06" in shortfall["reason"] for shortfall in report.shortfalls)
    whole = answers[mode][1].to_pylist()
    rows = GenomeResults(tmp_path / "run").to_table().to_pylist()
    assert 0 < len(rows) < len(whole) and all(row in whole for row in rows)


# ---- what is refused


def test_other_options_are_another_run(tmp_path: Path, flies: Any) -> None:
    source = GenomeSource((Pair("pair", *flies),))
    run_genomes(tmp_path / "run", source, GenomeParameters(step=20))
    with pytest.raises(ManifestMismatch, match="begun with step 20, now 1"):
        run_genomes(tmp_path / "run", source, GenomeParameters())
    with pytest.raises(ManifestMismatch, match="all_vs_all"):
        run_genomes(tmp_path / "run", GenomeSource(source.pairs, all_vs_all=True), GenomeParameters(step=20))


def test_a_gpu_that_is_not_there(tmp_path: Path, flies: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(count: int | None = None) -> dict[str, str]:
        raise NoWorkers("no usable GPU: no driver; use --device cpu")

    monkeypatch.setattr(devices, "usable", none)
    source = GenomeSource((Pair("pair", *flies),))
    for wanted in ({"device": "gpu"}, {"gpus": 1}):
        with pytest.raises(NoWorkers, match="--device cpu"):
            run_genomes(tmp_path / "run", source, GenomeParameters(), resources=Resources(**wanted))
        assert not (tmp_path / "run").exists()
    report = run_genomes(tmp_path / "run", source, GenomeParameters(step=50), resources=Resources(device="auto"))
    assert (report.device, report.device_why) == ("cpu", "no usable GPU: no driver")


@pytest.mark.parametrize("mode", ["exact", "independent"])
def test_progress(mode: str, tmp_path: Path, flies: tuple[str, str]) -> None:
    """Estimated work is all done in the end, stages of large units included; a run that went on tells of what it did itself."""
    told: list[tuple[str, int, int]] = []
    source = GenomeSource((Pair("flies", *flies),))
    with mock.patch.object(plan, "TILE_SECONDS", 0.01):
        run_genomes(tmp_path / "run", source, GenomeParameters(mode=mode), progress=lambda *step: told.append(step))
    for stage in ("genomes", "work"):
        steps = [step[1:] for step in told if step[0] == stage]
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        assert abs(steps[-1][1] - steps[-1][0]) <= 1
    (next((tmp_path / "run" / "parts").iterdir())).unlink()
    told.clear()
    run_genomes(tmp_path / "run", source, GenomeParameters(mode=mode), progress=lambda *step: told.append(step))
    all_of_it, again = ([step for step in told if step[0] == stage][-1][2] for stage in ("genomes", "work"))
    assert 0 < again < all_of_it


def test_bad_input_is_told_before_anything_runs(tmp_path: Path, flies: Any) -> None:
    bad = tmp_path / "bad.fa"
    bad.write_text(">x\nACGT!\n")
    with pytest.raises(InputError, match=r"bad\.fa"):
        run_genomes(tmp_path / "run", GenomeSource((Pair("pair", flies[0], str(bad)),)), GenomeParameters())
    with pytest.raises(MissingInput, match=r"none\.fa"):
        run_genomes(tmp_path / "run2", GenomeSource((Pair("pair", flies[0], "none.fa"),)), GenomeParameters())


# ---- several genomes


def test_all_against_all_is_pair_by_pair(tmp_path: Path, flies: Any) -> None:
    pair = (Pair("pair", flies[1], flies[0]),)
    run_genomes(tmp_path / "all", GenomeSource(pair, all_vs_all=True), GenomeParameters())
    results = GenomeResults(tmp_path / "all")
    names = [line[1:].split()[0] for line in Path(flies[1]).read_text().splitlines() if line.startswith(">")]
    assert [name.partition("__")[0] for name in results.names] == names
    sequences = Path(flies[1]).read_text().split(">")[1:]
    for job, sequence in enumerate(sequences):
        (tmp_path / "one.fa").write_text(f">{sequence}")
        run = tmp_path / f"one{job}"
        run_genomes(run, GenomeSource((Pair("one", str(tmp_path / "one.fa"), flies[0]),)), GenomeParameters())
        for name in ("maf", "sam"):
            results.export(tmp_path / f"of_all.{name}", job=job)
            GenomeResults(run).export(tmp_path / f"alone.{name}")
            assert (tmp_path / f"of_all.{name}").read_bytes() == (tmp_path / f"alone.{name}").read_bytes()
        assert len(GenomeResults(run)) > 0


def test_stages_are_kept(tmp_path: Path, flies: Any) -> None:
    source = GenomeSource((Pair("pair", *flies),), keep=("hits", "hsps", "anchors"))
    run_genomes(tmp_path / "run", source, GenomeParameters())
    results = GenomeResults(tmp_path / "run")
    hits, hsps, anchors = (results.stage(name) for name in ("hits", "hsps", "anchors"))
    assert len(hits) > len(hsps) == len(anchors) > len(results)
    assert hsps.schema.names == ["job", "query_name", "strand", "target", "query", "length", "score"]
    # An anchor is a place on its HSP, and every alignment goes through an anchor.
    places = {(row["query_name"], row["strand"], row["target"] - row["query"]): row for row in hsps.to_pylist()}
    assert all((row["query_name"], row["strand"], row["target"] - row["query"]) in places for row in anchors.to_pylist())
    drive(str(tmp_path / "bare"), *flies, staged=False)
    with pytest.raises(MissingInput, match="--keep hits"):
        GenomeResults(tmp_path / "bare").stage("hits")
