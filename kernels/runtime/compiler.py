"""CUDA sources to kernels: headers inlined, compiled by NVRTC for the GPU present, kept on disk and per device, launches checked.

What is kept is found by the text that was compiled, our headers inlined in it, so an edit to one is never missed. (CuPy's own cache has NVRTC preprocess
something for each set of options, whether the kernel is there or not.)
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.runtime import cubins
from tidalign.kernels.runtime.bases import move_cupys
from tidalign.kernels.runtime.errors import DeviceLimit, KernelError
from tidalign.kernels.runtime.signature import Signature, checked, signatures

FOLDER = Path(__file__).parents[1]
OPTIONS = ("-std=c++17", "--use_fast_math")

CUPYS_MOVED = move_cupys()
"""Why what CuPy compiles by itself (fills and copies of arrays) is not kept where it would be, but beside our kernels. None: it is as CuPy has it."""

AT_ONCE = 16
"""Sources that are compiled at a time."""

_INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)


@cache
def source(name: str) -> str:
    """Read the text of a `.cu` file below kernels/ (`seed/seed.cu`), with our headers in place of their #include lines, each once; #line keeps errors pointing
    into the files."""
    seen: set[str] = set()

    def inline(file: str) -> str:
        if file in seen:
            return ""
        seen.add(file)
        text = (FOLDER / file).read_text().replace("#pragma once\n", "\n")

        def replace(match: re.Match[str]) -> str:
            line = text.count("\n", 0, match.end()) + 1
            return inline(match[1]) + f'#line {line} "{file}"\n'

        return f'#line 1 "{file}"\n' + _INCLUDE.sub(replace, text)

    return inline(name)


def defines(macros: Mapping[str, object]) -> tuple[str, ...]:
    """Write compiler options that define the macros, in one order whatever the dictionary's: they are part of the cache key."""
    return tuple(f"-D{name}={value}" for name, value in sorted(macros.items()))


@dataclass(frozen=True, eq=False)
class Kernel:
    """An entry point on one device. function: CuPy's, which is called as (grid, block, arguments); signature: what its arguments must be."""

    name: str
    function: Any
    signature: Signature

    def own_shared_bytes(self) -> int:
        """Count its own bytes of shared memory, whatever is asked for at a launch."""
        from cupy_backends.cuda.api import driver

        size: int = driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, self.function.ptr)
        return size

    def grant(self, shared_bytes: int) -> None:
        """Let a block have as many bytes of dynamic shared memory."""
        from cupy_backends.cuda.api import driver

        which = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        if shared_bytes > driver.funcGetAttribute(which, self.function.ptr):
            driver.funcSetAttribute(self.function.ptr, which, shared_bytes)


@cache
def _lock(device: int, name: str, options: tuple[str, ...]) -> Lock:
    return Lock()


def _code(device: int, name: str, options: tuple[str, ...]) -> bytes:
    """Give the machine code of a source; who wants what another thread compiles waits for it."""
    with _lock(device, name, options):
        return _made(device, name, options)


@cache
def _made(device: int, name: str, options: tuple[str, ...]) -> bytes:
    import cupy
    from cupy_backends.cuda.libs import nvrtc

    text, options = source(name), (*OPTIONS, *options)

    def compiled() -> bytes:
        made: bytes = cupy.cuda.compiler.compile_using_nvrtc(text, options, filename=Path(name).name)[0]  # CuPy makes a file of that name
        return made

    made_by = *nvrtc.getVersion(), cupy.__version__
    return cubins.kept(repr((text, options, cupy.cuda.Device(device).compute_capability, made_by)), compiled)


@cache
def _module(device: int, name: str, options: tuple[str, ...]) -> Any:
    import cupy

    module = cupy.cuda.Module()
    module.load(_code(device, name, options))
    return module


@cache
def _entry(device: int, name: str, options: tuple[str, ...], entry: str) -> Kernel:
    return Kernel(entry, _module(device, name, options).get_function(entry), _signatures(name)[entry])


@cache
def _signatures(name: str) -> dict[str, Signature]:
    return signatures(source(name))


def begin() -> None:
    """Load CuPy and begin on the current device, before anybody waits for them."""
    import cupy

    cupy.cuda.runtime.free(0)


def wait() -> None:
    """Wait until the current device has done all that it was given."""
    import cupy

    cupy.cuda.runtime.deviceSynchronize()


def kernel(name: str, entry: str, macros: Mapping[str, object], *, shared_bytes: int = 0) -> Kernel:
    """Give the entry point `entry` of `name` compiled with `macros` for the current device.

    Raises DeviceLimit if `shared_bytes` of dynamic shared memory are more than the device grants a block beside those the kernel has of its own, KernelError
    if it does not compile.
    """
    import cupy

    device = cupy.cuda.runtime.getDevice()
    with _COMPILING:
        try:
            found = _entry(device, name, defines(macros), entry)
        except cupy.cuda.compiler.CompileException as error:
            raise KernelError(f"{name} does not compile: {error}") from error
        if shared_bytes:
            if (needed := shared_bytes + found.own_shared_bytes()) > most_shared_bytes():
                raise DeviceLimit(f"{entry}: {needed} bytes of shared memory a block; device {device} grants {most_shared_bytes()}")
            found.grant(shared_bytes)
    return found


