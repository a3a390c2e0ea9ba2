"""Where compiled kernels are kept between runs: for each module a folder named after its sources, because numba's own cache does not see edits in
imported modules."""

import atexit
import hashlib
import os
import pickle
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

_IMPORT = re.compile(r"^from tidalign\.kernels\.([\w.]+) import", re.MULTILINE)


@cache
def folder(module: str) -> Path | None:
    """The folder of a kernel module and all it imports of the kernels: under NUMBA_CACHE_DIR, XDG_CACHE_HOME/tidalign or ~/.cache/tidalign, the first
    that can be written to.

    Where none can, a temporary folder that lives as long as the process; None where not even that can be made (kernels are then compiled in memory).
    """
    digest = hashlib.sha256(os.environ.get("TIDALIGN_LANES", "").encode())
    for name, source in sorted(_sources(module.removeprefix("tidalign.kernels.")).items()):
        digest.update(name.encode() + b"\0" + source)
    name = f"{module.removeprefix('tidalign.kernels.')}-{digest.hexdigest()[:16]}"
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


def _sources(module: str) -> dict[str, bytes]:
    """Source of a kernel module and of those it imports, by name."""
    found: dict[str, bytes] = {}
    todo = [module]
    while todo:
        name = todo.pop()
        path = Path(__file__).parents[1] / f"{name.replace('.', '/')}.py"
        if name not in found and path.exists():
            found[name] = path.read_bytes()
            todo += _IMPORT.findall(found[name].decode())
    return found


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

    settings: Any = numba.config
    compiled: Any = numba.njit(nogil=True, boundscheck=False, error_model="numpy")(function)
    place = folder(function.__module__)
    if place is not None and not settings.DISABLE_JIT:
        compiled._cache = _Kept(function, place)
    return compiled


class _Kept:
    """numba's cache of a kernel, made when it is first asked, as most kernels that are imported are not called.

    Of a kernel that is found no more is loaded than it takes to call it. numba would load all that it takes to compile one, SciPy too, and the modules of its
    own that the kernel was made of: more than everything else that a command has to load.
    """

    def __init__(self, function: Callable[..., Any], place: Path) -> None:
        self._function, self._place = function, place

    @cached_property
    def _cache(self) -> Any:
        # numba reads its cache folder from a global setting, so the setting is ours only while a cache is made.
        settings: Any = import_module("numba.core.config")
        before = settings.CACHE_DIR
        settings.CACHE_DIR = str(self._place)
        try:
            made: Any = import_module("numba.core.caching").FunctionCache(self._function)
        finally:
            settings.CACHE_DIR = before
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

    return njit(nogil=True, inline="always", boundscheck=False, error_model="numpy")(function)
