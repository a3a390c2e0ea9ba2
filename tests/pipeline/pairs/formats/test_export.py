"""Export writes a whole file or none, in every format."""

import csv
import errno
import os
import stat
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tidalign.pipeline.errors import CannotWrite, DiskFull, MissingInput
from tidalign.pipeline.pairs.formats import paf
from tidalign.pipeline.schema import ALIGNMENTS, COUNTS


@pytest.fixture
def results(make_run, row, rejected):
    return make_run([*(row(f"q{number}", penalty=number) for number in range(9)), rejected("bad")])


def test_parquet_is_the_table(results, tmp_path) -> None:
    assert results.export(tmp_path / "out.parquet") == 10
    assert pq.read_table(tmp_path / "out.parquet") == results.to_table()


def test_tsv_is_the_table_without_counts(results, tmp_path) -> None:
    results.export(tmp_path / "out.tsv")
    with (tmp_path / "out.tsv").open(newline="") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    counts = {"score", "strand", "identity", *(name for name, _ in COUNTS)}
    assert rows[0] == [name for name in ALIGNMENTS.names if name not in counts]
    table = results.to_table(rows[0]).to_pylist()
    expected = [["" if value is None else str(value) for value in each.values()] for each in table]
    assert rows[1:] == expected


@pytest.mark.parametrize("format", ["paf", "sam", "tsv"])
def test_every_pair_has_its_line_in_order(results, tmp_path, format: str) -> None:
    results.export(tmp_path / "out", format=format)
    lines = [line for line in (tmp_path / "out").read_text().splitlines() if not line.startswith("@")]
    place = 1 if format == "tsv" else 0
    assert [line.split("\t")[place] for line in lines[format == "tsv" :]] == [*(f"q{number}" for number in range(9)), "bad"]


def test_standard_output(results, tmp_path, capfdbinary) -> None:
    results.export("-", format="paf")
    results.export(tmp_path / "out.paf")
    assert capfdbinary.readouterr().out == (tmp_path / "out.paf").read_bytes()


def test_unknown_formats_and_cigars(results, tmp_path) -> None:
    with pytest.raises(ValueError, match="paf, sam, bam, tsv, parquet"):
        results.export(tmp_path / "out.cram")
    with pytest.raises(ValueError, match="cigar"):
        results.export(tmp_path / "out.paf", cigar="X")
    with pytest.raises(ValueError, match="cigar"):
        results.export(tmp_path / "out.tsv", cigar="M")


def test_a_failed_export_leaves_what_was_there(results, tmp_path, monkeypatch) -> None:
    (tmp_path / "out.paf").write_text("old")

    lines, made = paf.lines, []

    def full(batch, request):
        if made:
            raise OSError(errno.ENOSPC, "No space left on device")
        made.append(lines(batch, request))
        return made[0]

    monkeypatch.setattr(paf, "lines", full)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(DiskFull, match=r"out\.paf"):
        results.export(tmp_path / "out.paf")
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "out.paf").read_text() == "old" and made


def test_what_cannot_be_written_is_known_before_work(results, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(paf, "lines", lambda *arguments: pytest.fail("work was done"))
    with pytest.raises(CannotWrite, match="directory"):
        results.export(tmp_path, format="paf")
    with pytest.raises(CannotWrite, match="none"):
        results.export(tmp_path / "none" / "out.paf")


def test_links_and_devices_stay_what_they_are(results, tmp_path) -> None:
    (tmp_path / "link.paf").symlink_to(tmp_path / "real.paf")
    results.export(tmp_path / "link.paf")
    assert (tmp_path / "link.paf").is_symlink() and (tmp_path / "real.paf").stat().st_size > 0
    results.export(os.devnull, format="paf")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_an_unfinished_run_is_refused(make_run, row, tmp_path) -> None:
    with pytest.raises(MissingInput, match="not finished"):
        make_run([row()], finish=False).export(tmp_path / "out.paf")
    assert not (tmp_path / "out.paf").exists()