def ready(wanted: Iterable[tuple[str, Mapping[str, object]]]) -> None:
    """Compile sources with their macros for the current device, all at once, where they are not kept: `kernel` would do it one after the other. What does not
    compile is left for it to say."""
    import cupy

    device = cupy.cuda.runtime.getDevice()
    todo = {(device, name, defines(macros)) for name, macros in wanted}
    if len(todo) > 1:
        with ThreadPoolExecutor(min(len(todo), AT_ONCE)) as threads, suppress(cupy.cuda.compiler.CompileException):
            list(threads.map(lambda each: _code(*each), sorted(todo)))


_NO_MEMORY = 2
"""cudaErrorMemoryAllocation"""


def pinned(shape: int | tuple[int, ...], kind: npt.DTypeLike) -> npt.NDArray[Any]:
    """Make an array of the host that the GPU copies to and from on its own, or one that it does not, which is slower, where no memory can be pinned. (CuPy's is
    in `cupyx`, with which SciPy is loaded.)"""
    import cupy
    from cupy.cuda import runtime

    size = math.prod(np.atleast_1d(shape).tolist()) * np.dtype(kind).itemsize
    try:
        return np.ndarray(shape, kind, buffer=cupy.cuda.alloc_pinned_memory(max(size, 1)))
    except runtime.CUDARuntimeError as error:
        if error.status != _NO_MEMORY:
            raise
        return np.empty(shape, kind)


_COMPILING = Lock()  # threads that want the same kernel wait for it instead of compiling it too


@cache
def _attribute(device: int, name: str) -> int:
    import cupy

    return int(cupy.cuda.Device(device).attributes[name])


def most_shared_bytes() -> int:
    """Ask how much shared memory the current device grants a block, a kernel's own included."""
    import cupy

    return _attribute(cupy.cuda.runtime.getDevice(), "MaxSharedMemoryPerBlockOptin")


def multiprocessors() -> int:
    """Ask how many multiprocessors the current device has."""
    import cupy

    return _attribute(cupy.cuda.runtime.getDevice(), "MultiProcessorCount")


def resident(function: Kernel, threads: int, shared_bytes: int) -> int:
    """Ask how many blocks the current device runs at a time."""
    from cupy_backends.cuda.api import driver

    blocks: int = driver.occupancyMaxActiveBlocksPerMultiprocessor(function.function.ptr, threads, shared_bytes)
    return blocks * multiprocessors()


def launch(function: Kernel, blocks: int, threads: int, *arguments: Any, shared_bytes: int = 0) -> None:
    """Launch on the current stream. Arguments must be those that the kernel's source declares (signature.checked). Raises KernelError."""
    launcher(function, threads, *arguments, shared_bytes=shared_bytes)(blocks)


THREADS, BLOCKS = 256, 1 << 12
"""Say how many threads a block has, and how many blocks there are at most, of a launch whose threads take one of many after the other."""


def launch_each(name: str, entry: str, count: int, *arguments: Any) -> None:
    """Launch a kernel without macros on the current stream, with a thread for each of so many, or as many as take them in turns."""
    launch(kernel(name, entry, {}), max(1, min(BLOCKS, -(-count // THREADS))), THREADS, *arguments)


def launch_block(name: str, entry: str, *arguments: Any) -> None:
    """Launch a kernel without macros on the current stream, with one block of 1,024 threads."""
    launch(kernel(name, entry, {}), 1, 1024, *arguments)


def launcher(function: Kernel, threads: int, *arguments: Any, shared_bytes: int = 0) -> Callable[..., None]:
    """Check arguments, as `launch` does, for many launches: called with the number of blocks, and with the parameters of type int, by name, that are others
    than in the launch before. To check them takes longer than to launch."""
    import cupy

    values = list(checked(function.name, function.signature, arguments, cupy.ndarray, cupy.cuda.runtime.getDevice()))
    places = {parameter.name: place for place, parameter in enumerate(function.signature)}

    def launched(blocks: int, **numbers: int) -> None:
        for name, number in numbers.items():
            if not isinstance(values[places[name]], np.int32):
                raise KernelError(f"{function.name}: {name} is no int, which alone may change from launch to launch")
            values[places[name]] = np.int32(number)
        try:
            function.function((blocks,), (threads,), tuple(values), shared_mem=shared_bytes)
        except cupy.cuda.driver.CUDADriverError as error:
            raise KernelError(f"{function.name}: {blocks} blocks of {threads} threads, {shared_bytes} bytes of shared memory: {error}") from error

    return launched
