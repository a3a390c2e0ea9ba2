"""Score files and what follows from scores: equal to what LASTZ derives (tests/data/genomes/options.json has the rest, tests/workflows compares it)."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from genome_oracle import tables

from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.scoring.scores import HOXD70
from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.genome.input.scores import BINARY, ScoreFile, number, read_scores
from tidalign.pipeline.genome.parameters import GenomeParameters, genome_parameters

LETTERS = Path(__file__).parents[3] / "data" / "genomes" / "letters.json"
CASES = json.loads(LETTERS.read_text())["cases"]

MATRIX = "     A    C    G    T\n    91 -114  -31 -123\n  -114  100 -125  -31\n   -31 -125  100 -114\n  -123  -31 -114   91\n"


def test_nothing_given_is_the_default() -> None:
    assert genome_parameters() == GenomeParameters()


def test_parameters_come_back_from_json() -> None:
    given = genome_parameters(match=(1, 5), ambiguous=("iupac", 7, 9), filters=(("identity", 90.0, math.inf),), seed_filter=(12, None), seed="14of22")
    assert GenomeParameters.from_json(given.to_json()) == given
    assert given.to_json() != GenomeParameters().to_json()


WHOLE = {"12": 12, "-3": -3, "9.4k": 9400, "1M": 10**6, "0.1k": 100, "-2k": -2000}
BROKEN = {"400.2": 400, "400.5": 401, "30.4": 30, "2.2001k": 2200, "9.1": 9, "0.4": 0, "1e3": 1000, "-1.4e1": -13}
BELOW = {"-1.1": 0, "-1.4": 0, "-1.5": -1, "-1.9": -1, "-2.": -1, "-2.0": -1, "-2.4": -1, "-2.5": -2, "-4.5": -4}


@pytest.mark.parametrize("text, value", (WHOLE | BROKEN | BELOW).items())
def test_numbers_are_rounded_as_lastz_does(text: str, value: int) -> None:
    """Values as LASTZ 1.04.22 has them: of costs and thresholds in the head of its LAV, of scores below 0 in those of its alignments."""
    assert number(text) == value


def test_bytes_are_binary() -> None:
    assert [number(text, BINARY) for text in ("80M", "80.0M", "100k", "1G", "7")] == [83_886_080, 83_886_080, 102_400, 2**30, 7]
    for text in ("", "k", "1x", "1 k", "1e", "e3", "--1"):
        with pytest.raises(ValueError, match="expected a number"):
            number(text)


def test_unit_scores() -> None:
    """The rules of LASTZ's documentation, in exact arithmetic."""
    for penalty in range(1, 300):
        made = genome_parameters(match=(2, penalty))
        assert made.scoring.gap_open == math.ceil(Fraction("3.25") * penalty)
        assert made.scoring.gap_extend == math.ceil(Fraction("0.24375") * penalty)
        assert (made.xdrop - 1) ** 2 < 100 * penalty <= made.xdrop**2
        assert (made.ydrop, made.hspthresh, made.gappedthresh) == (2 * made.xdrop, 60, 60)
        assert (made.scoring.bad, made.scoring.fill) == (-10 * penalty, -penalty)
        assert made.scoring.matrix[1] == (-penalty, 2, -penalty, -penalty)


