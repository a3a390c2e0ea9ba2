"""Sort keys on the current CUDA device by some of their bits, stably: hits come in LASTZ's order, and only their diagonals need sorting (sort.cu)."""

from typing import Any

import numpy as np

from tidalign.kernels.runtime import compiler

SOURCE = "seed/sort.cu"

_THREADS, _KEYS, _DIGIT_BITS = 256, 4096, 8  # sort.cu


def sort(keys: Any, scratch: Any, low: int, high: int) -> Any:
    """Sort keys (uint64[n], fewer than 2^32) by their bits [low, high); returns `keys` or `scratch`, whichever holds them then. The other's content is lost."""
    import cupy

    blocks = -(-len(keys) // _KEYS)
    if not blocks:
        return keys
    passes = -(-(high - low) // _DIGIT_BITS)
    width = -(-(high - low) // passes)
    counts = cupy.empty(blocks << _DIGIT_BITS, np.uint32)
    for bit in range(low, high, width):
        digit = np.uint32(len(keys)), bit, np.uint32((1 << min(width, high - bit)) - 1)
        compiler.launch(compiler.kernel(SOURCE, "sort_counts", {}), blocks, _THREADS, keys, *digit, counts)
        ends = cupy.cumsum(counts, dtype=np.uint32)
        compiler.launch(compiler.kernel(SOURCE, "sort_scatter", {}), blocks, _THREADS, keys, *digit, ends, scratch)
        keys, scratch = scratch, keys
    return keys
