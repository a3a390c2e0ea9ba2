"""Runs from an index of the target: the bytes that the file of sequences gives, in every format, cut and spread in any way; LASTZ's, where it made them."""

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import genome_golden as golden
import pytest
import twobit_file

import tidalign
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.genome import plan
from tidalign.pipeline.genome.input import folders
from tidalign.pipeline.genome.stages import host, seeded
from tidalign.pipeline.genome.walk import walk
from tidalign.workflows.status import Exit

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the flies, and the target as gzip, 2bit and FASTQ."""
    monkeypatch.chdir(tmp_path)
    for name, file in (("t.fa", "fly_slice"), ("q.fa", "fly_contigs"), ("many.fa", "hla")):
        (tmp_path / name).write_text(golden.text(f"{file}.fa.gz"))
    text = (tmp_path / "t.fa").read_text()
    name, letters = text.split("\n", 1)
    letters = letters.replace("\n", "")
    (tmp_path / "t.fa.gz").write_bytes(gzip.compress(text.encode()))
    twobit_file.write(tmp_path / "t.2bit", [("x", letters[:9000]), ("y", letters[9000:])])
    (tmp_path / "t.fq").write_text(f"@{name[1:]}\n{letters}\n+\n{'I' * len(letters)}\n")
    return tmp_path


@pytest.fixture
def never_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a run builds a table of words."""

    def build(*_: object) -> None:
        raise AssertionError("the table was built again")

    monkeypatch.setattr(host, "build_index", build)


def written(command: Command, target: str, *words: str, query: str = "q.fa", program: str = "genome") -> str:
    done = command(program, target, query, "-o", "-", "--device=cpu", "--quiet", "--workers=0", *words)
    assert (done.returncode, done.stderr) == (Exit.COMPLETE, ""), done.stderr
    assert sum(not line.startswith("#") for line in done.stdout.splitlines()) > 5
    return str(done.stdout)


def indexed(command: Command, target: str, *words: str) -> str:
    done = command("genome-index", target, "-o", "t.tgx", *words)
    assert done.returncode == Exit.COMPLETE and " letters; " in done.stderr
    return "t.tgx"


@pytest.mark.parametrize("format", ["maf", "axt+", "lav", "general:score,name1,number1,start1,end1,name2,strand2,text1", "sam", "psl", "blastn", "paf:wfmash"])
def test_formats(folder: Path, command: Command, request: pytest.FixtureRequest, format: str) -> None:
    expected = written(command, "t.fa", f"--format={format}")
    target = indexed(command, "t.fa")
    request.getfixturevalue("never_built")
    assert written(command, target, f"--format={format}") == expected
    Path("t.fa").unlink()
    assert written(command, target, f"--format={format}") == expected


@pytest.mark.parametrize(
    "target", ["t.fa.gz", "t.2bit", "t.2bit/y", "t.fq", "t.fa[unmask]", "t.fa[2001..30000]", "t.fa[multiple]", "t.2bit[separator=N]", "many.fa"]
)
def test_files_and_actions(folder: Path, command: Command, request: pytest.FixtureRequest, target: str) -> None:
    words = ("--format=general", "--strand=both", "--ydrop=3000")
    query = "many.fa" if target == "many.fa" else "q.fa"
    expected = written(command, target, *words, query=query)
    there = indexed(command, target)
    request.getfixturevalue("never_built")
    assert written(command, there, *words, query=query) == expected


