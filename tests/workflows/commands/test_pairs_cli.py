"""`tidalign pairs`: names that an output cannot hold."""

import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidalign.pipeline.errors import CannotWrite
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
