"""Loads a command's module without what the libraries below it load or make for others: more than half of what it takes."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tidalign.cluster.unasked import LeftOut, leave_out


@contextmanager
def _without(*names: str) -> Iterator[None]:
    hidden = LeftOut(*names)
    sys.meta_path.insert(0, hidden)
    try:
        yield
    finally:
        sys.meta_path.remove(hidden)


def calm() -> None:
    """Have NumPy begin with one thread for the products of matrices, which no command makes: others wait for work with all of their core for a while."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def load(module: str) -> Any:
    """Load a command's module, by its dotted name."""
    leave_out()
    with _without("coverage"):
        _load_pyarrow()
        _load_numba()
        return import_module(module)


def _load_pyarrow() -> None:
    """Load pyarrow without file systems of networks, and with Python's own pickle."""
    with _without(*(f"pyarrow._{name}fs" for name in ("s3", "gcs", "azure")), "pyarrow._hdfs", "cloudpickle"):
        import pyarrow
        import pyarrow.parquet

        pyarrow.chunked_array([[1]]).to_numpy()  # asked once for pandas, it does not look again
        with suppress(Exception):  # another pyarrow, which then loads as it likes
            _load_compute()


class _NoDocuments(ModuleType):
    """Stands for what pyarrow reads the documentation of its options with."""

    NumpyDocString = staticmethod(lambda text: {"Parameters": ()})


def _load_compute() -> None:
    """Load `pyarrow.compute` with each of its functions made when it is first asked for: nearly 300, with their documentation, else as long as NumPy."""
    inner: Any = import_module("pyarrow._compute")
    registry = inner.function_registry()

    class Few:
        get_function = registry.get_function

        def list_functions(self) -> list[str]:
            return ["utf8_zero_fill"]  # of which the module makes a second name

    whole, inner.function_registry = inner.function_registry, Few
    documents = "pyarrow.vendored.docscrape"
    sys.modules[documents] = _NoDocuments(documents)
    try:
        compute: Any = import_module("pyarrow.compute")
    finally:
        inner.function_registry = whole
        del sys.modules[documents]
    compute.function_registry = whole

    def made(name: str) -> Any:
        try:
            function = registry.get_function({"and_": "and", "or_": "or"}.get(name, name))
        except KeyError:
            raise AttributeError(f"module 'pyarrow.compute' has no attribute {name!r}") from None
        return vars(compute).setdefault(name, compute._wrap_function(name, function))

    compute.__getattr__ = made


class _NoMasks(ModuleType):
    """Stands for `numpy.ma`, which sets itself in its place once somebody loads it: until then no array is masked, and that is what numba asks of each."""

    MaskedArray = type("MaskedArray", (), {})

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def _load_numba() -> None:
    """Load numba without the reader of a file of settings that is not there, and have it look for nobody's extensions, in every package installed."""
    if "numpy.ma" not in sys.modules:
        vars(import_module("numpy")).setdefault("ma", _NoMasks("numpy.ma"))
    with _without(*(() if Path(".numba_config.yaml").exists() else ("yaml",))):
        import_module("numba")
    extensions: Any = import_module("numba.core.entrypoints")
    extensions._already_initialized = True
