"""Readers of options' values: each takes a text of the command line or a value of Python and gives the value, or raises ValueError with what was expected."""

import math
import os
import re
from collections.abc import Callable
from numbers import Real
from typing import Any

from tidalign.pipeline.errors import shown
from tidalign.pipeline.whole import is_whole

Reader = Callable[[Any], Any]

LARGEST_NUMBER = 2**31 - 1
"""The largest number where an option says no other: as in LASTZ, and more than is counted or scored anywhere."""


def wrong(expected: str, found: object) -> ValueError:
    return ValueError(f"expected {expected}, found {shown(found)}")


def within(least: float, found: Any, most: float, expected: str, value: object) -> Any:
    """Give what was found in a value, if it lies within limits. ValueError else; NaN lies nowhere."""
    if not least <= found <= most:
        raise wrong(f"{expected} from {least} to {most}", value)
    return found


def integer(least: int, most: int = LARGEST_NUMBER) -> Reader:
    """Make a reader of a whole number within limits."""

    def read(value: Any) -> int:
        digits = isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,40}", value)
        return int(within(least, int(value) if digits or is_whole(value) else math.nan, most, "a whole number", value))

    return read


def seconds(value: Any) -> float:
    """Read a number of seconds."""
    try:
        found = float(value) if isinstance(value, str | Real) and not isinstance(value, bool) else 0.0
    except ValueError:
        found = 0.0
    if not 0 < found <= LARGEST_NUMBER:
        raise wrong(f"a number of seconds above 0, up to {LARGEST_NUMBER}", value)
    return found


_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def duration(value: Any) -> float:
    """Read a time as 90, 90s, 50m, 2h or 1d, in seconds."""
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([smhd]?)", str(value))
    if not found or not 0 < float(found[1]) * _UNITS[found[2]] <= LARGEST_NUMBER:
        raise wrong("a time such as 90s, 50m, 2h or 1d", value)
    return float(found[1]) * _UNITS[found[2]]


def wall_time(value: Any) -> str:
    """Read a time as Slurm has it."""
    if not re.fullmatch(r"[0-9]{1,6}(:[0-9]{1,2}){0,2}|[0-9]{1,4}-[0-9]{1,2}(:[0-9]{1,2}){0,2}", str(value)):
        raise wrong("a time as Slurm has it: minutes, H:MM:SS or D-HH:MM:SS", value)
    return str(value)


def word(value: Any) -> str:
    """Read a name that is part of a job's script."""
    if not re.fullmatch(r"[\w.,:@/+-]{1,200}", str(value)):
        raise wrong("a name of letters, digits and . , : @ / + -", value)
    return str(value)


def text(expected: str, most: int) -> Reader:
    """Make a reader that takes a text of at most so many letters as it is."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or len(value) > most:
            raise wrong(expected, value)
        return value

    return read


def path(value: Any) -> str:
    """Read the name of a file."""
    if not isinstance(value, str | os.PathLike):
        raise wrong("the name of a file", value)
    return os.fsdecode(value)


def ends_free(text: str) -> tuple[int, ...]:
    """Read QB,QE,TB,TE, as argparse has its types."""
    fields = text.split(",")
    try:
        ends = tuple(map(integer(0), fields))
    except ValueError:
        ends = ()
    if len(ends) != 4:
        raise wrong(f"four whole numbers QB,QE,TB,TE, each from 0 to {LARGEST_NUMBER}", text)
    return ends
