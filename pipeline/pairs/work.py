"""How much work a pair is before anything is known of its divergence; what bounds chunks and batches and orders tasks."""

import numpy as np
import numpy.typing as npt

EXPECTED_DIVERGENCE = 0.1
"""Share of the longer side taken as edits. Only balance depends on it, never a result."""

Lengths = npt.NDArray[np.int64]


def work(query_lengths: Lengths, target_lengths: Lengths) -> npt.NDArray[np.float64]:
    """Estimated work of each pair in wavefront cells: reading both sides, and a wavefront as deep as the expected edits and wide as it is deep."""
    longer = np.maximum(query_lengths, target_lengths)
    depth = EXPECTED_DIVERGENCE * longer + np.abs(query_lengths - target_lengths)
    return np.asarray(query_lengths + target_lengths + depth * depth, np.float64)


def length_bin(query_lengths: Lengths, target_lengths: Lengths) -> npt.NDArray[np.int64]:
    """Number of bits of the longer side: bin b holds lengths 2^(b-1)..2^b - 1, bin 0 pairs of two empty sides."""
    longer = np.maximum(query_lengths, target_lengths)
    return np.where(longer > 0, np.frexp(longer.astype(np.float64))[1], 0).astype(np.int64)


def cuts(weights: npt.NDArray[np.float64], limit: float, most: int) -> list[tuple[int, int]]:
    """Cut rows into consecutive ranges of at most `most` rows whose weights add up to at most `limit` (a heavier row stands alone)."""
    ranges = []
    start, total = 0, len(weights)
    sums = np.cumsum(weights)
    while start < total:
        base = sums[start - 1] if start else 0.0
        stop = int(np.searchsorted(sums, base + limit, side="right"))
        stop = min(max(stop, start + 1), start + most, total)
        ranges.append((start, stop))
        start = stop
    return ranges
