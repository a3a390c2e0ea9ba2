"""Name what a misspelt keyword or option is nearest to."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar

from tidalign.pipeline.formats.table import OPTIONS

P = ParamSpec("P")
R = TypeVar("R")


def nearest(name: str, known: Iterable[str]) -> str:
    """Give the one of some names that another was meant to be, about; empty where none is alike."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(known), 1, cutoff=0.6)), "")


def check_flags(**flags: Any) -> None:
    """Raise ValueError for values of flags that are neither True nor False: "no" would be taken for True."""
    for name, value in flags.items():
        if value not in (True, False):
            raise ValueError(f"{name}: expected True or False, not {value!r}")


def named(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function name the nearest of its keywords where it is called with one that it does not have, as Python does from 3.13 on, and say of the options
    of formats where they go; and refuse flags that are neither True nor False."""
    parameters = signature(function).parameters.values()
    if any(each.kind is Parameter.VAR_KEYWORD for each in parameters):
        raise TypeError(f"{function.__name__} takes any keyword")
    known, flags = [each.name for each in parameters], {each.name for each in parameters if each.annotation is bool}

    @wraps(function)
    def called(*arguments: P.args, **keywords: P.kwargs) -> R:
        for name in keywords:
            if name not in known and name in OPTIONS and "out" in known:
                way_out = f"it is for the file: with a run directory as out, {function.__name__}(...).export(FILE, {name}=...)"
                raise TypeError(f"{function.__name__}() has no argument {name!r}; {way_out}")
            if name not in known:
                meant = f"; did you mean {close!r}?" if (close := nearest(name, known)) else f": expected some of {', '.join(known)}"
                raise TypeError(f"{function.__name__}() has no argument {name!r}{meant}")
        check_flags(**{name: value for name, value in keywords.items() if name in flags})
        return function(*arguments, **keywords)

    return called
