"""Whole genome runs against LASTZ's output (tests/data/genomes)."""

import json
from pathlib import Path
from typing import Any

import genome_golden as golden
import pytest

import tidalign

FORMATS = [(name, format) for name, run in golden.RUNS.items() for format in run["formats"] if format in ("maf", "axt", "general", "segments", "softsam")]


SMALL = json.loads((golden.PLACE / "small.json").read_text())["cases"]
SEPARATED = json.loads((golden.PLACE / "separated.json").read_text())["cases"]


def options(wanted: list[str]) -> dict[str, str | bool]:
    """LASTZ's options as keywords of align_genomes; none is given twice."""
    given = (option.removeprefix("--").partition("=") for option in wanted)
    return {name: value if equals else True for name, equals, value in given}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tidalign.GenomeResults]:
    """Results by name, each aligned when it is first asked for."""

    class Runs(dict[str, tidalign.GenomeResults]):
        def __missing__(self, name: str) -> tidalign.GenomeResults:
            run, out = golden.RUNS[name], tmp_path_factory.mktemp(name) / "run"
            sides = [golden.PLACE / run[role] for role in ("target", "query")]
            self[name] = tidalign.align_genomes(*sides, out=out, workers=None, mode=run["mode"], **options(run["options"]))
            return self[name]

    return Runs()


@pytest.mark.parametrize(("run", "format"), FORMATS)
def test_output_is_lastz(run: str, format: str, runs: dict[str, tidalign.GenomeResults], tmp_path: Path) -> None:
    runs[run].export(tmp_path / "out", format=format)
    found = golden.below((tmp_path / "out").read_text())
    expected = golden.below(golden.text(golden.RUNS[run]["formats"][format]))
    if golden.RUNS[run]["mode"] == "independent":  # LASTZ prints these in the order in which it finds them
        found, expected = _paragraphs(found), _paragraphs(expected)
    assert found == expected


def _paragraphs(lines: list[str]) -> list[str]:
    return sorted("\n".join(lines).strip().split("\n\n"))


def test_what_was_cut_is_capped(runs: dict[str, tidalign.GenomeResults]) -> None:
    cut, whole = (runs[name].to_table() for name in ("yeast_truncated", "yeast"))
    assert set(whole["status"].to_pylist()) == {"exact"}
    capped = [row for row in cut.to_pylist() if row["status"] == "capped"]
    assert capped
    assert all("traceback" in row["reason"] for row in capped)


@pytest.mark.parametrize("case", SEPARATED, ids=lambda case: " ".join([case["query"], *case["options"]]))
def test_a_query_with_a_separator(case: dict[str, Any], tmp_path: Path) -> None:
    """LASTZ sorts what all pieces align together."""
    for name, text in case["files"].items():
        (tmp_path / name).write_text(text)
    results = tidalign.align_genomes(tmp_path / "t.fa", f"{tmp_path}/{case['query']}", out=tmp_path / "run", **options(case["options"]))
    results.export(tmp_path / "out", format=case["format"])
    assert len(case["lines"]) > 5
    assert sorted((tmp_path / "out").read_text().splitlines()) == sorted(case["lines"])


@pytest.mark.parametrize("case", SMALL, ids=lambda case: " ".join([case["target"], case["query"], *case["options"], case["format"][:8]]))
def test_small_cases(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty sequences, sequences that are not asked for, a small x."""
    for name, text in case["files"].items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    results = tidalign.align_genomes(case["target"], case["query"], out="run", workers=None, **options(case["options"]))
    results.export("out", format=case["format"])
    assert [line for line in Path("out").read_text().splitlines() if not line.startswith("#")] == case["lines"]
