"""Score files as LASTZ reads them: assignments, then a matrix of substitution scores."""

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tidalign.kernels.scoring.scores import HOXD70, IUPAC
from tidalign.pipeline.errors import InputError, MissingInput, shown

THOUSANDS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
MOST_SCORE = 2**31 - 1
"""Of any score, cost or threshold, below 0 or above it."""
BINARY = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


def number(text: str, units: dict[str, int] = THOUSANDS) -> int:
    """Read a whole number, perhaps with a unit (9.4k). What has a point or an exponent is rounded as LASTZ does: a half is added, and the rest beyond the
    whole number dropped, below 0 too (-2.0 is -1). Raises ValueError."""
    found = re.fullmatch(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)([kKmMgG]?)", text)
    if not found:
        raise ValueError(f"expected a number, found {text!r}")
    value = Fraction(found[1]) * units[found[2].lower()]
    return int(value) if re.fullmatch(r"[+-]?\d+", found[1]) else int(value + Fraction(1, 2))


def _score(text: str) -> int:
    """Read a number that a score may be. Raises ValueError."""
    if abs(found := number(text)) > MOST_SCORE:
        raise ValueError(f"expected a number from -{MOST_SCORE} to {MOST_SCORE}, found {shown(text)}")
    return found


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """Holds what a score file says; None where it says nothing.

    matrix: as in Scoring. first: the score of the file's first row and column, of which the x-drop is 10 times.
    seed, transitions: as in GenomeParameters.
    """

    matrix: tuple[tuple[int, ...], ...] = HOXD70
    first: int = HOXD70[0][0]
    bad: int | None = None
    fill: int | None = None
    gap_open: int | None = None
    gap_extend: int | None = None
    hspthresh: int | None = None
    gappedthresh: int | None = None
    xdrop: int | None = None
    ydrop: int | None = None
    step: int | None = None
    seed: str | None = None
    transitions: int | None = None


_FIELDS = {
    "bad_score": "bad",
    "fill_score": "fill",
    **dict.fromkeys(("gap_open_penalty", "gap_open", "open", "O"), "gap_open"),
    **dict.fromkeys(("gap_extend_penalty", "gap_extend", "extend", "E"), "gap_extend"),
    **dict.fromkeys(("hsp_threshold", "K"), "hspthresh"),
    **dict.fromkeys(("gapped_threshold", "L"), "gappedthresh"),
    **dict.fromkeys(("x_drop", "X"), "xdrop"),
    **dict.fromkeys(("y_drop", "Y"), "ydrop"),
    **dict.fromkeys(("step", "Z"), "step"),
    **dict.fromkeys(("seed", "T"), "seed"),
}

SEED_NUMBERS = {"1": ("12of19", 1), "2": ("12of19", 0), "3": ("14of22", 1), "4": ("14of22", 0)}
"""BLASTZ's T=: a seed and how many transitions."""

_SEEDS = {f"{seed},{word}transition": (seed, int(not word)) for seed in ("12of19", "14of22") for word in ("", "no")} | SEED_NUMBERS


def read_scores(path: str) -> ScoreFile:
    """Read a score file; `#` begins a comment. Raises InputError for what is wrong in it, MissingInput where there is none."""
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise MissingInput(f"{path}: {getattr(error, 'strerror', None) or 'not a text'}; name a score file") from error
    stripped = ((number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), 1))
    lines = [(number, line) for number, line in stripped if line]
    found: dict[str, Any] = {}
    while lines and "=" in lines[0][1]:
        at, line = lines.pop(0)
        found |= _assignment(path, at, line)
    return replace(_matrix(path, lines), **found)


def _assignment(path: str, at: int, line: str) -> dict[str, Any]:
    key, _, value = (part.strip() for part in line.partition("="))
    if key not in _FIELDS:
        raise InputError(path, f"one of {', '.join(_FIELDS)}", repr(key), "correct it or leave it out", line=at)
    field = _FIELDS[key]
    if field == "seed":
        seed, transitions = _SEEDS.get(value.replace(" ", ""), (None, None))
        if seed is None:
            raise InputError(path, f"a seed, one of {', '.join(_SEEDS)}", repr(value), "for other seeds use --seed", line=at)
        return {"seed": seed, "transitions": transitions}
    try:
        score = _score(value.removeprefix("X:") if field == "bad" else value)
    except ValueError:
        raise InputError(path, f"a number from -{MOST_SCORE} to {MOST_SCORE}", shown(value), "correct it", line=at) from None
    if score < 1 and field in ("xdrop", "ydrop", "step") or score < 0 and field in ("gap_open", "gap_extend"):
        raise InputError(path, f"{key} above 0", repr(value), "correct it", line=at)
    return {field: score}


def _letter(word: str) -> str:
    """Read a row's or column's letter, which may be given as two hexadecimal digits."""
    return chr(int(word, 16)) if re.fullmatch(r"[0-9A-Fa-f]{2}", word) else word


def _matrix(path: str, lines: list[tuple[int, str]]) -> ScoreFile:
    """Read the matrix of a file, its columns and rows put in the order A, C, G, T, N; either may be without N."""
    if not lines:
        raise InputError(path, "a matrix of scores", "none", "begin it with a line of column letters: A C G T")
    columns = [_letter(word) for word in lines[0][1].split()]
    if sorted(columns) not in (list("ACGT"), list("ACGNT")):
        others = any(letter.upper() in IUPAC for letter in columns)
        way_out = "other letters score by --ambiguous=iupac, X by bad_score =" if others or "X" in columns else "begin the matrix with a line of column letters"
        raise InputError(path, "the columns A C G T and perhaps N", repr(lines[0][1]), way_out, line=lines[0][0])
    rows: dict[str, list[int]] = {}
    labelled = len(lines) > 1 and len(lines[1][1].split()) == len(columns) + 1
    for place, (at, line) in enumerate(lines[1:]):
        words = line.split()
        # Rows without letters are in the order of the columns.
        letter = _letter(words.pop(0)) if labelled else "".join(columns[place : place + 1])
        if letter not in list("ACGTN") or letter in rows or len(words) != len(columns):
            expected = f"rows A C G T{' N' * ('N' in columns or labelled)} of {len(columns)} scores each"
            raise InputError(path, expected, repr(line), "correct the matrix", line=at)
        try:
            rows[letter] = [_score(word) for word in words]
        except ValueError as error:
            raise InputError(path, "a score", str(error).rpartition("found ")[2], "correct the matrix", line=at) from None
    missing = [letter for letter in (columns if not labelled else "ACGT") if letter not in rows]
    if missing:
        raise InputError(path, "a row of scores for each of A, C, G and T", f"none for {missing[0]}", "complete the matrix", line=lines[-1][0])
    scores = {row: dict(zip(columns, values, strict=True)) for row, values in rows.items()}
    matrix = tuple(tuple(scores[row][column] for column in "ACGTN" if column in columns) for row in "ACGTN" if row in rows)
    return ScoreFile(matrix=matrix, first=next(iter(rows.values()))[0])
