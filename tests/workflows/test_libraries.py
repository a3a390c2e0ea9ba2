"""Commands load little of the libraries below them, and nothing is missing where something asks for it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SHOW = """
import json, os, sys
from tidalign.workflows.libraries import calm, load
calm()
load("tidalign.workflows.commands.pairs")
absent = [name for name in NAMES if name not in sys.modules]
import numpy as np, pyarrow as pa, pyarrow.compute as pc
"""
LEFT_OUT = ("yaml", "pandas", "scipy", "coverage", "numpy.ma", "cloudpickle", "pyarrow._s3fs", "pyarrow.vendored.docscrape", "multiprocessing.forkserver")


def run(program: str, place: Path, **environment: str) -> object:
    """Run a program in a folder after a command's module was loaded, and give what it prints as JSON."""
    line = [sys.executable, "-c", SHOW.replace("NAMES", repr(LEFT_OUT)) + program]
    answer = subprocess.run(line, cwd=place, env={**os.environ, **environment}, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_what_no_command_uses_is_not_loaded(tmp_path: Path) -> None:
    assert run("print(json.dumps(absent))", tmp_path) == list(LEFT_OUT)
    for name in ("yaml", "cloudpickle", "numpy.ma", "pyarrow.vendored.docscrape"):
        assert run(f"import {name}; print(json.dumps({name}.__name__))", tmp_path) == name  # who wants it has it


def test_functions_of_pyarrow_are_made_when_asked_for(tmp_path: Path) -> None:
    """Each that pyarrow has is there, gives what it gives, and says what it takes; there is no other."""
    used = """
numbers = pa.chunked_array([[3, None, 1]])
found = [pc.add(numbers, 1), pc.and_(pa.array([True]), pa.array([False])), pc.fill_null(numbers, 7), numbers.cast(pa.string()), numbers.sort(), pc.sum(numbers),
    pc.binary_length(pa.array(["ab"])), pc.utf8_zfill(pa.array(["1"]), 3), pc.round(pa.array([1.25]), ndigits=1), numbers.filter(pc.is_valid(numbers))]
said = [hasattr(pc, "no_such"), pc.add is pc.add, pc.add.__name__, str(pc.__dict__["add"].__signature__), pc.function_registry().get_function("add").name]
print(json.dumps([[each.to_pylist() if hasattr(each, "to_pylist") else each.as_py() for each in found], said, missing(pc)]))
"""
    listed = ["import json, pyarrow as pa, pyarrow.compute as pc", "missing = lambda module: []", used, "print(json.dumps(dir(pc)))"]
    plain = subprocess.run([sys.executable, "-c", "\n".join(listed)], capture_output=True, text=True)
    wanted, names = plain.stdout.splitlines()
    assert run(f"missing = lambda module: [name for name in {json.loads(names)} if not hasattr(module, name)]\n{used}", tmp_path) == json.loads(wanted)


def test_masked_arrays_are_there_once_somebody_makes_one(tmp_path: Path) -> None:
    program = "before = isinstance(np.zeros(1), np.ma.MaskedArray); made = np.ma.masked_array([1, 2], [0, 1]); import numpy.ma as loaded"
    assert run(f"{program}; print(json.dumps([before, isinstance(made, np.ma.MaskedArray), np.ma is loaded, made.sum().item()]))", tmp_path) == [
        *(False, True, True),
        1,
    ]


@pytest.mark.parametrize("given", [None, "4"])
def test_numpy_begins_with_one_thread_unless_told(given: str | None, tmp_path: Path) -> None:
    environment = {} if given is None else {"OPENBLAS_NUM_THREADS": given}
    assert run("print(json.dumps(os.environ['OPENBLAS_NUM_THREADS']))", tmp_path, **environment) == (given or "1")


def test_a_file_of_numbas_settings_is_read(tmp_path: Path) -> None:
    (tmp_path / ".numba_config.yaml").write_text("developer_mode: 1\n")
    assert run("import numba; print(json.dumps(numba.config.DEVELOPER_MODE))", tmp_path) == 1


CUPY = {
    "cupy/__init__.py": "from cupy import _environment\n_environment._preload_library('cutensor')\n",
    "cupy/_environment.py": """
_preload_libs, loaded = {"cutensor": None, "nccl": None}, []
def _preload_library(lib):
    if _preload_libs[lib] is None:
        from cuda.pathfinder import load_nvidia_dynamic_lib
        _preload_libs[lib] = {}
        loaded.append(load_nvidia_dynamic_lib(lib))
""",
    "cuda/pathfinder/__init__.py": "def load_nvidia_dynamic_lib(name):\n    return name\n",
}
"""CuPy's parts that load libraries, as CuPy 14 has them."""


@pytest.mark.parametrize("accelerators", ["cub", "cub,cutensor"])
def test_cupy_loads_what_it_needs_alone(accelerators: str, tmp_path: Path) -> None:
    """cuTENSOR's libraries are loaded for who asks for cuTENSOR, others for whoever uses them."""
    for name, text in CUPY.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    program = """
import cupy
from cupy import _environment
_environment._preload_library("nccl")
print(json.dumps(_environment.loaded))
"""
    asked = ["cutensor"] if "cutensor" in accelerators else []
    environment = {"PYTHONPATH": str(tmp_path), "CUPY_ACCELERATORS": accelerators}
    assert run(program, tmp_path, **environment) == [*asked, "nccl"]
