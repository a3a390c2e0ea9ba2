"""For tests of what a failing device does to a run."""

import numpy as np


def fault(*, wait: bool = False) -> None:
    """Launch a kernel that writes where no memory is, so that the device fails. The device is of no use to this process from then on; it is the next call
    that says so, or this one if it is to `wait`."""
    import cupy

    cupy.RawKernel('extern "C" __global__ void fault(int *nowhere) { *nowhere = 1; }', "fault")((1,), (1,), (np.uint64(0),))
    if wait:
        cupy.cuda.runtime.deviceSynchronize()
