"""Keywords of pairs: those of penalties and those of scores are not mixed, as on the command line."""

from pathlib import Path
from typing import Any

import pytest

import tidalign
from tidalign.workflows.cli import main

SCORES = "match:2,mismatch:-4,gap:4,2"
PENALISED: dict[str, Any] = {"penalties": "affine:4,6,2", "ends_free": (1, 2, 3, 4), "penalty_only": True, "heuristic": "adaptive"}
SCORED: dict[str, Any] = {"span": "local", "report": "ends", "alphabet": "dna", "zdrop": 0, "end_bonus": 3}


def words(options: dict[str, Any]) -> list[str]:
    """Write keywords as options."""
    written: list[str] = []
    for name, value in options.items():
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        written += [f"--{name.replace('_', '-')}", *([] if value is True else [text])]
    return written


@pytest.mark.parametrize("name", [*PENALISED, *SCORED])
def test_one_of_the_other_kind(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = {name: PENALISED[name], "scoring": SCORES} if name in PENALISED else {name: SCORED[name]}
    said = []
    for call in (lambda: tidalign.align(["A"], ["A"], **options), lambda: tidalign.align_pairs("q.fa", "t.fa", out=tmp_path / "run", **options)):
        with pytest.raises(ValueError, match=f"^{name} ") as error:
            call()
        said.append(str(error.value))
    with pytest.raises(SystemExit):
        main(["pairs", "q.fa", "t.fa", "-o", str(tmp_path / "run"), *words(options)])
    # The command line says the same in its own words.
    told = capsys.readouterr().err.partition("--")[2].partition("\n")[0]
    for word, keyword in ((" and --matrix", ""), (" or --matrix", ""), ("--report ends", "report='ends'"), ("--", ""), (name.replace("_", "-"), name)):
        told = told.replace(word, keyword)
    assert said == [told, told]


def test_what_says_nothing_is_taken() -> None:
    assert tidalign.align(["A"], ["A"], None, None, scoring=SCORES, penalty_only=False)["score"].to_pylist() == [2]
    assert tidalign.align(["A"], ["C"], scoring=None, span=None, report=None, alphabet="", end_bonus=0)["penalty"].to_pylist() == [4]


def test_one_number_is_for_all_ends_of_files_too(tmp_path: Path) -> None:
    (tmp_path / "q.fa").write_text(">q\nACGT\n")
    (tmp_path / "t.fa").write_text(">t\nTACGTT\n")
    found = tidalign.align_pairs(tmp_path / "q.fa", tmp_path / "t.fa", out=tmp_path / "run", ends_free=1, workers=0).to_table()
    assert found["penalty"].to_pylist() == [0]
