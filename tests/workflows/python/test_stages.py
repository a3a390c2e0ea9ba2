"""The stages of `tidalign.genome` are those of whole runs: together they give a run's rows; seeds are those that loops over letters find."""

from itertools import product
from pathlib import Path
from typing import Any

import genome_pairs
import numpy as np
import pyarrow as pa
import pytest

import tidalign
import tidalign.genome
from tidalign.pipeline.errors import CannotWrite
from tidalign.pipeline.schema import ANCHORS, GENOME_ALIGNMENTS, HITS, HSPS

PLACES = ["target_name", "target_start", "target_end", "query_start", "query_end", "strand", "score", "cigar"]
LIGHT: dict[str, Any] = {"hspthresh": 600, "gappedthresh": 800, "seed": "match9", "notransition": True}


def sides(seed: int) -> tuple[dict[str, str], str]:
    target, query = genome_pairs.related(np.random.default_rng(seed))
    pieces = [piece.decode() for piece in target.split(b"\0") if piece]
    return {f"t{place}": piece for place, piece in enumerate(pieces)}, query.decode()


@pytest.mark.parametrize("mode", ["exact", "independent"])
@pytest.mark.parametrize("seed", range(4))
def test_stages_together_are_a_run(seed: int, mode: str) -> None:
    target, query = sides(seed)
    wanted = tidalign.align_genomes(target, {"q": query}, workers=0, device="cpu", mode=mode, **LIGHT)
    tables = []
    for strand in "+-":
        hsps = tidalign.genome.hsps(target, query, strand=strand, mode=mode, **LIGHT)
        anchors = tidalign.genome.anchors(target, query, hsps, strand=strand, mode=mode, **LIGHT)
        assert anchors == tidalign.genome.anchors(target, query, strand=strand, mode=mode, **LIGHT)
        tables.append(tidalign.genome.extend(target, query, anchors, strand=strand, mode=mode, **LIGHT))
    found = pa.concat_tables(tables)
    assert found.schema == GENOME_ALIGNMENTS and len(wanted)
    assert found.select(PLACES).to_pylist() == wanted.select(PLACES).to_pylist()


@pytest.mark.parametrize("strand", "+-")
def test_seeds_are_equal_words(strand: str) -> None:
    target, query = (letters.decode().replace("\0", "") for letters in genome_pairs.related(np.random.default_rng(3), 300))
    table = tidalign.genome.seeds(target, query, strand=strand, seed="match9", notransition=True)
    on = query if strand == "+" else query[::-1].translate(str.maketrans("ACGTacgt", "TGCAtgca"))
    places = product(range(len(target) - 8), range(len(on) - 8))
    # Lower case is masked on both sides, and no word has other letters than ACGT.
    equal = {(t, q) for t, q in places if target[t : t + 9] == on[q : q + 9] and set(target[t : t + 9]) <= set("ACGT")}
    assert table.schema == HITS and len(equal) > 20
    assert set(zip(table["target"].to_pylist(), table["query"].to_pylist(), strict=True)) == equal


def test_schemas_of_nothing() -> None:
    one, other = "ACGT" * 30, "A" * 50
    assert tidalign.genome.seeds(one, other) == HITS.empty_table()
    assert tidalign.genome.hsps(one, other) == HSPS.empty_table()
    assert tidalign.genome.anchors(one, other) == ANCHORS.empty_table()
    assert tidalign.genome.extend(one, other, ANCHORS.empty_table()) == GENOME_ALIGNMENTS.empty_table()


def test_wrong_arguments() -> None:
    anchors = pa.table({"target": [700], "query": [3], "score": [9]})
    for wrong, message in (
        (lambda: tidalign.genome.extend("ACGT" * 30, "ACGT" * 30, anchors), "expected places of the target from 0 to 120, found 700 to 701"),
        (lambda: tidalign.genome.extend("ACGT", "ACGT", anchors.drop_columns(["score"])), "found none named score"),
        (lambda: tidalign.genome.seeds("ACGT", "ACGT", strand="both"), r"expected '\+' or '-'"),
        (lambda: tidalign.genome.seeds("ACGT", "ACGT", stepp=3), "did you mean step"),
        (lambda: tidalign.genome.seeds("ACGT", "ACGT", seconds=3), "seconds is for whole runs"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()


def test_a_file_and_a_table_have_the_rows_of_a_run(tmp_path: Path) -> None:
    target, query = sides(1)
    for name, sequences in (("t", target), ("q", {"q": query})):
        (tmp_path / f"{name}.fa").write_text("".join(f">{each}\n{letters}\n" for each, letters in sequences.items()))
    files = tmp_path / "t.fa", tmp_path / "q.fa"
    run = tidalign.align_genomes(*files, out=tmp_path / "run", workers=0, device="cpu", **LIGHT)
    table = tidalign.align_genomes(*files, workers=0, device="cpu", **LIGHT)
    assert table.select(PLACES) == run.to_table(PLACES) and len(table)
    before = {path.name for path in tmp_path.iterdir()}
    results = tidalign.align_genomes(*files, out=tmp_path / "x.maf", workers=0, device="cpu", **LIGHT)
    assert {path.name for path in tmp_path.iterdir()} - before == {"x.maf", "x.maf.run"}
    run.export(tmp_path / "y.maf")
    assert (tmp_path / "x.maf").read_bytes() == (tmp_path / "y.maf").read_bytes()
    assert results.to_table(PLACES) == run.to_table(PLACES)


def test_names_of_sequences_in_memory() -> None:
    letters = "ACGTTGCATTGACCATGCAAGTC"
    table = tidalign.align_genomes({"chr|1": letters, "b:2": "ACGT"}, {"human|x": letters}, workers=0, device="cpu", hspthresh=1000, gappedthresh=1000)
    assert table.select(["target_name", "query_name", "target_length"]).to_pylist() == [{"target_name": "chr|1", "query_name": "human|x", "target_length": 23}]
    for name in ("", "a b", "x.fa", "a\n"):
        with pytest.raises(tidalign.InputError, match="query: record 1: expected a name"):
            tidalign.align_genomes({"t": letters}, {name: letters}, workers=0)
    with pytest.raises(ValueError, match="target: sequences in memory give a table: leave out= away"):
        tidalign.align_genomes({"t": letters}, "q.fa", out="run")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="want a run directory: give out="):
        tidalign.align_genomes({"t": letters}, {"q": letters}, keep=["hsps"])


def test_files_of_pairs_and_searches(tmp_path: Path) -> None:
    for name, letters in (("q", "ACGTACGTACGTTTGA"), ("t", "ACGTACCTACGTTTGA")):
        (tmp_path / f"{name}.fa").write_text(f">{name}\n{letters}\n")
    files = tmp_path / "q.fa", tmp_path / "t.fa"
    pairs = tidalign.align_pairs(*files, out=tmp_path / "x.paf", workers=0)
    hits = tidalign.search_files(*files, out=tmp_path / "x.m8", workers=0)
    assert (tmp_path / "x.paf").read_text().split("\t")[:4] == ["q", "16", "0", "16"] and len(pairs) == 1
    assert (tmp_path / "x.m8").read_text().split("\t")[:2] == ["q", "t"] and len(hits) == len((tmp_path / "x.m8").read_text().splitlines())
    with pytest.raises(ValueError, match=r"x.cram: cannot write .cram: write .sam"):
        tidalign.align_pairs(*files, out=tmp_path / "x.cram")
    (tmp_path / "y.sam").mkdir()
    with pytest.raises(CannotWrite, match="expected a file to write, found a directory"):
        tidalign.align_pairs(*files, out=tmp_path / "y.sam")
