"""Whole runs of pairs aligned by scores: the rows of one plain call with any workers, proteins too; poisoned, resumed, exported; and what is refused."""

from pathlib import Path
from typing import Any

import pytest
from chaos import simulate

import tidalign
from tidalign.workflows.cli import main

DNA, PROTEIN = "match:2,mismatch:-4,gap:4,2", "blosum62,gap:11,1"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, str]]]:
    folder = tmp_path_factory.mktemp("pairs")
    return folder, [(query.decode(), target.decode()) for query, target in simulate(folder, 60, seed=5)]


def proteins(folder: Path) -> list[tuple[str, str]]:
    """Write pairs of proteins in q.fa and t.fa."""
    pairs = [("MKVLAARNDWWQ" * (1 + i % 3), "GGMKVLARNDWWQPP" + "U*X"[i % 3] * (i % 4)) for i in range(30)]
    for name, side in (("q.fa", 0), ("t.fa", 1)):
        (folder / name).write_text("".join(f">{name[0]}{i}\n{pair[side]}\n" for i, pair in enumerate(pairs)))
    return pairs


def plain(pairs: list[tuple[str, str]], **options: Any) -> list[dict[str, Any]]:
    table = tidalign.align([query for query, _ in pairs], [target for _, target in pairs], **options)
    return list(table.drop_columns(["query_name", "target_name"]).to_pylist())


def found(results: tidalign.Results) -> list[dict[str, Any]]:
    return list(results.to_table().drop_columns(["query_name", "target_name"]).to_pylist())


@pytest.mark.parametrize("workers", [None, 2])
def test_rows_are_those_of_one_call(tmp_path: Path, made: Any, workers: int | None) -> None:
    folder, pairs = made
    results = tidalign.align_pairs(folder / "q.fa", folder / "t.fa", out=tmp_path / "run", scoring=DNA, span="overlap", workers=workers)
    assert found(results) == plain(pairs, scoring=DNA, span="overlap")
    assert results.to_table()["score"].null_count == 0 == results.to_table()["cigar"].null_count


def test_proteins(tmp_path: Path) -> None:
    pairs = proteins(tmp_path)
    results = tidalign.align_pairs(tmp_path / "q.fa", tmp_path / "t.fa", out=tmp_path / "run", scoring=PROTEIN)
    assert found(results) == plain(pairs, scoring="blosum62")
    again = tidalign.align_pairs(tmp_path / "q.fa", tmp_path / "t.fa", out=tmp_path / "run", scoring=PROTEIN)
    assert found(again) == found(results)
    assert main(["export", str(tmp_path / "run"), "-o", str(tmp_path / "out.sam")]) == 0
    lines = (tmp_path / "out.sam").read_text().splitlines()
    assert lines[-30].split("\t")[0] == "q0" and "AS:i:54" in lines[-30]
    assert "--scoring blosum62,gap:11,1 --alphabet protein --span local" in lines[-31]


def test_proteins_with_stops_are_valid_sam(tmp_path: Path) -> None:
    """SAM has no letter for a stop: such a protein has none, and no MD where that would name one."""
    (tmp_path / "q.fa").write_text(">a\nMK*VLAARNDCEQ\n>b\nMKVLAW\n>c\n*\n>d\nMKWVL\n")
    (tmp_path / "t.fa").write_text(">x\nMKWVLAARN*CEQ\n>y\nMKVLAW\n>z\n*\n>w\nMK*VL\n")
    tidalign.align_pairs(tmp_path / "q.fa", tmp_path / "t.fa", out=tmp_path / "run", scoring=PROTEIN, span="global").export(tmp_path / "out.sam")
    fields = [line.split("\t") for line in (tmp_path / "out.sam").read_text().splitlines() if line[0] != "@"]
    assert [(each[5], each[9], each[10]) for each in fields] == [("2=1X6=1X3=", "*", "*"), ("6=", "MKVLAW", "*"), ("1=", "*", "*"), ("2=1X2=", "MKWVL", "*")]
    assert [next((tag for tag in each if tag.startswith("MD:")), None) for each in fields] == [None, "MD:Z:6", "MD:Z:1", None]


@pytest.mark.slow
def test_a_poisoned_pair_is_rejected_and_all_others_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = proteins(tmp_path)
    monkeypatch.setenv("TIDALIGN_TEST_POISON", "7")
    results = tidalign.align_pairs(tmp_path / "q.fa", tmp_path / "t.fa", out=tmp_path / "run", scoring=PROTEIN, workers=1)
    rows, expected = found(results), plain(pairs, scoring=PROTEIN)
    assert rows[:7] + rows[8:] == expected[:7] + expected[8:]
    assert (rows[7]["status"], rows[7]["score"], rows[7]["query_start"]) == ("rejected", None, None)


