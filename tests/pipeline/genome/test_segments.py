"""Alignments as segments: files of any tool, which are left out, sequences along the diagonal, regions."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.genome.dots import segments as module
from tidalign.pipeline.genome.dots.dotplot import laid_out, zoomed
from tidalign.pipeline.genome.dots.files import is_file, read_segments
from tidalign.pipeline.genome.dots.segments import Region, Segments, Side, along, chosen

DATA = Path(__file__).resolve().parents[2] / "data" / "genomes"

ROWS = [
    # target, start, end, query, start, end, +, identity
    (0, 0, 100, 2, 200, 300, True, 0.9),
    (0, 120, 400, 0, 20, 300, False, 0.8),
    (1, 10, 60, 1, 0, 50, True, 0.5),
    (1, 0, 5, 2, 0, 5, False, np.nan),
]


def segments(rows: list[tuple[int, int, int, int, int, int, bool, float]] = ROWS) -> Segments:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    sides = Side.of(["t0", "t1"], np.array([500, 80])), Side.of(["q0", "q1", "q2"], np.array([320, 50, 310]))
    return Segments(*sides, *(column.astype(np.int64) for column in columns[:6]), columns[6].astype(bool), columns[7].astype(float), np.arange(len(rows)))


def test_paf_of_any_tool(tmp_path: Path) -> None:
    """Lines as minimap2 writes them; `de` counts before columns 10 and 11."""
    lines = "q1\t100\t10\t60\t-\tchr1\t1000\t500\t560\t45\t60\t60\ttp:A:P\tde:f:0.02\nq2\t90\t0\t90\t+\tchr2\t200\t5\t95\t72\t90\t0\n"
    with gzip.open(tmp_path / "x.paf.gz", "wt") as file:
        file.write(lines)
    found = read_segments(str(tmp_path / "x.paf.gz"))
    assert (found.target.names, found.query.names, found.target.lengths.tolist()) == (["chr1", "chr2"], ["q1", "q2"], [1000, 200])
    assert (found.target_start.tolist(), found.query_end.tolist(), found.forward.tolist()) == ([500, 5], [60, 90], [False, True])
    assert found.identity.tolist() == pytest.approx([0.98, 0.8])


def test_pairs_of_a_paf_without_a_place_are_passed_over(tmp_path: Path) -> None:
    """A pair that is rejected, and one whose query has no letters."""
    empty = "e\t0\t0\t0\t+\tu\t4\t0\t4\t0\t4\t255\n"
    (tmp_path / "X.PAF").write_text("q\t9\t0\t0\t*\t*\t0\t0\t0\t0\t0\t255\n" + empty + "q\t9\t0\t9\t+\tt\t9\t0\t9\t9\t9\t60\n")
    assert read_segments(str(tmp_path / "X.PAF")).target.names == ["t"]
    with gzip.open(tmp_path / "X.PAF.GZ", "wb") as file:
        file.write((tmp_path / "X.PAF").read_bytes())
    assert is_file("X.PAF.GZ") and read_segments(str(tmp_path / "X.PAF.GZ")).target.names == ["t"]


def test_maf_of_any_tool(tmp_path: Path) -> None:
    """UCSC's example has several queries in a block; starts of the strand - count from the end."""
    text = (
        "##maf version=1\na score=23262.0\ns hg18.chr7 27578828 6 + 158545518 AAAGGG\ns panTro1.chr6 28741140 5 - 161576975 AA-GGC\n"
        "q other line\ns baboon 116834 6 + 4622798 AAAGGG\n\na score=5.0\ns hg18.chr7 27699739 3 + 158545518 TAA\ns baboon 241163 3 + 4622798 TaT\n"
    )
    (tmp_path / "x.maf").write_text(text)
    found = read_segments(str(tmp_path / "x.maf"))
    assert (found.target.names, found.query.names) == (["hg18.chr7"], ["panTro1.chr6", "baboon"])
    assert found.query_start.tolist() == [161576975 - 28741140 - 5, 116834, 241163] and found.forward.tolist() == [False, True, True]
    assert found.identity.tolist() == pytest.approx([4 / 6, 1, 2 / 3]) and found.score.tolist() == [23262, 23262, 5]


