"""Prove on the current CUDA device that swept sides have their ends: FastZ's inspection of what comes after a side's best cell.

A y-drop sweep goes on for some 600 rows after the best cell of its side, until all cells are under the line, and nearly always finds nothing: nine tenths
of its cells. Let U be the values of ordinary affine gaps from the live row of a checkpoint on, over the cells from its first column on. As in device.py, U is
never below LASTZ's values. As long as U stays under the best value, LASTZ's line stays where it is, and where no value of U in a row reaches the line, LASTZ
has stopped. So if U dies before it reaches the best value, the side's score, end and path are known without the rows in between; what the sweep would have
looked at is known as an upper bound alone. Where U reaches the best value, or leaves the window, the side is swept on as if nothing had been tried.

U only grows with the live row it begins with. So one proof, from the greatest of them, cell by cell, serves all sides with one end at one checkpoint: those
of the anchors on one alignment.

Cells: 5 operations of the integer pipe for two cells in the first pass over a row (PRMT, two VIADDMNMX) and the second (four VIADDMNMX), 40 a row and lane.
"""

from typing import Any

import numpy as np

from tidalign.kernels.extension.costs import Costs
from tidalign.kernels.extension.launches import BLOCK, THREADS, UNIT_BYTES, WARP_TEAMS, Launches, macros
from tidalign.kernels.runtime import compiler

SOURCE = "inspection/tails.cu"

QUIET = 16
"""Rows without a best value: fewer are often between two best values."""

COLUMNS, TAIL_BYTES = 768, 48
"""Of the window of a tail; of the struct Tail (tails.cu)."""

POOL_SHARE, MOST_TAILS = 4, 1 << 18
"""Tails that are bounded together take this share of the records' memory at most; more wait for the next time."""

LARGEST_YDROP, LARGEST_GAP, LARGEST_LETTER = 24_000, 8_000, 1_000
"""What 16 bits hold beside the line's value (tails.cu: LINE): the y-drop, a gap's first letter, half a lane's further letters."""


def fits(costs: Costs) -> bool:
    """Tell whether the kernels can do with these costs, where letters score in bytes: trimmed ends, and values in 16 bits."""
    return costs.trim and costs.ydrop <= LARGEST_YDROP and costs.gap_open + costs.gap_extend <= LARGEST_GAP and costs.gap_extend <= LARGEST_LETTER


def needed(costs: Costs) -> list[tuple[str, dict[str, object]]]:
    """List the sources that tails need, with their macros, for `compiler.ready`."""
    return [(SOURCE, macros(costs, general=False))] if fits(costs) else []


class Tails:
    """Bounds tails of sides that `launches` swept (extension.launches.Tails).

    proven, tried: records whose tail was proven, all that were tried; swept: tails that took.
    """

    quiet = QUIET

    def __init__(self, launches: Launches) -> None:
        import cupy

        self._launches = launches
        self._most = max(1, min(MOST_TAILS, launches.units * UNIT_BYTES // POOL_SHARE // (8 * COLUMNS)))
        self._rows = cupy.zeros((self._most, 2 * COLUMNS), np.uint32)
        self._tails = cupy.empty(self._most * TAIL_BYTES, np.uint8)
        self._table = cupy.empty(1 << (4 * self._most).bit_length(), np.uint64)
        self.tried = self.swept = 0
        self._proven = cupy.zeros(1, np.int32)

    @classmethod
    def of(cls, launches: Launches, costs: Costs) -> "Tails | None":
        """Make them where the kernels can do with these costs and letters."""
        return cls(launches) if fits(costs) and not launches.general else None

    @property
    def proven(self) -> int:
        return int(self._proven[0])

    def prove(self, sides: Any, count: int) -> None:
        """Bound the tails of the next records of `sides`, int32[.] on the device, of which there are `count`; what is found is noted in the records."""
        import cupy

        swept = self._launches.sides
        self._table.fill(0)
        made, of_side = cupy.zeros(1, np.int32), cupy.empty(count, np.int32)
        blocks = min(-(-count // (BLOCK // 32)), 1 << 16)
        table = self._tails, self._rows, self._table, np.uint64(len(self._table)), self._most, made
        self._launch("tails_join", blocks, BLOCK, swept, sides, count, *table, of_side)
        tails = min(int(made[0]), self._most)
        function = self._kernel("tails_sweep")
        blocks = min(compiler.resident(function, WARP_TEAMS, 0), -(-tails // (WARP_TEAMS // 32)))
        if tails:
            self._launch("tails_sweep", blocks, WARP_TEAMS, self._tails, self._rows, tails, cupy.zeros(1, np.int32))
        self._launch("tails_note", -(-count // THREADS), THREADS, swept, sides, count, self._tails, of_side, self._proven)
        self._rows[:tails].fill(0)
        self.tried += count
        self.swept += tails

    def _kernel(self, entry: str) -> compiler.Kernel:
        return compiler.kernel(SOURCE, entry, self._launches.macros)

    def _launch(self, entry: str, blocks: int, threads: int, *arguments: Any) -> None:
        compiler.launch(self._kernel(entry), blocks, threads, self._launches.memory, *arguments)
