"""Keys sorted by some of their bits on a GPU: NumPy's stable order."""

import numpy as np
import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]


@pytest.mark.parametrize("count", [0, 1, 31, 4095, 4096, 4097, 300_000])
@pytest.mark.parametrize(("low", "high"), [(47, 63), (47, 64), (31, 60), (31, 32), (0, 8)])
@pytest.mark.parametrize("alike", [0, 5, 40])
def test_sorted_stably(count: int, low: int, high: int, alike: int) -> None:
    import cupy

    from tidalign.kernels.seed.sort import sort

    random = np.random.default_rng([count, low, high])
    keys = random.integers(0, 1 << 64, count, np.uint64)
    keys |= np.uint64(((1 << alike) - 1) << low & ((1 << 64) - 1))  # few digits that many have
    on_device = cupy.asarray(keys)
    found = cupy.asnumpy(sort(on_device, cupy.empty(count, np.uint64), low, high))
    digits = keys >> np.uint64(low) & np.uint64((1 << high - low) - 1)
    assert np.array_equal(found, keys[np.argsort(digits, kind="stable")])