@pytest.mark.parametrize(
    "words",
    [
        ("--step=20",),
        ("--maxwordcount=3", "--strand=minus"),
        ("--maxwordcount=80%", "--notransition"),
        ("--seed=14of22", "--transition=2"),
        ("T=2", "Z=3"),
        ("--preset=ucsc-near",),
        ("--preset=two",),
        ("--mode=independent", "--hspthresh=2500"),
        ("--nogfextend", "--seed=match14"),
        ("--masking=1", "--inner=2000"),
        ("--chain", "--hspthresh=2200"),
        ("--self", "--notrivial"),
        ("--ambiguous=iupac",),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("staged", [False, True], ids=["whole", "staged"])
def test_options(folder: Path, command: Command, request: pytest.FixtureRequest, words: tuple[str, ...], staged: bool) -> None:
    """Options of the run are given to the index as they are. staged: every unit is done in stages, with files between them."""
    with ExitStack() as small:
        for where, name, value in ((plan, "TILE_SECONDS", 0.0), (walk, "CHECKPOINT_SECONDS", 0.0), (seeded, "SECONDS", 0.0)) if staged else ():
            small.enter_context(mock.patch.object(where, name, value))
        sides = ("many.fa[multiple]",) if "--self" in words else ("t.fa", "q.fa")

        def run(target: str) -> str:
            done = command("genome", target, *sides[1:], "-o", "-", "--format=maf", "--device=cpu", "--quiet", "--workers=0", *words)
            assert (done.returncode, done.stderr, "\na score=" in done.stdout) == (Exit.COMPLETE, "", True)
            return str(done.stdout)

        expected = run(sides[0])
        target = indexed(command, sides[0], *words)
        request.getfixturevalue("never_built")
        assert run(target) == expected


@pytest.mark.parametrize("run", ["yeast", "hla", "fly_steps"])
def test_lastz_prints_the_same(tmp_path: Path, command: Command, never_built: None, run: str) -> None:
    wanted = golden.RUNS[run]
    sides = [str(golden.PLACE / wanted[role]) for role in ("target", "query")]
    options = [word for word in wanted["options"] if not word.startswith("--format")]
    target = str(tmp_path / "t.tgx")
    assert command("genome-index", sides[0], "-o", target, *options).returncode == Exit.COMPLETE
    format = "axt" if run == "hla" else "maf"
    found = written(command, target, *options, f"--format={format}", query=sides[1])
    assert golden.below(found) == golden.below(golden.text(f"{run}.{format}.gz"))


def test_workers_and_a_linked_side(folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers, each with the one table that is on disk; the run stays whole where the index is gone."""
    expected = written(command, "t.fa", "--format=maf")
    target = indexed(command, "t.fa")
    monkeypatch.setattr(folders, "SMALL", 0)
    words = ("genome", target, "q.fa", "-o", "run", "--device=cpu", "--workers=2", "--quiet")
    with mock.patch.object(plan, "TILE_SECONDS", 0.0):
        assert command(*words).returncode == Exit.COMPLETE
    assert Path("run/sides/s0000/codes").samefile("t.tgx/codes")
    shutil.rmtree("t.tgx")
    assert command("export", "run", "-o", "out.maf").returncode == Exit.COMPLETE
    assert Path("out.maf").read_text() == expected
    assert command(*words).returncode == Exit.COMPLETE, "a finished run needs no input"


def test_an_index_that_changes_under_a_run(folder: Path, command: Command) -> None:
    indexed(command, "t.fa")
    words = ("genome", "t.tgx", "q.fa", "-o", "run", "--device=cpu", "--quiet", "--workers=0")
    assert command(*words).returncode == Exit.COMPLETE
    os.utime("t.tgx/index.json", ns=(1, 1))
    done = command(*words)
    assert (done.returncode, "t.tgx, which has changed since" in done.stderr) == (Exit.MANIFEST_MISMATCH, True)


def test_genomes(folder: Path, command: Command) -> None:
    """A table of jobs, and every sequence of an index with every one of a file: those of one sequence have words of their own."""
    Path("jobs.tsv").write_text("target\tquery\tname\nt.fa\tq.fa\tone\nmany.fa\tt.fa\ttwo\n")
    assert command("genomes", "jobs.tsv", "-o", "a", "--device=cpu", "--workers=0").returncode == Exit.COMPLETE
    assert command("genome-index", "many.fa", "-o", "many.tgx").returncode == Exit.COMPLETE
    indexed(command, "t.fa")
    Path("jobs.tsv").write_text("target\tquery\tname\nt.tgx\tq.fa\tone\nmany.tgx\tt.tgx\ttwo\n")
    assert command("genomes", "jobs.tsv", "-o", "b", "--device=cpu", "--workers=0").returncode == Exit.COMPLETE
    for name in ("one.maf", "two.maf"):
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes()
    for out, sides in (("c", ["many.fa"]), ("d", ["many.tgx"])):
        assert command("genomes", "--all-vs-all", *sides, "-o", out, "--device=cpu", "--workers=0", "--merge").returncode == Exit.COMPLETE
    assert Path("c/all.maf").read_bytes() == Path("d/all.maf").read_bytes() and Path("c/all.maf").stat().st_size > 500


def test_python_and_lastz_take_it(folder: Path, command: Command) -> None:
    indexed(command, "t.fa")
    expected = tidalign.align_genomes("t.fa", "q.fa", device="cpu", workers=0)
    assert tidalign.align_genomes(Path("t.tgx"), "q.fa", device="cpu", workers=0).equals(expected)
    with pytest.raises(InputError, match=r"t\.tgx: expected an index for --step=5, found one for --step=1"):
        tidalign.align_genomes("t.tgx", "q.fa", out="run", step=5)
    assert not Path("run").exists()
    texts = []
    for target in ("t.fa", "t.tgx"):
        done = subprocess.run([sys.executable, "-m", "tidalign.workflows.lastz", target, "q.fa"], capture_output=True, text=True, timeout=300, check=True)
        texts.append(done.stdout)
    assert texts[0] == texts[1] and texts[0].startswith("#:lav")


def test_a_damaged_table_ends_the_run(folder: Path, command: Command) -> None:
    """With the index's name and the way out; made again it is taken, and nothing came of the damage."""
    expected = written(command, "t.fa", "--format=maf")
    indexed(command, "t.fa")
    data = bytearray(Path("t.tgx/places").read_bytes())
    data[1000] ^= 1
    Path("t.tgx/places").write_bytes(data)
    words = ("genome", "t.tgx", "q.fa", "-o", "out.maf", "--device=cpu", "--quiet")
    for workers in (0, 2):
        done = command(*words, f"--workers={workers}", "--new")
        assert done.returncode == Exit.BAD_INPUT, done.stderr
        assert (
            done.stderr.startswith(f"tidalign: {folder}/t.tgx/places: expected what `tidalign genome-index` wrote, found damaged") and len(done.stderr) <= 300
        )
        assert not Path("out.maf").exists()
    indexed(command, "t.fa")
    assert command(*words, "--workers=0", "--new").returncode == Exit.COMPLETE
    assert Path("out.maf").read_text() == expected


def test_check_looks_at_every_file(folder: Path, command: Command) -> None:
    indexed(command, "t.fa")
    whole = command("check", "t.tgx")
    assert whole.returncode == Exit.COMPLETE
    assert whole.stdout == f"t.tgx: none of its files is damaged; an index of {folder}/t.fa\n"
    files = [path for path in sorted(Path("t.tgx").iterdir()) if path.stat().st_size]
    assert {path.name for path in files} >= {"letters", "codes", "side.json", "index.json", "begins", "places", "tags", "marks"}
    for path in files:
        before = path.read_bytes()
        path.write_bytes(before[: len(before) // 2] + bytes([before[len(before) // 2] ^ 1]) + before[len(before) // 2 + 1 :])
        found = command("check", "t.tgx")
        assert (found.returncode, found.stdout) == (Exit.BAD_INPUT, ""), path
        assert path.name in found.stderr and "make t.tgx again" in found.stderr, found.stderr
        path.write_bytes(before)
    assert command("check", "t.tgx").returncode == Exit.COMPLETE


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["t.fa"], Exit.USAGE, "the following arguments are required: -o"),
        (["t.fa", "-o", "t.tgx", "--step=0"], Exit.USAGE, "--step: expected a whole number"),
        (["t.fa", "-o", "t.tgx", "--seed=9"], Exit.USAGE, "seed 9: expected 12of19"),
        (["t.fa", "-o", "t.tgx", "--writecapsule=x"], Exit.USAGE, "--writecapsule is LASTZ's and not supported: `tidalign genome-index` keeps a target"),
        (["-", "-o", "t.tgx"], Exit.BAD_INPUT, "-: expected a file for the target, found standard input"),
        (["none.fa", "-o", "t.tgx"], Exit.NO_INPUT, "none.fa: No such file"),
    ],
)
def test_usage(folder: Path, command: Command, capfd: pytest.CaptureFixture[str], words: list[str], status: Exit, message: str) -> None:
    try:
        done = command("genome-index", *words)
        found, said = done.returncode, done.stderr
    except SystemExit as error:
        found, said = error.code, capfd.readouterr().err
    assert found == status and message in said and not Path("t.tgx").exists()


def test_a_pipe_is_read_once(folder: Path, command: Command) -> None:
    os.mkfifo("pipe")
    with subprocess.Popen(["cp", "t.fa.gz", "pipe"]):
        assert command("genome-index", "pipe", "-o", "p.tgx").returncode == Exit.COMPLETE
    indexed(command, "t.fa")
    assert Path("p.tgx/codes").read_bytes() == Path("t.tgx/codes").read_bytes()
    assert written(command, "p.tgx", "--format=maf") == written(command, "t.tgx", "--format=maf")


def test_estimate(folder: Path, command: Command) -> None:
    indexed(command, "t.fa")
    done = command("estimate", "genome", "t.tgx", "q.fa", "-o", "out.maf")
    assert done.returncode == Exit.COMPLETE and "letters" in done.stdout
    assert command("estimate", "genome", "t.tgx", "q.fa", "-o", "out.maf", "--step=2").returncode == Exit.BAD_INPUT
