"""Readers of values that only LASTZ's options have: scores, costs and what is joined by commas."""

import re
from pathlib import Path
from typing import Any

from tidalign.pipeline.genome.input.scores import BINARY, MOST_SCORE, THOUSANDS, number
from tidalign.pipeline.whole import is_whole
from tidalign.workflows.options.presets import SCORES
from tidalign.workflows.options.values import LARGEST_NUMBER, Reader, integer, path, within, wrong

_STRANDS = {"both": "both", "plus": "plus", "+": "plus", "minus": "minus", "-": "minus", "forward": "plus", "reverse": "minus"}
MOST_MASKING = 2**31 - 1
MOST_MISMATCHES = 50
_DEPTH = re.compile(r"(?:(keep|keep,nowarn|nowarn|discard):)?([0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,10})([kKmMgG]?)")
_LEAST_TRACEBACK = 100 * 1024


def _number(expected: str, value: Any, units: dict[str, int]) -> int:
    if is_whole(value):
        return int(value)
    try:
        return number(value, units)
    except (TypeError, ValueError):
        raise wrong(expected, value) from None


def score_file(value: Any) -> str:
    """Read the name of a score file: that of one which comes with tidalign means this one, where the name is no file's."""
    name = path(value)
    ours = next((file for file in SCORES.iterdir() if file.name == name), None)
    return str(ours) if ours and not Path(name).exists() else name


def score(least: int) -> Reader:
    """Make a reader of a score not below `least`, k for thousands."""

    def read(value: Any) -> int:
        return int(within(least, _number("a score", value, THOUSANDS), MOST_SCORE, "a score", value))

    return read


def threshold(value: Any) -> int | str:
    """Read a score of any sign, or top500 or top50%: letters of the target that the best are to cover."""
    if isinstance(value, str) and value.startswith("top"):
        share = re.fullmatch(r"top([0-9]{1,3}\.?[0-9]{0,12}|\.[0-9]{1,12})%", value)
        if share and 0 < float(share[1]) <= 100:
            return value
        if value.endswith("%"):
            raise wrong("topP%, above 0% and up to 100%", value)
        return f"top{within(1, _number('a score, topN or topP%', value[3:], THOUSANDS), LARGEST_NUMBER, 'topN, N', value)}"
    return int(score(-MOST_SCORE)(value))


def strand(value: Any) -> str:
    """Read which strands of the query are aligned."""
    if not isinstance(value, str) or value not in _STRANDS:
        raise wrong("both, plus or minus", value)
    return _STRANDS[value]


def word_count(value: Any) -> str:
    """Read a number of words, or a percentage, as text."""
    text = str(value) if is_whole(value) else value
    found = re.fullmatch(r"([0-9]+)|([0-9]*\.?[0-9]+)%", text) if isinstance(text, str) else None
    if not found or not (1 <= float(found[1]) <= LARGEST_NUMBER if found[1] else 0 < float(found[2]) < 100):
        raise wrong(f"a number from 1 to {LARGEST_NUMBER}, or a percentage above 0% and below 100%", value)
    return found[0]


def _fields(expected: str, value: Any, most: int) -> list[Any]:
    """Split a value into one to `most` values: fields of a text with commas between, members of a tuple or list, or one value alone."""
    if isinstance(value, str):
        return value.split(",", most - 1)
    fields = list(value) if isinstance(value, tuple | list) else [value]
    if not 0 < len(fields) <= most:
        raise wrong(expected, value)
    return fields


def match(value: Any) -> tuple[int, int]:
    """Read R or R,P: the score of a match and the penalty of a mismatch."""
    fields = _fields("R,P or R", value, 2)
    return score(1)(fields[0]), score(1)(fields[-1])


def gap(value: Any) -> tuple[int | None, int]:
    """Read O,E; or E alone, as LASTZ has it."""
    first, *second = _fields("O,E or E", value, 2)
    return (score(0)(first), score(0)(second[0])) if second else (None, score(0)(first))


def chain(value: Any) -> tuple[int, int]:
    """Read D,A: the penalties of chaining."""
    if isinstance(value, str):
        if value.startswith(("G=", "R=")):
            raise ValueError(f"{value}: write --chain=D,A, the penalties of G= and R= in one")
        diagonal, _, anti = value.partition(",")
        return score(0)(diagonal), score(0)(anti)
    fields = _fields("D,A", value, 2)
    if len(fields) != 2:
        raise wrong("D,A", value)
    return score(0)(fields[0]), score(0)(fields[1])


def ambiguous(value: Any) -> tuple[str, int, int]:
    """Read n or iupac; with one number, a penalty; with two, reward and penalty."""
    expected = "n or iupac, then [REWARD,]PENALTY"
    which, *numbers = value.split(",") if isinstance(value, str) else _fields(expected, value, 3)
    if not isinstance(which, str) or which.lower() not in ("n", "iupac") or len(numbers) > 2:
        raise wrong(expected, value)
    reward, penalty = [0] * (2 - len(numbers)) + numbers
    return which.lower(), score(0)(reward), score(0)(penalty)


def hsps(value: Any) -> int:
    """Read a number of HSPs, k for thousands."""
    return int(within(1, _number("a number of HSPs", value, THOUSANDS), LARGEST_NUMBER, "a number of HSPs", value))


def hsp_limit(value: Any) -> tuple[int, bool]:
    """Read N, warn:N, nowarn:N or keep,nowarn:N: the limit, and whether HSPs up to it are kept."""
    text = str(value) if is_whole(value) else value
    found = re.fullmatch(r"(?:(keep),?)?(?:(?:no)?warn)?[:,]?([0-9+.].*)", text) if isinstance(text, str) else None
    if not found:
        raise wrong(f"[keep,nowarn:]N, N from 1 to {LARGEST_NUMBER}", value)
    return hsps(found[2]), bool(found[1])


def traceback_bytes(value: Any) -> int:
    """Read a number of bytes; k, M, G are binary."""
    found = _number("a number of bytes, as 80M", value, BINARY)
    if not _LEAST_TRACEBACK <= found <= LARGEST_NUMBER:
        raise wrong(f"from 100K to {LARGEST_NUMBER} bytes, as LASTZ takes them", value)
    return found


def inner(value: Any) -> int | None:
    """Read the score of the search between alignments; none up to 0."""
    found = score(-MOST_SCORE)(value)
    return found if found > 0 else None


def masking(value: Any) -> int | None:
    """Read how many alignments mask a letter; none for 0."""
    return integer(0, MOST_MASKING)(value) or None


def exact(value: Any) -> tuple[int, int]:
    """Read the length of a stretch without mismatches."""
    return 0, score(1)(value)


def mismatch(value: Any) -> tuple[int, int]:
    """Read M,N: mismatches, and the length of a stretch with so many."""
    fields = _fields("M,N", value, 2)
    if len(fields) != 2:
        raise wrong("M,N", value)
    mismatches = integer(0, MOST_MISMATCHES)(fields[0])
    return mismatches, score(max(1, mismatches))(fields[1])


def depth(value: Any) -> tuple[float, bool] | None:
    """Read D, warn:D, nowarn:D, discard:D, keep:D or keep,nowarn:D: a depth, and whether alignments until then are kept; none for 0."""
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    found = _DEPTH.fullmatch(text) if isinstance(text, str) else None
    found_depth = float(found[2]) * THOUSANDS[found[3].lower()] if found else float("inf")
    if not found or found_depth > LARGEST_NUMBER:
        raise wrong("[keep,nowarn:]D, a depth as 2.5", value)
    return (found_depth, str(found[1] or "").startswith("keep")) if found_depth else None