def test_a_score_file_is_read_whole(tmp_path: Path) -> None:
    """bad_score and fill_score are in nothing that LASTZ shows."""
    path = tmp_path / "scores"
    path.write_text(f"# of some\nbad_score = X:-5000  # X with any\nfill_score=-77\n\n{MATRIX}")
    file = read_scores(str(path))
    assert (file.matrix, file.bad, file.fill, file.first) == (HOXD70, -5000, -77, 91)
    scoring = genome_parameters(scores=file).scoring
    assert (scoring.bad, scoring.fill) == (-5000, -77)


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case["arguments"]) + repr(case["scores"][-20:]))
def test_letters_score_as_in_lastz(case: dict[str, Any], tmp_path: Path) -> None:
    """Every pair of letters, in both tables; the reference model's too."""
    path = tmp_path / "scores"
    path.write_text(case["scores"])
    ambiguous = next((argument.removeprefix("--ambiguous=").split(",") for argument in case["arguments"] if argument.startswith("--amb")), None)
    scoring = genome_parameters(
        scores=read_scores(str(path)) if case["scores"] else None, ambiguous=ambiguous and (ambiguous[0], *map(int, ambiguous[1:] or (0, 0)))
    ).scoring
    letters = case["letters"].encode()
    codes, ascii = encode(letters), np.frombuffer(letters, np.uint8)
    for table, model, expected in zip((scoring.plain(), scoring.masked()), tables(scoring), (case["plain"], case["masked"]), strict=True):
        assert table[np.ix_(codes, codes)].tolist() == expected
        assert model[np.ix_(ascii, ascii)].tolist() == expected


WRONG = {
    f"O=5\nfoo = 3\n{MATRIX}": "line 2: .*'foo'",
    f"O=five\n{MATRIX}": "line 1: expected a number from -2147483647 to 2147483647, found 'five'",
    f"T=9\n{MATRIX}": "line 1: expected a seed",
    f"x_drop=0\n{MATRIX}": "line 1: .* above 0",
    "O=5\n": "a matrix of scores, found none",
    " A C G\nA 1 2 3\n": "line 1: expected the columns",
    "A C G T R\n": "--ambiguous=iupac",
    "A C G T N N\n": "line 1: expected the columns A C G T and perhaps N",
    MATRIX + "1 2 3 4\n": "line 6: expected rows A C G T of 4 scores",
    MATRIX.rpartition("  -123")[0]: "line 4: expected a row of scores for each of A, C, G and T, found none for T",
    "A C G T N\n1 2 3 4 5\n2 3 4 5 6\n3 4 5 6 7\n4 5 6 7 8\n": "line 5: .* none for N",
    "A C G T\n1 2 3 4\nC 5 6 7 8\n": "line 3: expected rows A C G T of 4 scores",
    MATRIX.replace("-125", "x"): "line 3: expected a score, found 'x'",
    MATRIX.replace(" -125", ""): "line 3: expected rows",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_score_files(text: str, tmp_path: Path) -> None:
    path = tmp_path / "scores"
    path.write_text(text)
    with pytest.raises(InputError, match=WRONG[text]):
        read_scores(str(path))


def test_no_score_file(tmp_path: Path) -> None:
    with pytest.raises(MissingInput):
        read_scores(str(tmp_path / "none"))


@pytest.mark.parametrize(
    "given",
    [
        {"match": (0, 1)},
        {"match": (1, 0)},
        {"xdrop": 0},
        {"ydrop": -1},
        {"step": 0},
        {"gap_open": -1},
        {"ambiguous": ("n", -1, 0)},
        {"seed": "1x1"},
        {"seed": "half12", "transitions": 1},
        {"chain": (1, 0), "mode": "independent", "xdrop": 900, "scores": ScoreFile(first=-31)},
        {"query_hsp_best": 1, "query_hsp_limit": 1},
        {"seed_filter": (20, None)},
        {"seed": "half12", "seed_filter": (13, 2)},
        {"gfextend": False, "hspthresh": 5},
        {"gapped": False, "ydrop": 5},
        {"gapped": False, "trim": False},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        genome_parameters(**given)


def test_overlap_in_chains_costs_the_first_score() -> None:
    assert [genome_parameters(chain=(1, 0), mode=mode).chain for mode in ("exact", "independent")] == [(1, 0), (1, 0)]
    assert genome_parameters().overlap == 91
    assert genome_parameters(match=(7, 12)).overlap == 7
    assert genome_parameters(scores=ScoreFile(first=-31), xdrop=900, chain=(1, 0)).overlap == -31
