"""Keywords in Python: those of penalties and those of scores are not mixed, as on the command line; values that are none are named."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tidalign
from tidalign.workflows.cli import main

SCORES = "match:2,mismatch:-4,gap:4,2"
PENALISED: dict[str, Any] = {"penalties": "affine:4,6,2", "ends_free": (1, 2, 3, 4), "penalty_only": True, "heuristic": "adaptive"}
SCORED: dict[str, Any] = {"span": "local", "report": "ends", "alphabet": "dna", "zdrop": 0, "end_bonus": 3, "band": 7}


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
    assert tidalign.align(["A"], ["C"], scoring=None, span=None, report=None, alphabet="", end_bonus=None)["penalty"].to_pylist() == [4]


EXTENSION = {"scoring": SCORES, "span": "extension"}


@pytest.mark.parametrize("value", [2.0, True, "3", float("nan")], ids=repr)
@pytest.mark.parametrize("name", ["top", "min_score", "zdrop", "end_bonus", "band"])
def test_whole_numbers(name: str, value: Any) -> None:
    searched = name in ("top", "min_score")
    with pytest.raises(ValueError, match=f"^{name.replace('_', '-')}.* whole number.*, not {value!r}$"):
        tidalign.search(["A"], ["A"], **{name: value}) if searched else tidalign.align(["A"], ["A"], **EXTENSION, **{name: value})


def test_whole_numbers_of_numpy(tmp_path: Path) -> None:
    """They are in plan.json as others."""
    (tmp_path / "q.fa").write_text(">q\nACGTACGT\n")
    found = tidalign.search_files(tmp_path / "q.fa", tmp_path / "q.fa", out=tmp_path / "run", top=np.int32(1), min_score=np.int64(3), workers=0)
    assert len(found) == 1 and found.parameters.to_json()["top"] == 1
    assert tidalign.align(["ACGT"], ["ACGT"], **EXTENSION, zdrop=np.int64(5), end_bonus=np.uint8(3), band=np.int16(2))["score"].to_pylist() == [8]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"sort": "yes"}, "sort: 'yes' is none of False, True"),
        ({"cs": "no"}, "cs: 'no' is none of False, True"),
        ({"nope": 1}, "nope: no option of a format; there are cigar, markend, cs, rg, lift, sort"),
        ({"rg": 5}, "rg: 5 is no text"),
        ({"lift": 3}, "lift: 3 is no text"),
        ({"rg": "SM:x"}, "ID:x"),
    ],
    ids=repr,
)
def test_options_of_formats(option: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "q.fa").write_text(">q\nACGTACGT\n")
    found = tidalign.align_pairs(tmp_path / "q.fa", tmp_path / "q.fa", out=tmp_path / "run", workers=0)
    with pytest.raises(ValueError, match=message):
        found.export(tmp_path / "x.sam", **option)
    assert not (tmp_path / "x.sam").exists()


def test_alphabets_are_named() -> None:
    with pytest.raises(ValueError, match="alphabet must be one of dna, protein, not 'rna'"):
        tidalign.search(["A"], ["A"], alphabet="rna")


def test_one_number_is_for_all_ends_of_files_too(tmp_path: Path) -> None:
    (tmp_path / "q.fa").write_text(">q\nACGT\n")
    (tmp_path / "t.fa").write_text(">t\nTACGTT\n")
    found = tidalign.align_pairs(tmp_path / "q.fa", tmp_path / "t.fa", out=tmp_path / "run", ends_free=1, workers=0).to_table()
    assert found["penalty"].to_pylist() == [0]
