"""--sort: the records of the file without it, by coordinate, and an index by which the records of any region are found."""

import shutil
import subprocess
from typing import Any

import bam_reader
import numpy as np
import pytest

from tidalign.pipeline import text
from tidalign.pipeline.errors import DiskFull
from tidalign.pipeline.formats import export
from tidalign.pipeline.pairs.formats.bam_index import BinIndex
from tidalign.pipeline.pairs.formats.targets import References
from tidalign.pipeline.store import sorted_runs

CONTIGS = {"empty": 9_000_000, "chr2": 70_000, "chr1": 3_000_000, "chrX": 40_000_000, "none": 500}


@pytest.fixture
def results(make_run, row, rejected):
    """Make reads all over some contigs, many at a few places; some without a place."""
    rng = np.random.default_rng(7)
    rows = []
    for number in range(700):
        contig = list(CONTIGS)[int(rng.integers(1, 4))]
        size = int(rng.choice([5, 60, 60, 60, 20_000]))
        start = int(rng.integers(0, CONTIGS[contig] - size)) if number % 3 else int(rng.choice([0, 1, 16_383, 16_384, 30_000]))
        name = f"{contig}:{start + 1}-{start + size}"
        left = int(rng.integers(0, 3))
        spans = {"query_span": (1, size - left + 1, size - left + 2), "target_span": (left, size, size)}
        each = row(f"q{number}", name, cigar=f"{size - left}=", **spans)
        rows.append(rejected(f"q{number}", name) | {"target_length": size} if number % 97 == 5 else each)
    return make_run(rows, block=64)


@pytest.fixture
def fai(tmp_path):
    (tmp_path / "g.fai").write_text("".join(f"{name}\t{length}\t6\t60\t61\n" for name, length in CONTIGS.items()))
    return str(tmp_path / "g.fai")


def spans(lines: list[str]) -> list[tuple[str, str, int, int]]:
    """Query, contig, start and end of each record that has a place."""
    fields = [line.split("\t") for line in lines]
    return [(each[0], each[2], int(each[3]) - 1, int(each[3]) - 1 + int(each[5].strip("S").split("S")[-1].split("=")[0])) for each in fields if each[2] != "*"]


@pytest.mark.parametrize("most", [1 << 26, 20_000], ids=["memory", "runs"])
@pytest.mark.parametrize("runs", [64, 2])
def test_records_are_those_by_coordinate(results, fai, tmp_path, monkeypatch, most: int, runs: int) -> None:
    results.export(tmp_path / "out.sam", lift=fai)
    lines = (tmp_path / "out.sam").read_text().splitlines()
    header, records = [line for line in lines if line[0] == "@"], [line for line in lines if line[0] != "@"]
    header[-1] = header[-1].replace(" --lift g.fai", " --sort --lift g.fai")
    order = [*CONTIGS, "*"]
    expected = sorted(records, key=lambda line: (order.index(line.split("\t")[2]), int(line.split("\t")[3])))  # which is stable
    assert expected != records and expected[-1].split("\t")[2] == "*"
    monkeypatch.setattr(text, "BATCH_BYTES", most)
    monkeypatch.setattr(text, "PIECE_BYTES", 5000)
    monkeypatch.setattr(sorted_runs, "MERGED_RUNS", runs)
    for suffix in ("sam", "bam"):
        results.export(tmp_path / f"sorted.{suffix}", lift=fai, sort=True)
    written = (tmp_path / "sorted.sam").read_text()
    assert written.splitlines() == ["@HD\tVN:1.6\tSO:coordinate", *header[1:], *expected]
    assert bam_reader.text((tmp_path / "sorted.bam").read_bytes()) == written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.fai", "out.sam", "run", "sorted.bam", "sorted.bam.bai", "sorted.sam"]


def test_neither_threads_nor_batches_change_a_byte(results, fai, tmp_path, monkeypatch) -> None:
    found = set()
    for threads, most in ((1, 1 << 26), (2, 9000), (5, 30_000)):
        monkeypatch.setattr(type(results), "threads", threads)
        monkeypatch.setattr(text, "BATCH_BYTES", most)
        results.export(tmp_path / "out.bam", lift=fai, sort=True)
        found.add((tmp_path / "out.bam").read_bytes() + (tmp_path / "out.bam.bai").read_bytes())
    assert len(found) == 1


def test_targets_are_read_as_often_however_many_batches(results, tmp_path, monkeypatch) -> None:
    read, known = [], References.each
    monkeypatch.setattr(References, "each", lambda self, function: read.append(text.BATCH_BYTES) or known(self, function))
    for most in (1 << 26, 9000):
        monkeypatch.setattr(text, "BATCH_BYTES", most)
        results.export(tmp_path / "out.sam", sort=True)
    assert read.count(9000) == read.count(1 << 26) > 0


def regions() -> list[tuple[str, int, int]]:
    rng = np.random.default_rng(3)
    chosen = [("chr2", 0, 1), ("chr2", 16_383, 16_384), ("chr2", 16_384, 16_385), ("chrX", 0, 40_000_000), ("none", 0, 500), ("chr1", 2_999_999, 3_000_000)]
    for _ in range(60):
        contig = list(CONTIGS)[int(rng.integers(1, 4))]
        start = int(rng.integers(0, CONTIGS[contig] - 1))
        chosen.append((contig, start, min(CONTIGS[contig], start + int(rng.choice([1, 100, 20_000, 2_000_000])))))
    return chosen


