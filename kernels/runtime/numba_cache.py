"""Keeps compiled kernels between runs: for each module in a folder named after its sources, because numba's own cache does not see edits in imported
modules."""

import atexit
import hashlib
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from tidalign.kernels.runtime.numba_internals import difference
from tidalign.kernels.runtime.sources import sources

_OPTIONS: dict[str, Any] = {"nogil": True, "boundscheck": False, "error_model": "numpy"}


@cache
def folder(module: str) -> Path | None:
    """Give the folder of a module's compiled kernels, named after the module (its dotted name) and its sources: under NUMBA_CACHE_DIR, XDG_CACHE_HOME/tidalign
    or ~/.cache/tidalign, the first that can be written to.

    Where none can, a temporary folder that lives as long as the process; None where not even that can be made (kernels are then compiled in memory).
    """
    digest = hashlib.sha256(os.environ.get("TIDALIGN_LANES", "").encode())
    for name, source in sources(module).items():
        digest.update(name.encode() + b"\0" + hashlib.sha256(source).digest())
    name = f"{module.partition('.')[2]}-{digest.hexdigest()[:16]}"
    for base in bases():
        place = base / name
        try:
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                return place
        except OSError:
            continue
    try:
        # Not a fixed name under /tmp: cached code is loaded as it is found, so the folder must be nobody else's.
        place = Path(tempfile.mkdtemp(prefix="tidalign-"))
    except OSError:
        return None
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def bases() -> list[Path]:
    """Folders for what is kept between runs, the first that can be written to before others."""
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(given) / "tidalign"]
    found = []
    if given := os.environ.get("XDG_CACHE_HOME"):
        found.append(Path(given) / "tidalign")
    with suppress(RuntimeError):  # no HOME and no entry for this user
        found.append(Path.home() / ".cache" / "tidalign")
    return found


def jit(function: Callable[..., Any]) -> Any:
    """Compile with numba on first call, without the interpreter lock, from the cache where it can be."""
    import numba

    _listen()
    settings: Any = numba.config
    compiled: Any = numba.njit(**_OPTIONS)(function)
    place = folder(function.__module__)
    if place is None or settings.DISABLE_JIT:
        return compiled
    if difference() is None:
        compiled._cache = _Kept(function, place)
        return compiled
    with _kept_in(place):
        kept: Any = numba.njit(cache=True, **_OPTIONS)(function)
    # Elsewhere code would be found that was compiled before an imported module was edited.
    return kept if place in Path(kept.stats.cache_path).parents else compiled


@contextmanager
def _kept_in(place: Path) -> Iterator[None]:
    """Have numba make caches in a folder: it reads its own from a global setting, so the setting is ours only while a cache is made."""
    settings: Any = import_module("numba.core.config")
    before = getattr(settings, "CACHE_DIR", "")
    settings.CACHE_DIR = str(place)
    try:
        yield
    finally:
        settings.CACHE_DIR = before


LISTENERS: list[Callable[[bool], None]] = []
"""Told True when this process begins to compile a kernel, for cores or for a GPU, and False when that is done, in whichever thread it is; not of kernels that
are found kept."""


def _tell(begins: bool) -> None:
    for each in list(LISTENERS):
        each(begins)


@cache
def _listen() -> None:
    """Hear of what numba compiles."""
    events: Any = import_module("numba.core.event")

    class Compiled(events.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            _tell(True)

        def on_end(self, event: Any) -> None:
            _tell(False)

    events.register("numba:compile", Compiled())


@contextmanager
def compiling() -> Iterator[None]:
    """Tell listeners that something is compiled without numba."""
    _tell(True)
    try:
        yield
    finally:
        _tell(False)


class _Kept:
    """numba's cache of a kernel, made when it is first asked, as most kernels that are imported are not called.

    Of a kernel that is found no more is loaded than it takes to call it. numba would load all that it takes to compile one, SciPy too, and the modules of its
    own that the kernel was made of: more than everything else that a command has to load.
    """

    def __init__(self, function: Callable[..., Any], place: Path) -> None:
        self._function, self._place = function, place

    @cached_property
    def _cache(self) -> Any:
        with _kept_in(self._place):
            made: Any = import_module("numba.core.caching").FunctionCache(self._function)
        files = made._cache_file
        files._load_data = lambda name: _Unpickler(BytesIO(Path(files._data_path(name)).read_bytes())).load()
        return made

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for these types of arguments; None: it is to be compiled."""
        import_module("numba.core.runtime").rtsys.initialize(target_context)  # what every kernel may call
        with self._cache._guard_against_spurious_io_errors():
            if (found := self._cache._load_overload(sig, target_context)) is not None:
                return found
        target_context.refresh()
        return None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _environment if (module, name) == ("numba.core.environment", "_rebuild_env") else super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """As numba makes the environment of a function that a kernel calls, but for globals of numba's modules that are not loaded: in a kernel nobody reads
    them."""
    environment: Any = import_module("numba.core.environment")
    if module in sys.modules or module.partition(".")[0] != "numba":
        return environment._rebuild_env(module, constants, name)
    made = environment.lookup_environment(name)
    if made is None:
        made = environment.Environment({"__name__": module})
        made.consts[:] = constants
        made.env_name = name
        environment.Environment._memo[name] = made
    return made


def inline(function: Callable[..., Any]) -> Any:
    """Part of the kernels that call it, never compiled alone."""
    from numba import njit

    return njit(inline="always", **_OPTIONS)(function)
