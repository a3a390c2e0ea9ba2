"""What is written of hits: lines worked out by hand."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidalign
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.formats.table import find
from tidalign.pipeline.schema import SEARCH_HITS
from tidalign.pipeline.search import results as of_searches
from tidalign.pipeline.search.formats import sam
from tidalign.pipeline.search.hits import merged, rejected
from tidalign.pipeline.search.results import with_firsts
from tidalign.pipeline.store import results as of_runs

QUERIES = ">a one\nGATTACAGATTACA\n>none\nGGGG\n>b\nTGTAATCTTGTAATC\n"
DATABASE = ">t1\nCCGATTACAGATTACACC\n>t2 x\nTTTTTTTT\n>t3\nGATTACATGATTACA\n"


@pytest.fixture
def results(tmp_path: Path) -> tidalign.SearchResults:
    (tmp_path / "q.fa").write_text(QUERIES)
    (tmp_path / "d.fa").write_text(DATABASE)
    return tidalign.search_files(tmp_path / "q.fa", tmp_path / "d.fa", out=tmp_path / "run", scoring="match:2,mismatch:-3,gap:2,1", min_score=14, workers=None)


def lines(results: tidalign.SearchResults, format: str, **options: Any) -> list[str]:
    place = results.path.parent / "out"
    results.export(place, format=format, **options)
    return place.read_text().splitlines()


def test_the_rows(results: tidalign.SearchResults) -> None:
    """a is in t1 whole, in t3 but for an inserted T; b is the other strand of GATTACAAGATTACA: an A more than in t1, and one other than in t3."""
    rows = results.to_table().to_pylist()
    keys = ("query_name", "rank", "target_name", "strand", "query_start", "query_end", "target_start", "target_end", "score", "cigar")
    assert [tuple(row[name] for name in keys) for row in rows] == [
        ("a", 1, "t1", "+", 0, 14, 2, 16, 28, "14="),
        ("a", 2, "t3", "+", 0, 14, 0, 15, 25, "7=1D7="),
        ("b", 1, "t1", "-", 0, 15, 2, 16, 25, "6=1I8="),
        ("b", 2, "t3", "-", 0, 15, 0, 15, 25, "7=1X7="),
    ]
    assert results.to_table().schema == SEARCH_HITS and len(results) == 4 and results.statuses()["exact"] == 4
    assert results.without_hits == 1
    assert results.to_table(["rank", "score"]).to_pylist() == [{"rank": row["rank"], "score": row["score"]} for row in rows]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_query_is_counted_once_however_its_rows_come(size: int, results: tidalign.SearchResults, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = results.to_table()
    monkeypatch.setattr(of_searches, "_best", lambda *_: iter([rows.slice(0, 0), *(rows.slice(start, size) for start in range(0, len(rows), size))]))
    assert of_searches.counted(results._manifest, {}) == ({"exact": 4}, 2)


def test_blast_tabular(results: tidalign.SearchResults) -> None:
    """A hit on the other strand has its target's places turned round; without statistics there is `*` and the score."""
    found = lines(results, "m8")
    assert [*found[:2], found[3]] == [
        "a\tt1\t100.000\t14\t0\t0\t1\t14\t3\t16\t*\t28",
        "a\tt3\t93.333\t15\t0\t1\t1\t14\t1\t15\t*\t25",
        "b\tt3\t93.333\t15\t1\t0\t1\t15\t15\t1\t*\t25",
    ]


def test_paf(results: tidalign.SearchResults) -> None:
    found = lines(results, "paf")
    assert found[0] == "a\t14\t0\t14\t+\tt1\t18\t2\t16\t14\t14\t255\tNM:i:0\tAS:i:28\ttp:A:P\tde:f:0\tcg:Z:14="
    assert found[3] == "b\t15\t0\t15\t-\tt3\t15\t0\t15\t14\t15\t255\tNM:i:1\tAS:i:25\ttp:A:S\tde:f:0.0667\tcg:Z:7=1X7="


def test_sam(results: tidalign.SearchResults) -> None:
    found = lines(results, "sam", cigar="M")
    assert found[:3] == ["@HD\tVN:1.6\tSO:unsorted", "@SQ\tSN:t1\tLN:18", "@SQ\tSN:t3\tLN:15"]
    assert "CL:tidalign search q.fa d.fa --scoring match:2,mismatch:-3,gap:2,1" in found[3] and found[3].endswith("--top 10 --min-score 14 --cigar M")
    assert [line.split("\t")[:6] for line in found[4:]] == [
        ["a", "0", "t1", "3", "255", "14M"],
        ["a", "256", "t3", "1", "255", "7M1D7M"],
        ["b", "16", "t1", "3", "255", "6M1I8M"],
        ["b", "272", "t3", "1", "255", "15M"],
    ]


def test_a_target_without_letters_is_not_in_the_header_of_sam(tmp_path: Path) -> None:
    """LN is 1 at least: htslib opens no other file."""
    (tmp_path / "q.fa").write_text(">q\nACGTACGTAC\n")
    (tmp_path / "d.fa").write_text(">t1\nTTTTACGTACGTACTTT\n>t2\n\n>t3\nCCCCC\n")
    found = tidalign.search_files(tmp_path / "q.fa", tmp_path / "d.fa", out=tmp_path / "run", span="query", min_score=-1000, workers=None)
    assert set(found.to_table()["target_name"].to_pylist()) == {"t1", "t2", "t3"}
    assert lines(found, "sam")[1:3] == ["@SQ\tSN:t1\tLN:17", "@SQ\tSN:t3\tLN:5"]


@pytest.mark.parametrize("span", ["global", "overlap", "query", "target"])
def test_hits_without_letters(span: str, tmp_path: Path) -> None:
    """BLAST's table has those with letters of both sides; SAM those with a place, and one primary record of each query, as its specification asks."""
    (tmp_path / "q.fa").write_text(">q1\nACGTACGTAC\n>q2\n\n>q3\nGG\n")
    (tmp_path / "d.fa").write_text(">t1\nTTTTACGTACGTACTTT\n>t2\n\n>t3\nCA\n")
    found = tidalign.search_files(tmp_path / "q.fa", tmp_path / "d.fa", out=tmp_path / "run", span=span, min_score=-1000, workers=None)
    rows = found.to_table().to_pylist()
    with_letters = [row for row in rows if row["query_start"] < row["query_end"] and row["target_start"] < row["target_end"]]
    assert 0 < len(with_letters) < len(rows)
    table = [line.split("\t") for line in lines(found, "m8")]
    assert [tuple(fields[:2]) for fields in table] == [(row["query_name"], row["target_name"]) for row in with_letters]
    for fields, row in zip(table, with_letters, strict=True):
        assert min(map(int, fields[6:10])) >= 1 and float(fields[2]) == pytest.approx(100 * row["identity"], abs=1e-3)
    records = [line.split("\t") for line in lines(found, "sam") if not line.startswith("@")]
    placed = [(row["query_name"], row["target_name"]) for row in rows if row["target_start"] < row["target_end"]]
    assert [(fields[0], fields[2]) for fields in records if fields[2] != "*"] == placed
    primary = [fields[0] for fields in records if not int(fields[1]) & 0x900]
    assert primary == list(dict.fromkeys(row["query_name"] for row in rows))
    assert all(int(fields[1]) == 4 for fields in records if fields[2] == "*")


@pytest.mark.parametrize("batch_rows", [1, 5, 6])
def test_a_query_that_was_rejected_in_several_slices(batch_rows: int, results: tidalign.SearchResults, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has one row, behind its hits in the others, and one primary record, wherever batches end."""
    table = results.to_table()
    names = pa.table({"ordinal": [1, 2], "name": ["none", "b"], "length": [4, 15]})
    both = pa.concat_tables([rejected(names, "first"), table, rejected(names, "second")])
    order, rank = merged(both, 10)
    rows = both.set_column(both.schema.get_field_index("rank"), SEARCH_HITS.field("rank"), rank).take(pa.array(order))
    said = [(row["query_name"], row["rank"], row["reason"]) for row in rows.to_pylist()]
    assert said == [("a", 1, None), ("a", 2, None), ("none", None, "first"), ("b", 1, None), ("b", 2, None), ("b", None, "first")]
    request = Request(results, find("search", "sam"), print)
    monkeypatch.setattr(of_runs, "BATCH_ROWS", batch_rows)
    text = [line for batch in with_firsts(lambda: [rows]) for line in sam.lines(batch, request).to_pylist()]
    assert [line.split("\t")[:3] for line in text] == [
        ["a", "0", "t1"],
        ["a", "256", "t3"],
        ["none", "4", "*"],
        ["b", "16", "t1"],
        ["b", "272", "t3"],
        ["b", "260", "*"],
    ]


def test_tsv_and_parquet(results: tidalign.SearchResults) -> None:
    found = lines(results, "tsv")
    assert found[0].split("\t") == SEARCH_HITS.names and len(found) == 5
    results.export(results.path.parent / "out.parquet")
    assert pq.read_table(results.path.parent / "out.parquet").equals(results.to_table())


def test_two_sequences_of_one_name(tmp_path: Path) -> None:
    (tmp_path / "q.fa").write_text(">q\nGATTACAGATTACA\n")
    (tmp_path / "d.fa").write_text(">t\nGATTACAGATTACA\n>t\nGATTACATGATTACA\n")
    found = tidalign.search_files(tmp_path / "q.fa", tmp_path / "d.fa", out=tmp_path / "run")
    with pytest.raises(InputError, match=r"SAM header: expected one sequence of each name in the database, found more of 't'; name them apart"):
        found.export(tmp_path / "out.sam")
    assert found.export(tmp_path / "out.m8") == len(found)
