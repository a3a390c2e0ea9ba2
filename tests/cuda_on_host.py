"""Runs kernels without a GPU: CUDA C++ is compiled for the host (cuda_on_host.hpp), and what launches it is given arrays of the host (cupy_on_host.py).

It is slow, some million cells a second. Threads that must meet and do not are found, as they wait for ever or are none of the mask that they name; and so is
what nobody has written: stacks, shared memory and arrays that CuPy does not set are full of large numbers.
"""

import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cupy_on_host
import numpy as np
import pytest

from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.signature import signatures

HEADER = Path(__file__).with_suffix(".hpp")
COMPILER = shutil.which("g++")

_ENTRY = r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s*)?{}\(([^)]*)\)'


class OnHost:
    """A kernel that is compiled for the host."""

    def __init__(self, folder: Path, name: str, entry: str, macros: Mapping[str, object]) -> None:
        text = re.sub(
            r'asm\("prmt[^;]*;" : "=r"\((\w+)\) : "r"\((\w+)\), "r"\((\w+)\), "r"\((\w+)\)\);', r"\1 = prmt_on_host(\2, \3, \4);", compiler.source(name)
        )
        text = text.replace("extern __shared__ uint4 shared[];", "uint4* shared = dynamic_shared;")
        text = text.replace("extern __shared__ unsigned shared_words[];", "#define shared_words ((unsigned*)dynamic_shared)")
        text = text.replace("extern __shared__ int shared_cells[];", "#define shared_cells ((int*)dynamic_shared)").replace("__shared__ ", "static ")
        text = re.sub(r"#pragma unroll.*|#line.*", "", text).replace("blockIdx.x * width", "(long long)blockIdx.x * width")
        kernels = signatures(compiler.source(name))
        runs = "\n".join(_run(kernel, text) for kernel in kernels)  # all of a source at once: who launches one needs others of the same macros
        values = "\n".join(f"#define {macro} {value}" for macro, value in macros.items())
        self.name, self.signature = entry, kernels[entry]
        self._run = _compiled(folder, f'#include "{HEADER.name}"\n{values}\n{text}\n{runs}\n')[f"run_{entry}"]

    def function(self, grid: tuple[int], block: tuple[int], arguments: tuple[Any, ...], *, shared_mem: int) -> None:
        values: list[Any] = [ctypes.c_uint(*grid), ctypes.c_uint(*block), ctypes.c_size_t(shared_mem)]
        for parameter, argument in zip(self.signature, arguments, strict=True):
            if parameter.pointer:
                values.append(ctypes.c_void_p(argument.ctypes.data if isinstance(argument, np.ndarray) else int(argument)))
            else:
                values.append(np.ctypeslib.as_ctypes_type(parameter.dtype)(argument))
        self._run(*values)


def _run(entry: str, text: str) -> str:
    """Write the function that runs a grid of a kernel of a source."""
    found = re.search(_ENTRY.format(entry), text)
    assert found
    declared = " ".join(found[1].split())
    names = ", ".join(re.findall(r"(\w+)(?:,|$)", declared))
    head = f'extern "C" void run_{entry}(unsigned grid, unsigned block, size_t bytes, {declared})'
    return f"{head} {{ run_grid(grid, block, bytes, [=]() {{ {entry}({names}); }}); }}"


_LIBRARIES: dict[str, Any] = {}
"""Keep what was compiled in this process, by its text."""

_HEADERS: list[Path] = []
"""Name the folder of this process in which HEADER is compiled, once there is one."""


def _compiled(folder: Path, text: str) -> Any:
    """Compile kernels for the host, or find them compiled: the library of the functions that run a grid of each."""
    if not _HEADERS:  # a third of what each kernel takes
        _HEADERS.append(folder / "headers")
        _HEADERS[0].mkdir()
        _compile("-x", "c++-header", HEADER, "-o", _HEADERS[0] / f"{HEADER.name}.gch")
    if text not in _LIBRARIES:
        source = folder / f"{len(list(folder.iterdir()))}.cpp"
        source.write_text(text)
        _compile("-shared", "-I", _HEADERS[0], "-I", HEADER.parent, source, "-o", source.with_suffix(".so"))
        _LIBRARIES[text] = ctypes.CDLL(str(source.with_suffix(".so")))
    return _LIBRARIES[text]


def _compile(*words: str | Path) -> None:
    checks = os.environ.get("TIDALIGN_SANITIZE")
    subprocess.run([str(COMPILER), "-std=c++17", "-O1", "-w", "-fPIC", *([f"-fsanitize={checks}", "-g"] if checks else []), *map(str, words)], check=True)


PLACES = [
    pytest.param("emulated", marks=pytest.mark.skipif(COMPILER is None, reason="kernels are compiled for the host by g++")),
    pytest.param("gpu", marks=pytest.mark.gpu),
]
"""Parameters of a fixture whose tests run `at` one place after the other."""


@contextmanager
def at(place: str, factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let launches run on the host (emulated) or on a GPU while the context lasts."""
    with pytest.MonkeyPatch.context() as patch:
        if place == "gpu":
            pytest.importorskip("cupy")
        else:
            installed(patch, factory.mktemp("kernels"))
        yield


def installed(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let every launch of this process run on the host from now on. folder: for what is compiled."""
    cupy_on_host.installed(patch)
    patch.setattr(sys.modules["cupy"], "empty", cupy_on_host.unset)
    kept: dict[str, OnHost] = {}

    def kernel(name: str, entry: str, macros: Mapping[str, object], *, shared_bytes: int = 0) -> OnHost:
        key = repr((name, entry, sorted(macros.items())))
        if key not in kept:
            kept[key] = OnHost(folder, name, entry, macros)
        return kept[key]

    patch.setattr(compiler, "kernel", kernel)
    patch.setattr(compiler, "ready", lambda _: None)
    patch.setattr(compiler, "resident", lambda *_: 3)
