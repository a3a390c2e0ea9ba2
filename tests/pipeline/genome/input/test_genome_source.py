"""Tables of jobs, and what identifies the inputs of a run."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.genome.input.jobs import read_jobs
from tidalign.pipeline.genome.input.source import GenomeSource, Pair, index_at, pair_name, safe


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.fa", "b.fa.gz", "names.txt"):
        (tmp_path / name).write_text(">x\nACGT\n")
    return tmp_path


def table(folder: Path, text: str) -> str:
    path = folder / "jobs.tsv"
    path.write_text(text)
    return str(path)


def test_jobs(folder: Path) -> None:
    path = table(folder, "# two\nquery\ttarget\tname\nb.fa.gz\ta.fa[unmask]\tfirst\n\na.fa\tb.fa.gz\tsecond\n")
    assert read_jobs(path) == (
        Pair("first", f"{folder}/a.fa[unmask]", f"{folder}/b.fa.gz"),
        Pair("second", f"{folder}/b.fa.gz", f"{folder}/a.fa"),
    )
    assert read_jobs(table(folder, "target\tquery\na.fa\tb.fa.gz\n"))[0].name == "a__b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("target\nx\n", "line 1: expected a header line"),
        ("target\tquery\tqueries\nx\ty\tz\n", "line 1: expected a header line"),
        ("target\tquery\na.fa\n", "line 2: expected 2 fields"),
        ("target\tquery\na.fa\t\n", "line 2: expected 2 fields"),
        ("target\tquery\tname\na.fa\tb.fa\tx/y\n", "line 2: expected a name that can be one of a file, found 'x/y'"),
        ("target\tquery\tname\na.fa\ta.fa\tx\nb.fa\tb.fa\tx\n", "'x' twice"),
    ],
)
def test_bad_tables_are_refused_by_line(folder: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_jobs(table(folder, text))


@pytest.mark.parametrize("text", ["", "# nothing\n", "target\tquery\n"])
def test_no_jobs(folder: Path, text: str) -> None:
    with pytest.raises(MissingInput, match="expected a"):
        read_jobs(table(folder, text))
    with pytest.raises(MissingInput, match="No such file"):
        read_jobs(str(folder / "none.tsv"))


def test_a_run_knows_its_files_by_size_and_time(folder: Path) -> None:
    source = GenomeSource((Pair("p", f"{folder}/a.fa[subset={folder}/names.txt]", f"{folder}/a.fa"),))
    assert [Path(file["path"]).name for file in source.files()] == ["a.fa", "names.txt"]
    before = source.to_json()
    assert source.to_json() == before
    os.utime(folder / "names.txt", ns=(1, 1))
    assert source.to_json() != before
    with pytest.raises(MissingInput, match="none.fa: No such file"):
        GenomeSource((Pair("p", "none.fa", "none.fa"),)).files()
    for long in ("x" * 300, f"{'x' * 300}[unmask]", f"{'x' * 300}/y"):
        with pytest.raises(MissingInput, match="File name too long"):
            GenomeSource((Pair("p", long, f"{folder}/a.fa"),)).files()
    assert index_at(f"{folder}/a.fa[subset={'x' * 300}]") is None
    for segments in ("", "-", str(folder)):
        with pytest.raises(MissingInput, match="expected a file of segments, found (no name|standard input|a folder)"):
            replace(source, segments=segments).files()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.fa-", "a minus behind the name of a file is LASTZ's and not supported: give the other strand in the file"),
        ("a.fa[1..2]-", "a minus behind"),
        ("a.fa-[1..2]", "a minus behind"),
        ("human::a.fa", "NICKNAME:: before the name of a file is LASTZ's and not supported: name the sequence in the file"),
        ("human::a.fa[unmask]", "NICKNAME::"),
        ("none.fa-", "name a file of sequences"),
        ("human::none.fa", "name a file of sequences"),
    ],
)
def test_marks_of_lastz_beside_a_name(name: str, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(MissingInput, match=f"No such file or directory; {message}"):
        GenomeSource((Pair("p", name, "a.fa"),)).files()


def test_a_file_that_is_not_there_is_told_with_its_line(folder: Path) -> None:
    path = table(folder, "target\tquery\na.fa\tb.fa.gz\na.fa\tnone.fa[unmask]\n")
    with pytest.raises(MissingInput, match=f"{path}: line 3, job 'a__none': {folder}/none.fa: No such file"):
        GenomeSource(read_jobs(path), table=path).files()


def test_files_are_named_from_the_root(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the actions; what stands for standard input, and one sequence of a file, stays what it is."""
    monkeypatch.chdir(folder)
    source = GenomeSource((Pair("p", "a.fa[subset=names.txt,unmask][1..2]", "b.fa.gz"), Pair("q", "-", "a.fa/x")), segments="names.txt").absolute()
    first, second = source.pairs
    assert first == Pair("p", f"{folder}/a.fa[subset={folder}/names.txt,unmask][1..2]", f"{folder}/b.fa.gz")
    assert second == Pair("q", "-", f"{folder}/a.fa/x")
    assert source.segments == f"{folder}/names.txt" and source.absolute() == source
    assert all(Path(path).is_absolute() for path in source.paths() if path != "-")
    odd = folder / "a,b]"
    odd.mkdir()
    monkeypatch.chdir(odd)
    Path("c.fa").write_text(">x\nACGT\n")
    assert GenomeSource((Pair("p", "c.fa[subset=c.fa]", "c.fa"),)).absolute().paths() == [f"{odd}/c.fa", "c.fa"]


def test_a_side_is_read_once() -> None:
    pairs = tuple(Pair(query, "t.fa", query) for query in ("a.fa", "b.fa"))
    assert GenomeSource(pairs).sides() == [("target", "t.fa"), ("query", "a.fa"), ("query", "b.fa")]


def test_names_of_outputs(folder: Path) -> None:
    assert pair_name(f"{folder}/a.fa[multiple]", f"{folder}/b.fa.gz") == pair_name("gone/a.fa[multiple]", "gone/b.fa.gz") == "a__b"
    assert safe("gi|123/chr 1") == "gi_123_chr_1" and safe("") == "_"
