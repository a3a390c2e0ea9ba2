"""Text formats of genome alignments, against LASTZ's files of the same alignments (tests/data/genomes)."""

import io
import re
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import genome_golden as golden
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from genome_oracle_extension import merged
from genome_written import Rows, written

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.formats.export import refuse_side, write
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.formats.table import find
from tidalign.pipeline.genome.formats import block, difference
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.schema import GENOME_ALIGNMENTS

CASES = [(name, format) for name, run in golden.RUNS.items() for format in run["formats"]]


@pytest.mark.parametrize(("run", "format"), CASES)
def test_lines_are_lastz(run: str, format: str) -> None:
    expected = golden.below(golden.text(golden.RUNS[run]["formats"][format]))
    assert golden.below(written(run, format)) == expected


@pytest.mark.parametrize("format", ["maf", "softsam", "chain", "general:number,znumber", "rdotplot", "differences", "differences-"])
def test_blocks_do_not_matter(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = written("fly_letters", format)
    monkeypatch.setattr(block, "COLUMNS", 1000)
    monkeypatch.setattr(difference, "COLUMNS", 1000)
    assert written("fly_letters", format) == whole
    monkeypatch.setattr(block, "PARTS_OF", 3)
    assert written("fly_letters", format) == whole


def test_the_text_of_a_long_row_is_made_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut a row that is too long into as many parts as hold so much each, alone, and count it once."""
    rows, sides = golden.rows("fly_letters"), [golden.side("fly_letters", role) for role in ("target", "query")]
    found = [write(Request(Rows(rows, *sides, GenomeParameters()), find("genome", "differences"), print), io.BytesIO())]
    monkeypatch.setattr(block, "COLUMNS", 1000)
    monkeypatch.setattr(block, "PARTS_OF", 3)
    cut = list(block.blocks(rows, *sides, 0, format=find("genome", "differences")))
    assert sum(len(each) for each in cut if not each.part[0]) == rows.num_rows
    of_one = [each for each in cut if each.part[1] > 1]
    assert len(of_one) > 10
    for each in of_one:
        (row,) = each.rows.to_pylist()
        size = _columns(row) * max(1, row["mismatches"] + row["gap_openings"])
        assert each.part[1] == -(-size // 3000)
        assert each.room == max(1, size // each.part[1] // 1000) <= 3
    assert all(each.part == (0, 1) for each in block.blocks(rows, *sides, 0, format=find("genome", "differences-")))
    found.append(write(Request(Rows(rows, *sides, GenomeParameters()), find("genome", "differences"), print), io.BytesIO()))
    assert found == [rows.num_rows] * 2


@pytest.mark.parametrize(
    ("format", "columns"),
    [
        ("maf", lambda row: 0),
        ("softsam.gz", lambda row: row["query_length"]),
        ("general:score,nucs1,quals2", lambda row: row["target_length"] + row["query_length"]),
        ("differences-", lambda row: 0),
        ("differences", lambda row: _columns(row) * (row["mismatches"] + row["gap_openings"] - 1)),
    ],
)
def test_blocks_are_cut_by_what_formats_write(format: str, columns: Callable[[dict[str, Any]], int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole sequences of each row, and the alignment behind each difference, count as its columns do, for how many go together and the room of those."""
    monkeypatch.setattr(block, "COLUMNS", 100_000)
    monkeypatch.setattr(block, "PARTS_OF", 1 << 40)
    rows, sides = golden.rows("fly"), [golden.side("fly", role) for role in ("target", "query")]
    found = list(block.blocks(rows, sides[0], sides[1], 0, format=find("genome", format)))
    assert sum(map(len, found)) == rows.num_rows and [each.first for each in found] == list(accumulate(map(len, found[:-1]), initial=0))
    for each in found:
        sizes = [_columns(row) + columns(row) for row in each.rows.to_pylist()]
        assert len(sizes) == 1 or sum(sizes[1:]) < 100_000
        assert each.room == max(1, sum(sizes) // 100_000)


def _columns(row: dict[str, Any]) -> int:
    return max(row[f"{side}_end"] - row[f"{side}_start"] for side in ("target", "query"))


def test_differences_of_a_long_alignment(tmp_path: Path) -> None:
    """Repeat no CIGAR for each line: they would pass 2 GiB."""
    count = 30_000
    (tmp_path / "t.fa").write_text(">t\n" + "AA" * count + "\n")
    (tmp_path / "q.fa").write_text(">q\n" + "AC" * count + "\n")
    sides = [read_genome(str(tmp_path / f"{role[0]}.fa"), role=role) for role in ("target", "query")]
    places = {
        f"{side}_{name}": value for side in ("target", "query") for name, value in (("number", 0), ("start", 0), ("end", 2 * count), ("length", 2 * count))
    }
    row = golden.rows("fly").to_pylist()[0] | places | {"target_name": "t", "query_name": "q", "strand": "+", "cigar": "1=1X" * count}
    rows = Rows(pa.RecordBatch.from_pylist([row], GENOME_ALIGNMENTS), sides[0], sides[1], GenomeParameters())
    sink = io.BytesIO()
    assert write(Request(rows, find("genome", "differences-"), print), sink) == 1
    lines = sink.getvalue().decode().splitlines()
    assert len(lines) == count
    assert lines[7] == f"t\t15\t16\t+\t{2 * count}\tq\t15\t16\t+\t{2 * count}\tA\tC"


def test_comments_of_each_alignment_are_lastz() -> None:
    words = ("# identity", "# coverage", "# continuity", "# cigar", "# seed", "# step", "a ")

    def comments(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith(words)]

    for run in ("fly", "fly_segments"):
        expected = comments(golden.text(golden.RUNS[run]["formats"]["maf+"]))
        assert len(expected) > 20
        assert comments(written(run, "maf+")) == expected
    assert comments(written("fly", "axt+")) == comments(golden.text(golden.RUNS["fly"]["formats"]["axt+"]))


def test_header_of_no_alignment() -> None:
    text = written("fly", "maf", golden.rows("fly").slice(0, 0), markend=True)
    assert text.startswith("##maf version=1 ")
    assert text.endswith("# lastz end-of-file\n")
    assert golden.below(text) == []
    assert written("fly", "sam", golden.rows("fly").slice(0, 0)) == "@HD\tVN:1.0\tSO:unsorted\n"  # as LASTZ: no @SQ


def test_chain_says_the_same_alignments() -> None:
    """Read back by the words of UCSC's specification."""
    rows = golden.rows("fly").to_pylist()
    chains = written("fly", "chain").split("\n\n")
    assert chains.pop() == ""
    for i, (chain, row) in enumerate(zip(chains, rows, strict=True)):
        head, *pieces = (line.split() for line in chain.splitlines())
        word, score, t_name, t_size, t_strand, t_start, t_end, q_name, q_size, strand, q_start, q_end, identity = head
        assert (word, int(score), t_strand, int(identity)) == ("chain", row["score"], "+", i + 1)
        assert (t_name, int(t_size), int(t_start), int(t_end)) == tuple(row[f"target_{name}"] for name in ("name", "length", "start", "end"))
        assert (q_name, int(q_size), strand) == (row["query_name"], row["query_length"], row["strand"])
        ends = [row["query_start"], row["query_end"]]
        assert [int(q_start), int(q_end)] == (ends if strand == "+" else [row["query_length"] - end for end in ends[::-1]])
        assert [len(piece) for piece in pieces] == [3] * (len(pieces) - 1) + [1]
        sizes = [sum(int(piece[k]) for piece in pieces if len(piece) > k) for k in range(3)]
        assert sizes[0] + sizes[1] == row["target_end"] - row["target_start"]
        assert sizes[0] + sizes[2] == row["query_end"] - row["query_start"]
        spelled = "".join(f"{size}M" + "".join(f"{gap}{letter}" for gap, letter in ((t_gap, "D"), (q_gap, "I")) if gap != "0")
                          for size, t_gap, q_gap in (piece + ["0"] * (3 - len(piece)) for piece in pieces))  # fmt: skip
        assert spelled == _merged(row["cigar"])


def _merged(cigar: str) -> str:
    letters = "".join(("M" if op in "=X" else op) * int(length) for length, op in _operations(cigar))
    return "".join(f"{length}{letter}" for letter, length in merged(letters))


def _operations(cigar: str) -> list[tuple[str, str]]:
    return re.findall(r"(\d+)(.)", cigar)


def test_gaps_on_both_sides_are_one_line_of_a_chain() -> None:
    row = golden.rows("mt_chimp").slice(0, 1)
    cigar = pa.array(["10=3I2D4=1X1D5I6="])
    changed = row.set_column(row.schema.get_field_index("cigar"), row.schema.field("cigar"), cigar)
    assert written("mt_chimp", "chain", changed).splitlines()[1:] == ["10\t2\t3", "5\t1\t5", "6", ""]


def test_parquet_is_the_rows() -> None:
    sink = io.BytesIO()
    rows = golden.rows("fly")
    request = Request(Rows(rows, golden.side("fly", "target"), golden.side("fly", "query"), GenomeParameters()), find("genome", "parquet"), print)
    assert write(request, sink) == rows.num_rows
    assert pq.read_table(sink).equals(pa.Table.from_batches([rows]))


@pytest.mark.parametrize(("format", "message"), [("gfa", "no format 'gfa'"), ("general:name3", "no general field 'name3'")])
def test_what_there_is_not(format: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        find("genome", format)


@pytest.mark.parametrize(
    ("format", "column", "value", "message"),
    [
        ("maf", "target_name", "a b", "target names without blanks"),
        ("paf", "query_name", "a\tb", "query names without tabs"),
        ("sam", "target_name", "a,b", "target names of the letters SAM allows"),
        ("sam", "query_name", "q" * 255, "query names of at most 254"),
        ("segments", "cigar", "5=1I3=", "use --nogapped"),
    ],
)
def test_refused(format: str, column: str, value: str, message: str) -> None:
    rows = golden.rows("mt_chimp")
    changed = rows.set_column(rows.schema.get_field_index(column), rows.schema.field(column), pa.array([value] * rows.num_rows))
    with pytest.raises(InputError, match=message):
        written("mt_chimp", format, changed)


def test_softsam_of_a_subrange_is_refused() -> None:
    with pytest.raises(InputError, match="whole query sequences"):
        written("mt_orangutan_subranges", "softsam")


def test_targets_of_one_name_have_no_sam_header(tmp_path: Path) -> None:
    (tmp_path / "t.fa").write_text(">a\nACGT\n>b\nACGT\n>a\nACGTT\n")
    genome = read_genome(str(tmp_path / "t.fa"), role="target")
    assert genome.names == ["a", "b", "a"]
    for name in ("sam", "softsam"):
        with pytest.raises(InputError, match=f"'a' 2 times; .*{name}-"):
            refuse_side(find("genome", name), "target", "t.fa", genome)
        refuse_side(find("genome", f"{name}-"), "target", "t.fa", genome)


def test_targets_of_one_name_in_two_files_have_no_sam_header() -> None:
    sides = golden.side("mt_chimp", "target"), golden.side("mt_chimp", "query")
    rows = Rows(golden.rows("mt_chimp"), *sides, GenomeParameters())
    rows.targets = [sides[0], sides[0]]
    for name, bare in (("sam", "sam-"), ("softsam", "softsam-"), ("sam.gz", "sam-")):
        with pytest.raises(InputError, match=f"{sides[0].names[0]!r} 2 times; .*{bare}$"):
            write(Request(rows, find("genome", name), print), io.BytesIO())
        assert write(Request(rows, find("genome", bare), print), io.BytesIO()) == len(rows.rows)


def test_fields_of_qualities_want_qualities(tmp_path: Path) -> None:
    (tmp_path / "t.fa").write_text(">a\nACGT\n")
    (tmp_path / "q.fq").write_text("@a\nACGT\n+\nIIII\n")
    for file, role, field in (("t.fa", "target", "quals1"), ("t.fa", "query", "qalign2")):
        with pytest.raises(InputError, match=f"expected FASTQ, whose qualities are the general field {field}"):
            refuse_side(find("genome", f"general:score,{field}"), role, file, read_genome(str(tmp_path / file), role=role))
    refuse_side(find("genome", "general:quals2,qalign2"), "query", "q.fq", read_genome(str(tmp_path / "q.fq"), role="query"))
    refuse_side(find("genome", "general:quals2"), "target", "t.fa", read_genome(str(tmp_path / "t.fa"), role="target"))
