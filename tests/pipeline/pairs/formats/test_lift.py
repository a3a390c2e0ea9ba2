"""Places on contigs: what stands there is what was aligned, whatever the format; names that say no place are refused."""

import re
import time

import bam_reader
import numpy as np
import pytest

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.pairs.formats import lift, targets

GENOME = {name: bytes(np.random.default_rng(place).choice(list(b"ACGT"), 500 + place).tolist()) for place, name in enumerate(("chr2", "chr1", "HLA-A*01:01"))}


@pytest.fixture
def results(make_run, row, rejected):
    """Make windows of a genome that are aligned to what is cut out of them."""
    rng = np.random.default_rng(1)
    rows = []
    for number in range(60):
        contig = list(GENOME)[number % 7 % 3]
        start = int(rng.integers(0, 400))
        window = GENOME[contig][start : start + int(rng.integers(30, 90))]
        left, right = (int(n) for n in rng.integers(0, 10, 2))
        query = window[left : len(window) - right]
        spans = {"query_span": (0, len(query), len(query)), "target_span": (left, left + len(query), len(window))}
        name = f"{contig}:{start + 1}-{start + len(window)}"
        lost = rejected(f"q{number}", name) | {"target_length": len(window)}
        rows.append(lost if number == 30 else row(f"q{number}", name, cigar=f"{len(query)}=", **spans) | {"query": query, "target": window})
    return make_run(rows)


@pytest.fixture
def fai(tmp_path):
    (tmp_path / "g.fai").write_text("".join(f"{name}\t{len(letters)}\t6\t60\t61\n" for name, letters in sorted(GENOME.items())) + "other\t9\t1\t60\t61\n")
    return str(tmp_path / "g.fai")


def places(written: str) -> list[tuple[str, str, int, int]]:
    """Query, contig, start and end of each SAM record that has them."""
    fields = [line.split("\t") for line in written.splitlines() if not line.startswith("@")]
    return [(each[0], each[2], int(each[3]) - 1, int(each[3]) - 1 + int(each[5][:-1])) for each in fields if each[2] != "*"]


def test_what_stands_there_is_what_was_aligned(results, tmp_path) -> None:
    for suffix in ("sam", "bam", "paf", "tsv"):
        results.export(tmp_path / f"out.{suffix}", lift="")
    written = (tmp_path / "out.sam").read_text()
    results.export(tmp_path / "bare.sam", lift=True)
    assert (tmp_path / "bare.sam").read_text() == written
    found = places(written)
    queries = {line.split("\t")[0]: line.split("\t")[9] for line in written.splitlines() if line[0] != "@"}
    assert len(found) == 59 and all(GENOME[contig][start:end].decode() == queries[query] for query, contig, start, end in found)
    assert bam_reader.text((tmp_path / "out.bam").read_bytes()) == written
    paf = [line.split("\t") for line in (tmp_path / "out.paf").read_text().splitlines()]
    assert [(each[0], each[5], int(each[7]), int(each[8])) for each in paf if each[5] != "*"] == found
    tsv = [line.split("\t") for line in (tmp_path / "out.tsv").read_text().splitlines()[1:]]
    assert [(each[1], each[5], int(each[7]), int(each[8])) for each in tsv if each[7]] == found
    ends = {}
    for name in results.to_table(["target_name"])["target_name"].to_pylist():
        contig, _, place = name.rpartition(":")
        ends[contig] = max(ends.get(contig, 0), int(place.partition("-")[2]))
    assert re.findall(r"@SQ\tSN:(\S+)\tLN:(\d+)", written) == [(name, str(end)) for name, end in ends.items()]
    assert {(each[5], int(each[6])) for each in paf if each[5] != "*"} == set(ends.items())


def test_a_fai_gives_contigs_and_their_order(results, tmp_path, fai) -> None:
    results.export(tmp_path / "with.sam", lift=fai)
    results.export(tmp_path / "without.sam", lift="")
    written = (tmp_path / "with.sam").read_text()
    expected = [(name, str(len(letters))) for name, letters in sorted(GENOME.items())] + [("other", "9")]
    assert re.findall(r"@SQ\tSN:(\S+)\tLN:(\d+)", written) == expected
    assert places(written) == places((tmp_path / "without.sam").read_text())


