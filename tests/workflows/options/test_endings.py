"""Endings of files that a command does not write: it is said which does, or what to do, and no directory is made of that name."""

from pathlib import Path

import pytest

from tidalign.pipeline.formats import table
from tidalign.workflows.cli import main
from tidalign.workflows.options.arguments import parse, parser

OWN = {kind: table.suffixes(kind) for kind in table.ELSEWHERE}
OF_OTHERS = [(kind, suffix, other) for kind in OWN for other in OWN for suffix in OWN[other] if suffix not in OWN[kind]]


def refused(kind: str, output: Path, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        main([kind, "a.fa", "b.fa", "-o", str(output)])
    said = capsys.readouterr().err.splitlines()[0]
    with pytest.raises(ValueError, match=f"cannot write {output.suffix.lower()}: ") as python:
        table.of_output(kind, str(output))
    assert not output.exists() and str(python.value).endswith(said.partition("cannot write ")[2])
    return said


@pytest.mark.parametrize(("kind", "suffix", "other"), OF_OTHERS)
def test_what_another_command_writes(kind: str, suffix: str, other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(kind, tmp_path / f"x.{suffix.upper()}", capsys)
    assert f"`tidalign {other}` writes it" in said or suffix in ("bam", "m8")  # which can be had otherwise


@pytest.mark.parametrize("kind", table.ELSEWHERE)
@pytest.mark.parametrize("suffix", ["cram", "bed", "csv", "txt", "sam.bz2", "sam.zst", "fa", "fastq", "html", "parquet.gz"])
def test_what_none_writes(kind: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "write" in refused(kind, tmp_path / f"x.{suffix}", capsys) or suffix.endswith(("gz", "bz2", "zst"))


@pytest.mark.parametrize(("kind", "output"), [("pairs", "x.txt"), ("search", "x.txt"), ("genome", "x.m8")])
def test_a_format_that_is_named_goes_first(kind: str, output: str) -> None:
    arguments = [kind, "a.fa", "b.fa", "-o", output, "--format", "blastn-" if kind == "genome" else "tsv"]
    assert parse(arguments, parser(kind)).format == arguments[-1]
