"""SAM against lines written by hand, and against a strict reader written from the specification."""

import re

import numpy as np
import pytest

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.formats import sam

FIELDS = (
    r"[!-?A-~]{1,254}",
    r"\d{1,5}",
    r"\*|[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*",
    r"\d{1,10}",
    r"\d{1,3}",
    r"\*|(\d+[MIDNSHPX=])+",
    r"\*|=",
    r"\d{1,10}",
    r"-?\d{1,10}",
    r"\*|[A-Za-z=.]+",
    r"[!-~]+",
)
TAG = r"[A-Za-z][A-Za-z0-9]:(A:[!-~]|i:[-+]?\d+|Z:[ !-~]*)"


def check(text: str) -> tuple[dict[str, int], list[dict[str, object]]]:
    """Read SAM as section 1 of the specification has it; AssertionError for what it does not allow. Gives reference lengths and records."""
    assert text.endswith("\n") and text.isascii()
    header = [line for line in text.splitlines() if line.startswith("@")]
    records = text.splitlines()[len(header) :]
    assert re.fullmatch(r"@HD\tVN:\d+\.\d+\tSO:(unknown|unsorted|queryname|coordinate)", header[0])
    references: dict[str, int] = {}
    for line in header[1:]:
        kind, *fields = line.split("\t")
        values = dict(field.split(":", 1) for field in fields)
        assert kind in ("@SQ", "@RG", "@PG") and all(re.fullmatch(r"[A-Za-z][A-Za-z0-9]:[ -~]+", field) for field in fields)
        if kind == "@SQ":
            assert values["SN"] not in references and 1 <= int(values["LN"]) < 2**31
            references[values["SN"]] = int(values["LN"])
    parsed = []
    for line in records:
        fields = line.split("\t")
        assert all(re.fullmatch(pattern, field) for pattern, field in zip(FIELDS, fields[:11], strict=True)), line
        assert all(re.fullmatch(TAG, tag) for tag in fields[11:]) and len({tag[:2] for tag in fields[11:]}) == len(fields) - 11
        flag, name, place, cigar = int(fields[1]), fields[2], int(fields[3]), fields[5]
        operations = [(int(length), letter) for length, letter in re.findall(r"(\d+)(\D)", cigar)]
        if flag & 4:
            assert (name, place, cigar) == ("*", 0, "*")
        else:
            assert name in references and operations and all(length > 0 for length, _ in operations)
            assert place >= 1 and place - 1 + sum(length for length, letter in operations if letter in "MDN=X") <= references[name]
            assert all(letter != "S" for _, letter in operations[1:-1])
        sequence, quality = fields[9:11]
        assert sequence == "*" or len(sequence) == sum(length for length, letter in operations if letter in "MIS=X") or flag & 4
        assert quality == "*" or len(quality) == len(sequence)
        tags = {tag[:2]: tag[5:] for tag in fields[11:]}
        query = sum(length for length, letter in operations if letter in "MIS=X")
        parsed.append({"name": fields[0], "flag": flag, "reference": name, "place": place, "cigar": cigar, "query": query, "tags": tags})
    return references, parsed


def text(results, tmp_path, **options) -> str:
    results.export(tmp_path / "out.sam", **options)
    return (tmp_path / "out.sam").read_text()


def test_golden(make_run, row, rejected, tmp_path) -> None:
    rows = [
        # query ACGTACGTAC in target TTACGACGTTAC and one letter more; the first aligned target letter is the third.
        row("r/1", "chr2", query_span=(0, 10, 10), target_span=(2, 12, 13), cigar="3=1I4=1D2=", penalty=16)
        | {"query": b"ACGTACgtAC", "target": b"TTACGACGTTACC", "query_quality": b"!#~IIIIIII"},
        rejected("bad", "chr2") | {"target_length": 13, "query": b"acgn", "query_quality": b"IIII"},
        row("r/2", "chr1", query_span=(1, 4, 6), target_span=(0, 3, 3), cigar="1=1X1=", penalty=4, status="capped", reason="a\tbudget")
        | {"query": b"TCRATT", "target": b"CyA"},
        row("r/3", "chr1", query_span=(0, 2, 2), target_span=(3, 3, 3), cigar="2I", penalty=10),
        row("r/4", "none", query_span=(0, 2, 2), target_span=(0, 0, 0), cigar="2I", penalty=10),
        row("r/5", "chr1", query_span=(0, 0, 0), target_span=(0, 3, 3), cigar="3D", penalty=12),
    ]
    written = text(make_run(rows, PairParameters(ends_free=(3, 3, 3, 3))), tmp_path)
    assert written.splitlines() == [
        "@HD\tVN:1.6\tSO:unsorted",
        "@SQ\tSN:chr2\tLN:13",
        "@SQ\tSN:chr1\tLN:3",
        "@PG\tID:tidalign\tPN:tidalign\tVN:0.1.0\tCL:tidalign pairs reads.fq windows.fa --penalties affine:4,6,2 --ambiguous mismatch --ends-free 3,3,3,3",
        "r/1\t0\tchr2\t3\t255\t3=1I4=1D2=\t*\t0\t0\tACGTACgtAC\t!#~IIIIIII\tNM:i:2\tMD:Z:7^T2\tAS:i:-16",
        "bad\t4\t*\t0\t0\t*\t*\t0\t0\tacgn\tIIII\tst:Z:rejected\trs:Z:killed by signal 9",
        "r/2\t0\tchr1\t1\t255\t1S1=1X1=2S\t*\t0\t0\tTCRATT\t*\tNM:i:1\tMD:Z:1Y1\tAS:i:-4\tst:Z:capped\trs:Z:a budget",
        "r/3\t4\t*\t0\t0\t*\t*\t0\t0\tGG\t*\tAS:i:-10",
        "r/4\t4\t*\t0\t0\t*\t*\t0\t0\tGG\t*\tAS:i:-10",
        "r/5\t0\tchr1\t1\t255\t3D\t*\t0\t0\t*\t*\tNM:i:3\tMD:Z:0^GGG0\tAS:i:-12",
    ]
    references, records = check(written)
    assert references == {"chr2": 13, "chr1": 3}
    assert [record["query"] for record in records if record["flag"] == 0] == [10, 6, 0]


