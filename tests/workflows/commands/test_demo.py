"""The demo's data are whole, and what the demo says of them is so."""

import gzip
from pathlib import Path

import pyarrow.compute as pc

from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.pairs.results import Results
from tidalign.workflows import cli
from tidalign.workflows.commands import demo


def letters(path: Path, first: int, every: int) -> list[str]:
    with gzip.open(path, "rt") as lines:
        return lines.read().splitlines()[first::every]


def test_the_data_are_small_and_paired() -> None:
    assert sum(path.stat().st_size for path in demo.DATA.iterdir()) < 1_000_000
    reads, windows = letters(demo.DATA / "reads.fastq.gz", 1, 4), letters(demo.DATA / "windows.fasta.gz", 1, 2)
    assert len(reads) == len(windows) == 4936
    assert {len(read) for read in reads} == {76}


def test_the_demo(tmp_path, capsys) -> None:
    folder = tmp_path / "demo"
    assert cli.main(["demo", "-o", str(folder), "--quiet"]) == 0
    written = capsys.readouterr()
    assert written.err == ""
    # A read equals the genome if it stands in its window letter for letter, near the middle.
    reads, windows = letters(demo.DATA / "reads.fastq.gz", 1, 4), letters(demo.DATA / "windows.fasta.gz", 1, 2)
    equal = [read in window for read, window in zip(reads, windows, strict=True)]
    assert f"            0  {sum(equal):>5,}  #" in written.out
    table = Results(folder / "run").to_table()
    assert [penalty == 0 for penalty in table["penalty"].to_pylist()] == equal
    assert len((folder / "alignments.tsv").read_text().splitlines()) == 4937
    assert sum(not line.startswith("@") for line in (folder / "alignments.sam").read_text().splitlines()) == 4936
    # LASTZ 1.04.22 finds eight alignments of the flies, the best with a score of 267,788 and all on the strand -.
    maf = (folder / "flies.maf").read_text().splitlines()
    assert [line.split("=")[1] for line in maf if line.startswith("a ")][0] == "267788"
    assert len(GenomeResults(folder / "flies").to_table().filter(pc.field("strand") == "-")) == 8 and "8 alignments" in written.out
    # Each protein's own family comes first: hits of the same protein in another species, or its own record.
    hits = [line.split("\t") for line in (folder / "hits.m8").read_text().splitlines()]
    assert len({hit[0] for hit in hits}) == 10 and sum(float(hit[11]) >= demo.BITS for hit in hits) == 35
    assert "A0A097J730_BPT4          A0A097J730_BPT4           525.0 3.1e-194    100.0%" in written.out
    # A second time it goes on from what is there.
    assert cli.main(["demo", "-o", str(folder), "--quiet"]) == 0
