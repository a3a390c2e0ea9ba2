"""What tests of kernels on a GPU share."""

import sys
from typing import Any

import pytest


@pytest.fixture
def device() -> Any:
    """Give CuPy with a GPU to run on."""
    cupy = pytest.importorskip("cupy")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"no CUDA device: {error}")
    return cupy


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Give back the GPU's memory that CuPy keeps: other processes test beside this one, and what does not fit is left to the host."""
    if item.get_closest_marker("gpu") and "cupy" in sys.modules:
        sys.modules["cupy"].get_default_memory_pool().free_all_blocks()