def test_many_rows_keep_the_specification_and_the_order(make_run, row, rejected, tmp_path) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for number in range(300):
        before, after, left, right = (int(n) for n in rng.integers(0, 4, 4))
        same, other, inserted, deleted = (int(n) for n in rng.integers(1, 1200, 4))
        query, target = same + other + inserted, same + other + deleted
        # The length of a target is a function of its name; only some targets come twice.
        name = f"t{target + left + right}"
        spans = {"query_span": (before, before + query, before + query + after), "target_span": (left, left + target, left + target + right)}
        rows.append(rejected(f"q{number}") if number % 50 == 7 else row(f"q{number}", name, cigar=f"{same}={inserted}I{deleted}D{other}X", **spans))
    results = make_run(rows, block=64)
    for cigar in ("=X", "M"):
        references, records = check(text(results, tmp_path, cigar=cigar))
        assert list(references) == list(dict.fromkeys(each["target_name"] for each in rows))
        assert [record["name"] for record in records] == [f"q{number}" for number in range(300)]
        for record, expected in zip(records, rows, strict=True):
            if expected["status"] == "rejected":
                assert record["flag"] == 4
                continue
            assert (record["reference"], record["place"]) == (expected["target_name"], expected["target_start"] + 1)
            assert record["query"] == expected["query_length"]
            assert ("M" in record["cigar"]) == (cigar == "M")


def test_one_name_with_two_lengths_is_refused(make_run, row, tmp_path) -> None:
    rows = [row("a", "x"), row("b", "chr1", target_span=(0, 4, 9)), row("c", "chr1", target_span=(0, 4, 8))]
    with pytest.raises(InputError, match="9 and 8 for 'chr1' .records 2 and 3"):
        make_run(rows, block=1).export(tmp_path / "out.sam")


def test_what_sam_cannot_say_is_refused(make_run, row, tmp_path) -> None:
    results = make_run([row("a", "chr1", target_span=(0, 4, 2**31))])
    with pytest.raises(InputError, match=r"2147483648 in 'chr1'.*\.paf"):
        results.export(tmp_path / "out.sam")


@pytest.mark.parametrize(("query", "target"), [("a@b", "t"), ("a" * 255, "t"), ("a b", "t"), ("q", "chr(1)"), ("q", "*"), ("q", "=t"), ("é", "t")])
def test_names_that_sam_does_not_have_are_refused(make_run, row, tmp_path, query: str, target: str) -> None:
    with pytest.raises(InputError, match=r"\.paf"):
        make_run([row(query, target)]).export(tmp_path / "out.sam")


def test_penalty_only_has_no_sam(make_run, row, tmp_path) -> None:
    with pytest.raises(InputError, match="penalty-only"):
        make_run([row(cigar=None)], PairParameters(penalty_only=True)).export(tmp_path / "out.sam")


def test_very_many_targets_get_advice(make_run, row, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sam, "MANY_TARGETS", 2)
    heard: list[str] = []
    results = make_run([row("q", name) for name in "abca"])
    results.export(tmp_path / "out.sam", notice=heard.append)
    assert len(heard) == 1 and "PAF" in heard[0]


def test_a_read_group(make_run, row, rejected, tmp_path) -> None:
    written = text(make_run([row("a"), rejected("b")]), tmp_path, rg=r"@RG\tID:x\tSM:y z")
    assert "@RG\tID:x\tSM:y z\n@PG" in written
    assert [record["tags"]["RG"] for record in check(written)[1]] == ["x", "x"]
    for wrong in ("", "x", "ID:", r"SM:y", r"ID:x\tID:y", "ID:é", r"ID:x\t"):
        with pytest.raises(ValueError, match=r"ID:x\\tSM:y"):
            sam.read_group(wrong)


def test_the_command_line_says_what_changes_records(make_run, row, tmp_path) -> None:
    """Not where they are written: the same records have the same header in any file."""
    (tmp_path / "g.fai").write_text("chr1\t100\t0\t0\t0\n")
    results = make_run([row("a", "chr1:1-4"), row("b", "chr1:5-8")])
    plain = "CL:tidalign pairs reads.fq windows.fa --penalties affine:4,6,2 --ambiguous mismatch"
    for options, more in (
        ({}, ""),
        ({"cs": True, "sort": True, "cigar": "M"}, " --cigar M --cs --sort"),
        ({"lift": ""}, " --lift"),
        ({"lift": tmp_path / "g.fai", "rg": r"ID:x\tSM:y z"}, r" --rg 'ID:x\tSM:y z' --lift g.fai"),
    ):
        line = next(line for line in text(results, tmp_path, **options).splitlines() if line.startswith("@PG"))
        assert line.split("\t")[4:] == [plain + more]


@pytest.mark.parametrize("suffix", ["sam", "bam"])
def test_qualities_that_sam_does_not_have(make_run, row, tmp_path, suffix: str) -> None:
    letters = {"query": b"ACGT", "target": b"ACGT"}
    with pytest.raises(InputError, match=r"somewhere/reads.fq: record 3, line 12: expected printable ASCII, ! to ~.*found ' ' at position 3 of .*\.paf"):
        make_run([row() | letters, row(), row() | letters | {"query_quality": b"II I"}]).export(tmp_path / f"out.{suffix}")
