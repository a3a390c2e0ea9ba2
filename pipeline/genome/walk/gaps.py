"""Where the search between alignments looks (`--inner`): the rectangles between neighbours, and before and after alignments that have none (LASTZ.md 22)."""

import numpy as np

from tidalign.kernels.extension.costs import Integers

REACH = 20_000
"""Letters between two alignments, and diagonals, up to which they are neighbours. Where an alignment has none it is half as far that is looked."""


def rectangles(ends: Integers, target: int, query: int) -> Integers:
    """Find where LASTZ searches between alignments, in its order: int64[k, 4], ends like those of alignments.

    ends: int64[n, 4], target start and end, query start and end of alignments in LASTZ's order: by target start. target, query: how long the arrays are.
    Of several sequences in one array it is as if they were one: a rectangle may reach from one into the next.

    An alignment is paired with the nearest of those before it that end where it begins or earlier, on both sides, and with which nothing was paired yet, of
    equals the last. One that another overlaps, on one side, or that is behind it on one and before it on the other, is paired with nothing before it. Of those
    others, the last one first, nothing is paired with what the alignment goes beyond on both sides, up to the first that it does not go beyond; if there is
    one, nothing with the alignment itself. What lies after an alignment is looked at when those that begin are too far from it.
    """
    n = len(ends)
    open_ended = np.ones(n, np.bool_)
    found: list[tuple[int, ...]] = []

    def after(ended: Integers) -> None:
        found.extend(
            (t - 1, min(target, t + REACH // 2), q - 1, min(query, q + REACH // 2)) for t, q in ends[ended[open_ended[ended]][::-1]][:, [1, 3]].tolist()
        )

    active = np.empty(0, np.int64)
    for i in range(n):
        t, t_end, q, q_end = ends[i]
        reached = t - ends[active, 1] < REACH
        after(active[~reached])
        active = active[reached]
        t_gap, q_gap = t - ends[active, 1], q - ends[active, 3]
        beside = ((q_gap < REACH - 1) | (t_gap < 0)) & (abs(t_gap - q_gap) <= REACH)
        near, t_gap, q_gap = active[beside], t_gap[beside], q_gap[beside]
        active = np.append(active, i)
        if not len(near):
            found.append((max(0, int(t) - REACH // 2), int(t) + 1, max(0, int(q) - REACH // 2), int(q) + 1))
            continue
        across = near[(t_gap < 0) | (q_gap < 0)]
        if len(across):
            across = across[::-1]
            beyond = (ends[across, 1] < t_end) & (ends[across, 3] < q_end)
            open_ended[across[np.logical_and.accumulate(beyond)]] = False
            open_ended[i] = bool(beyond.all())
            continue
        apart = np.where(open_ended[near], t_gap + q_gap, 2 * REACH)
        if apart.min() < 2 * REACH:
            one = ends[near[::-1][apart[::-1].argmin()]]  # of equals the last
            found.append((int(one[1]) - 1, int(t) + 1, int(one[3]) - 1, int(q) + 1))  # the last letters of one and the first of the other are in it
        open_ended[near] = False
    after(active)
    return np.array(found, np.int64).reshape(-1, 4)
