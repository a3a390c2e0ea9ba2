"""Hide from a process of ours what pyarrow, numba and CuPy load and none of it uses: half a second of each worker and of some commands.

pandas and SciPy they load where they are installed, to ask whether what they are given is of its kind. CuPy loads what cuTENSOR needs (cuBLASLt), up to a
tenth of a second in which no other thread has the interpreter.
"""

import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class LeftOut:
    """Finds none of the packages that are named."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in self._names:
            raise ModuleNotFoundError(name)


class _Environment(Loader):
    """Loads CuPy's module that loads libraries, and has it take it that it has tried cuTENSOR's."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        tried = vars(module).get("_preload_libs")  # library: what was loaded, None before
        if isinstance(tried, dict) and "cutensor" in tried:
            tried["cutensor"] = {}


class WithoutCuTensor:
    """Finds CuPy's module that loads libraries, unless cuTENSOR is asked for (CUPY_ACCELERATORS), for `_Environment`."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "cupy._environment" or "cutensor" in os.environ.get("CUPY_ACCELERATORS", ""):
            return None
        if (spec := PathFinder.find_spec(name, path, target)) and spec.loader:
            spec.loader = _Environment(spec.loader)
        return spec


def leave_out() -> None:
    """Hide it for good."""
    sys.meta_path[:0] = [LeftOut("pandas", "scipy"), WithoutCuTensor()]


def dask_setup(_: object) -> None:
    """Hide it from a worker: Dask calls this where a worker has this module as a preload."""
    leave_out()
