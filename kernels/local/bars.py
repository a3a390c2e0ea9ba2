"""Bars of local pairs: scores below which a pair is of no use, so that it is given up as soon as it is sure to stay below.

With so many rows of the query done, no alignment scores more than the best so far and what the letters of all other rows score at best.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.local.coding import Coded, Coding
from tidalign.kernels.runtime import compiler

NO_BAR = -(1 << 62)
"""A bar that any score comes to."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bars:
    """Hold the bar of each pair (int64; int32 on the device), and of the codes of all queries what those before each can score at best, together:
    int64[letters + 1]."""

    least: Integers
    worth: Integers

    @classmethod
    def none(cls, pairs: int) -> "Bars":
        """Make bars that nothing is given up for."""
        return cls(np.full(pairs, NO_BAR), np.zeros(1, np.int64))

    @property
    def arrays(self) -> tuple[Integers, Integers]:
        """Give both as kernels take them."""
        return self.least, self.worth

    def at(self, rows: Any) -> "Bars":
        """Take those of the pairs at these places."""
        return Bars(self.least[rows], self.worth)


def worth(queries: Coded, coding: Coding) -> Integers:
    """Sum up what letters score at best, before each of all queries' letters and behind the last."""
    best = _at_best(coding)
    sums = np.zeros(len(queries.codes) + 1, np.int64)
    np.cumsum(best[np.minimum(queries.codes, len(best) - 1)], out=sums[1:])
    return sums


def worth_on_device(codes: Any, coding: Coding) -> Any:
    """Sum up the same of codes on the current CUDA device, there. What lies between sequences counts for nothing that is asked for."""
    import cupy

    best = _at_best(coding)
    sums = cupy.empty(len(codes) + 1, np.int64)
    compiler.launch_block("local/device/codes.cu", "worth_of_codes", codes, np.int64(len(codes)), cupy.asarray(best), len(best), sums)
    return sums


def _at_best(coding: Coding) -> Integers:
    """Give what each letter scores at best, or 0; of padding, the last, 0."""
    return np.append(np.maximum(coding.matrix.max(axis=1), 0), 0).astype(np.int64)
