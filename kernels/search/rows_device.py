"""The best of each row of scores, chosen on the current CUDA device."""

from typing import Any

import numpy as np

from tidalign.kernels.runtime import compiler

THREADS = 256


def best_of_rows(scores: Any, top: int, least: int) -> tuple[Any, Any, Any]:
    """Choose the `top` highest of each row, of equal ones the first, of `least` or more -> how many there are, int32[rows], their places and what they are,
    int32[rows, top or the columns that there are], by place. scores: int32[rows, columns]."""
    import cupy

    rows, width = scores.shape
    most = min(top, width)
    counts, places, values = cupy.empty(rows, np.int32), *(cupy.empty((rows, most), np.int32) for _ in range(2))
    lowest = np.int32(max(least, -(1 << 31)))
    compiler.launch(compiler.kernel("search/best.cu", "best_of_rows", {}), rows, THREADS, scores, np.int64(width), most, lowest, counts, places, values)
    return counts, places, values
