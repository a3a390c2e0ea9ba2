"""Thousands of small jobs: read, aligned and written together, and each as if it were alone; more of them later, and the pairs of one file."""

import gzip
import os
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import tidalign
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Queue
from tidalign.pipeline.errors import InputError, ManifestMismatch
from tidalign.pipeline.genome import manifest as genome_manifest
from tidalign.pipeline.genome import plan
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.manifest import read_manifest
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.genome.stages import guards
from tidalign.workflows.cli import main
from tidalign.workflows.run.devices import Resources
from tidalign.workflows.run.genome.run import run_genomes
from tidalign.workflows.run.genome.tiles import Tiles
from tidalign.workflows.status import Exit

DATA = Path(__file__).parents[3] / "data" / "genomes"
WINDOW = 2500


def letters(name: str) -> str:
    return "".join(line for line in gzip.decompress((DATA / f"{name}.fa.gz").read_bytes()).decode().splitlines() if not line.startswith(">"))


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Windows of two yeasts, from the same places, in files of their own; every fifth target is the one before it."""
    folder = tmp_path_factory.mktemp("windows")
    sides = {role: letters(name) for role, name in (("t", "yeast_scer"), ("q", "yeast_spar"))}
    for number in range(30):
        at = (11 * number % 30) * 577  # those that align are among the first, too
        for role, text in sides.items():
            (folder / f"{role}{number}.fa").write_text(f">{role}{number}\n{text[at : at + WINDOW]}\n")
    return folder


def lines(count: int) -> list[str]:
    return [f"t{number - (number % 5 == 4)}.fa\tq{number}.fa\tjob{number}" for number in range(count)]


def table(folder: Path, windows: Path, rows: list[str]) -> str:
    path = folder / "jobs.tsv"
    path.write_text("\n".join(["target\tquery\tname", *("\t".join([f"{windows}/{a}", f"{windows}/{b}", c]) for a, b, c in (row.split("\t") for row in rows))]))
    return str(path)


def source(windows: Path, count: int) -> GenomeSource:
    return GenomeSource(tuple(Pair(name, f"{windows}/{target}", f"{windows}/{query}") for target, query, name in (row.split("\t") for row in lines(count))))


def answers(run: Path) -> tuple[Any, list[bytes]]:
    """All rows, and the MAF of each pair."""
    results = GenomeResults(run)
    for job in range(len(results.names)):
        results.export(f"{run}.{job}.maf", job=job)
    return results.to_table(), [Path(f"{run}.{job}.maf").read_bytes() for job in range(len(results.names))]


def below(text: bytes) -> list[bytes]:
    return [line for line in text.splitlines() if not line.startswith(b"#")]


@pytest.fixture(scope="module")
def alone(windows: Path, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """What a run of each pair by itself gives."""
    folder = tmp_path_factory.mktemp("alone")
    made = []
    for job, pair in enumerate(source(windows, 12).pairs):
        run_genomes(folder / str(job), GenomeSource((pair,)), GenomeParameters())
        made += answers(folder / str(job))[1]
    return made


# ---- together


def test_many_jobs_lie_in_few_files_and_are_what_each_is_alone(tmp_path: Path, windows: Path, alone: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "CUT_SECONDS", 1e9)  # a part more for what takes long is a busy machine's
    assert run_genomes(tmp_path / "run", source(windows, 12), GenomeParameters()).exit == Exit.COMPLETE
    rows, each = answers(tmp_path / "run")
    assert each == alone and len(rows) > 4
    assert rows["job"].to_pylist() == sorted(rows["job"].to_pylist()) and rows["query_name"].to_pylist() == [f"q{job}" for job in rows["job"].to_pylist()]
    assert len(list((tmp_path / "run" / "parts").iterdir())) == len(list((tmp_path / "run" / "sides").iterdir())) == 1
    GenomeResults(tmp_path / "run").export(tmp_path / "all.maf")
    assert below((tmp_path / "all.maf").read_bytes()) == [line for text in each for line in below(text)]


@pytest.mark.parametrize("change", [{"mode": "independent"}, {"query_hsp_best": 3}, {"per_query": 1}, {"masking": 2}, {"gapped": False}], ids=str)
def test_whatever_is_asked(tmp_path: Path, windows: Path, change: dict[str, Any]) -> None:
    run_genomes(tmp_path / "run", source(windows, 4), GenomeParameters(**change))
    each = answers(tmp_path / "run")[1]
    for job, pair in enumerate(source(windows, 4).pairs):
        run_genomes(tmp_path / str(job), GenomeSource((pair,)), GenomeParameters(**change))
        assert answers(tmp_path / str(job))[1] == [each[job]]


def forced(folder: Path, jobs: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How often a command forces something to disk, and how many files its run directory has."""
    calls: Counter[str] = Counter()
    force = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (calls.update(["fsync"]), force(handle))[1])
    assert main(["genomes", jobs, "-o", str(folder), "--device=cpu", "--workers=0", "--quiet"]) == Exit.COMPLETE
    monkeypatch.setattr(os, "fsync", force)
    return calls["fsync"], sum(path.is_file() for path in (folder / "run").rglob("*"))


