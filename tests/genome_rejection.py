"""An upper bound of what anchors can score, between fences or not, cell by cell: what the GPU's inspector bounds by strips (kernels/inspection/device.py)."""

from typing import Any

import numba
import numpy as np

from tidalign.kernels.extension.costs import Costs
from tidalign.kernels.gapped.extender import Extender
from tidalign.kernels.gapped.speculated import REJECTION_LETTERS


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _side(target: Any, query: Any, t: int, q: int, onward: int, rows: int, columns: int, plain: Any, opened: int, extended: int, ydrop: int) -> Any:
    """Bound a side from the letters t, q on: (bound, best of the first pairs on the diagonal, rows, columns); a bound of -1: it may go on beyond an end."""
    looked = min(REJECTION_LETTERS, ydrop // max(plain.max(), 1))
    least = total = 0
    for i in range(min(looked, rows, columns)):
        total += plain[target[t + onward * i], query[q + onward * i]]
        least = max(least, total)
    dead = -(1 << 40)
    values, down = np.full(columns + 2, dead, np.int64), np.full(columns + 2, dead, np.int64)
    best = row = first = last = 0
    widest = 1
    while last >= first:
        if row > rows:
            return -1, least, row, widest
        line = least - ydrop if row > looked else -ydrop
        across, diagonal, column, begin, end = dead, dead, first, columns + 1, -1
        while column <= last + 1 or across >= line:
            if column > columns:
                return -1, least, row, widest
            above = values[column]
            value = 0 if row == 0 and column == 0 else max(diagonal, down[column], across)
            if row and column < columns:
                diagonal = above + plain[target[t + onward * (row - 1)], query[q + onward * column]]
            if value < line:
                value = dead
            else:
                best, begin, end = max(best, value), min(begin, column), column
            values[column] = value
            down[column] = max(down[column] - extended, value - opened)
            across = max(across - extended, value - opened)
            column += 1
        widest = max(widest, column)
        first, last = begin, end
        row += 1
    return best, least, row, widest


def reject(target: Any, query: Any, bounds: Any, t: Any, q: Any, costs: Costs) -> tuple[Any, Any]:
    """Reject anchors as `inspection_device.Inspector.inspect` does; only costs matter, whether 16 bits hold them or not."""
    extender = Extender(target, query, bounds, costs)
    sure, boxes = np.zeros(len(t), np.bool_), np.zeros((len(t), 4), np.int64)
    opened, extended = costs.gap_open + costs.gap_extend, costs.gap_extend
    for i, (place, column) in enumerate(zip(t.tolist(), q.tolist(), strict=True)):
        low, high, *_ = extender.limits(place, 0)
        sides = [
            (place, column, -1, place + 1 - low, column + 1),
            (place + 1, column + 1, 1, high - place - 1, len(query) - column - 1),
        ]
        left, right = (_side(extender.target, extender.query, *side, costs.plain.astype(np.int64), opened, extended, costs.ydrop) for side in sides)
        raised = costs.ydrop + opened if left[1] == 0 or right[1] == 0 else 0
        if min(left[0], right[0]) >= 0 and left[0] + right[0] + raised < costs.threshold:
            sure[i], boxes[i] = True, (*left[2:], *right[2:])
    return sure, boxes