@pytest.mark.parametrize(
    ("name", "length", "said"),
    [
        ("chr1", 4, r"record 2: expected a target named chr:start-end.*found 'chr1'; leave --lift out"),
        ("t", 1, r"expected a target named"),
        ("chr1:0-3", 4, r"expected a target named"),
        ("chr1:5-8(+)", 4, r"expected a target named"),
        ("chr1:5-9", 4, r"record 2: expected 5 letters in 'chr1:5-9', found 4"),
        ("chr1:9-12", 2, r"expected 4 letters in 'chr1:9-12', found 2; give --lift FILE\.fai where the contig ends before, name it from 1"),
        ("chr1:18-11", 8, r"expected a target named .*, its end not before its start, found 'chr1:18-11'; correct the name"),
    ],
)
def test_names_that_say_no_place(make_run, row, tmp_path, name: str, length: int, said: str) -> None:
    results = make_run([row("a", "chr1:1-4"), row("b", name, query_span=(0, 1, 1), target_span=(0, 1, length), cigar="1=")])
    for format in ("sam", "bam", "paf", "tsv"):
        with pytest.raises(InputError, match=said):
            results.export(tmp_path / "out", format=format, lift="")


def test_contigs_come_as_they_appear_whichever_thread_is_first(make_run, row, tmp_path, monkeypatch) -> None:
    """Look at several blocks at once, the first ones the slowest; the first name that is wrong is told."""
    first = lift._placed

    def slowly(batch, known):
        time.sleep(0.2 if batch["ordinal"][0].as_py() < 8 else 0.0)
        return first(batch, known)

    monkeypatch.setattr(lift, "_placed", slowly)
    monkeypatch.setattr(targets, "cores", lambda: 4)
    rows = [row(f"q{number}", f"c{-number // 3}:{number + 1}-{number + 4}") for number in range(20)]
    results = make_run(rows, block=4)
    assert lift.contigs(results, "").names.to_pylist() == list(dict.fromkeys(each["target_name"].partition(":")[0] for each in rows))
    for place in (17, 6):
        rows[place]["target_name"] = "nowhere"
    with pytest.raises(InputError, match="record 7: .* found 'nowhere'"):
        lift.contigs(make_run(rows, block=4), "")


def test_windows_over_a_contigs_end_and_whole_contigs(make_run, row, tmp_path) -> None:
    """Take what `samtools faidx` cuts out: it keeps the end that was asked for in the name, and of a whole contig names none."""
    (tmp_path / "g.fai").write_text("c1\t104\nc1:1-20\t20\n")
    for contig, name, length, start in (("c1", "c1:90-200", 15, 89), ("c1", "c1", 104, 0), ("c1:1-20", "c1:1-20", 20, 0), ("c1", "c1:1-19", 19, 0)):
        results = make_run([row("a", name, query_span=(0, 9, 9), target_span=(2, 11, length), cigar="9=")])
        for format in ("sam", "bam"):
            results.export(tmp_path / f"out.{format}", lift=str(tmp_path / "g.fai"))
        assert places((tmp_path / "out.sam").read_text()) == [("a", contig, start + 2, start + 11)]
        assert bam_reader.text((tmp_path / "out.bam").read_bytes()) == (tmp_path / "out.sam").read_text()


@pytest.mark.parametrize(
    ("name", "length", "said"),
    [
        ("c1:90-200", 14, r"expected 15 letters in 'c1:90-200', found 14; name it from 1"),
        ("c1:90-200", 111, r"expected a contig for 'c1:90-200' in .*, found one of 104"),
        ("c1:190-200", 3, r"expected a contig for 'c1:190-200' in .*, found one of 104"),
        ("c1", 103, r"expected the 104 letters of 'c1' in .*, found 103; name its place, chr:start-end"),
        ("c2", 104, r"expected a target named chr:start-end.*found 'c2'; leave --lift out"),
    ],
)
def test_targets_that_a_fai_does_not_have(make_run, row, tmp_path, name: str, length: int, said: str) -> None:
    (tmp_path / "g.fai").write_text("c1\t104\n")
    with pytest.raises(InputError, match=said):
        make_run([row("a", name, query_span=(0, 1, 1), target_span=(0, 1, length), cigar="1=")]).export(tmp_path / "out.sam", lift=str(tmp_path / "g.fai"))


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("chr1\t7\n", InputError, r"record 1: expected a contig for 'chr1:5-8' in .*g\.fai, found one of 7; give the \.fai"),
        ("chr2\t70\n", InputError, r"found none; give the \.fai"),
        ("chr1\n", InputError, r"g\.fai: line 1: expected a contig and its length"),
        ("chr1\t9\nchr1\t9\n", InputError, r"g\.fai: line 2: .*found chr1 again"),
        ("", MissingInput, r"g\.fai: empty"),
        (None, MissingInput, r"g\.fai: cannot be read"),
    ],
)
def test_a_fai_that_does_not_fit(make_run, row, tmp_path, text, error, said: str) -> None:
    if text is not None:
        (tmp_path / "g.fai").write_text(text)
    with pytest.raises(error, match=said):
        make_run([row("a", "chr1:5-8")]).export(tmp_path / "out.sam", lift=str(tmp_path / "g.fai"))
