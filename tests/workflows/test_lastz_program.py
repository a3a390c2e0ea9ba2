"""`tidalign-lastz` prints what LASTZ prints, where LASTZ does, and ends as it does (tests/data/genomes)."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import genome_golden as golden
import numpy as np
import pytest
import simulate

from tidalign.workflows import cli
from tidalign.workflows.lastz import status_of, translated


def called(*words: str, cwd: Path | None = None, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "tidalign.workflows.lastz", *words], capture_output=True, text=True, cwd=cwd, timeout=300, **options)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["t.fa", "q.fa"], (["genome", "--format=lav", "t.fa", "q.fa", "-o", "-", "--quiet", "--lastz-status"], None)),
        (
            ["t.fa[multiple]", "Y=9400", "--axt"],
            (["genome", "--format=lav", "t.fa[multiple]", "/dev/stdin", "Y=9400", "--axt", "-o", "-", "--quiet", "--lastz-status"], None),
        ),
        (
            ["--format=maf", "t.fa", "q.fa[nameparse=darkspace]", "--out=x"],
            (["genome", "--format=lav", "--format=maf", "t.fa", "q.fa[nameparse=darkspace]", "-o", "-", "--quiet", "--lastz-status"], "x"),
        ),
    ],
)
def test_words(words: list[str], found: Any) -> None:
    assert translated(words) == found


def test_statuses() -> None:
    assert [status_of(status) for status in (0, 2, 3, 65, 73, 130, 143)] == [0, 1, 1, 1, 1, 130, 143]


@pytest.mark.parametrize(("name", "format"), [("fly", "general"), ("fly", "sam"), ("mt_chimp", "axt"), ("fly_segments", "general"), ("hla_chained", "maf")])
def test_output_is_lastz(tmp_path: Path, name: str, format: str) -> None:
    run = golden.RUNS[name]
    sides = [str(golden.PLACE / run[role]) for role in ("target", "query")]
    done = called(*sides, *run["options"], f"--format={format}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert golden.below(done.stdout) == golden.below(golden.text(run["formats"][format]))
    assert list(tmp_path.iterdir()) == []


def test_a_query_from_standard_input_and_a_file_for_the_output(tmp_path: Path) -> None:
    run = golden.RUNS["mt_chimp"]
    words = [str(golden.PLACE / run["target"]), "--format=general", "--output=out"]
    done = called(*words, cwd=tmp_path, input=golden.text(run["query"]))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "out").read_text() == golden.text(run["formats"]["general"])
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_one_pipe_with_itself(tmp_path: Path) -> None:
    """A run that goes on takes no other sequences from it."""
    (tmp_path / "t.fa").write_text(f">t\n{LETTERS}{LETTERS[::-1]}{LETTERS}\n")
    words = ["--self", "--format=maf-"]
    whole = called("t.fa", *words, cwd=tmp_path).stdout
    for given in ("<(cat t.fa)", "/dev/stdin < t.fa", "/dev/stdin < <(cat t.fa)"):
        command = f"{sys.executable} -m tidalign.workflows.lastz {' '.join(words)} {given}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, timeout=300)
        assert (done.returncode, done.stdout) == (0, whole) and "s t " in whole, done.stderr
    for letters, status in (("cat t.fa", 0), ("tr A C < t.fa", 78), ("cat t.fa", 0)):
        run = f"{letters} | {sys.executable} -m tidalign genome --self /dev/stdin -o run --device cpu --quiet"
        assert subprocess.run(["bash", "-c", run], capture_output=True, cwd=tmp_path, timeout=300).returncode == status


def test_a_format_and_an_output_in_a_file_of_options(tmp_path: Path) -> None:
    run = golden.RUNS["mt_chimp"]
    (tmp_path / "options").write_text("--format=general\n--output=out\n")
    done = called(*(str(golden.PLACE / run[role]) for role in ("target", "query")), f"--include={tmp_path / 'options'}", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "out").read_text() == golden.text(run["formats"]["general"])


def test_formats_by_their_own_names(tmp_path: Path) -> None:
    run = golden.RUNS["mt_chimp"]
    sides = [str(golden.PLACE / run[role]) for role in ("target", "query")]
    assert called(*sides, "--axt", cwd=tmp_path).stdout == called(*sides, "--format=axt", cwd=tmp_path).stdout != ""


@pytest.mark.parametrize(
    "words",
    [
        ["t.fa", "q.fa"],
        ["t.fa[multiple]", "q.fa"],
        ["./t.fa/x", "q.fa"],
        ["q.fa", "q.fa", "--segments=t.fa"],
        ["q.fa", "q.fa[unmask,subset=t.fa]"],
        ["q.fa", "q.fa", "--action2=subset=t.fa"],
        ["q.fa", "q.fa", "--include=t.fa"],
    ],
    ids=str,
)
def test_what_is_read_is_not_written(tmp_path: Path, words: list[str]) -> None:
    for name in ("t.fa", "q.fa"):
        (tmp_path / name).write_text(">x\nACGTACGTACGTACGTACGTACGT\n")
    done = called(*words, "--output=t.fa", cwd=tmp_path)
    assert done.returncode == 1 and "t.fa: expected another name than those of what is read" in done.stderr
    assert (tmp_path / "t.fa").read_text() == (tmp_path / "q.fa").read_text()


def test_what_lastz_cuts_is_told_and_whole(tmp_path: Path) -> None:
    """End as LASTZ does where its traceback has no room: "truncating alignment", and the status is 0."""
    rng = np.random.default_rng(3)
    target = simulate.sequence(rng, 30_000)
    for name, letters in (("t.fa", target), ("q.fa", simulate.mutate(rng, target, 0.1))):
        (tmp_path / name).write_bytes(b">" + name.encode() + b"\n" + letters + b"\n")
    words = ["t.fa", "q.fa", "--allocate:traceback=200K"]
    done = called(*words, "--format=maf", cwd=tmp_path)
    assert done.returncode == 0 and "are cut where the memory of LASTZ's traceback ends; --allocate:traceback=SIZE" in done.stderr
    assert done.stdout.count("\na score=") + done.stdout.startswith("a score=") > 0
    alone = [sys.executable, "-m", "tidalign", "genome", *words, "-o", "out.maf", "--device", "cpu", "--quiet"]
    assert subprocess.run(alone, cwd=tmp_path, timeout=300).returncode == 3


@pytest.mark.parametrize("words", [["none.fa", "none.fa"], ["none.fa", "none.fa", "--nonsense"], ["a", "b", "--output=/none/out"]], ids=str)
def test_what_fails_is_1(tmp_path: Path, words: list[str]) -> None:
    done = called(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "") and done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "status", "begin"),
    [
        ([], 1, "tidalign-lastz "),
        (["--help"], 1, "tidalign-lastz "),
        (["-h"], 1, "tidalign-lastz "),
        (["--version"], 1, "lastz (version 1.04.22 released 20220807), whose output tidalign-lastz "),
        (["t.fa", "--version:noerror"], 0, "lastz (version 1.04.22 released 20220807), whose output tidalign-lastz "),
    ],
    ids=str,
)
def test_texts_are_printed_where_lastz_prints_them(words: list[str], status: int, begin: str) -> None:
    done = called(*words)
    assert (done.returncode, done.stderr, done.stdout[: len(begin)]) == (status, "", begin)


@pytest.mark.parametrize("words", [["--nope"], ["t.fa", "q.fa", "--nope"], ["t.fa", "q.fa", "more.fa"], ["t.fa", "q.fa", "--step=x"]], ids=str)
def test_what_is_wrong_is_told_in_its_own_name(tmp_path: Path, words: list[str]) -> None:
    done = called(*words, cwd=tmp_path)
    told, way_out = done.stderr.splitlines()
    assert told.startswith("tidalign-lastz: ") and "genome" not in told and way_out == "see: tidalign-lastz --help"


def test_one_process_tells_both_in_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    """As those of a server do."""
    for words, name in ((translated(["--nope"])[0], "tidalign-lastz"), (["genome", "--nope"], "tidalign genome"), (translated(["--no"])[0], "tidalign-lastz")):
        with pytest.raises(SystemExit):
            cli.main(words)
        assert capsys.readouterr().err.startswith(f"{name}: ")


LETTERS = "ACGTTGCATTGACCATGCAAGTCGGATCCTTAGACATTCGCAGTTACCGGA"


@pytest.mark.parametrize(
    ("target", "query", "options", "printed"),
    [
        # The letters of the whole target, as the first query left them for the second.
        (
            LETTERS,
            f"{LETTERS[:30]}\n>q2\n{LETTERS[20:]}",
            ["--strand=plus", "--masking=1", "--hspthresh=1500", "--format=general-:name2,zstart1,nucs1"],
            f"q\t0\t{LETTERS}\nq2\t30\t{'x' * 30}{LETTERS[30:]}\n",
        ),
        # The diagonal is as far from the begin of the sequence as what was read of it is long, and one letter less.
        ("T" * 30 + LETTERS + "[26..55]", LETTERS[:25], ["--hspthresh=1000", "--format=general-:zstart1,diagonal,shingle"], "30\t30\tNA\n"),
        ("T" * 30 + LETTERS + "[26..56]", LETTERS[:25], ["--hspthresh=1000", "--format=general-:zstart1,diagonal,shingle"], "30\t30\t1\n"),
        # A point is enough for a score of -2 to be -1.
        (LETTERS, f"{LETTERS[:24]}T{LETTERS[25:]}", ["--strand=plus", "--scores=scores", "--noentropy", "--format=general-:score"], "449\n"),
    ],
)
def test_corners_as_lastz_prints_them(tmp_path: Path, target: str, query: str, options: list[str], printed: str) -> None:
    """Printed by LASTZ 1.04.22."""
    letters, bracket, cut = target.partition("[")
    (tmp_path / "t.fa").write_text(f">t\n{letters}\n")
    (tmp_path / "q.fa").write_text(f">q\n{query}\n")
    rows = "".join(f"{letter} {' '.join('9' if letter == other else '-2.0' for other in 'ACGT')}\n" for letter in "ACGT")
    (tmp_path / "scores").write_text(f"K=100\nL=100\n  A C G T\n{rows}")
    done = called(f"t.fa{bracket}{cut}", "q.fa", *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr
