"""Searches of real genes and proteins: the scores of parasail, the best of a full sort, the bit scores and E-values of blastp."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tidalign
from tidalign.kernels.scoring.substitution import GAPS
from tidalign.pipeline.search import statistics
from tidalign.pipeline.search.formats import m8

DATA = Path(__file__).parents[2] / "data" / "search"
COMPLEMENT = str.maketrans("ACGTRYKMBDHV", "TGCAYRMKVHDB")


def records(name: str) -> dict[str, Any]:
    """Read a side as `tidalign.search` takes a table."""
    found = [record.partition("\n") for record in gzip.decompress((DATA / name).read_bytes()).decode().split(">")[1:]]
    return pa.table({"name": [head for head, *_ in found], "sequence": [letters.replace("\n", "") for *_, letters in found]})


def scores(name: str) -> np.ndarray[Any, Any]:
    return np.array([[int(word) for word in line.split()] for line in gzip.decompress((DATA / name).read_bytes()).decode().splitlines()])


def sorted_best(strands: list[Any], top: int, least: int) -> list[tuple[int, int, str, int]]:
    """Find the best of a full sort: query, target, strand, score."""
    found = []
    for query in range(len(strands[0])):
        all_of_it = [(-strand[query, target], target, "+-"[place]) for place, strand in enumerate(strands) for target in range(strand.shape[1])]
        found += [(query, target, strand, -score) for score, target, strand in sorted(all_of_it)[:top] if -score >= least]
    return found


def hits(table: Any) -> list[tuple[int, int, str, int]]:
    return list(zip(*(table[name].to_pylist() for name in ("ordinal", "target_ordinal", "strand", "score")), strict=True))


@pytest.mark.parametrize(("top", "least"), [(1, 1), (10, 1), (25, 40), (1000, 60)])
def test_proteins_are_scored_as_by_parasail(top: int, least: int) -> None:
    queries, database = records("queries.faa.gz"), records("proteins.faa.gz")
    found = tidalign.search(queries, database, top, min_score=least, scoring="blosum62", report="score")
    assert hits(found) == sorted_best([scores("proteins.scores.gz")], top, least)
    assert found["query_start"].null_count == found["cigar"].null_count == len(found)


@pytest.mark.parametrize(("strand", "files"), [("plus", ["genes"]), ("both", ["genes", "turned"])])
def test_genes_on_both_strands_are_scored_as_by_parasail(strand: str, files: list[str]) -> None:
    found = tidalign.search(records("asked.fa.gz"), records("genes.fa.gz"), 60, strand=strand)
    assert hits(found) == sorted_best([scores(f"{name}.scores.gz") for name in files], 60, 1)


def test_a_query_turned_round_has_the_same_hits_on_the_other_strand() -> None:
    queries, database = records("asked.fa.gz"), records("genes.fa.gz")
    turned = [letters.translate(COMPLEMENT)[::-1] for letters in queries["sequence"].to_pylist()]
    forward, backward = (tidalign.search(letters, database, 3, min_score=100).to_pylist() for letters in (queries["sequence"].to_pylist(), turned))
    assert forward and {row["strand"] for row in forward} == {"+"} and {row["strand"] for row in backward} == {"-"}
    for one, other in zip(forward, backward, strict=True):
        assert {name: one[name] for name in ("target_name", "target_start", "target_end", "score", "cigar", "identity", "rank")} == {
            name: other[name] for name in ("target_name", "target_start", "target_end", "score", "cigar", "identity", "rank")
        }
        assert (other["query_start"], other["query_end"]) == (one["query_length"] - one["query_end"], one["query_length"] - one["query_start"])


def test_hits_are_as_good_as_blastp_says(tmp_path: Path) -> None:
    """Where blastp, which is a heuristic, finds an alignment of the best score, bits and E-value are its own; no score of its is better."""
    results = search_files(tmp_path, "m8", scoring="blosum62", top=1000)
    ours = {tuple(line.split("\t")[:2]): line.split("\t") for line in results}
    theirs: dict[tuple[str, ...], list[str]] = {}
    for line in (DATA / "blastp.m8").read_text().splitlines():
        theirs.setdefault(tuple(line.split("\t")[:2]), line.split("\t"))
    assert all(float(ours[names][11]) >= float(line[11]) for names, line in theirs.items())
    same = [(ours[names], line) for names, line in theirs.items() if ours[names][11] == line[11]]
    assert len(same) > 0.8 * len(theirs) and all(mine[10] == line[10] for mine, line in same)
    assert sum(mine == line for mine, line in same) > 0.9 * len(same)  # others are of the same score, with their gaps elsewhere


@pytest.mark.parametrize("matrix", GAPS)
def test_scores_bits_and_expectations_by_matrix_are_those_of_blastp(matrix: str) -> None:
    """Scores where blastp, a heuristic, has a sure hit without ambiguous letters, which it scores in another way: most are equal, and none is better."""
    sides = {name: records(f"{name}.faa.gz") for name in ("queries", "proteins")}
    letters = {name: text for side in sides.values() for name, text in zip(*(side[column].to_pylist() for column in ("name", "sequence")), strict=True)}
    lines = [line.split("\t") for line in gzip.decompress((DATA / "blastp_scores.tsv.gz").read_bytes()).decode().splitlines()]
    lines = [line for line in lines if line[0] == matrix]
    scoring = f"{matrix.lower()},gap:{lines[0][1]},{lines[0][2]}"
    known = statistics.of(scoring, "protein", "local")
    assert known and len(lines) > 100
    lengths, others = (np.array([len(letters[line[side]]) for line in lines]) for side in (3, 4))
    theirs = np.array([int(line[5]) for line in lines])
    database = sides["proteins"]["sequence"].to_pylist()
    values = known.evalues(theirs, lengths, others, statistics.DatabaseSize(sum(map(len, database)), len(database)))
    made = {"bits": pa.array(known.bits(theirs)), "evalue": pa.array(values), "score": pa.array(theirs)}
    assert [list(pair) for pair in zip(*(column.to_pylist() for column in m8._quality(pa.table(made))), strict=True)] == [[e, bits] for *_, bits, e in lines]
    found = tidalign.search(sides["queries"], sides["proteins"], 1000, scoring=scoring, report="score")
    ours = dict(zip(zip(*(found[name].to_pylist() for name in ("query_name", "target_name")), strict=True), found["score"].to_pylist(), strict=True))
    sure = [line for line in lines if float(line[7]) < 1e-6 and set(letters[line[4]]) <= set("ARNDCQEGHILKMFPSTWYV")]
    assert all(ours[line[3], line[4]] >= int(line[5]) for line in sure)
    assert sum(ours[line[3], line[4]] == int(line[5]) for line in sure) > 0.85 * len(sure) > 40


def test_bits_and_expectations_of_bases_are_those_of_blastn() -> None:
    genes = records("genes.fa.gz")["sequence"].to_pylist()
    database = statistics.DatabaseSize(sum(map(len, genes)), len(genes))
    lines = [line.split("\t") for line in gzip.decompress((DATA / "blastn_scores.tsv.gz").read_bytes()).decode().splitlines()[1:]]
    for key in dict.fromkeys(tuple(line[:4]) for line in lines):
        match, mismatch, opening, extension = key
        known = statistics.of(f"match:{match},mismatch:{mismatch},gap:{opening},{extension}", "dna", "local")
        assert known
        of_key = [line[4:] for line in lines if tuple(line[:4]) == key]
        lengths, scores = (np.array([int(line[column]) for line in of_key]) for column in (0, 1))
        bits, values = known.bits(scores), known.evalues(scores, lengths, scores, database)
        made = {"bits": pa.array(bits), "evalue": pa.array(values), "score": pa.array(scores)}
        theirs = [column.to_pylist() for column in m8._quality(pa.table(made))]
        differ = [(key, line, value, bit) for line, value, bit in zip(of_key, *theirs, strict=True) if (bit, value) != (line[2], line[3])]
        assert not differ


def test_genes_are_as_good_as_blastn_says(tmp_path: Path) -> None:
    """Where blastn, which is a heuristic, finds an alignment of the best score, bits and E-value are its own; no score of its is better. It gives
    IUPAC's letters scores of their own: genes with such are left out."""
    plain = {row["name"] for name in ("asked.fa.gz", "genes.fa.gz") for row in records(name).to_pylist() if set(row["sequence"]) <= set("ACGT")}
    ours, theirs = (
        {tuple(line.split("\t")[:2]): line.split("\t") for line in reversed(lines) if plain.issuperset(line.split("\t")[:2])}
        for lines in (search_files(tmp_path, "m8", ("asked.fa", "genes.fa"), top=1000), (DATA / "blastn.m8").read_text().splitlines())
    )
    assert all(float(ours[names][11]) >= float(line[11]) for names, line in theirs.items())
    same = [(ours[names], line) for names, line in theirs.items() if ours[names][11] == line[11]]
    assert len(same) > 100 and len(same) > 0.8 * len(theirs) and all(mine[10] == line[10] for mine, line in same)


