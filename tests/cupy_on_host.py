"""Stands in for CuPy with arrays in the host's memory: code that launches kernels runs without a device, its launches are checked and recorded.

A kernel computes nothing: a test says what it would have left (`effects`), as far as the code after the launch needs it. As in CuPy, an element of an array is
an array without dimensions, and arrays of the host are not arrays of the device.
"""

import ctypes
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tidalign.kernels.runtime import compiler, lanes

DEVICE = 7
"""No other test has used it, and what is kept for each device holds nothing of it."""

Effect = Callable[..., None]


@dataclass(frozen=True)
class Pointer:
    """An address in an array, which it keeps alive."""

    ptr: int
    of: Any
    device_id: int = DEVICE

    def __add__(self, offset: int) -> "Pointer":
        return Pointer(self.ptr + offset, self.of)


class Array(np.ndarray[Any, Any]):
    """An array "of the device"."""

    def __new__(cls, shape: Any, dtype: Any, memory: Pointer | None = None) -> "Array":
        if memory is None:
            return np.zeros(shape, dtype).view(cls)
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        found = np.ndarray.__new__(cls, shape, dtype, buffer=(ctypes.c_char * max(size, 1)).from_address(memory.ptr))
        found.memory = memory
        return found

    @property
    def data(self) -> Pointer:  # type: ignore[override]
        return Pointer(self.ctypes.data, self)

    def __getitem__(self, place: Any) -> Any:
        return np.asarray(super().__getitem__(place)).view(Array)

    def set(self, array: Any) -> None:
        self[...] = array

    def get(self, out: Any = None, blocking: bool = True) -> Any:
        if out is None:
            return np.array(self)
        out[...] = self
        return out


@dataclass
class Recorder:
    """Launches: kernels by name, and what they were given by their parameters' names. effects: of kernels on their arguments, by name."""

    effects: dict[str, Effect] = field(default_factory=dict)
    launches: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def function(self, source: str, entry: str) -> Any:
        names = [parameter.name for parameter in compiler._signatures(source)[entry]]

        def launched(grid: Any, block: Any, arguments: tuple[Any, ...], *, shared_mem: int) -> None:
            assert all(isinstance(argument, (Array, np.generic)) for argument in arguments)
            given = dict(zip(names, arguments, strict=True))
            self.launches.append((entry, given))
            if entry in self.effects:
                self.effects[entry](**given)

        launched.ptr = entry  # type: ignore[attr-defined]
        return launched

    def names(self) -> set[str]:
        return {name for name, _ in self.launches}


class Waiting:
    """A stream or an event that has nothing to wait for."""

    ptr = 0

    def __init__(self, **_: bool) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record(self, stream: Any = None) -> None:
        pass

    def synchronize(self) -> None:
        pass


def on_host(array: Any, stream: Any = None) -> Any:
    return np.array(array, copy=True)


def on_device(array: Any, dtype: Any = None) -> Array:
    return np.array(array, dtype, copy=True).view(Array)


def unset(shape: Any, dtype: Any = np.float64, memory: Pointer | None = None) -> Array:
    """Make an array that is full of what nobody would take for a result: on a device it holds what was there before."""
    found = Array(shape, dtype, memory)
    if memory is None:
        octets = found.reshape(-1).view(np.uint8)
        octets[...] = np.resize(np.repeat(np.array([0xEE, 0x6E], np.uint8), 4), octets.size)  # large numbers of 32 bits, below 0 and above by turns
    return found


MADE = (
    "arange",
    "argsort",
    "ascontiguousarray",
    "bincount",
    "concatenate",
    "flatnonzero",
    "maximum",
    "minimum",
    "pad",
    "repeat",
    "searchsorted",
    "unique",
    "where",
)
"""Functions of NumPy's, the arrays of which are the device's."""


def _made(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **options: np.asarray(function(*given, **options)).view(Array)


def installed(patch: pytest.MonkeyPatch) -> Recorder:
    """Record what this process launches from now on."""

    class Failure(RuntimeError):
        pass

    recorder = Recorder()
    runtime = types.SimpleNamespace(
        getDevice=lambda: DEVICE,
        memGetInfo=lambda: (1 << 26, 1 << 26),
        memcpyAsync=lambda to, source, size, *_: ctypes.memmove(to, source, size),
        **{"memcpyHostToDevice": 1, "memcpyDeviceToHost": 2, "eventQuery": lambda _: 0, "CUDARuntimeError": Failure},
    )
    attributes = {"MaxSharedMemoryPerBlockOptin": 232448, "MultiProcessorCount": 4}
    cuda = types.SimpleNamespace(
        **{"runtime": runtime, "Stream": Waiting, "Event": Waiting, "get_current_stream": Waiting},
        driver=types.SimpleNamespace(CUDADriverError=Failure),
        memory=types.SimpleNamespace(OutOfMemoryError=type("OutOfMemoryError", (MemoryError,), {})),
        compiler=types.SimpleNamespace(CompileException=Failure),
        alloc_pinned_memory=bytearray,
        Device=lambda _: types.SimpleNamespace(attributes=attributes),
    )
    arrays = {
        "empty": Array,
        "zeros": Array,
        "full": lambda shape, value, dtype=None: np.full(shape, value, dtype).view(Array),
        "asarray": on_device,
        "nonzero": lambda array: tuple(np.asarray(each).view(Array) for each in np.nonzero(array)),
        "asnumpy": on_host,
        **{name: getattr(np, name) for name in ("cumsum", "sort")},
        **{name: _made(getattr(np, name)) for name in MADE},
    }
    pool = types.SimpleNamespace(free_bytes=lambda: 0, free_all_blocks=lambda: None)
    cupy = types.SimpleNamespace(ndarray=Array, cuda=cuda, get_default_memory_pool=lambda: pool, **arrays)
    driver = types.SimpleNamespace(
        **{"CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES": 0, "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": 1},
        funcGetAttribute=lambda which, _: 1024,
        funcSetAttribute=lambda *_: None,
        occupancyMaxActiveBlocksPerMultiprocessor=lambda *_: 2,
    )
    api = types.SimpleNamespace(driver=driver)
    for name, module in {"cupy": cupy, "cupy.cuda": cuda, "cupy_backends.cuda.api": api}.items():
        patch.setitem(sys.modules, name, module)
    patch.setattr(compiler, "_code", lambda device, source, options: b"")
    patch.setattr(compiler, "_module", lambda device, source, options: types.SimpleNamespace(get_function=lambda entry: recorder.function(source, entry)))
    compiler._entry.cache_clear()  # kernels are kept with the recorder that they report to
    patch.setattr(lanes, "_idle", {DEVICE: []})
    return recorder
