"""Values of LASTZ's options, as argparse types: each takes a text and gives the value, or says what was expected."""

import argparse
import math
import re
from collections.abc import Callable
from typing import Any

from tidalign.pipeline.genome.input.scores import BINARY, number

PERCENTAGES = ("identity", "coverage", "continuity")
LIMITS = ("nmismatch", "ngap", "cgap")
FILTERS = ("identity", "coverage", "continuity", "nmatch", "nmismatch", "ngap", "cgap")

_STRANDS = {"both": "both", "plus": "plus", "+": "plus", "minus": "minus", "-": "minus", "forward": "plus", "reverse": "minus"}
_LEAST_TRACEBACK, _MOST_TRACEBACK = 100 * 1024, 2**31 - 1

Filter = tuple[Any, ...]


def _wrong(expected: str, text: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"expected {expected}, found {text!r}")


def _number(expected: str, text: str, units: dict[str, int] | None = None) -> int:
    try:
        return number(text, units) if units else number(text)
    except ValueError:
        raise _wrong(expected, text) from None


def score(least: int) -> Callable[[str], int]:
    """A type: a score not below `least`, k for thousands."""

    def read(text: str) -> int:
        if (value := _number("a score", text)) < least:
            raise _wrong(f"a score from {least}", text)
        return value

    return read


def integer(least: int, most: int | None = None) -> Callable[[str], int]:
    """A type: a whole number within limits."""

    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]+", text) or int(text) < least or (most is not None and int(text) > most):
            raise _wrong(f"a whole number from {least}" + ("" if most is None else f" to {most}"), text)
        return int(text)

    return read


def threshold(text: str) -> int:
    """A score of any sign; LASTZ's top50% and top500 are not to be had."""
    if text.startswith("top"):
        raise argparse.ArgumentTypeError(f"{text!r}: thresholds that adapt to the target are LASTZ's and not to be had here; give a score")
    return _number("a score", text)


def strand(text: str) -> str:
    if text not in _STRANDS:
        raise _wrong("both, plus or minus", text)
    return _STRANDS[text]


def word_count(text: str) -> str:
    """A number of words, or a percentage, as text."""
    found = re.fullmatch(r"([0-9]+)|([0-9]*\.?[0-9]+)%", text)
    if not found or not (int(found[1]) >= 1 if found[1] else 0 < float(found[2]) < 100):
        raise _wrong("a number from 1, or a percentage above 0% and below 100%", text)
    return text


def match(text: str) -> tuple[int, int]:
    """R or R,P."""
    reward, comma, penalty = text.partition(",")
    return score(1)(reward), score(1)(penalty if comma else reward)


def gap(text: str) -> tuple[int | None, int]:
    """O,E; or E alone, as LASTZ has it."""
    first, comma, second = text.partition(",")
    return (score(0)(first), score(0)(second)) if comma else (None, score(0)(first))


def chain(text: str) -> tuple[int, int]:
    """D,A."""
    if text.startswith(("G=", "R=")):
        raise argparse.ArgumentTypeError(f"{text}: write --chain=D,A, the penalties of G= and R= in one")
    diagonal, _, anti = text.partition(",")
    return score(0)(diagonal), score(0)(anti)


def ambiguous(text: str) -> tuple[str, int, int]:
    """n or iupac; with one number, a penalty; with two, reward and penalty."""
    which, *numbers = text.split(",")
    if which.lower() not in ("n", "iupac") or len(numbers) > 2:
        raise _wrong("n or iupac, then [REWARD,]PENALTY", text)
    reward, penalty = (["0", "0"] + numbers)[-2:] if len(numbers) != 1 else ("0", numbers[0])
    return which.lower(), score(0)(reward), score(0)(penalty)


def hsp_limit(text: str) -> tuple[int, bool]:
    """N, warn:N, nowarn:N or keep,nowarn:N: the limit, and whether HSPs up to it are kept."""
    found = re.fullmatch(r"(?:(keep),?)?(?:(?:no)?warn)?[:,]?([0-9]+)", text)
    if not found or not int(found[2]):
        raise _wrong("[keep,nowarn:]N", text)
    return int(found[2]), bool(found[1])


def traceback_bytes(text: str) -> int:
    """A number of bytes; k, M, G are binary."""
    value = _number("a number of bytes, as 80M", text, BINARY)
    if not _LEAST_TRACEBACK <= value <= _MOST_TRACEBACK:
        raise _wrong("from 100K to 2147483647 bytes, as LASTZ takes them", text)
    return value


def alignment_filter(text: str) -> Filter:
    """NAME:LOW[..HIGH] -> (name, low, high) of GenomeParameters.filters; [V,]M -> (matches, transversions) of its seed_filter."""
    name, colon, limits = text.partition(":")
    if not colon:
        found = re.fullmatch(r"(?:([0-9]+),)?([0-9]+)", text)
        if not found:
            raise _wrong(f"one of {', '.join(FILTERS)} with its limits, or [TRANSVERSIONS,]MATCHES of seeds", text)
        return int(found[2]), None if found[1] is None else int(found[1])
    if name in PERCENTAGES:
        found = re.fullmatch(r"([0-9]*\.?[0-9]*)%?(?:\.\.([0-9]*\.?[0-9]*)%?)?", limits)
        try:
            low, high = (float(found[1] or 0), float(found[2] or 100)) if found and limits else (1, 0)
        except ValueError:  # a point alone
            low, high = 1, 0
        if not 0 <= low <= high <= 100:
            raise _wrong(f"{name}:LOW..HIGH in per cent", text)
        return name, low, high
    if name == "nmatch" and (found := re.fullmatch(r"([0-9]+)(%?)", limits)):
        return name + found[2], float(found[1]), math.inf
    if name in LIMITS and (found := re.fullmatch(r"0?\.\.([0-9]+)", limits)):
        return name, 0.0, float(found[1])
    expected = "nmatch:LEAST or nmatch:LEAST%" if name == "nmatch" else f"{name}:0..MOST" if name in LIMITS else f"one of {', '.join(FILTERS)}"
    raise _wrong(expected, text)


def older_filter(name: str) -> Callable[[str], Filter]:
    """A type: the value of --identity= and the like, which --filter= has taken the place of."""
    return lambda text: alignment_filter(f"{'nmatch' if name == 'matchcount' else name}:{text}")


def lower_case(format: str) -> str:
    """A value of --format in small letters, as LASTZ takes it in large ones, too (MAF, PAF:WFMASH, GEN:score); names of fields are left as they are."""
    kind, colon, rest = format.partition(":")
    kind = kind.lower()
    return {"gen": "general", "gen-": "general-"}.get(kind, kind) + colon + (rest.lower() if kind == "paf" else rest)
