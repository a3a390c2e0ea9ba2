"""Exact mode's chains with penalties, in whole runs: they depend on where LASTZ has a query in memory and on the order of a score file's rows."""

import json
from pathlib import Path
from typing import Any

import genome_golden as golden
import pytest

import tidalign

MADE = json.loads(golden.text("chains.json.gz"))
MOVED = [case for case in MADE["cases"] if case["multiple"]]


def lines(folder: Path, sides: list[str], words: list[str], format: str, **more: Any) -> list[str]:
    """Run what the words of a command line say, in the host's process."""
    given: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.removeprefix("--").partition("=")
        given[name] = value if equals else True
    results = tidalign.align_genomes(*(folder / side for side in sides), out=folder / "run", workers=None, **given, **more)
    results.export(folder / "out", format=format)
    return (folder / "out").read_text().splitlines()


def words(case: dict[str, Any]) -> list[str]:
    return [f"--seed=match{case['letters']}", "--nogfextend", "--nogapped", "--strand=plus", f"--chain={case['diagonal']},{case['anti']}"]


@pytest.mark.parametrize("run", MADE["runs"], ids=lambda run: f"{run['query']} {run['options'][-1]}")
def test_chains_are_those_of_lastz(run: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in run["files"].items():
        (tmp_path / name).write_text(text)
    found = lines(tmp_path, [run["target"], run["query"]], run["options"], "general-:score,zstart1,zstart2+,length1,strand2")
    # LASTZ takes the pieces that separators make of a query as one.
    assert sorted(found) == sorted(run["lines"]) if "separator" in run["query"] else found == run["lines"]


@pytest.mark.parametrize("case", MOVED, ids=lambda case: f"{case['multiple']} {case['diagonal']},{case['anti']}")
def test_one_sequence_that_is_read_as_several(case: dict[str, Any], tmp_path: Path) -> None:
    """LASTZ has a NUL before it, which moves its places and so, in these cases, the chain."""
    assert case["chain"] not in [other["chain"] for other in MADE["cases"] if other["target"] == case["target"] and not other["multiple"]]
    for side in ("target", "query"):
        (tmp_path / side).write_text(f">{side}\n{case[side]}\n")
    sides = [side + "[multiple]" * (side in case["multiple"]) for side in ("target", "query")]
    found = lines(tmp_path, sides, words(case), "general-:zstart1,zstart2")
    assert [[int(word) for word in line.split()] for line in found] == case["chain"]


def worth(case: dict[str, Any], chain: list[list[int]]) -> int:
    """Compute what a chain of seeds is worth."""
    letters = case["letters"]
    total = sum(100 * sum(91 if letter in "AT" else 100 for letter in case["target"][t : t + letters]) for t, _ in chain)
    for (t, q), (next_t, next_q) in zip(chain, chain[1:], strict=False):
        apart, room = (next_t - next_q) - (t - q), min(next_t - t, next_q - q) - letters
        total -= abs(apart) * case["diagonal"] + (room * case["anti"] if room >= 0 else -room * 9100)
    return total


@pytest.mark.parametrize("number", [151, 196, 296, 323])
def test_independent_mode_finds_a_better_chain(number: int, tmp_path: Path) -> None:
    case = MADE["cases"][number]
    for side in ("target", "query"):
        (tmp_path / side).write_text(f">{side}\n{case[side]}\n")
    found = lines(tmp_path, ["target", "query"], words(case), "general-:zstart1,zstart2", mode="independent")
    assert worth(case, [[int(word) for word in line.split()] for line in found]) > worth(case, case["chain"])
