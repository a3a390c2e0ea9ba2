"""Whole runs of pairs with a heuristic: the rows of one call with any workers, both strands, exported, resumed with no other; what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import simulate

import tidalign
from tidalign.workflows.cli import main

RULE = "xdrop:12"
"""Drops some of the pairs below, and leaves some."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, str]]]:
    folder = tmp_path_factory.mktemp("pairs")
    kinds = ("mixed", "gaps", "unrelated")
    pairs = [(query.decode(), target.decode()) for kind in kinds for query, target in simulate.pairs(5, 20, 150, 0.08, kind) if query and target]
    for name, side in (("q.fa", 0), ("t.fa", 1)):
        (folder / name).write_text("".join(f">{name[0]}{i}\n{pair[side]}\n" for i, pair in enumerate(pairs)))
    return folder, pairs


def plain(pairs: list[tuple[str, str]], **options: Any) -> list[dict[str, Any]]:
    table = tidalign.align([query for query, _ in pairs], [target for _, target in pairs], **options)
    return list(table.drop_columns(["query_name", "target_name"]).to_pylist())


@pytest.mark.parametrize("strand", ["plus", "both"])
@pytest.mark.parametrize("workers", [None, 2])
def test_rows_are_those_of_one_call(tmp_path: Path, made: Any, workers: int | None, strand: str) -> None:
    folder, pairs = made
    results = tidalign.align_pairs(folder / "q.fa", folder / "t.fa", out=tmp_path / "run", heuristic=RULE, strand=strand, workers=workers)
    rows = results.to_table().drop_columns(["query_name", "target_name"]).to_pylist()
    assert rows == plain(pairs, heuristic=RULE, strand=strand)
    assert {row["status"] for row in rows} == {"heuristic", "capped"}
    empty = set(rows[0]) - {"ordinal", "query_length", "target_length", "status", "reason"}
    for row in rows:
        assert (row["status"] == "capped") == (row["reason"] is not None) == (row["penalty"] is None)
        assert row["status"] == "heuristic" or all(row[name] is None for name in empty)
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["heuristic"] == "xdrop:12,1" and report["statuses"] == {name: count for name, count in results.statuses().items() if count}


def test_the_better_strand_is_one_that_is_left() -> None:
    """One strand is dropped, the other is not, though its penalty is no lower than that of what was dropped."""
    target = "ACGGTCATTTGCCAGATACCGGATTTCAAGCGTACTGGACCATAGC"
    turned = target.translate(str.maketrans("ACGT", "TGCA"))[::-1]
    rows = tidalign.align([turned, target], [target, target], heuristic="xdrop:5", strand="both").to_pylist()
    assert [(row["strand"], row["status"], row["penalty"]) for row in rows] == [("-", "heuristic", 0), ("+", "heuristic", 0)]


def test_formats_resuming_and_status(tmp_path: Path, made: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder, pairs = made
    command = ["pairs", str(folder / "q.fa"), str(folder / "t.fa"), "-o", str(tmp_path / "run"), "--workers", "0"]
    assert main([*command, "--heuristic", RULE]) == 3
    capped = [row["ordinal"] for row in plain(pairs, heuristic=RULE) if row["status"] == "capped"]
    for ending in ("sam", "bam", "paf", "tsv", "parquet"):
        assert main(["export", str(tmp_path / "run"), "-o", str(tmp_path / f"out.{ending}")]) == 3
    sam, paf, tsv = ((tmp_path / f"out.{ending}").read_text().splitlines() for ending in ("sam", "paf", "tsv"))
    records = [line for line in sam if line[0] != "@"]
    assert any("--heuristic xdrop:12,1" in line for line in sam if line.startswith("@PG"))
    for lines in (records, paf):
        assert len(lines) == len(pairs)
        assert [number for number, line in enumerate(lines) if "st:Z:capped" in line and "rs:Z:the heuristic left no path" in line] == capped
        assert sum("st:Z:heuristic" in line for line in lines) == len(pairs) - len(capped)
    assert all(records[number].split("\t")[1] == "4" for number in capped) and sum("\tcapped\t" in line for line in tsv) == len(capped)
    assert main([*command, "--heuristic", RULE]) == 3
    capsys.readouterr()
    for other in (["--heuristic", "adaptive"], []):
        assert main([*command, *other]) == 78
        assert "was begun with heuristic 'xdrop:12,1'" in capsys.readouterr().err


def test_with_scores_there_is_none(tmp_path: Path, made: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = made
    scored = {"scoring": "match:1,mismatch:-1,gap:1", "heuristic": "adaptive"}
    for call in (lambda: tidalign.align(["A"], ["A"], **scored), lambda: tidalign.align_pairs("q", "t", out=tmp_path / "run", **scored)):
        with pytest.raises(ValueError, match="heuristic is for alignment by penalties"):
            call()
    with pytest.raises(SystemExit, match="2"):
        main(["pairs", str(folder / "q.fa"), str(folder / "t.fa"), "-o", str(tmp_path / "run"), "--heuristic", "adaptive", "--matrix", "blosum62"])
    assert "--heuristic is for alignment by penalties" in capsys.readouterr().err
