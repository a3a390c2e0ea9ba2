"""Where the search between alignments looks (`--inner`): the rectangles between neighbours, and before and after alignments that have none (LASTZ.md 14)."""

import numpy as np

from tidalign.kernels.extension.costs import Integers

REACH = 20_000
"""Letters between two alignments, and diagonals, up to which they are neighbours. Where an alignment has none it is half as far that is looked."""


def rectangles(ends: Integers, target: int, query: int) -> Integers:
    """int64[k, 4], ends like those of alignments, in the order in which they are searched.

    ends: int64[n, 4], target start and end, query start and end of alignments in LASTZ's order: by target start. target, query: how long the arrays are.
    Of several sequences in one array it is as if they were one: a rectangle may reach from one into the next.

    An alignment is paired with the nearest of those before it that end where it begins or earlier, on both sides, and with which nothing was paired yet. One
    that another overlaps, on one side, or that is behind it on one and before it on the other, is paired with nothing before it; if it does not go on beyond
    that one on both sides, with nothing after it either.
    """
    n = len(ends)
    before, after = np.ones(n, np.bool_), np.ones(n, np.bool_)
    found = []
    active = np.empty(0, np.int64)
    for i in range(n):
        t, t_end, q, q_end = ends[i]
        active = active[t - ends[active, 1] < REACH]
        t_gap, q_gap = t - ends[active, 1], q - ends[active, 3]
        beside = (q_gap < REACH - 1) & (abs(t_gap - q_gap) <= REACH)
        near, t_gap, q_gap = active[beside], t_gap[beside], q_gap[beside]
        active = np.append(active, i)
        if not len(near):
            continue
        before[i] = False
        across = near[(t_gap < 0) | (q_gap < 0)]
        if len(across):
            if ((ends[across, 1] >= t_end) | (ends[across, 3] >= q_end)).any():
                after[i] = False
            else:
                after[across] = False
            continue
        apart = np.where(after[near], t_gap + q_gap, 2 * REACH)
        if apart.min() < 2 * REACH:
            found.append(_between(ends[near[apart.argmin()]], ends[i]))
        after[near] = False
    half = REACH // 2
    for t, q in ends[before][:, [0, 2]].tolist():
        found.append((max(0, t - half), t + 1, max(0, q - half), q + 1))
    for t, q in ends[after][:, [1, 3]].tolist():
        found.append((t - 1, min(target, t + half), q - 1, min(query, q + half)))
    return np.array(found, np.int64).reshape(-1, 4)


def _between(one: Integers, other: Integers) -> tuple[int, int, int, int]:
    """The last letters of one and the first of the other are in it."""
    return int(one[1]) - 1, int(other[0]) + 1, int(one[3]) - 1, int(other[2]) + 1
