"""Keeps compiled kernels between runs: for each module in a folder named after its sources, because numba's own cache does not see edits in imported
modules."""

import gc
import hashlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any

from tidalign.kernels.runtime import entries
from tidalign.kernels.runtime.bases import bases
from tidalign.kernels.runtime.closed import closed, make, objection
from tidalign.kernels.runtime.numba_internals import begin_runtime, compiled_runtime, difference, packed, rebuilt, unpacked
from tidalign.kernels.runtime.sources import sources

_OPTIONS: dict[str, Any] = {"nogil": True, "boundscheck": False, "error_model": "numpy", "no_cfunc_wrapper": True}  # which C would call a kernel by


@cache
def below(module: str) -> str:
    """Name the folder of a module's compiled kernels, below a base, after the module (its dotted name) and its sources."""
    digest = hashlib.sha256(os.environ.get("TIDALIGN_LANES", "").encode())
    for name, source in sources(module).items():
        digest.update(name.encode() + b"\0" + hashlib.sha256(source).digest())
    return f"{module.partition('.')[2]}-{digest.hexdigest()[:16]}"


def jit(function: Callable[..., Any]) -> Any:
    """Compile with numba on first call, without the interpreter lock, from the cache where it can be."""
    import numba

    _listen()
    settings: Any = numba.config
    compiled: Any = numba.njit(**_OPTIONS)(function)
    if settings.DISABLE_JIT:
        return compiled
    _take_no_literals(compiled)
    if function.__closure__:
        raise ValueError(f"{function.__qualname__} is a closure: what it holds is not in the sources, by which kernels are kept")
    if difference() is None:
        compiled._cache = _Kept(function)
        return compiled
    return _kept_by_numba(function) or compiled


def _take_no_literals(compiled: Any) -> None:
    """Have a kernel compiled for the types of what its callers pass, not once more for each constant."""
    unliteral: Any = import_module("numba.core.types").unliteral
    template = compiled.get_call_template
    compiled.get_call_template = lambda args, keywords: template([unliteral(each) for each in args], keywords)


def _kept_by_numba(function: Callable[..., Any]) -> Any:
    """Compile as `jit` does, with numba's own cache. None where it would not be in the folder of the sources, or others could have written to it."""
    import numba

    if (kept := bases().kept) is None or objection(place := kept / below(function.__module__)):
        return None
    with suppress(OSError):
        make(place)
    settings: Any = import_module("numba.core.config")
    before = getattr(settings, "CACHE_DIR", "")
    settings.CACHE_DIR = str(place)  # numba reads it from there alone, so it is ours while a cache is made
    try:
        compiled: Any = numba.njit(cache=True, **_OPTIONS)(function)
    finally:
        settings.CACHE_DIR = before
    found = Path(compiled.stats.cache_path)
    # Elsewhere code would be found that was compiled before an imported module was edited.
    safe = place in found.parents and objection(found) is None and all(closed(file.lstat()) for file in found.iterdir())
    return compiled if safe else None


LISTENERS: list[Callable[[bool], None]] = []
"""Told True when this process begins to compile a kernel, for cores or for a GPU, and False when that is done, in whichever thread it is; not of kernels that
are found kept."""


