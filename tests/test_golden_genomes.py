"""Whole genome runs against LASTZ's output (tests/data/genomes)."""

import json
from pathlib import Path
from typing import Any

import genome_golden as golden
import pytest

import tidalign
from tidalign.cluster.errors import Stopped
from tidalign.pipeline.errors import ManifestMismatch
from tidalign.pipeline.genome.walk import inner

FORMATS = [(name, format) for name, run in golden.RUNS.items() for format in run["formats"] if format in ("maf", "axt", "general", "segments", "softsam")]


SMALL = [case for name in ("small", "between") for case in json.loads((golden.PLACE / f"{name}.json").read_text())["cases"]]
PIPELINES = json.loads(golden.text("pipelines.json.gz"))["cases"]
SEARCHES = json.loads(golden.text("searches.json.gz"))["cases"]
SEPARATED = json.loads((golden.PLACE / "separated.json").read_text())["cases"]


def options(wanted: list[str]) -> dict[str, str | bool]:
    """Give LASTZ's options as keywords of align_genomes; none is given twice."""
    given = (option.removeprefix("--").partition("=") for option in wanted)
    return {name: value if equals else True for name, equals, value in given}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tidalign.GenomeResults]:
    """Give results by name, each aligned when it is first asked for."""

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
    """Empty sequences, sequences that are not asked for, a small x; equal sequences, palindromes, shares of a query of several sequences."""
    for name, text in case["files"].items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    results = tidalign.align_genomes(case["target"], case["query"] or None, out="run", workers=None, **options(case["options"]))
    results.export("out", format=case["format"])
    assert [line for line in Path("out").read_text().splitlines() if not line.startswith("#")] == case["lines"]


def as_pipelines_see_it(text: str) -> list[str]:
    """Read the lines of an output but those that name the program: comments, and LAV's first stanza."""
    text = text[text.index("}") + 2 :] if text.startswith("#:lav") else text
    return [line for line in text.splitlines() if not line.startswith("#") or line.startswith("#:")]


def named(case: dict[str, Any]) -> str:
    return str(case["preset"]) if "preset" in case else " ".join([case["target"], case["query"] or "", *case["options"], case["format"][:8]])


@pytest.mark.parametrize("case", [*PIPELINES, *SEARCHES], ids=named)
def test_as_pipelines_call_it(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search between alignments, a query of several sequences that are one, LAV, options of searches: as LASTZ prints them."""
    for name, text in case["files"].items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    given = {"preset": case["preset"]} if "preset" in case else options(case["options"])
    results = tidalign.align_genomes(case["target"], case["query"], out="run", workers=None, **given)
    results.export("out", format=case["format"])
    assert as_pipelines_see_it(Path("out").read_text().replace(f"{tmp_path}/", "")) == case["lines"]
    assert len(case["lines"]) > 5


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_what_is_between_alignments_does_not_depend_on_stops(seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk that writes down how far it is after each rectangle, and ends after some of them, goes on from there."""
    case = next(case for case in PIPELINES if "--inner=1000" in case["options"] and "[multiple]" in case["query"])
    for name, text in case["files"].items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(inner, "CUT_SECONDS", seconds)
    found, between = inner.Between.find, 0

    def ends(search: inner.Between, number: int) -> Any:
        nonlocal between
        between += 1
        if between == 4:
            raise KeyboardInterrupt
        return found(search, number)

    monkeypatch.setattr(inner.Between, "find", ends)
    given = options(case["options"])
    with pytest.raises(Stopped):
        tidalign.align_genomes(case["target"], case["query"], out="run", workers=0, **given)
    tidalign.align_genomes(case["target"], case["query"], out="run", workers=0, **given).export("out", format=case["format"])
    assert as_pipelines_see_it(Path("out").read_text()) == case["lines"]
    stopped, between = between, 4
    tidalign.align_genomes(case["target"], case["query"], out="whole", workers=0, **given)
    assert stopped == between - (3 if seconds == 0.0 else 0)
    with pytest.raises(ManifestMismatch):
        tidalign.align_genomes(case["target"], case["query"], out="run", workers=0, **{**given, "inner": 900})
