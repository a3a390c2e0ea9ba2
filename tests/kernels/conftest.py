"""What tests of kernels on a GPU share."""

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
