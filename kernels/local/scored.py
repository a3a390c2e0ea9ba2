"""Scores of local pairs in lanes of 8 bits: twice as many pairs at a time as with 16, for those that score little, as most of a database do.

SWIPE (Rognes 2011, BMC Bioinformatics 12:221) begins so, too. A score of 255 may be any higher one: such pairs are scored again, with wider lanes.
"""

import numpy as np
import numpy.typing as npt

from tidalign.kernels.local import lookups, scored_host
from tidalign.kernels.local.bars import Bars
from tidalign.kernels.local.coding import Coded, Coding
from tidalign.kernels.local.lanes import PAIR_LANES
from tidalign.kernels.local.lookups import STRIP_ROWS

LANES = 2 * PAIR_LANES

TOO_MUCH = 0xFF
"""A score that stands for all from it on."""

MOST_COST = 0x7F
"""Highest cost of a gap's first letter that lanes hold."""

SAMPLED = 16
"""One group of so many is tried first."""


def group_bytes(letters: Coding, targets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Count the bytes that groups take whose longest targets have so many letters."""
    return (targets + 1) * LANES * (2 + len(letters.costs) // 2)


def scores(query: Coded, target: Coded, letters: Coding, span: int, bars: Bars) -> npt.NDArray[np.int64]:
    """Score pairs, those of a group side by side -> int64[n], at most TOO_MUCH. Where half of a sample scores that much, so are all others said to.

    span: of local alignments, as host.py has it.
    """
    found = np.full(len(query), TOO_MUCH)
    tried = np.arange(len(query)) // LANES % SAMPLED == 0
    if int(letters.matrix.max()) * int(np.minimum(query.lengths, target.lengths).max(initial=0)) < TOO_MUCH:
        tried[:] = True
    for rows in (np.flatnonzero(tried), np.flatnonzero(~tried)):
        if len(rows):
            found[rows] = _scores(query.at(rows), target.at(rows), letters, span, bars.at(rows))
        if 2 * (found[rows] == TOO_MUCH).sum() > len(rows):
            break
    return found


def _scores(query: Coded, target: Coded, letters: Coding, span: int, bars: Bars) -> npt.NDArray[np.int64]:
    n, m = query.lengths, target.lengths
    found = np.zeros((1, len(n)), np.int64)
    pieces = len(letters.costs) // 2
    cells = (int(m.max(initial=0)) + 1) * LANES
    buffers = (
        np.empty((1 + pieces) * cells, np.int8),
        np.zeros(cells, np.uint8),
        np.empty((2 + STRIP_ROWS * (1 + pieces)) * LANES, np.int8),
        np.empty(STRIP_ROWS * LANES, np.int8),
        np.zeros(lookups.LETTERS * LANES, np.uint64),
    )
    of_one = lookups.SHARES and len(letters.scores) == 1 and query.one
    sides = (query.codes, query.starts, letters.table), target.codes, target.starts, n, m
    looked_up = letters.scores * (3 if of_one else 1)
    scored_host.score_groups(np.arange(len(n)), *sides, np.int64(span), letters.costs, looked_up, bars.arrays, buffers, found, np.uint8(0))
    return found.ravel()
