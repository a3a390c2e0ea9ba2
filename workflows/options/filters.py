"""Readers of LASTZ's filters: which alignments are kept, and which hits of seeds."""

import math
import re
from numbers import Real
from typing import Any

from tidalign.pipeline.whole import is_whole
from tidalign.workflows.options.option import Given
from tidalign.workflows.options.values import LARGEST_NUMBER, Reader, wrong

PERCENTAGES = ("identity", "coverage", "continuity")
LIMITS = ("nmismatch", "ngap", "cgap")
FILTERS = ("identity", "coverage", "continuity", "nmatch", "nmismatch", "ngap", "cgap")

Filter = tuple[Any, ...]


def alignment_filter(value: Any) -> Filter:
    """Read NAME:LOW[..HIGH] -> (name, low, high) of GenomeParameters.filters; [V,]M -> (matches, transversions) of its seed_filter."""
    text = str(value) if is_whole(value) else value
    expected = f"one of {', '.join(FILTERS)} with its limits, or [TRANSVERSIONS,]MATCHES of seeds"
    if not isinstance(text, str):
        raise wrong(expected, value)
    name, colon, limits = text.partition(":")
    if not colon:
        found = re.fullmatch(r"(?:([0-9]+),)?([0-9]+)", text)
        if not found or max(float(found[1] or 0), float(found[2])) > LARGEST_NUMBER:
            raise wrong(expected, value)
        return int(found[2]), None if found[1] is None else int(found[1])
    if name in PERCENTAGES:
        return name, *_percentages(name, limits, text)
    if name == "nmatch" and (found := re.fullmatch(r"([0-9]+|[0-9]+\.[0-9]+(?=%))(%?)", limits)) and float(found[1]) <= LARGEST_NUMBER:
        return name + found[2], float(found[1]), math.inf
    if name in LIMITS and (found := re.fullmatch(r"0?\.\.([0-9]+)", limits)) and float(found[1]) <= LARGEST_NUMBER:
        return name, 0.0, float(found[1])
    expected = (
        f"nmatch:LEAST or nmatch:LEAST%, up to {LARGEST_NUMBER}"
        if name == "nmatch"
        else f"{name}:0..MOST, up to {LARGEST_NUMBER}"
        if name in LIMITS
        else f"one of {', '.join(FILTERS)}"
    )
    raise wrong(expected, value)


def _percentages(name: str, limits: str, text: str) -> tuple[float, float]:
    found = re.fullmatch(r"([0-9]*\.?[0-9]*)%?(?:\.\.([0-9]*\.?[0-9]*)%?)?", limits)
    try:
        low, high = (float(found[1] or 0), float(found[2] or 100)) if found and limits else (1.0, 0.0)
    except ValueError:  # a point alone
        low, high = 1.0, 0.0
    if not 0 <= low <= high <= 100:
        raise wrong(f"{name}:LOW..HIGH in per cent", text)
    return low, high


def older_filter(name: str) -> Reader:
    """Make a reader of the value of --identity= and the like, which --filter= has taken the place of."""

    def read(value: Any) -> Filter:
        if not isinstance(value, str | Real) or isinstance(value, bool):
            raise wrong("a number, or limits as a text", value)
        return alignment_filter(f"{'nmatch' if name == 'matchcount' else name}:{value}")

    return read


def with_filter(given: Given, wanted: Filter) -> Given:
    """Add one more filter to what is given: of several with one name, or of seeds, the last counts."""
    if len(wanted) == 2:
        return {**given, "seed_filter": wanted}
    return {**given, "filters": {**given.get("filters", {}), wanted[0]: wanted}}
