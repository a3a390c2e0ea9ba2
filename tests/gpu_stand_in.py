"""Puts the host's kernels in the place of a GPU's (workflows/stand_in/gpu_kernels.py)."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tidalign.kernels import gapped, seed, ungapped

KERNELS = Path(__file__).parent / "workflows" / "stand_in" / "gpu_kernels.py"


def installed(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Have the stages of a genome on a GPU find these kernels; the module that holds them."""
    spec = spec_from_file_location("gpu_kernels", KERNELS)
    assert spec is not None and spec.loader is not None
    stand_in = module_from_spec(spec)
    spec.loader.exec_module(stand_in)
    for operation in (seed, ungapped, gapped):
        monkeypatch.setitem(sys.modules, f"{operation.__name__}.device", stand_in)
        monkeypatch.setattr(operation, "device", stand_in, raising=False)
    return stand_in
