"""For tests of what a failing device does to a run."""

import numpy as np


def fault() -> None:
    """Have a kernel write where nothing is. The device is of no use to this process from then on; it is the next call that says so."""
    import cupy

    cupy.RawKernel('extern "C" __global__ void fault(int *nowhere) { *nowhere = 1; }', "fault")((1,), (1,), (np.uint64(0),))
