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


@pytest.mark.parametrize(
    ("kind", "output", "format"),
    [("pairs", "x.sam", "bam"), ("pairs", "oo.tsv", "SAM"), ("pairs", "x.sam.gz", "sam"), ("pairs", "x.sam", "sam.gz"), ("search", "x.PAF", "m8")],
)
def test_a_format_that_contradicts_the_ending(kind: str, output: str, format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([kind, "a.fa", "b.fa", "-o", str(tmp_path / output), "--format", format])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and "leave the format out, or name another file" in said
    assert f"expected a name for format {format.lower()}, found one that means {output.partition('.')[2].lower()};" in said


@pytest.mark.parametrize(
    ("kind", "output", "format"), [("pairs", "x.SAM", "sam"), ("pairs", "x.sam.gz", "sam.gz"), ("pairs", "x", "bam"), ("genome", "x.tsv", "mapping")]
)
def test_formats_that_endings_allow(kind: str, output: str, format: str) -> None:
    assert parse([kind, "a.fa", "b.fa", "-o", output, "--format", format], parser(kind)).format == format


def test_compressed_formats_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"no format 'bam\.gz': .*, paf\.gz, sam\.gz, tsv\.gz$"):
        table.find(table.PAIRS, "bam.gz")
    for kind in ("pairs", "search"):
        with pytest.raises(SystemExit):
            main([kind, "--help"])
        assert "paf.gz, sam.gz, tsv.gz, where OUT's name says none" in " ".join(capsys.readouterr().out.split())
