"""The table of formats: what it says of each is so."""

import re
from pathlib import Path
from typing import Any

import genome_golden as golden
import pytest
from genome_written import written

from tidalign.pipeline.formats import table
from tidalign.pipeline.store import layout
from tidalign.workflows.commands.export import RESULTS

BY_KIND = [(kind, format) for kind in table.ELSEWHERE for format in table.formats(kind)]


def test_kinds_are_those_of_runs() -> None:
    assert set(table.ELSEWHERE) == set(layout._LAYOUTS) == set(RESULTS) == {kind for format in table.FORMATS for kind in format.kinds}


@pytest.mark.parametrize(("kind", "format"), BY_KIND, ids=lambda value: getattr(value, "name", value))
def test_every_format_is_found_and_can_be_loaded(kind: str, format: table.Format) -> None:
    assert table.find(kind, format.name) is format
    assert table.by_suffix(kind, format.suffix.upper()) is format if format.suffix else True
    named = (format.write or format.lines, format.header, format.above, format.side, format.names, "fields" if format.fields is not None else None)
    assert all(callable(format.load(name)) for name in named if name)
    assert all(option in table.OPTIONS for option in format.options) and ("markend" in format.options) == bool(format.footer)


@pytest.mark.parametrize("kind", table.ELSEWHERE)
def test_a_name_and_an_ending_mean_one_format(kind: str) -> None:
    names = table.names(kind)
    assert len(set(names)) == len(names) and all(table.find(kind, name).name == name for name in names)
    endings = [format.suffix for format in table.formats(kind) if format.suffix]
    assert len(set(endings)) == len(endings) and not {f".{ending}" for ending in endings} & set(table.ELSEWHERE[kind])


def test_variants() -> None:
    bare, fields, both = (table.find("genome", text) for text in ("sam-", "general:name1,id", "general-:score"))
    assert (bare.name, bare.header, bare.above, bare.side) == ("sam-", None, None, "check")
    assert (fields.name, fields.fields, fields.header) == ("general:name1,id", ("name1", "identity"), "header")
    assert (both.name, both.fields, both.header) == ("general-:score", ("score",), None)
    assert table.find("genome", "tsv").name == "general" and table.find("pairs", "tsv").name == "tsv"
    for kind, text in (("genome", "axt-"), ("genome", "maf+-"), ("genome", "paf:x"), ("genome", "maf:x"), ("pairs", "maf"), ("pairs", "sam-"), ("pairs", "")):
        with pytest.raises(ValueError, match=re.escape(f"no format {text!r}: use one of ")):
            table.find(kind, text)


def test_options_that_a_format_does_not_take() -> None:
    paf, tsv, maf = table.find("pairs", "paf"), table.find("pairs", "tsv"), table.find("genome", "maf")
    assert table.refused("pairs", paf, {"cigar": "M", "markend": False}) is None
    assert table.refused("pairs", tsv, {"cigar": "=X"}) is None
    assert table.refused("pairs", tsv, {"cigar": "M"}) == ("cigar", "it is for paf, sam, bam, not for tsv")
    assert table.refused("pairs", paf, {"cigar": "X"}) == ("cigar", "'X' is none of =X, M")
    assert table.refused("pairs", paf, {"markend": True}) == ("markend", "other kinds of run have it")
    assert table.refused("genome", maf, {"markend": True, "cigar": "M"}) == ("cigar", "format paf writes M, paf:wfmash writes = and X")


def _lines(text: str, format: table.Format) -> int:
    """Count the lines of rows, without those of the header."""
    return sum(not line.startswith("@") and not (line.startswith("#") and "+" not in format.name) for line in text.splitlines())


@pytest.mark.parametrize("format", [format for format in table.formats("genome") if format.per_row], ids=lambda format: format.name)
def test_lines_of_a_genome_row(format: table.Format) -> None:
    run = "mt_chimp" if format.name != "segments" else next(name for name, run in golden.RUNS.items() if "--nogapped" in run["options"])
    rows = golden.rows(run).num_rows
    assert rows and format.per_row
    header = _lines(written(run, format.name, golden.rows(run).slice(0, 0)), format)
    assert _lines(written(run, format.name), format) - header == rows * format.per_row


@pytest.mark.parametrize("format", [format for format in table.formats("pairs") if format.per_row], ids=lambda format: format.name)
def test_lines_of_a_pair(format: table.Format, make_run: Any, row: Any, rejected: Any, tmp_path: Path) -> None:
    rows = [*(row(f"q{number}", penalty=number) for number in range(9)), rejected("bad")]
    make_run(rows).export(tmp_path / "out", format=format.name)
    lines = (tmp_path / "out").read_text().splitlines()
    assert sum(not line.startswith(("@", "ordinal")) for line in lines) == len(rows) * (format.per_row or 0)
