"""CUDA sources to kernels: headers inlined, compiled by NVRTC for the card present, kept per device, launches checked.

CuPy's disk cache is keyed by the text it is given, not by headers found with -I; so our headers are inlined and an edit to one is never missed.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from tidalign.kernels.errors import DeviceLimit, KernelError

FOLDER = Path(__file__).parent
OPTIONS = ("-std=c++17", "--use_fast_math")
_INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)


@cache
def source(name: str) -> str:
    """The text of a `.cu` file of this folder, our own headers in place of their #include lines, each once; #line keeps errors pointing into the files."""
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
    """Compiler options that define the macros, in one order whatever the dictionary's: they are part of the cache key."""
    return tuple(f"-D{name}={value}" for name, value in sorted(macros.items()))


@cache
def _module(device: int, name: str, options: tuple[str, ...]) -> Any:
    import cupy

    return cupy.RawModule(code=source(name), options=(*OPTIONS, *options))


def kernel(name: str, entry: str, macros: Mapping[str, object], *, shared_bytes: int = 0) -> Any:
    """Entry point `entry` of `name` compiled with `macros` for the current device.

    Raises DeviceLimit if `shared_bytes` of dynamic shared memory are more than the device grants a block, KernelError if it does not compile.
    """
    import cupy

    device = cupy.cuda.runtime.getDevice()
    if shared_bytes > most_shared_bytes():
        raise DeviceLimit(f"{entry}: {shared_bytes} bytes of shared memory a block; device {device} grants {most_shared_bytes()}")
    with _COMPILING:
        try:
            function = _module(device, name, defines(macros)).get_function(entry)
        except cupy.cuda.compiler.CompileException as error:
            raise KernelError(f"{name} does not compile: {error}") from error
        if shared_bytes > function.max_dynamic_shared_size_bytes:
            function.max_dynamic_shared_size_bytes = shared_bytes
    return function


_COMPILING = Lock()  # threads that want the same kernel wait for it instead of compiling it too


@cache
def _attribute(device: int, name: str) -> int:
    import cupy

    return int(cupy.cuda.Device(device).attributes[name])


def most_shared_bytes() -> int:
    """Dynamic shared memory the current device grants a block."""
    import cupy

    return _attribute(cupy.cuda.runtime.getDevice(), "MaxSharedMemoryPerBlockOptin")


def resident(function: Any, threads: int, shared_bytes: int) -> int:
    """Blocks the current device runs at a time."""
    import cupy
    from cupy_backends.cuda.api import driver

    blocks: int = driver.occupancyMaxActiveBlocksPerMultiprocessor(function.kernel.ptr, threads, shared_bytes)
    return blocks * _attribute(cupy.cuda.runtime.getDevice(), "MultiProcessorCount")


def launch(function: Any, blocks: int, threads: int, *arguments: Any, shared_bytes: int = 0) -> None:
    """Launch on the current stream. Arrays must be contiguous and on the current device; Python integers pass as 32-bit int. Raises KernelError."""
    import cupy

    device = cupy.cuda.runtime.getDevice()
    values = []
    for place, argument in enumerate(arguments):
        if isinstance(argument, cupy.ndarray):
            if argument.data.device_id != device or not argument.flags.c_contiguous:
                raise KernelError(f"{function.name}: argument {place} is not a contiguous array on device {device}")
        elif isinstance(argument, int):
            argument = np.int32(argument)
        elif argument is None:
            argument = np.uint64(0)
        values.append(argument)
    try:
        function((blocks,), (threads,), tuple(values), shared_mem=shared_bytes)
    except cupy.cuda.driver.CUDADriverError as error:
        raise KernelError(f"{function.name}: {blocks} blocks of {threads} threads, {shared_bytes} bytes of shared memory: {error}") from error
