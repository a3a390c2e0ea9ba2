"""Kernels that do not count references to arrays."""

from collections.abc import Callable
from typing import Any

from tidalign.kernels.runtime.numba_cache import jit


def uncounted(function: Callable[..., Any]) -> Any:
    """Compile, as `jit` does, a function that makes no array, nor a part of one.

    numba counts references with atomic operations, which wait for all that is still to be stored: a seventh of the time of a sweep's rows.
    """
    compiled = jit(function)
    if hasattr(compiled, "targetoptions"):  # NUMBA_DISABLE_JIT leaves functions as they are
        compiled.targetoptions["_nrt"] = False
    return compiled
