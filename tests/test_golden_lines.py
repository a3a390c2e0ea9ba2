"""What pipelines and tutorials give LASTZ, given to `tidalign-lastz`: LASTZ's output, or a refusal by name (tests/data/genomes/make_lines.py)."""

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import genome_golden as golden
import pytest

from tidalign.workflows.cli import main
from tidalign.workflows.lastz import status_of, translated

MADE = json.loads(golden.text("lines.json.gz"))


def _maker() -> Any:
    """Import the script that made the file, for the ways to write its inputs and to read outputs."""
    sys.path.insert(0, str(golden.PLACE))
    try:
        spec = importlib.util.spec_from_file_location("make_lines", golden.PLACE / "make_lines.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(golden.PLACE))
    return module


maker = _maker()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    maker.put(tmp_path, MADE["files"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(line: str) -> int:
    """Call it in this process, its standard input from a file; its status."""
    words, _, given = line.partition(" <")
    kept = os.dup(0)
    with open(given or os.devnull, "rb") as file:  # noqa: PTH123
        os.dup2(file.fileno(), 0)
    try:
        return status_of(main([*translated(words.split())[0], "--device", "cpu"]))
    except SystemExit as error:
        return status_of(int(error.code or 0))
    finally:
        os.dup2(kept, 0)
        os.close(kept)


@pytest.mark.parametrize("name", MADE["lines"])
def test_output_is_lastz(name: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    case = MADE["lines"][name]
    status = called(case["line"])
    out, said = capfd.readouterr()
    assert (status, case["status"]) == (0, 0), said
    found = {"output": maker.below(out.replace(f"{folder}/", ""))}
    if (folder / "plot.r").exists():
        found["plot.r"] = (folder / "plot.r").read_text().splitlines()
    assert found == case["found"]
    assert any(case["found"].values()) or name.startswith("equal ")


@pytest.mark.parametrize("name", MADE["refused"])
def test_others_are_refused_by_name(name: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    line = MADE["refused"][name]["line"]
    option = line.split()[-1].partition("=")[0].removeprefix("--")
    assert called(line) == 1
    out, said = capfd.readouterr()
    assert not out
    assert option in said


def test_the_file_is_of_the_script() -> None:
    """Lines and inputs are those of the script; what LASTZ printed of them is in the file."""
    assert {name: case["line"] for name, case in MADE["lines"].items()} == maker.LINES
    assert {name: case["line"] for name, case in MADE["refused"].items()} == maker.REFUSED
    assert MADE["files"] == maker.files()
