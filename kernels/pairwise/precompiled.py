"""Lists the kernels that align pairs and take longest to compile."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tidalign.kernels.wavefront import batch, host, rows, solve, trace


def kernels() -> Iterator[tuple[Any, dict[str, Any]]]:
    """Give each with examples of its arguments, for pairs whose wavefronts fit 16 bits.

    The chain of those that call one another, `sweep` to `align_encoded`, decides when all are compiled: it begins at once, and the rest of what its links call
    is for other processes meanwhile.
    """
    number, numbers, table = np.int64(0), np.empty(0, np.int64), np.empty((0, 2), np.int64)
    four, flag = (number,) * 4, True
    examples: dict[str, Any] = {"counts": np.empty(0, np.int32), "keep": flag, "null": np.int16(0)}
    examples |= {"work": numbers, "spare": numbers, "model": (number,) * 6, "free": four}
    pair = dict.fromkeys(("q", "n", "t", "m", "begin", "end", "bound", "band", "pause", "most", "s", "k", "h"), number)
    yield host.sweep, examples | pair
    row = examples | pair | dict.fromkeys(("blocks", "low", "high", "row", "trail"), number)
    for part, places in ((rows.row5, 12), (rows.row3, 7), (rows.row1, 4)):
        yield part, row | {"places": (number,) * places}
    yield rows.extend, row
    yield trace.trace_single, examples | pair
    yield trace.trace_gaps, examples | pair | {"state": number}
    yield solve.counted, examples | pair | {"left": number}
    yield solve.solve, examples | pair
    lengths = np.empty(0, np.int64)
    lengths.flags.writeable = False  # as chunks have them
    batched = {"rows": numbers, "places": table, "n": lengths, "m": lengths, "unit": number, "first": number, "stop": number, "out": table, "ends": table}
    yield batch.align_encoded, examples | pair | batched