def search_files(folder: Path, ending: str, names: tuple[str, str] = ("queries.faa", "proteins.faa"), **options: Any) -> list[str]:
    for name in names:
        (folder / name).write_bytes(gzip.decompress((DATA / f"{name}.gz").read_bytes()))
    results = tidalign.search_files(*(folder / name for name in names), out=folder / "run", **options)
    results.export(folder / f"out.{ending}")
    return (folder / f"out.{ending}").read_text().splitlines()


def test_scores_without_statistics() -> None:
    assert statistics.of("match:2,mismatch:-3,gap:5,3", "dna", "local") is None
    assert statistics.of("match:2,mismatch:-3,gap:5,2", "dna", "overlap") is None
    assert statistics.of("match:4,mismatch:-6,gap:10,5", "dna", "local") is None
    assert statistics.of("match:2,mismatch:-3,gap:6,3", "dna", "local") is None and statistics.of("match:2,mismatch:-3,gap:5,4", "dna", "local") is None
    assert statistics.of("match:1,mismatch:-6,gap:9,9", "dna", "local") is None
    assert statistics.of("letters:NACGT,scores:0,0,5,0,-4,5,0,-4,-4,5,0,-4,-4,-4,5,gap:11,1", "dna", "local") is None
    assert statistics.of("blosum62,gap:12,3", "protein", "local") is None
    assert statistics.of("blosum62,gap:11,1,20,1", "protein", "local") is None
    assert statistics.of("blosum62,gap:11,1", "protein", "global") is None
    known = statistics.of("pam30,gap:9,1", "protein", "local")
    assert known and round(float(known.bits(np.array([50]))[0]), 1) == 24.4  # (0.294 * 50 - ln 0.11) / ln 2
