"""Hide from a process of ours what is installed beside pyarrow, numba and CuPy. They load it to ask whether what they are given is of its kind: half a second
of each worker and of some commands, none of which uses it."""

import sys


class LeftOut:
    """Finds none of the packages that are named."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in self._names:
            raise ModuleNotFoundError(name)


def leave_out() -> None:
    """Hide it for good."""
    sys.meta_path.insert(0, LeftOut("pandas", "scipy"))


def dask_setup(_: object) -> None:
    """Hide it from a worker: Dask calls this where a worker has this module as a preload."""
    leave_out()
