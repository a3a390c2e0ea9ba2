"""Compiles kernels for cores before a run comes to them, several at once: numba compiles one at a time in a process, so each has a process of its own.

`python -m tidalign.kernels.runtime.precompile` is that process. What it compiles others find kept; a kernel that two ask for is compiled by one of them.
"""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tidalign.kernels.runtime.bases import bases
from tidalign.kernels.runtime.closed import make, objection
from tidalign.kernels.runtime.numba_cache import below, wanted

Kernels = Iterable[tuple[Any, Mapping[str, Any]]]
"""Kernels, each with examples of its arguments by the names of its parameters; those that others call come first."""

Lists = Sequence[tuple[str, Sequence[Any]]]
"""Modules (dotted names) whose function `kernels` gives Kernels, each with the arguments of this function. The first says whether there is anything to compile;
what the others list is compiled on the way, where there is time."""

PROCESSES = 4
"""Most processes, of some 250 MB each: more would wait for what these compile."""


@contextmanager
def ahead(lists: Lists, most: int) -> Iterator[None]:
    """Have kernels that were never compiled on this machine compiled by at most so many processes while the context lasts."""
    new = bool(lists) and bases().lasting and not any(_done(base, *lists[0]).exists() for base in bases().loaded)
    processes = []
    with suppress(OSError):  # what is not compiled ahead is compiled when it is called
        for place in range(min(most, PROCESSES) if new else 0):
            line = [sys.executable, "-P", "-m", "tidalign.kernels.runtime.precompile", json.dumps([os.getpid(), place, lists])]
            processes.append(subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()
    if processes:
        _tell(*lists[0])


def types(kernel: Any, examples: Mapping[str, Any]) -> tuple[Any, ...]:
    """Give the types of a kernel's arguments."""
    typeof: Any = import_module("numba").typeof
    return tuple(typeof(examples[name]) for name in inspect.signature(kernel.py_func).parameters)


def compile_lists(parent: int, place: int, lists: Lists) -> None:
    """Compile what nobody else has compiled or is compiling, from the `place`-th kernel on and around, while the parent process is there."""
    kernels = [each for module, arguments in lists for each in import_module(module).kernels(*arguments)]
    place %= max(len(kernels), 1)
    for kernel, examples in kernels[place:] + kernels[:place]:
        if os.getppid() != parent:
            return
        if wanted(kernel, found := types(kernel, examples)):
            kernel.compile(found)
    if place == 0:
        for kernel, examples in kernels:
            kernel.compile(types(kernel, examples))  # what others are at is waited for
        _tell(*lists[0])


def _tell(module: str, arguments: Sequence[Any]) -> None:
    """Note that a module's kernels are compiled, if they are, so that no process is begun for them again."""
    base = bases().kept
    if base and not objection(base) and not any(wanted(kernel, types(kernel, examples)) for kernel, examples in import_module(module).kernels(*arguments)):
        make(_done(base, module, arguments))


def _done(base: Path, module: str, arguments: Sequence[Any]) -> Path:
    """Name the folder that says that a module's kernels were compiled."""
    return base / below(module) / "-".join(("done", *map(str, arguments)))


if __name__ == "__main__":
    compile_lists(*json.loads(sys.argv[1]))
