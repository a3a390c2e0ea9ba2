"""Give functions of Python what the command line would refuse: they say so, and nothing is thrown away or begun."""

from pathlib import Path
from typing import Any

import pytest

import tidalign


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, letters in (("q", "GATTACA"), ("t", "GATTTACA")):
        Path(f"{name}.fa").write_text(f">{name}\n{letters}\n")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"new": "no"}, "new: expected True or False, not 'no'"),
        ({"workers": -1}, "workers: expected a whole number, 0 or more, or None, not -1"),
        ({"workers": False}, "workers: expected a whole number, 0 or more, or None, not False"),
        ({"workers": "0"}, "workers: expected a whole number, 0 or more, or None, not '0'"),
        ({"gpus": 0}, "gpus: expected a whole number, 1 or more, or None, not 0"),
        ({"cpu_workers": -1}, "cpu_workers: expected a whole number, 0 or more, not -1"),
        ({"scratch": 5}, "scratch: expected text, the path of a folder or auto, not 5"),
        ({"insecure": "x"}, "insecure: expected True or False, not 'x'"),
        ({"out": "-"}, "out: expected a run directory or a file, not '-'"),
    ],
)
def test_what_makes_no_sense_is_refused(files: Path, given: dict[str, Any], said: str) -> None:
    tidalign.align_pairs("q.fa", "t.fa", out="run", workers=0)
    before = Path("run", "journal.jsonl").read_text()
    for function in (tidalign.align_pairs, tidalign.search_files, tidalign.align_genomes):
        with pytest.raises(ValueError, match=said):
            function("q.fa", "t.fa", **{"out": "run", "workers": 0} | given)
    assert Path("run", "journal.jsonl").read_text() == before and not Path("-").exists()


@pytest.mark.parametrize("flag", ["new", "insecure", "all_vs_all"])
def test_flags_of_many_genomes(files: Path, flag: str) -> None:
    with pytest.raises(ValueError, match=f"{flag}: expected True or False, not 'no'"):
        tidalign.align_many_genomes([("q.fa", "t.fa")], out="run", workers=0, **{flag: "no"})
    assert not Path("run").exists()


@pytest.mark.parametrize("jobs", [[("q.fa",)], ["q.fa"], [("q.fa", "t.fa", "x", "y")]])
def test_a_job_names_two_sides(files: Path, jobs: Any) -> None:
    with pytest.raises(ValueError, match=r"jobs: expected \(target, query\) or \(target, query, name\), not"):
        tidalign.align_many_genomes(jobs, out="run", workers=0)
    assert not Path("run").exists()


def test_options_of_one_pair_are_refused_of_many(files: Path) -> None:
    with pytest.raises(ValueError, match="--self is for one genome"):
        tidalign.align_many_genomes([("q.fa", "t.fa")], out="run", workers=0, **{"self": True})
    with pytest.raises(ValueError, match="--masking counts the alignments of all queries"):
        tidalign.align_many_genomes("q.fa", out="run", workers=0, all_vs_all=True, masking=1)
    assert not Path("run").exists()


def test_results_are_found_from_anywhere(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tidalign.align_pairs("q.fa", "t.fa", out="run", workers=0)
    monkeypatch.chdir("/")
    assert results.to_table()["cigar"].to_pylist() == ["4=1D3="]
    results.export(files / "x.paf")
    assert (files / "x.paf").stat().st_size


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("score", r"columns: expected a list of names, not 'score'"),
        (["score", "score"], "found 'score' 2 times"),
        (["scor"], "expected some of .*, not 'scor'"),
    ],
)
def test_columns_that_are_none(files: Path, columns: Any, said: str) -> None:
    results = tidalign.align_pairs("q.fa", "t.fa", out="run", workers=0)
    for read in (results.to_table, results.to_pandas, lambda wanted: list(results.to_batches(wanted))):
        with pytest.raises(ValueError, match=said):
            read(columns)
    assert results.to_table(["score", "cigar"]).column_names == ["score", "cigar"]


def test_sides_of_genomes_that_are_none() -> None:
    with pytest.raises(ValueError, match="expected a query: name its file, give sequences by name, or self=True"):
        tidalign.align_genomes({"a": "ACGT"})
    with pytest.raises(ValueError, match="self=True takes the place of a query"):
        tidalign.align_genomes({"a": "ACGT"}, {"b": "ACGT"}, self=True)
    with pytest.raises(TypeError, match="query: expected the path of a file, or a dict of names and letters, found list"):
        tidalign.align_genomes({"a": "ACGT"}, ["ACGT"])  # type: ignore[call-overload]


def test_words_that_are_none() -> None:
    with pytest.raises(ValueError, match="scoring: expected text, not 5"):
        tidalign.search(["A"], ["A"], scoring=5)  # type: ignore[arg-type]
    for function in (tidalign.cigar.cs, tidalign.cigar.md):
        with pytest.raises(ValueError, match="alphabet: expected dna or protein, not 'proteins'"):
            function("1=", "M", "M", alphabet="proteins")
