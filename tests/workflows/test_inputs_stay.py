"""No output takes the place of what was read."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

import tidalign
from tidalign.pipeline.errors import CannotWrite
from tidalign.workflows.cli import main
from tidalign.workflows.status import Exit

LETTERS = "GATTACACCTGAGTCATTGCCA" * 8


def made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write two inputs into the working directory, which is then the folder."""
    monkeypatch.chdir(folder)
    for name in ("a.fa", "b.fa"):
        Path(name).write_text(f">{name}\n{LETTERS}\n")
    Path("link.m8").hardlink_to("a.fa")


@pytest.mark.parametrize(
    "words",
    [
        ("pairs", "a.fa", "b.fa", "-o", "a.fa", "--format", "sam"),
        ("genome", "a.fa", "b.fa", "-o", "./b.fa", "--format", "maf"),
        ("search", "a.fa", "b.fa", "-o", "b.fa", "--format", "m8"),
        ("search", "a.fa", "b.fa", "-o", "link.m8"),
        ("genome", "a.fa", "b.fa", "-o", "run", "--rdotplot=a.fa"),
        ("genome", "a.fa", "b.fa", "-o", "run", "--masking=1", "--outputmasking+=b.fa"),
        ("index", "a.fa", "-o", "a.fa"),
    ],
    ids=lambda words: " ".join(words[0:1] + words[-3:]),
)
def test_an_output_that_was_read(words: tuple[str, ...], tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, monkeypatch)
    answer = command(*words, *([] if words[0] == "index" else ["--device", "cpu", "--quiet"]))
    assert (answer.returncode, "expected another name than those of what is read" in answer.stderr) == (Exit.CANNOT_WRITE, True), answer.stderr
    untouched()


def untouched() -> None:
    """Check that inputs are as they were, and that no work was done: nothing else is there."""
    assert [Path(name).read_text() for name in ("a.fa", "b.fa")] == [f">a.fa\n{LETTERS}\n", f">b.fa\n{LETTERS}\n"]
    assert {path.name for path in Path().iterdir()} <= {"a.fa", "b.fa", "link.m8", "link.sam", "link.maf"}


@pytest.mark.parametrize(("call", "suffix"), [(tidalign.align_pairs, "sam"), (tidalign.search_files, "m8"), (tidalign.align_genomes, "maf")])
def test_python_is_told_so_too(call: Any, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, monkeypatch)
    Path(f"link.{suffix}").unlink(missing_ok=True)
    Path(f"link.{suffix}").hardlink_to("b.fa")
    with pytest.raises(CannotWrite, match="expected another name than those of what is read"):
        call("a.fa", "b.fa", out=f"link.{suffix}", device="cpu")
    untouched()


@pytest.mark.parametrize("words", [("pairs", "a.fa", "b.fa"), ("genome", "b.fa[unmask]", "a.fa"), ("genome", "b.fa", "b.fa", "--segments=a.fa")], ids=" ".join)
def test_a_log_that_is_read(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path, monkeypatch)
    for log in ("./a.fa", "link.m8"):  # which is that file
        with pytest.raises(SystemExit):
            main([*words, "-o", "run", "--log", log])
        assert f"--log {log}: expected a name of its own, found that of another argument, a.fa" in capsys.readouterr().err
    untouched()


