"""PAF lines against lines written by hand from its description."""

from tidalign.pipeline.pairs.aligner import PairParameters

# de by hand: gaps are one event each, so of 3=1I4=1D2= two of eleven, of 1=1X1= one of three, of 3D the only one.
# query ACGTACGTAC, target TTACGACGTTAC: 2 free target letters, ACG =, T I, ACGT =, T D, AC =; one free target letter.
MIDDLE = {"query_span": (0, 10, 10), "target_span": (2, 12, 13), "cigar": "3=1I4=1D2=", "penalty": 16}


def text(results, tmp_path, **options) -> list[str]:
    results.export(tmp_path / "out.paf", **options)
    return (tmp_path / "out.paf").read_text().splitlines()


def test_golden(make_run, row, rejected, tmp_path) -> None:
    rows = [
        row("r/1", "chr1", **MIDDLE),
        rejected("bad", "chr2"),
        row("r/2", "chr2", query_span=(1, 4, 6), target_span=(0, 3, 3), cigar="1=1X1=", penalty=4, status="capped", reason="a\tbudget"),
        row("empty", "chr2", query_span=(0, 0, 0), target_span=(0, 3, 3), cigar="3D", penalty=12),
        row("both", "none", query_span=(0, 0, 0), target_span=(0, 0, 0), cigar=""),
    ]
    assert text(make_run(rows), tmp_path) == [
        "r/1\t10\t0\t10\t+\tchr1\t13\t2\t12\t9\t11\t255\tNM:i:2\tAS:i:-16\ttp:A:P\tde:f:0.1818\tcg:Z:3=1I4=1D2=",
        "bad\t4\t0\t0\t*\t*\t0\t0\t0\t0\t0\t0\tst:Z:rejected\trs:Z:killed by signal 9",
        "r/2\t6\t1\t4\t+\tchr2\t3\t0\t3\t2\t3\t255\tNM:i:1\tAS:i:-4\ttp:A:P\tde:f:0.3333\tcg:Z:1=1X1=\tst:Z:capped\trs:Z:a budget",
        "empty\t0\t0\t0\t+\tchr2\t3\t0\t3\t0\t3\t255\tNM:i:3\tAS:i:-12\ttp:A:P\tde:f:1.0000\tcg:Z:3D",
        "both\t0\t0\t0\t+\tnone\t0\t0\t0\t0\t0\t255\tNM:i:0\tAS:i:0\ttp:A:P\tde:f:0\tcg:Z:",
    ]


def test_with_m(make_run, row, tmp_path) -> None:
    assert text(make_run([row(**MIDDLE | {"cigar": "2=1X1I4=1D2="})]), tmp_path, cigar="M")[0].endswith("\tcg:Z:3M1I4M1D2M")


def test_penalty_only(make_run, row, tmp_path) -> None:
    results = make_run([row("r", "t", query_span=(0, 10, 10), target_span=(0, 12, 12), penalty=7, cigar=None)], PairParameters(penalty_only=True))
    assert text(results, tmp_path) == ["r\t10\t0\t10\t+\tt\t12\t0\t12\t0\t12\t255\tAS:i:-7\ttp:A:P"]