def test_the_command_line(tmp_path: Path, made: Any) -> None:
    folder, pairs = made
    inputs = [str(folder / "q.fa"), str(folder / "t.fa"), "--quiet"]
    out = tmp_path / "out.tsv"
    assert main(["pairs", *inputs, "-o", str(out), "--scoring", DNA, "--span", "extension", "--zdrop", "40", "--end-bonus", "5"]) == 0
    rows = [line.split("\t") for line in out.read_text().splitlines()]
    expected = plain(pairs, scoring=DNA, span="extension", zdrop=40, end_bonus=5)
    assert rows[0][-1] == "score" and [row[-1] for row in rows[1:]] == [str(row["score"]) for row in expected]
    assert {row[-3] for row in rows[1:]} == {"heuristic"}
    options = ["--scoring", DNA, "--span", "extension", "--band", "3", "--end-bonus", "9"]
    assert main(["pairs", *inputs, "-o", str(tmp_path / "band.sam"), *options]) == 0
    lines = (tmp_path / "band.sam").read_text().splitlines()
    expected, free = (plain(pairs, scoring=DNA, span="extension", band=band, end_bonus=9) for band in (3, None))
    scores = [[int(tag[5:]) for tag in line.split("\t") if tag.startswith("AS:i:")] for line in lines if line[0] != "@"]
    assert scores == [[row["score"]] for row in expected] and expected != free
    assert "--span extension --ambiguous mismatch --band 3 --end-bonus 9" in "".join(line for line in lines if line.startswith("@PG"))
    matrix = tmp_path / "m.txt"
    matrix.write_text("  A C G T N\nA 2 -3 -1 -3 0\nC -3 2 -3 -1 0\nG -1 -3 2 -3 0\nT -3 -1 -3 2 0\nN 0 0 0 0 0\n")
    assert main(["pairs", *inputs, "-o", str(tmp_path / "m.paf"), "--matrix", str(matrix), "--gap", "4,2", "--report", "ends"]) == 0
    assert "AS:i:" in (tmp_path / "m.paf").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--span", "local"], "--span goes with --scoring or --matrix"),
        (["--scoring", DNA, "--gap", "3"], "--scoring has the gap in it"),
        (["--scoring", DNA, "--penalties", "edit"], "--penalties is for alignment by penalties"),
        (["--scoring", DNA, "--penalty-only"], "--report ends gives no CIGARs"),
        (["--scoring", "match:2,mismatch:-4,gap:-4,2"], "must not pay"),
        (["--matrix", "nothing"], "expected one of BLOSUM45"),
        (["--matrix", "blosum62", "--alphabet", "dna"], "protein letters"),
        (["--scoring", DNA, "--report", "ends"], "SAM needs CIGARs: leave --report ends out"),
        (["--scoring", DNA, "--report", "score"], "SAM needs places: leave --report score out"),
        (["--scoring", DNA, "--zdrop", "5"], "go with the span extension"),
        (["--scoring", DNA, "--band", "5"], "go with the span extension"),
        (["--scoring", DNA, "--span", "extension", "--band", "0"], "--band"),
    ],
)
def test_wrong_usage_is_one_line(tmp_path: Path, made: Any, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(["pairs", str(made[0] / "q.fa"), str(made[0] / "t.fa"), "-o", str(tmp_path / "out.sam"), *words])
    assert end.value.code == 2
    assert said in capsys.readouterr().err.splitlines()[0]


def test_a_matrix_file_that_is_none(tmp_path: Path, made: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m").write_text("  A C G T\nA 2 -3 -3 -3\n")
    with pytest.raises(SystemExit) as end:
        main(["pairs", str(made[0] / "q.fa"), str(made[0] / "t.fa"), "-o", str(tmp_path / "out.tsv"), "--matrix", str(tmp_path / "m"), "--gap", "2"])
    assert end.value.code == 2
    assert "expected a row for each letter, found none for C, G, T" in capsys.readouterr().err.splitlines()[0]


def test_proteins_given_as_dna(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proteins(tmp_path)
    assert main(["pairs", str(tmp_path / "q.fa"), str(tmp_path / "t.fa"), "-o", str(tmp_path / "out.tsv"), "--scoring", DNA]) == 65
    assert "of proteins say so: --alphabet protein, of pairs with --matrix blosum62" in capsys.readouterr().err
    with pytest.raises(ValueError, match="found 1,000 letters that are all A, C, G, T, U or N"):
        tidalign.align(["ACGTN" * 200], ["MKV"], scoring="blosum62")
    assert tidalign.align(["ACGTN" * 9], ["ACG"], scoring="blosum62")["score"].to_pylist() == [4 + 9 + 6]
    with pytest.raises(ValueError, match="expected protein letters"):
        tidalign.align(["MK-V"], ["MKV"], scoring="blosum62")
