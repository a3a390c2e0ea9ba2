"""Relative paths that look like addresses of other file systems are paths: of inputs, run directories and files written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from tidalign import GenomeResults, Results

PREFIXES = ("x.keep:1.", "s3:", "file:", "hdfs:a ", "https:b%20", "#", "a?b")
LETTERS = "GATTACACCTGAGTCATTGCCA" * 4


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("prefix", PREFIXES)
def test_pairs(prefix: str, here: Path, command: Callable[..., Any]) -> None:
    (here / f"{prefix}q.fq").write_text(f"@q\n{LETTERS}\n+\n{LETTERS}\n")
    (here / f"{prefix}t.fa").write_text(f">t\n{LETTERS}\n")
    table = pa.table({"query": [LETTERS], "target": [LETTERS]})
    pyarrow.parquet.write_table(table, here / "p")
    pyarrow.feather.write_feather(table, str(here / "a"))
    for made, name in (("p", "pairs.parquet"), ("a", "pairs.arrow")):
        (here / made).rename(here / f"{prefix}{name}")
    for inputs in ([f"{prefix}q.fq", f"{prefix}t.fa"], [f"{prefix}pairs.parquet"], [f"{prefix}pairs.arrow"]):
        for ending in ("paf", "sam", "tsv", "parquet"):
            done = command("pairs", *inputs, "-o", f"{prefix}out.{ending}", "--device", "cpu", "--new", "--quiet")
            assert done.returncode == 0, done.stderr
            assert (here / f"{prefix}out.{ending}").stat().st_size > 0
            (here / f"{prefix}out.{ending}").unlink()
        assert command("pairs", *inputs, "-o", f"{prefix}run", "--device", "cpu", "--new", "--quiet").returncode == 0
        assert command("export", f"{prefix}run", "-o", f"{prefix}again.parquet", "--quiet").returncode == 0
        assert Results(f"{prefix}run").to_table()["cigar"].to_pylist() == ["88="]
        assert pyarrow.parquet.read_table(here / f"{prefix}again.parquet")["cigar"].to_pylist() == ["88="]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_genomes(prefix: str, here: Path, command: Callable[..., Any]) -> None:
    for side in "tq":
        (here / f"{prefix}{side}.fa").write_text(f">{side}\n{LETTERS}\n")
    inputs = [f"{prefix}t.fa", f"{prefix}q.fa"]
    for ending in ("maf", "paf", "parquet"):
        done = command("genome", *inputs, "-o", f"{prefix}out.{ending}", "--device", "cpu", "--new", "--quiet")
        assert done.returncode == 0, done.stderr
        assert (here / f"{prefix}out.{ending}").stat().st_size > 0
    assert command("genome", *inputs, "-o", f"{prefix}run", "--keep=hsps", "--device", "cpu", "--new", "--quiet").returncode == 0
    assert command("export", f"{prefix}run", "-o", f"{prefix}again.maf", "--quiet").returncode == 0
    assert len(GenomeResults(f"{prefix}run")) == pyarrow.parquet.read_table(here / f"{prefix}out.parquet").num_rows > 0
    assert GenomeResults(f"{prefix}run").stage("hsps").num_rows > 0
