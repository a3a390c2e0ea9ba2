"""Tell how far a first run on a machine is with compiling, in whichever process: how many kernels of the run's lists are kept, and what time is left, about."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from math import inf
from typing import Any

from tidalign.kernels.runtime.bases import bases
from tidalign.kernels.runtime.numba_cache import below
from tidalign.kernels.runtime.numba_internals import difference
from tidalign.kernels.runtime.precompile import Lists

LEAST, A_BYTE = 0.15, 7e-4
"""Seconds of one core that it takes, about, to compile a kernel, and each byte of its Python code: 0.3 to 4 s, where 40 kernels were measured off by a half."""

OTHERS, OTHER = 30, 0.2
"""Small kernels that are in no list and that a first run compiles, too, about, and the seconds of one."""

PRIOR = 4.0
"""Seconds of one core that are taken for compiled in as many seconds, before what was says how fast this machine is."""

RISES = 2.0, 3.0
"""The time that is left is told to be longer than it was only where it is so many times as long, and so many seconds more."""


class Kernels:
    """Looks which kernels of a run's lists are kept.

    costs: by the folder (below a base) and the begin of the file that a kernel is kept in, the seconds of one core that it takes, about.
    """

    def __init__(self, costs: dict[tuple[str, str], float], clock: Callable[[], float] = time.monotonic) -> None:
        self._costs, self._clock = costs, clock
        self._first: tuple[float, float] | None = None
        """When it was looked first, and what was left then."""
        self._told = (0.0, inf)
        """When the time that is left was told last, and what was told."""

    @classmethod
    def of(cls, lists: Lists) -> "Kernels":
        """Name the kernels of some lists, whose modules are loaded for it."""
        costs: dict[tuple[str, str], float] = {}
        for module, arguments in lists:
            for kernel, _ in import_module(module).kernels(*arguments):
                function: Any = kernel.py_func
                code = function.__code__
                costs[below(function.__module__), f"{function.__qualname__}-{code.co_firstlineno}."] = LEAST + A_BYTE * len(code.co_code)
        return cls(costs)

    def state(self, others: int) -> str:
        """Say how many are kept, and about how long the rest takes. others: kernels that this process has compiled."""
        missing, begun = self._missing()
        # Of one that is being compiled nobody knows how far that is: half.
        seconds = self._seconds(sum(missing) - sum(begun) / 2 + OTHER * max(1, OTHERS - others))
        count = len(self._costs)
        return f"{f'{count - len(missing)} of {count}' if missing else 'the last'} kernels, about {max(1, round(seconds))} s left"

    def _missing(self) -> tuple[list[float], list[float]]:
        """Give the costs of those that are not kept yet, and of those among them that are being compiled."""
        files: dict[str, list[str]] = {folder: [] for folder, _ in self._costs}
        for folder, names in files.items():
            for base in bases().loaded:
                with suppress(OSError):
                    names += [path.name for path in (base / folder).iterdir()]

        def found(ending: str) -> set[tuple[str, str]]:
            return {each for each in self._costs if any(name.startswith(each[1]) and name.endswith(ending) for name in files[each[0]])}

        missing = self._costs.keys() - found(".kernel")
        return [self._costs[each] for each in missing], [self._costs[each] for each in missing & found(".claim")]

    def _seconds(self, left: float) -> float:
        """Estimate how long it takes to compile what takes one core so many seconds, by what was compiled since it was looked first.

        What is told falls with the clock, and rises only by much: nobody knows how far a kernel is.
        """
        now = self._clock()
        began, whole = self._first = self._first or (now, left)
        found = left * (now - began + PRIOR) / (max(0.0, whole - left) + PRIOR)
        when, told = self._told
        expected = told - (now - when)
        times, more = RISES
        if found < expected or found > max(times * expected, expected + more):
            expected = found
        self._told = now, expected
        return expected


LISTS: list[tuple[str, Sequence[Any]]] = []
"""Lists of kernels (`precompile.Lists`) that the run needs which goes on in this process, or was its last."""


def kernels() -> Kernels | None:
    """Name the kernels of LISTS, for who is to tell of them once something compiles; None where there are none, or where numba keeps them in its own way."""
    return Kernels.of(LISTS) if LISTS and difference() is None else None


def kept(kernel: str) -> bool:
    """Tell whether a kernel, by its dotted name, is kept for any arguments. Its module is not loaded."""
    module, _, name = kernel.rpartition(".")
    for base in bases().loaded:
        with suppress(OSError):
            if any(path.name.startswith(f"{name}-") and path.name.endswith(".kernel") for path in (base / below(module)).iterdir()):
                return True
    return False