@pytest.mark.parametrize("longest", [1 << 20, 3_000_000_000 >> 1], ids=["bai", "csi"])
def test_the_index_finds_what_overlaps(results, tmp_path, longest: int) -> None:
    """A contig of more than 2^29 letters, on which nothing lies, wants another form."""
    lengths = CONTIGS | {"long": longest}
    (tmp_path / "g.fai").write_text("".join(f"{name}\t{length}\t6\t60\t61\n" for name, length in lengths.items()))
    results.export(tmp_path / "out.sam", lift=str(tmp_path / "g.fai"), sort=True)
    results.export(tmp_path / "out.bam", lift=str(tmp_path / "g.fai"), sort=True)
    placed = spans([line for line in (tmp_path / "out.sam").read_text().splitlines() if line[0] != "@"])
    suffix = "csi" if longest > 1 << 29 else "bai"
    data, index = (tmp_path / "out.bam").read_bytes(), (tmp_path / f"out.bam.{suffix}").read_bytes()
    assert len(bam_reader.blocks(data)) > 5
    some = 0
    for contig, start, stop in regions():
        expected = [name for name, on, first, last in placed if on == contig and first < stop and last > start]
        assert bam_reader.query(data, index, list(lengths).index(contig), start, stop) == expected
        some += bool(expected)
    assert some > 20
    *_, contigs, unplaced = bam_reader.parsed_index(index)
    assert unplaced == 700 - len(placed) > 0
    counted = [bins[max(bins)][1][1][0] if bins else 0 for bins, _ in contigs]
    assert counted == [sum(on == contig for _, on, *_ in placed) for contig in lengths]
    assert not any(windows for bins, windows in contigs if not bins)


def test_no_index_of_an_earlier_file_stays(results, tmp_path) -> None:
    """Readers take a .csi before a .bai, and either for that of the file beside it."""

    def beside(longest: int, sort: bool) -> list[str]:
        (tmp_path / "g.fai").write_text("".join(f"{name}\t{length}\t6\t60\t61\n" for name, length in (CONTIGS | {"long": longest}).items()))
        results.export(tmp_path / "out.bam", lift=str(tmp_path / "g.fai"), sort=sort)
        return sorted(path.suffix for path in tmp_path.glob("out.bam.*"))

    assert beside(3_000_000_000 >> 1, sort=True) == [".csi"]
    assert beside(1 << 20, sort=True) == [".bai"]
    assert beside(1 << 20, sort=False) == []


def test_no_index_of_an_earlier_file_stays_where_none_can_be_written(results, tmp_path, monkeypatch) -> None:
    """The disk is full, or the process is killed, between the two."""
    (tmp_path / "g.fai").write_text("".join(f"{name}\t{length}\t6\t60\t61\n" for name, length in (CONTIGS | {"long": 1 << 20}).items()))
    arguments = {"lift": str(tmp_path / "g.fai"), "sort": True}
    results.export(tmp_path / "out.bam", **arguments)
    whole = export.destination

    def full(output):
        if output.endswith(".bai"):
            raise DiskFull("no space left")
        return whole(output)

    monkeypatch.setattr(export, "destination", full)
    with pytest.raises(DiskFull):
        results.export(tmp_path / "out.bam", **arguments)
    assert (tmp_path / "out.bam").exists() and not list(tmp_path.glob("out.bam.*"))


@pytest.mark.skipif(not shutil.which("samtools"), reason="samtools is not installed")
@pytest.mark.parametrize("longest", [1 << 20, 3_000_000_000 >> 1], ids=["bai", "csi"])
def test_samtools_takes_it(results, tmp_path, longest: int) -> None:
    lengths = CONTIGS | {"long": longest}
    (tmp_path / "g.fai").write_text("".join(f"{name}\t{length}\t6\t60\t61\n" for name, length in lengths.items()))
    results.export(tmp_path / "ours.bam", lift=str(tmp_path / "g.fai"), sort=True)

    def said(*words: Any) -> str:
        return subprocess.run(["samtools", *map(str, words)], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    said("quickcheck", "ours.bam")
    shutil.copy(tmp_path / "ours.bam", tmp_path / "theirs.bam")
    said("index", "-c" if longest > 1 << 29 else "-b", "theirs.bam")
    assert said("idxstats", "ours.bam") == said("idxstats", "theirs.bam")
    for contig, start, stop in regions():
        assert said("view", "ours.bam", f"{contig}:{start + 1}-{stop}") == said("view", "theirs.bam", f"{contig}:{start + 1}-{stop}")


def test_records_without_a_place_alone(make_run, rejected, tmp_path) -> None:
    results = make_run([rejected(f"q{number}") for number in range(9)])
    results.export(tmp_path / "out.bam", sort=True)
    assert bam_reader.text((tmp_path / "out.bam").read_bytes()).count("\n") == 3 + 9
    assert bam_reader.parsed_index((tmp_path / "out.bam.bai").read_bytes())[3] == 9
    make_run([]).export(tmp_path / "none.bam", sort=True)
    assert bam_reader.parsed_index((tmp_path / "none.bam.bai").read_bytes())[2:] == ([], 0)


def test_chunks_that_are_joined_later_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    start = np.sort(rng.integers(0, 1 << 26, 5000))
    columns = np.zeros(5000, np.int64), start, start + rng.integers(1, 50_000, 5000), rng.integers(100, 3000, 5000)
    found = set()
    for step, fresh in ((5000, 1), (7, 1), (1000, 1 << 20)):
        monkeypatch.setattr("tidalign.pipeline.pairs.formats.bam_index.MAX_FRESH", fresh)
        index = BinIndex(np.array([1 << 27]), 12_345)
        for first in range(0, 5000, step):
            index.add(*(column[first : first + step] for column in columns))
        index.blocks.extend([20_000] * 400)
        found.add(index.content())
    assert len(found) == 1


def test_other_formats_are_not_sorted(results, tmp_path) -> None:
    with pytest.raises(ValueError, match="sort: it is for sam, bam, not for paf"):
        results.export(tmp_path / "out.paf", sort=True)
