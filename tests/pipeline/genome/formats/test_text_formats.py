"""`text`, `lav+text`, `differences` and `blastn` are LASTZ's, line by line (tests/data/genomes/make_text.py)."""

import json
from pathlib import Path
from typing import Any

import genome_golden as golden
import pytest

import tidalign
from tidalign.pipeline.formats import table
from tidalign.pipeline.genome.formats import block

GOLDEN = json.loads(golden.text("text.json.gz"))


def exported(case: dict[str, Any], folder: Path) -> list[str]:
    """Align the files of a case and give its lines, but the one that names the program, with paths from the folder."""
    for name, text in GOLDEN["files"][case["files"]].items():
        (folder / name).write_text(text)
    given = (option.removeprefix("--").partition("=") for option in case["options"])
    options = {name: value if equals else True for name, equals, value in given}
    results = tidalign.align_genomes(case["target"], case["query"], out="run", workers=0, device="cpu", **options)
    results.export("out", format=case["format"])
    return [line for line in Path("out").read_text().replace(f"{folder}/", "").split("\n") if "tidalign.v" not in line]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: " ".join([case["files"], case["format"], *case["options"]]))
def test_output_is_lastz(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert exported(case, tmp_path) == case["lines"]


@pytest.mark.parametrize("format", ["text", "lav+text", "differences", "blastn"])
def test_output_does_not_depend_on_pieces(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are written one by one."""
    monkeypatch.chdir(tmp_path)
    case = next(case for case in GOLDEN["cases"] if case["format"] == format)
    monkeypatch.setattr(block, "COLUMNS", 1)
    assert exported(case, tmp_path) == case["lines"]


def test_other_names() -> None:
    names = {"diff": "differences", "diffs-": "differences-", "difference": "differences", "text+lav": "lav+text", "ztext": "zerotext", "BLASTN-": "blastn-"}
    assert {name: table.find(table.GENOME, name).name for name in names} == names
    assert table.by_name(table.GENOME, "text-") is None