@pytest.mark.parametrize(("words", "log"), [(("-o", "x.m8"), "./x.m8"), (("-o", "run"), "run"), (("-o", "link/x.m8"), "x.m8")], ids=lambda words: words[-1])
def test_a_log_that_is_written(words: tuple[str, ...], log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """There need be no such file yet; what other words there are is none."""
    made(tmp_path, monkeypatch)
    Path("link").symlink_to(".")
    with pytest.raises(SystemExit):
        main(["search", "a.fa", "b.fa", *words, "--log", log])
    assert f"--log {log}: expected a name of its own, found that of -o; choose another" in capsys.readouterr().err
    Path("link").unlink()
    untouched()
    assert main(["search", "a.fa", "b.fa", "-o", "x.m8", "--device", "cpu", "--log", "cpu"]) == 0 and Path("cpu").stat().st_size


def test_a_report_over_what_was_read(tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, monkeypatch)
    run = tmp_path / "of" / "run"
    run.parent.mkdir()
    tidalign.align_pairs("a.fa", "b.fa", out=run, device="cpu", workers=0)
    for words in (("-o", "b.fa"), ("-o", "of/page.html", "--multiqc", "a.fa")):
        answer = command("report", run, *words)
        assert (answer.returncode, "expected another name than those of what is read" in answer.stderr) == (Exit.CANNOT_WRITE, True)
    assert [path.name for path in run.parent.iterdir()] == ["run"]
    run.parent.rename(tmp_path.parent / f"{tmp_path.name}.of")
    untouched()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rdotplot=x.maf",), "--rdotplot x.maf: expected a name of its own, found that of -o"),
        (("--masking=1", "--outputmasking=./x.maf"), "--outputmasking ./x.maf: expected a name of its own, found that of -o"),
        (("--rdotplot=y", "--masking=1", "--outputmasking+=y"), "--outputmasking+ y: expected a name of its own, found that of --rdotplot"),
        (("--masking=1", "--outputmasking=y", "--log", "y"), "--log y: expected a name of its own, found that of --outputmasking"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_two_outputs_of_one_name(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of them would be lost."""
    made(tmp_path, monkeypatch)
    with pytest.raises(SystemExit) as ended:
        main(["genome", "a.fa", "b.fa", "-o", "x.maf", *words])
    assert ended.value.code == 2 and said in capsys.readouterr().err
    untouched()


def test_files_of_a_run_stay(tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written into a run directory by what reads it, whatever its name."""
    made(tmp_path, monkeypatch)
    assert command("genome", "a.fa", "b.fa", "-o", "run", "--device", "cpu", "--quiet").returncode == 0
    before = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}
    part = next(str(path) for path in before if path.parent.name == "parts")
    again = ("genome", "a.fa", "b.fa", "--device", "cpu", "--quiet")
    for words in (
        *(("export", "run", "-o", "run/plan.json", "--format", "maf"), ("export", "run", "-o", part), ("plot", "run", "-o", "run/report.html")),
        *(
            ("check", "run", "--log", "run/plan.json"),
            (*again, "-o", "run/x.maf"),
            (*again, "-o", "y", "--rdotplot=run/parts/x"),
            ("index", "a.fa", "-o", part),
        ),
        ("report", "run", "-o", "run/plan.json"),
    ):
        answer = command(*words)
        assert (answer.returncode, "expected a name outside the run directory" in answer.stderr) == (Exit.CANNOT_WRITE, True), answer.stderr
    assert {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()} == before


def test_files_of_a_run_stay_whatever_python_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, monkeypatch)
    results = tidalign.align_genomes("a.fa", "b.fa", out="run", device="cpu")
    for write in (lambda: results.export("run/plan.json", format="maf"), lambda: results.export("run/parts/x.axt")):
        with pytest.raises(CannotWrite, match="outside the run directory"):
            write()
    assert len(tidalign.GenomeResults("run")) == len(results)


def test_an_index_and_a_report_take_the_place_of_none_but_their_kind(tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, monkeypatch)
    Path("thesis.txt").write_text("mine")
    assert command("genome", "a.fa", "b.fa", "-o", "run", "--device", "cpu", "--quiet").returncode == 0
    for words in (("index", "a.fa", "-o"), ("index", "a.fa", "-o"), ("report", "run", "-o"), ("report", "run", "--multiqc")):
        answer = command(*words, "thesis.txt")
        assert (answer.returncode, "expected a new name, or" in answer.stderr, Path("thesis.txt").read_text()) == (Exit.CANNOT_WRITE, True, "mine")
    for words in (("index", "a.fa", "-o", "x.tidx"), ("report", "run", "-o", "x.html"), ("report", "run", "--multiqc", "x_mqc.json")):
        assert [command(*words).returncode for _ in range(2)] == [0, 0]


@pytest.mark.parametrize("suffix", ["svg", "html", "png", "pdf"])
def test_a_picture_that_cannot_be_written_leaves_the_old_one(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, monkeypatch)
    assert main(["genome", "a.fa", "b.fa", "-o", "run", "--device", "cpu", "--quiet", "--workers", "0"]) == 0
    old = Path(f"x.{suffix}")
    old.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main(["plot", "run", "-o", str(old)]) == Exit.DISK_FULL
    assert old.read_text() == "old" and [path.name for path in Path().glob("*x.*")] == [old.name]
