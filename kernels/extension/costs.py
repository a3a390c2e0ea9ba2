"""Give extensions their costs: scores, gaps, y-drop and threshold, as LASTZ names them, checked and laid out as the compiled kernels take them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension import sweep
from tidalign.kernels.extension.vectors import COLUMN_LANES
from tidalign.kernels.letters.nucleotides import ALPHABET

Integers = npt.NDArray[np.int64]

COLUMNS = np.int64(2048)
"""Columns that an inspection on the host has room for."""

UNLIMITED = 1 << 60
"""Cells of a traceback buffer that no extension fills."""

SEGMENT = 96 << 20
"""Bytes of a trail (a byte a cell) before an extension is swept in segments: LASTZ's own buffer of 80 MiB fits."""


@dataclass(frozen=True, eq=False)
class Costs:
    """Hold what gapped extension needs to know.

    plain: int32[64, 64], scores of letters (scoring.Scoring.plain). A gap of n letters costs gap_open + n * gap_extend. threshold: least score of an
    alignment. trim: ends are cut back to the best cell. traceback: bytes of LASTZ's buffer at which an extension is cut; None: never. of_hsps: anchors are of
    segments that reach the threshold by themselves, so that the host need not inspect whether their extensions do.
    """

    plain: npt.NDArray[np.int32]
    gap_open: int = 400
    gap_extend: int = 30
    ydrop: int = 9400
    threshold: int = 3000
    trim: bool = True
    traceback: int | None = None
    segment: int = SEGMENT
    of_hsps: bool = False

    def __post_init__(self) -> None:
        for name in ("gap_open", "gap_extend", "ydrop"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}: a cost cannot be below 0")
        if self._headroom(np.int32(0)) is None:
            raise ValueError(f"y-drop {self.ydrop}, gap costs {self.gap_open}, {self.gap_extend} and scores up to {self.plain.max()} pass 32 bits together")

    def _headroom(self, null: np.signedinteger[Any]) -> int | None:
        """Compute how far above its base a best value may grow in lanes of the type of `null`; None where the costs do not fit.

        Within a row the best value grows by one score; a lane's gap is raised by what COLUMN_LANES letters cost, which must not overflow, nor bring what is
        dead above the line.
        """
        top = int(np.iinfo(null.dtype).max)
        best = max(int(self.plain.max()), 0)
        raised = best + COLUMN_LANES * self.gap_extend + 1
        headroom = top - raised
        if self.ydrop + raised > top or self.gap_open + self.gap_extend > top or headroom < best:
            return None
        return headroom

    @cached_property
    def inspected(self) -> npt.NDArray[np.int16] | None:
        """Scores of ACGT for inspection; None where its 16 bits and its columns cannot hold what these costs reach."""
        headroom = self._headroom(np.int16(0))
        columns = self.ydrop // self.gap_extend if self.gap_extend > 0 else COLUMNS
        if headroom is None or not 0 < self.threshold <= headroom - int(self.plain.max()) or 8 * columns > 3 * COLUMNS:
            return None
        return np.ascontiguousarray(self.plain[:4, :4].clip(-(1 << 15)), np.int16)

    @cached_property
    def compiled(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32], Integers, np.signedinteger[Any]]:
        """(class of each target letter, scores of each class against every query letter, costs as sweep takes them, the lanes' type)."""
        null: np.signedinteger[Any] = np.int16(0) if self._headroom(np.int16(0)) is not None else np.int32(0)
        rows, inverse = np.unique(self.plain[: len(ALPHABET)], axis=0, return_inverse=True)
        classes = np.zeros(len(self.plain), np.uint8)
        classes[: len(ALPHABET)] = inverse.reshape(-1)
        costs = np.zeros(sweep.COSTS, np.int64)
        costs[sweep.OPENED], costs[sweep.EXTENDED] = self.gap_open + self.gap_extend, self.gap_extend
        costs[sweep.YDROP], costs[sweep.TRIM] = self.ydrop, self.trim
        # LASTZ leaves seven bytes of its buffer unused.
        costs[sweep.ROOM] = UNLIMITED if self.traceback is None else self.traceback - 7
        costs[sweep.SEGMENT], costs[sweep.HEADROOM] = self.segment, self._headroom(null) or 0
        return classes, np.ascontiguousarray(np.maximum(rows, np.iinfo(null.dtype).min), np.int32), costs, null