class Compiling:
    """Counts the seconds in which this process compiles any kernel: `seconds`, of what is done."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = 0.0
        self._clock, self._began, self._now = clock, 0.0, 0
        self._lock = Lock()

    def __call__(self, begins: bool) -> None:
        with self._lock:
            if begins and not self._now:
                self._began = self._clock()
            self._now += 1 if begins else -1
            if not self._now:
                self.seconds += self._clock() - self._began


COMPILING = Compiling()
LISTENERS.append(COMPILING)


def _tell(begins: bool) -> None:
    for each in list(LISTENERS):
        each(begins)


@cache
def _listen() -> None:
    """Listen to numba's compiler, and tell LISTENERS when a kernel begins to be compiled and when it is.

    Meanwhile nobody looks for garbage: an eighth of numba's time would go into looking at objects that stay until the kernel is done.
    """
    events: Any = import_module("numba.core.event")

    class Compiled(events.Listener):  # type: ignore[misc]
        """Hears of one kernel at a time, and of those that it calls meanwhile: numba's lock is held."""

        depth, collects = 0, False

        def on_start(self, event: Any) -> None:
            if not self.depth:
                self.collects = gc.isenabled()
                gc.disable()
            self.depth += 1
            _tell(True)

        def on_end(self, event: Any) -> None:
            _tell(False)
            self.depth -= 1
            if self.collects and not self.depth:
                gc.enable()
            failed = getattr(event, "_exc_details", None) is not None  # numba's `is_failed` says the opposite
            if failed and isinstance(kept := event.data["dispatcher"]._cache, _Kept):
                kept.give_up()

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
    """Keeps a kernel as numba's cache of it would, in an entry for each types of arguments.

    Of a kernel that is found no more is loaded than it takes to call it. numba would load all that it takes to compile one, SciPy too, and the modules of its
    own that the kernel was made of: more than everything else that a command has to load. And it would unpickle what it finds, whoever wrote it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{below(function.__module__)}/{function.__qualname__}-{function.__code__.co_firstlineno}"
        self._claimed = set[str]()
        bases()  # now: processes that are forked from this one share a temporary folder

    @property
    def cache_path(self) -> str:
        """Name the folder that the kernel is kept in, as numba's `stats` have it."""
        return str(Path(bases().kept or "", self._name).parent)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the kernel for these types of arguments; None: it is to be compiled, and nobody else does so."""
        begin_runtime(target_context, _runtime)
        entry = self._entry(sig, target_context.codegen())
        if (found := self._load(entry, sig, target_context)) is None:
            with compiling():
                entries.claim(entry)
            self._claimed.add(entry)
            if (found := self._load(entry, sig, target_context)) is not None:  # by whoever had claimed it
                self._release(entry)
        if found is None:
            target_context.refresh()
        return found

    def wanted(self, sig: Any, codegen: Any) -> bool:
        """Tell whether the kernel for these types of arguments is not kept, and nobody is compiling it."""
        return entries.wanted(self._entry(sig, codegen))

    def elsewhere(self, sig: Any, codegen: Any) -> bool:
        """Tell whether the kernel for these types of arguments is not kept, and somebody is compiling it."""
        return entries.made_elsewhere(self._entry(sig, codegen))

    def _load(self, entry: str, sig: Any, target_context: Any) -> Any:
        if (content := entries.load(entry)) is not None:
            types, parts = _Unpickler(BytesIO(content)).load()
            if types == sig:  # not just of one name
                return rebuilt(target_context, parts)
        return None

    def save_overload(self, sig: Any, result: Any) -> None:
        """Keep a kernel that was compiled, unless there are addresses of this process in it."""
        entry = self._entry(sig, result.codegen)
        if not result.library.has_dynamic_globals and all(each.can_cache for each in result.lifted):
            content: bytes = import_module("numba.core.serialize").dumps((sig, (packed(result.library), *result._reduce()[1:])))
            entries.save(entry, content)
        self._release(entry)

    def give_up(self) -> None:
        """Let others compile what could not be compiled here."""
        for entry in list(self._claimed):
            self._release(entry)

    def _release(self, entry: str) -> None:
        self._claimed.discard(entry)
        entries.release(entry)

    def _entry(self, sig: Any, codegen: Any) -> str:
        return _entry(self._name, sig, codegen)


def _entry(name: str, sig: Any, codegen: Any) -> str:
    """Name the entry of a kernel by the types of its arguments and by all that it depends on beside the sources."""
    digest = hashlib.sha256(repr((sig, *_made_by(codegen))).encode())
    return f"{name}.{digest.hexdigest()[:32]}.kernel"


@cache
def _made_by(codegen: Any) -> tuple[Any, ...]:
    """Name the processor and what compiles for it."""
    import llvmlite
    import numba

    return codegen.magic_tuple(), (numba.__version__, llvmlite.__version__, sys.implementation.cache_tag)


def _runtime(context: Any) -> Any:
    """Load the functions of numba's runtime, or compile and keep them."""
    settings: Any = import_module("numba").config
    codegen = context.codegen()
    entry = _entry(f"{below(__name__)}/runtime", settings.DEBUG_NRT, codegen)
    if (content := entries.load(entry)) is not None:
        return unpacked(codegen, pickle.loads(content))
    library = compiled_runtime(context)
    entries.save(entry, pickle.dumps(packed(library)))
    return library


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _environment if (module, name) == ("numba.core.environment", "_rebuild_env") else super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """Make the environment of a function that a kernel calls as numba does, but for globals of numba's modules that are not loaded: in a kernel nobody reads
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
    """Make a function part of the kernels that call it, never compiled alone."""
    from numba import njit

    return njit(inline="always", **_OPTIONS)(function)


def wanted(kernel: Any, types: tuple[Any, ...]) -> bool:
    """Tell whether a kernel was not compiled yet for these types of arguments, and nobody is about it; False where it would not be kept."""
    kept = getattr(kernel, "_cache", None)
    return isinstance(kept, _Kept) and kept.wanted(types, kernel.targetctx.codegen())


def elsewhere(kernel: Any, arguments: Iterable[Any]) -> bool:
    """Tell whether another process is compiling a kernel for arguments of such types; a call would wait for it."""
    from numba import typeof

    kept, types = getattr(kernel, "_cache", None), tuple(map(typeof, arguments))
    return isinstance(kept, _Kept) and types not in kernel.overloads and kept.elsewhere(types, kernel.targetctx.codegen())
