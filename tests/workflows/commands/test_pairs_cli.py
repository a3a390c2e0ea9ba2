"""`tidalign pairs`: names that an output cannot hold."""

import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidalign
from tidalign.pipeline.errors import CannotWrite, InputError
from tidalign.pipeline.pairs.input import index
from tidalign.workflows import cli
from tidalign.workflows.run import runner
from tidalign.workflows.run.pairs import alignment
from tidalign.workflows.status import Exit


def write(folder: Path, name: str, names: list[str], length: int = 8) -> Path:
    """Write a FASTA file; the first sequence is shorter than the others."""
    path = folder / name
    path.write_text("".join(f">{each}\n{'ACGTTGCA'[: length - (place == 0)]}\n" for place, each in enumerate(names)))
    return path


@pytest.mark.parametrize(
    ("queries", "targets", "said"),
    [
        (["a", "b", "@c", "@d"], ["s", "t", "u", "v"], "q.fa: record 3: expected a query name of at most 254 printable ASCII letters other than @"),
        (["a", "n" * 255], ["s", "t"], "q.fa: record 2: expected a query name"),
        (["a", "b\u00e9"], ["s", "t"], "q.fa: record 2: expected a query name"),
        (["a", "*"], ["s", "t"], "q.fa: record 2: expected a query name of at most 254 printable ASCII letters other than @, and not * alone"),
        (["a", "b", "c"], ["s", "t", "*"], "t.fa: record 3: expected a target name of the letters SAM allows"),
        (["a", "b"], ["s,t", "u"], "t.fa: record 1: expected a target name of the letters SAM allows"),
        (["a", "b"], ["t", "t"], "found 7 and 8 for 't' (records 1 and 2)"),
    ],
)
def test_names_that_sam_cannot_hold_are_refused_before_they_are_aligned(
    queries: list[str], targets: list[str], said: str, tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: Any) -> None:
        raise AssertionError("aligned")

    files = write(tmp_path, "q.fa", queries), write(tmp_path, "t.fa", targets)
    with monkeypatch.context() as patched:
        patched.setattr(runner, "_work", work)
        answer = command("pairs", *files, "-o", tmp_path / "out.sam", "--device", "cpu", "--quiet")
        assert answer.returncode == Exit.BAD_INPUT and len(answer.stderr.splitlines()) == 1 and said in answer.stderr
        assert not list(tmp_path.glob("out*"))
    assert command("pairs", *files, "-o", tmp_path / "out.paf", "--device", "cpu").returncode == Exit.COMPLETE


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pairs", "-o", "out.bam", "--matrix", "blosum62"], "BAM holds no proteins: write .sam, .paf or .tsv"),
        (["pairs", "-o", "out.paf", "--cs", "--penalty-only"], "--cs needs CIGARs: leave --penalty-only or --cs out"),
        (["pairs", "-o", "out.paf", "--cs", "--matrix", "blosum62", "--report", "ends"], "--cs needs CIGARs: leave --report ends or --cs out"),
        (["partition", "-o", "out.sam"], "-o takes a run directory: out.sam.run, with which `tidalign pairs -o out.sam` goes on"),
        (["partition", "-o", "out.paf.gz"], "-o takes a run directory: out.paf.gz.run"),
    ],
)
def test_what_no_input_could_give_is_wrong_usage(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    name, *more = words
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "q.fa", "t.fa", *more])
    assert ended.value.code == Exit.USAGE and said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("out.sam", {"penalty_only": True}, "SAM: expected a run with CIGARs"),
        ("out.bam", {"scoring": "match:2,mismatch:-4,gap:4,2", "report": "ends"}, "BAM: expected a run with CIGARs"),
        ("out.paf", {"scoring": "match:2,mismatch:-4,gap:4,2", "report": "score"}, "PAF: expected a run with places"),
        ("out.bam", {"scoring": "blosum62"}, "format bam: expected DNA"),
    ],
)
def test_what_no_input_could_give_is_told_before_it_is_looked_at(name: str, options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        tidalign.align_pairs(tmp_path / "none.fa", tmp_path / "none.fa", out=tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["out.sam", "out.bam"])
def test_contigs_that_sam_cannot_hold_are_refused_before_they_are_aligned(name: str, tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.fai").write_text(f"c\t{2**31}\t0\t0\t0\n")
    files = write(tmp_path, "q.fa", ["a", "b"]), write(tmp_path, "t.fa", ["c:1-7", "c:2-9"])
    words = ("pairs", *files, "--lift", tmp_path / "x.fai", "--device", "cpu", "-o")
    with monkeypatch.context() as patched:
        patched.delattr(runner, "_work")
        answer = command(*words, tmp_path / name)
    assert answer.returncode == Exit.BAD_INPUT and "targets of at most 2147483647 bases" in answer.stderr and not list(tmp_path.glob("out*"))
    assert command(*words, tmp_path / "out.paf").returncode == Exit.COMPLETE


LATE = {
    "target": (("q8", "a,b"), ["-o", "out.sam"], "t.fa: record 9: expected a target name of the letters SAM allows"),
    "query": (("@q8", "t8"), ["-o", "out.bam"], "q.fa: record 9: expected a query name"),
    "length": (("q8", "t0"), ["-o", "out.sam"], "found 7 and 8 for 't0' (records 1 and 9)"),
    "lift": (("q8", "nowhere"), ["-o", "out.paf", "--lift"], "t.fa: record 9: expected a target named chr:start-end"),
}


@pytest.mark.parametrize("kind", LATE)
def test_alignments_are_kept_where_a_name_is_met_late(kind: str, tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep them for other formats, in a first call, and in one that goes on."""
    monkeypatch.setattr(index, "BLOCK_PAIRS", 3)
    monkeypatch.setattr(index, "CELL_BYTES", 64)
    (query, target), words, said = LATE[kind]
    names = [(f"q{place}", f"c:{place + 1}-{place + 8 - (place == 0)}" if kind == "lift" else f"t{place}") for place in range(12)]
    names[8] = query, target
    files = [write(tmp_path, f"{side}.fa", [each[place] for each in names]) for place, side in enumerate("qt")]
    line = ["pairs", *files, words[0], tmp_path / words[1], *words[2:], "--device", "cpu", "--workers", 0]
    run = tmp_path / f"{words[1]}.run"
    for _ in range(2):
        answer = command(*line)
        assert answer.returncode == Exit.BAD_INPUT and said in answer.stderr and f"tidalign export {run} -o FILE writes them" in answer.stderr
        assert command("export", run, "-o", tmp_path / "out.tsv").returncode == Exit.COMPLETE
        assert len((tmp_path / "out.tsv").read_text().splitlines()) == 13 and not (tmp_path / words[1]).exists()
        (run / "SUCCESS").unlink()
        sorted((run / "parts").iterdir())[0].unlink()


def test_a_stream_gets_nothing_where_a_name_is_met_late(tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Say nothing of alignments that are kept, as nothing of the run stays."""
    monkeypatch.setattr(index, "BLOCK_PAIRS", 3)
    monkeypatch.setattr(index, "CELL_BYTES", 64)
    files = [write(tmp_path, f"{side}.fa", [f"{side}{place}" if place != 8 else "@" for place in range(12)]) for side in "qt"]
    answer = command("pairs", *files, "-o", "-", "--format", "sam", "--device", "cpu", "--workers", 0)
    assert (answer.returncode, answer.stdout) == (Exit.BAD_INPUT, "") and "q.fa: record 9: expected a query name" in answer.stderr
    assert "kept" not in answer.stderr


def test_a_fai_that_is_gone_leaves_a_run_as_it_is(tmp_path: Path, command: Any) -> None:
    files = write(tmp_path, "q.fa", ["a", "b"]), write(tmp_path, "t.fa", ["c:1-7", "c:2-9"])
    run = tmp_path / "out.sam.run"
    assert command("pairs", *files, "-o", run, "--device", "cpu").returncode == Exit.COMPLETE
    for name in ("SUCCESS", "manifest.json"):
        (run / name).unlink()
    parts = sorted((run / "parts").iterdir())
    answer = command("pairs", *files, "-o", tmp_path / "out.sam", "--lift", tmp_path / "none.fai", "--device", "cpu")
    assert answer.returncode == Exit.NO_INPUT and "none.fai: cannot be read" in answer.stderr and sorted((run / "parts").iterdir()) == parts


@pytest.mark.parametrize("there", [False, True])
def test_of_a_name_that_is_met_early_nothing_is_left(there: bool, tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a folder that was there, and empty; what an earlier call left of this run goes as well."""
    monkeypatch.setattr(index, "BLOCK_PAIRS", 3)
    monkeypatch.setattr(index, "CELL_BYTES", 64)
    files = [write(tmp_path, f"{side}.fa", [f"{side}{place}" if place != 1 else "@" for place in range(12)]) for side in "qt"]
    if there:
        (tmp_path / "out.sam.run").mkdir()
    answer = command("pairs", *files, "-o", tmp_path / "out.sam", "--device", "cpu", "--workers", 0)
    assert answer.returncode == Exit.BAD_INPUT and "q.fa: record 2: expected a query name" in answer.stderr and "kept" not in answer.stderr
    assert list(tmp_path.glob("out*")) == [tmp_path / "out.sam.run"] * there and not list(tmp_path.glob("out*/*"))[1:]
    assert command("partition", *files, "-o", tmp_path / "out.sam.run").returncode == Exit.COMPLETE
    (tmp_path / "out.sam.run" / "manifest.json").unlink()
    assert command("pairs", *files, "-o", tmp_path / "out.sam", "--device", "cpu", "--workers", 0).returncode == Exit.BAD_INPUT
    assert not list(tmp_path.glob("out*"))


def test_inputs_stand_anywhere_among_options(tmp_path: Path, command: Any) -> None:
    files = write(tmp_path, "q.fa", ["a", "b"]), write(tmp_path, "t.fa", ["s", "t"])
    written = set()
    for words in ((*files, "-o", "OUT"), (files[0], "-o", "OUT", files[1]), ("-o", "OUT", *files), (files[0], "--penalties", "edit", files[1], "-o", "OUT")):
        line = [tmp_path / "out.sam" if word == "OUT" else word for word in words]
        assert command("pairs", *line, *(() if "edit" in line else ("--penalties", "edit")), "--device", "cpu").returncode == Exit.COMPLETE
        written.add((tmp_path / "out.sam").read_text())
    assert len(written) == 1
    with pytest.raises(SystemExit) as ended:
        command("pairs", *files, "-o", tmp_path / "out.sam", files[0])
    assert ended.value.code == Exit.USAGE


def test_a_part_that_is_gone_is_found(tmp_path: Path, command: Any) -> None:
    files = write(tmp_path, "q.fa", ["a", "b"]), write(tmp_path, "t.fa", ["s", "t"])
    assert command("pairs", *files, "-o", tmp_path / "run", "--device", "cpu").returncode == Exit.COMPLETE
    next((tmp_path / "run" / "parts").iterdir()).unlink()
    answer = command("check", tmp_path / "run")
    assert answer.returncode == Exit.MANIFEST_MISMATCH and "found whole parts for 0 of the 1 rows" in answer.stderr


def test_which_record_of_which_file(tmp_path: Path, command: Any) -> None:
    """Of interleaved files, and of tables, which have no names."""
    write(tmp_path, "both.fa", ["q1", "t1", "q2", "t2", "q3", "=t3"])
    answer = command("pairs", tmp_path / "both.fa", "--interleaved", "-o", tmp_path / "out.sam", "--device", "cpu")
    assert answer.returncode == Exit.BAD_INPUT and "both.fa: record 6: expected a target name" in answer.stderr
    pq.write_table(pa.table({"query": ["ACGT"], "target": ["ACGA"]}), tmp_path / "pairs.parquet")
    assert command("pairs", tmp_path / "pairs.parquet", "-o", tmp_path / "out.sam", "--device", "cpu").returncode == Exit.COMPLETE


def test_a_run_that_was_partitioned_before_is_looked_at_too(tmp_path: Path, command: Any) -> None:
    files = write(tmp_path, "q.fa", ["a", "@b"]), write(tmp_path, "t.fa", ["s", "t"])
    assert command("partition", *files, "-o", tmp_path / "out.sam.run").returncode == Exit.COMPLETE
    answer = command("pairs", *files, "-o", tmp_path / "out.sam", "--device", "cpu")
    assert answer.returncode == Exit.BAD_INPUT and "q.fa: record 2" in answer.stderr
    assert not list((tmp_path / "out.sam.run" / "parts").iterdir())


def test_the_rate_of_a_run_in_several_calls_is_that_of_all(tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"r{number}" for number in range(300)]
    words = ("pairs", write(tmp_path, "q.fa", names), write(tmp_path, "t.fa", names), "-o", tmp_path / "run", "--device", "cpu", "--workers", "0")

    def fail(*_: Any) -> None:
        time.sleep(2)
        raise CannotWrite("there is no room")

    with monkeypatch.context() as patched:
        patched.setattr(alignment, "align_ranges", fail)
        assert command(*words).returncode == Exit.CANNOT_WRITE
    found = re.search(r"([\d,]+) pairs/s", command(*words).stderr)
    assert found and 1 <= float(found[1].replace(",", "")) <= 150


MATES = ["reads_R1.fq reads_R2.fq", "a_1.fastq a_2.fastq", "a.1.fq a.2.fq", "x_S1_L001_R1_001.fq x_S1_L001_R2_001.fq", "1.fq 2.fq", "b_1_R1.fq b_1_R2.fq"]
OTHERS = [
    "a_R2.fq a_R1.fq",
    "a_R1.fq b_R2.fq",
    "a_R1.fq a_R1.fq",
    "a_R1.fq a_R3.fq",
    "a_R1.fq windows.fq",
    "a_R1.fa a_R2.fa",
    "a_R1.fq a_R2.fa",
    "b_1_R1.fq b_2_R2.fq",
]


@pytest.mark.parametrize("names", [*MATES, *OTHERS])
def test_mates_that_are_aligned_with_each_other_are_noticed(names: str, tmp_path: Path, command: Any) -> None:
    for name in (files := names.split()):
        (tmp_path / name).write_text("@r\nACGT\n+\nIIII\n" if name.endswith(("fq", "fastq")) else ">r\nACGT\n")
    words = ("pairs", *(tmp_path / name for name in files), "-o", tmp_path / "out.sam", "--device", "cpu")
    loud, quiet = command(*words), command(*words, "--quiet")
    said = f"tidalign: {files[0]} and {files[1]} seem to hold the two mates of read pairs, and each mate is aligned with the other; to align reads"
    assert (loud.returncode, quiet.returncode, quiet.stderr) == (Exit.COMPLETE, Exit.COMPLETE, "")
    assert loud.stderr.startswith(said) == (names in MATES) and loud.stderr.count("\n") == 1 + (names in MATES)