def test_chains_of_any_tool(tmp_path: Path) -> None:
    """A chain is one line through short gaps, and two beside a long one; places of the query on the strand - count from its end."""
    (tmp_path / "x.chain").write_text("chain 4900 chrY 58368225 + 25985403 25987648 chr5 151006098 - 43257292 43259528 1\n9 1 0\n10 2000 1980\n226\n\n")
    found = read_segments(str(tmp_path / "x.chain"))
    assert found.target_start.tolist() == [25985403, 25985403 + 20 + 2000] and (found.target_end - found.target_start).tolist() == [20, 226]
    assert found.query_end.tolist() == [151006098 - 43257292, 151006098 - (43257292 + 19 + 1980)] and not found.forward.any() and np.isnan(found.identity).all()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.paf", "q\t1\n", "line 1"),
        ("x.paf", "q\t9\t0\t9\t+\tt\t9\t0\t10\t9\t9\t60\n", "places within"),
        ("x.maf", "a\ns t 0 3 + 9 ACG\ns q 0 2 + 9 AC\n", "line 3"),
        ("x.chain", "chain 1 t\n5\n", "line 1"),
        ("x.paf.gz", "\x1f\x8bno", "gzip"),
        ("x.maf", "a score=inf\n", "line 1"),
        ("x.maf", "a score=1e30\ns t 0 2 + 9 AC\ns q 0 2 + 9 AC\n", "64 bits, found a larger one in line 3"),
    ],
)
def test_lines_that_are_none(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    assert is_file(name)
    with pytest.raises(InputError, match=message):
        read_segments(str(tmp_path / name))


def test_nothing_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.paf").write_text("# nothing\n")
    (tmp_path / "z.chain").mkdir()
    for name, message in (("x.paf", "no alignments"), ("y.maf", "no such file"), ("x.paf/y.paf", "Not a directory"), ("z.chain", "Is a directory")):
        with pytest.raises(MissingInput, match=message):
            read_segments(str(tmp_path / name))


def test_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(segments(), min_length=100).target_start.tolist() == [0, 120]
    assert chosen(segments(), min_identity=0.8).target_start.tolist() == [0, 120, 0]  # what nobody knows stays
    assert len(chosen(segments())) == 4
    monkeypatch.setattr(module, "MOST_DRAWN", 2)
    assert chosen(segments()).target_start.tolist() == [0, 120] and len(chosen(segments(), min_length=0)) == 4


def test_sequences_along_the_diagonal() -> None:
    """q2 begins t0, q0 follows turned around, q1 is on t1; every turned place is that of the reverse complement."""
    found = along(segments())
    assert found.query.names == ["q2", "q0", "q1"] and found.query.turned.tolist() == [False, True, False]
    assert [found.query.names[i] for i in found.query_at] == ["q2", "q0", "q1", "q2"]
    assert (found.query_start[1], found.query_end[1], found.forward[1]) == (320 - 300, 320 - 20, True)
    assert laid_out(found).query.names[1] == "q0 (reversed)"
    rising = laid_out(found).lines[:2]
    assert (np.diff(rising[:, 1]) > 0).all() and (rising[:, 3] > rising[:, 1]).all()


def test_pieces_of_a_genome_come_back_in_their_order() -> None:
    """The names tell the truth. All but a hundred of the alignments are repeats elsewhere, which move the means of many pieces past those of others."""
    found = along(read_segments(str(DATA / "pieces.paf.gz")))
    assert [int(name[-2:]) for name in found.query.names] == list(range(97))
    assert found.query.turned.tolist() == [name.startswith("reversed") for name in found.query.names]


def test_contigs_are_turned_as_by_d_genies(tmp_path: Path) -> None:
    """LASTZ's alignments of the flies, the contigs as the query: D-GENIES 1.5.0 has this order, too, and turns both."""
    with gzip.open(DATA / "fly.paf.gz", "rt") as lines:
        columns = [line.split("\t") for line in lines]
    (tmp_path / "x.paf").write_text("".join("\t".join([*row[5:9], row[4], *row[:4], *row[9:12]]) + "\n" for row in columns))
    found = along(read_segments(str(tmp_path / "x.paf"))).query
    assert (found.names, found.turned.tolist()) == (["3210101", "3214968"], [True, True])


def test_how_much_of_a_target_is_covered() -> None:
    """As letters that are marked one by one, in the whole and in a region."""
    rows = [*ROWS, (0, 90, 130, 1, 0, 40, True, 0.9), (0, 95, 99, 1, 0, 4, True, 0.9)]
    marked = {name: np.zeros(length, bool) for name, length in (("t0", 500), ("t1", 80))}
    for row in rows:
        marked[f"t{row[0]}"][row[1] : row[2]] = True
    assert laid_out(segments(rows)).covered == np.concatenate([*marked.values()]).mean()
    assert zoomed(segments(rows), Region.parse("t0:51-200"), None, "x").covered == marked["t0"][50:200].mean()
    assert zoomed(segments(rows), Region.parse("t1"), Region.parse("q0"), "x").covered == 0


def test_sequences_that_nothing_aligns_to_come_last() -> None:
    few = segments(ROWS[1:2])
    assert along(few).query.names[0] == "q0" and along(replace(few, query=few.query)).query.names[1:] == ["q2", "q1"]
    assert along(segments().taken(np.zeros(0, np.int64))).query.names == ["q0", "q2", "q1"]


def test_a_region() -> None:
    """Letters 221 to 320 of t0: the middle of a falling line."""
    plot = zoomed(segments(), Region.parse("t0:221-320"), None, "x")
    assert (plot.target.names, plot.target.limits, plot.query.names) == (["t0"], (220, 320), ["q0"])
    assert plot.lines.tolist() == [[220, 200, 320, 100]]
    assert plot.query.limits == (97, 203)
    assert len(zoomed(segments(), Region.parse("t1"), Region.parse("q1"), "x").lines) == 1
    with pytest.raises(InputError, match="t0, t1"):
        zoomed(segments(), Region.parse("t9"), None, "x")
    cut = replace(segments(), target=replace(segments().target, names=["t0:5-300", "t1"]))
    assert zoomed(cut, Region.parse("t0:5-300"), None, "x").target.limits == (0, 500), "a whole name, as samtools names what it cuts out"
    for wrong in ("t0:9-5", "t0:0-5"):
        with pytest.raises(ValueError, match="region"):
            Region.parse(wrong)