def test_nothing_is_forced_to_disk_or_made_a_file_for_a_job(tmp_path: Path, windows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "CUT_SECONDS", 1e9)  # a part more for what takes long, as kernels that are compiled on the way, is a busy machine's
    few, many = (forced(tmp_path / str(count), table(tmp_path, windows, lines(count)), monkeypatch) for count in (3, 30))
    assert few == many
    assert len([path for path in (tmp_path / "30").iterdir() if path.suffix == ".maf"]) == 30
    assert {path.name for path in (tmp_path / "30").iterdir()} == {"run", *(f"job{number}.maf" for number in range(30))}


def test_any_cut_and_any_workers(tmp_path: Path, windows: Path, alone: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a few units of a job, of which some are lost, and two workers."""
    monkeypatch.setattr(guards, "CUT_SECONDS", 0.0)
    run_genomes(tmp_path / "run", source(windows, 12), GenomeParameters())
    made = sorted((tmp_path / "run" / "parts").iterdir())
    assert len(made) == 24
    for path in made[3:17]:
        path.unlink()
    monkeypatch.undo()
    monkeypatch.setattr(genome_manifest, "TOGETHER_SECONDS", 1e-9)  # of a run that is planned already, it changes nothing
    assert run_genomes(tmp_path / "run", source(windows, 12), GenomeParameters(), resources=Resources(workers=2)).exit == Exit.COMPLETE
    assert answers(tmp_path / "run")[1] == alone
    run_genomes(tmp_path / "apart", source(windows, 12), GenomeParameters(), resources=Resources(workers=2))
    assert len(read_manifest(str(tmp_path / "apart")).chunks) == 12 and answers(tmp_path / "apart")[1] == alone


def test_a_job_that_kills_its_worker_is_given_up_alone(tmp_path: Path, windows: Path, alone: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDALIGN_TEST_POISON", "j000000:7")
    report = run_genomes(tmp_path / "run", source(windows, 6), GenomeParameters(), resources=Resources(workers=1))
    assert report.exit == Exit.PARTIAL
    (lost,) = GenomeResults(tmp_path / "run").shortfalls()
    assert (lost["job"], lost["query_name"], lost["strand"], lost["status"]) == (3, "q3", "-", "rejected")
    assert [text for job, text in enumerate(answers(tmp_path / "run")[1]) if job != 3] == [alone[job] for job in (0, 1, 2, 4, 5)]


def test_the_longest_go_first(tmp_path: Path, windows: Path) -> None:
    run_genomes(tmp_path / "run", source(windows, 12), GenomeParameters())
    for part in (tmp_path / "run" / "parts").iterdir():
        part.unlink()
    manifest = read_manifest(str(tmp_path / "run"))
    jobs = [*manifest.jobs]
    tracker = Tiles(str(tmp_path / "run"), manifest, Stop(), lambda *_: None)
    assert tracker.total() == pytest.approx(sum(plan.unit_work(WINDOW, WINDOW, GenomeParameters()) for job in jobs for _ in range(job.units)))
    queue = Queue(tracker.tasks())
    order = [task.weight for task in iter(lambda: queue.pop(("work",)), None)]
    assert order == sorted(order, reverse=True) and sum(order) == pytest.approx(tracker.total())


def test_work_of_very_different_jobs_is_gathered_in_their_order() -> None:
    works = [0.2, 0.3, 0.6, 5.0, 0.1, 0.1, 0.95, 0.2]
    jobs = [
        {"units": 2, "chunk": number, "begin": 0, "tiles": [{"start": 0, "stop": 2, "work": work, "staged": work > plan.TILE_SECONDS}]}
        for number, work in enumerate(works)
    ]
    genome_manifest._gather(jobs, GenomeParameters())
    assert [(job["chunk"], job["begin"]) for job in jobs] == [(0, 0), (0, 2), (2, 0), (3, 0), (4, 0), (4, 2), (6, 0), (7, 0)]
    assert [job["tiles"][0]["work"] for job in jobs if job["tiles"]] == pytest.approx([0.5, 0.6, 5.0, 0.2, 0.95, 0.2])


# ---- more jobs


@pytest.mark.parametrize("finished", [True, False])
def test_lines_are_added_and_what_is_done_stays(tmp_path: Path, windows: Path, alone: list[bytes], finished: bool, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["-o", str(tmp_path / "out"), "--device=cpu", "--workers=0"]
    assert main(["genomes", table(tmp_path, windows, lines(7)), *words]) == Exit.COMPLETE
    run = tmp_path / "out" / "run"
    if not finished:
        (run / "SUCCESS").unlink()
    kept = {path: path.stat().st_mtime_ns for folder in ("parts", "sides") for path in (run / folder).rglob("*") if path.is_file()}
    assert main(["genomes", table(tmp_path, windows, lines(12)), *words]) == Exit.COMPLETE
    said = capsys.readouterr().err.splitlines()[-1]
    assert "12 pairs" in said and "finished already" not in said
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert answers(run)[1] == alone == [(tmp_path / "out" / f"job{job}.maf").read_bytes() for job in range(12)]
    run_genomes(tmp_path / "fresh", source(windows, 12), GenomeParameters())
    assert GenomeResults(tmp_path / "fresh").to_table() == GenomeResults(run).to_table()
    assert main(["genomes", table(tmp_path, windows, lines(12)), *words]) == Exit.COMPLETE
    assert "finished already" in capsys.readouterr().err


def test_python_adds_jobs_as_well(tmp_path: Path, windows: Path, alone: list[bytes]) -> None:
    jobs = [(windows / row.split("\t")[0], windows / row.split("\t")[1], row.split("\t")[2]) for row in lines(5)]
    for count in (1, 2, 5):
        results = tidalign.align_many_genomes(jobs[:count], out=tmp_path / "run", workers=0, device="cpu")
        assert results.names == [f"job{job}" for job in range(count)]
    assert answers(tmp_path / "run")[1] == alone[:5]
    with pytest.raises(ManifestMismatch, match="job 2: expected query .*q1.fa' of job 'job1', with which the run in .* found '.*q2.fa'"):
        tidalign.align_many_genomes([jobs[0], (jobs[1][0], jobs[2][1], "job1"), *jobs[2:]], out=tmp_path / "run", workers=0, device="cpu")
    with pytest.raises(ValueError, match="'x' twice"):
        tidalign.align_many_genomes([("a.fa", "b.fa", "x"), ("c.fa", "d.fa", "x")], out=tmp_path / "other")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda rows: [*rows[:2], rows[3], *rows[4:]],
            r"jobs.tsv: line 4: expected job 'job2', with which .* was begun, found 'job3'; put it back",
        ),
        (lambda rows: rows[:3], r"jobs.tsv: line 5: expected job 'job3', .* found none; put it back"),
        (lambda rows: rows[:1], r"jobs.tsv: line 3: expected job 'job1', .* found none; put it back"),
        (lambda rows: [*rows[:1], rows[1].replace("q1", "q2"), *rows[2:]], r"line 3: expected query '.*q1.fa' of job 'job1', .* found '.*q2.fa'"),
        (lambda rows: [rows[3], *rows[:3]], r"line 2: expected job 'job0', .* found 'job3'; put it back: jobs are added after all others"),
    ],
    ids=["removed", "cut", "one left", "changed", "moved"],
)
def test_lines_that_changed_or_are_gone_are_refused(tmp_path: Path, windows: Path, change: Any, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["-o", str(tmp_path / "out"), "--device=cpu", "--workers=0", "--quiet"]
    assert main(["genomes", table(tmp_path, windows, lines(4)), *words]) == Exit.COMPLETE
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.json")}
    assert main(["genomes", table(tmp_path, windows, change(lines(4))), *words]) == Exit.MANIFEST_MISMATCH
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(said, line), line
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.json")} == before and GenomeResults(tmp_path / "out" / "run").complete


def test_a_line_with_bad_input_can_be_mended(tmp_path: Path, windows: Path, alone: list[bytes]) -> None:
    """The run is not of it before it was read."""
    pairs = source(windows, 3).pairs
    run_genomes(tmp_path / "run", GenomeSource(pairs[:2]), GenomeParameters())
    (tmp_path / "bad.fa").write_text(">q2\nAC!T\n")
    (tmp_path / "good.fa").write_text(f">other\n{'ACGT' * 100_000}\n")
    bad = Pair("job2", pairs[2].target, f"{tmp_path}/bad.fa")
    with pytest.raises(InputError, match=r"bad\.fa"):
        run_genomes(tmp_path / "run", GenomeSource((*pairs[:2], bad, Pair("other", f"{tmp_path}/good.fa", f"{tmp_path}/bad.fa"))), GenomeParameters())
    assert len(GenomeResults(tmp_path / "run").names) == 2 and GenomeResults(tmp_path / "run").complete
    (tmp_path / "bad.fa").write_text(Path(pairs[2].query).read_text())
    (tmp_path / "good.fa").write_text(Path(pairs[2].target).read_text())  # was read before, with other letters
    run_genomes(tmp_path / "run", GenomeSource((*pairs[:2], bad, Pair("other", f"{tmp_path}/good.fa", f"{tmp_path}/bad.fa"))), GenomeParameters())
    assert answers(tmp_path / "run")[1] == [*alone[:3], alone[2]]


def test_a_file_of_earlier_jobs_that_changed_is_refused(tmp_path: Path, windows: Path) -> None:
    (tmp_path / "q.fa").write_bytes((windows / "q0.fa").read_bytes())
    first = Pair("first", f"{windows}/t0.fa", f"{tmp_path}/q.fa")
    run_genomes(tmp_path / "run", GenomeSource((first,)), GenomeParameters())
    (tmp_path / "q.fa").write_bytes((windows / "q1.fa").read_bytes())
    with pytest.raises(ManifestMismatch, match=r"q\.fa, which has changed since"):
        run_genomes(tmp_path / "run", GenomeSource((first, *source(windows, 3).pairs)), GenomeParameters())


# ---- pairs of one file


def test_the_triangle_of_one_file(tmp_path: Path, windows: Path) -> None:
    names = ["t0", "q0", "t1", "q1"]
    (tmp_path / "all.fa").write_text("".join((windows / f"{name}.fa").read_text() for name in names))
    assert main(["genomes", "--all-vs-all", str(tmp_path / "all.fa"), "-o", str(tmp_path / "out"), "--device=cpu", "--workers=0", "--quiet"]) == 0
    results = GenomeResults(tmp_path / "out" / "run")
    assert results.names == [f"{one}__{other}" for one, other in combinations(names, 2)]
    square = Pair("square", *[str(tmp_path / "all.fa")] * 2)
    run_genomes(tmp_path / "square", GenomeSource((square,), all_vs_all=True), GenomeParameters())
    every = GenomeResults(tmp_path / "square")
    for job, name in enumerate(results.names):
        one, other = (result.to_table(job=result.pair(name)).drop_columns(["job"]) for result in (results, every))
        assert one == other and set(results.to_table(["job"], job=job)["job"].to_pylist()) <= {job}
        assert (tmp_path / "out" / f"{name}.maf").exists()
    assert len(results) == sum(len(every.to_table(job=every.pair(name))) for name in results.names) > 0
    assert (tmp_path / "out" / "run" / "sides" / "s0000" / "letters").stat().st_size == 4 * (WINDOW + 1)  # once, with what stands before each
    found = tidalign.align_many_genomes(tmp_path / "all.fa", out=tmp_path / "python", all_vs_all=True, workers=0, device="cpu")
    assert found.to_table() == results.to_table()


def test_a_list_of_genomes_to_which_one_is_added(tmp_path: Path, windows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["genomes", "--all-vs-all", f"{tmp_path}/list.tsv", "-o", str(tmp_path / "out"), "--device=cpu", "--workers=0", "--quiet"]
    for count in (3, 4):
        (tmp_path / "list.tsv").write_text("\n".join(["genome\tname", *(f"{windows}/{role}.fa\t{role}" for role in ("t0", "q0", "t1", "q1")[:count])]))
        assert main(words) == 0
    results = GenomeResults(tmp_path / "out" / "run")
    assert results.names == ["t0__q0", "t0__t1", "q0__t1", "t0__q1", "q0__q1", "t1__q1"]
    for job, name in enumerate(results.names):
        pair = Pair(name, *(f"{windows}/{each}.fa" for each in name.split("__")))
        run_genomes(tmp_path / name, GenomeSource((pair,)), GenomeParameters())
        assert results.to_table(job=job).drop_columns(["job"]) == GenomeResults(tmp_path / name).to_table().drop_columns(["job"])
    (tmp_path / "one.tsv").write_text(f"genome\n{windows}/t0.fa\n")
    assert main([*words[:2], f"{tmp_path}/one.tsv", *words[3:]]) == Exit.BAD_INPUT
    assert "expected two genomes or more" in capsys.readouterr().err


def test_one_sequence_has_no_pairs(tmp_path: Path, windows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["genomes", "--all-vs-all", f"{windows}/t0.fa", "-o", str(tmp_path / "out"), "--device=cpu", "--quiet"]) == Exit.BAD_INPUT
    assert "expected two sequences or more" in capsys.readouterr().err
