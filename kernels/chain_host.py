# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""The best chain of segments, on one core."""

import numpy as np

from tidalign.kernels.numba_cache import inline, jit

NONE = np.int64(-1)


@inline
def _joined(t, q, other_t, other_q, other_length, diagonal, anti, overlap):
    """What it costs to follow the other segment by one that starts at (t, q)."""
    apart = (t - q) - (other_t - other_q)
    room = q - other_q - other_length if apart >= 0 else t - other_t - other_length
    return abs(apart) * diagonal + (room * anti if room >= 0 else -room * overlap)


@jit
def best_chain(t, q, length, score, rank, at_rank, diagonal, anti, overlap, best, before, highest):
    """best[i] = score of the best chain that ends with segment i, before[i] = the segment before it in that chain (NONE: it is the first).

    Segments come in order of target start; rank[i]: their order by query start, at_rank: the segment of a rank. highest: int64[2 * leaves], zeros, a power of
    two: a tree over ranks, of the best chain below each node. No penalty is negative, so a node whose best chain is less than what was found is passed
    over. Of equal predecessors the first in order is taken.
    """
    leaves = len(highest) // 2
    stack = np.empty((128, 3), np.int64)  # node, its first rank, how many ranks it has
    entered = 0
    for i in range(len(t)):
        # Segments of one target start cannot follow each other: they enter the tree together, when the next start comes.
        while t[entered] < t[i]:
            node = leaves + rank[entered]
            while node and highest[node] < best[entered]:
                highest[node] = best[entered]
                node >>= 1
            entered += 1
        most, link = np.int64(0), NONE
        stack[0, 0], stack[0, 1], stack[0, 2] = 1, 0, leaves
        depth = 1
        while depth:
            depth -= 1
            node, first, ranks = stack[depth, 0], stack[depth, 1], stack[depth, 2]
            # What starts further right in the query cannot come before.
            if highest[node] < most or highest[node] == 0 or first >= rank[i]:
                continue
            if node < leaves:
                ranks >>= 1
                right_first = np.int64(highest[2 * node] <= highest[2 * node + 1])  # so that the better one is looked at first
                for child in range(2):
                    side = child ^ right_first ^ 1
                    stack[depth, 0], stack[depth, 1], stack[depth, 2] = 2 * node + side, first + side * ranks, ranks
                    depth += 1
                continue
            j = at_rank[first]
            if q[j] >= q[i]:
                continue
            total = best[j] - _joined(t[i], q[i], t[j], q[j], length[j], diagonal, anti, overlap)
            if total > most or (total == most and j < link):
                most, link = total, j
        best[i], before[i] = most + score[i], link
