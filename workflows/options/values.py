"""Readers of options' values: each takes a text of the command line or a value of Python and gives the value, or raises ValueError with what was expected."""

import os
import re
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

Reader = Callable[[Any], Any]


def wrong(expected: str, found: object) -> ValueError:
    return ValueError(f"expected {expected}, found {found!r}")


def whole(value: object) -> bool:
    """Whether a value of Python is a whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def integer(least: int, most: int | None = None) -> Reader:
    """A reader of a whole number within limits."""
    return _integer(f"a whole number from {least}" + ("" if most is None else f" to {most}"), least, most)


def _integer(expected: str, least: int, most: int | None) -> Reader:
    def read(value: Any) -> int:
        digits = isinstance(value, str) and re.fullmatch(r"[0-9]+", value)
        if not (digits or whole(value)) or int(value) < least or (most is not None and int(value) > most):
            raise wrong(expected, value)
        return int(value)

    return read


count = _integer("a whole number above 0", 1, None)


def seconds(value: Any) -> float:
    """Read a number of seconds."""
    try:
        found = float(value) if isinstance(value, str | Real) and not isinstance(value, bool) else 0.0
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise wrong("a number of seconds above 0", value)
    return found


def text(expected: str) -> Reader:
    """A reader that takes a text as it is."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise wrong(expected, value)
        return value

    return read


def path(value: Any) -> str:
    """Read the name of a file."""
    if not isinstance(value, str | os.PathLike):
        raise wrong("the name of a file", value)
    return os.fsdecode(value)
