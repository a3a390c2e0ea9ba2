"""Name what a misspelt keyword or option is nearest to."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def nearest(name: str, known: Iterable[str]) -> str:
    """Give the one of some names that another was meant to be, about; empty where none is alike."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(known), 1, cutoff=0.6)), "")


def named(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function name the nearest of its keywords where it is called with one that it does not have, as Python does from 3.13 on."""
    parameters = signature(function).parameters.values()
    if any(each.kind is Parameter.VAR_KEYWORD for each in parameters):
        raise TypeError(f"{function.__name__} takes any keyword")
    known = [each.name for each in parameters]

    @wraps(function)
    def called(*arguments: P.args, **keywords: P.kwargs) -> R:
        for name in keywords:
            if name not in known:
                meant = f"; did you mean {close!r}?" if (close := nearest(name, known)) else f": expected some of {', '.join(known)}"
                raise TypeError(f"{function.__name__}() has no argument {name!r}{meant}")
        return function(*arguments, **keywords)

    return called
