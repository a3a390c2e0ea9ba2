# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""The best chain of segments, on one core, by a two-dimensional tree (Bentley 1975, Commun. ACM 18(9), 509-517).

Among equal chains the one that is found first is taken. So that this is LASTZ's choice, the tree is its tree: cut by query place and by diagonal in
turn, at the median of the first, middle and last segment, in leaves of up to three, and searched from the side of the segment that is to follow. What
LASTZ passes over besides, where there are penalties, makes it miss the best chain; it is passed over where its chain is asked for.
"""

import numpy as np

from tidalign.kernels.runtime.numba_cache import inline, jit

NONE = np.int64(-1)
LEAF = np.int64(3)
"""Segments of a leaf, at most."""
TOP = np.int64(2**31)
"""One more than the most that LASTZ's scores hold."""

BY_DIAGONAL, BY_QUERY, LOST = np.int64(0), np.int64(1), np.int64(2)
"""Cuts that a node is taken to have; LOST: it and all below it by diagonal, whatever they are cut by."""

FIELDS = 6
LOWER, UPPER, CUT, PARENT, FIRST, LAST = (np.int64(i) for i in range(FIELDS))
"""Of a node: its children (NONE in a leaf), the highest place of the lower one as a rule, where it hangs, its segments order[FIRST] to order[LAST]."""


@inline
def _place(t, q, i, by_query):
    """Give the place of a segment on the axis that a node cuts."""
    return q[i] if by_query else t[i] - q[i]


@inline
def _swap(order, i, j):
    order[i], order[j] = order[j], order[i]


@jit
def _split(t, q, order, first, last, by_query):
    """Order segments first to last so that those up to a median are in front of the others; returns the last of the front ones."""
    most = _place(t, q, order[first], by_query)
    for i in range(first + 1, last + 1):
        most = max(most, _place(t, q, order[i], by_query))
    while True:
        middle = (first + last) // 2
        a, b, c = _place(t, q, order[first], by_query), _place(t, q, order[middle], by_query), _place(t, q, order[last], by_query)
        pivot = a
        if a <= b <= c or c <= b <= a:
            pivot = b
            _swap(order, first, middle)
        elif a <= c <= b or b <= c <= a:
            pivot = c
            _swap(order, first, last)
        if pivot < most:
            break
        # None is behind the pivot: it goes to the end, and the rest is tried again.
        _swap(order, first, last)
        if last - first == 2:
            return last - 1
        last -= 1
    i, j = first, last + 1
    while True:
        i += 1
        while i <= last and _place(t, q, order[i], by_query) <= pivot:
            i += 1
        j -= 1
        while _place(t, q, order[j], by_query) > pivot:
            j -= 1
        if i >= j:
            break
        _swap(order, i, j)
    _swap(order, first, j)
    return j


@jit
def plant(t, q, order, nodes, leaf):
    """Build the tree over segments 0 to n - 1: fill nodes (int64[2n, FIELDS]), the root first, order (in: 0 to n - 1) and leaf, each segment's node.

    Returns how many levels there are.
    """
    levels, count = np.int64(1), np.int64(1)
    waiting = [(np.int64(0), np.int64(1))]
    nodes[0, PARENT], nodes[0, FIRST], nodes[0, LAST] = NONE, 0, len(t) - 1
    while waiting:
        node, level = waiting.pop()
        levels = max(levels, level)
        first, last = nodes[node, FIRST], nodes[node, LAST]
        nodes[node, LOWER] = NONE
        if last - first < LEAF:
            for i in range(first, last + 1):
                leaf[order[i]] = node
            continue
        by_query = level % 2 == 1
        cut = _split(t, q, order, first, last, by_query)
        nodes[node, CUT] = _place(t, q, order[cut], by_query)
        nodes[node, LOWER], nodes[node, UPPER] = count, count + 1
        nodes[count, PARENT], nodes[count, FIRST], nodes[count, LAST] = node, first, cut
        nodes[count + 1, PARENT], nodes[count + 1, FIRST], nodes[count + 1, LAST] = node, cut + 1, last
        waiting.append((count, level + 1))
        waiting.append((count + 1, level + 1))
        count += 2
    return levels


@inline
def _word(number):
    """Wrap a number as signed 32 bits do."""
    return ((number + TOP) & (2 * TOP - 1)) - TOP


@inline
def _joined(t, q, other_t, other_q, other_length, diagonal, anti, overlap, words):
    """Price following the other segment by one that starts at (t, q). words: each product wraps at 32 bits, and the sum stays in them."""
    apart = (t - q) - (other_t - other_q)
    room = q - other_q - other_length if apart >= 0 else t - other_t - other_length
    across, along = abs(apart) * diagonal, room * anti if room >= 0 else -room * overlap
    return min(max(_word(across) + _word(along), -TOP), TOP - 1) if words else across + along


@inline
def _next_axis(toll):
    """Give the axis by which children of a node cut by query place are taken to be cut: LASTZ takes their toll, a whole number here, for it."""
    return BY_DIAGONAL if toll == 0 else BY_QUERY if toll == 1 else LOST


@jit
def best_chain(t, q, length, score, diagonal, anti, overlap, order, nodes, leaf, levels, highest, best, before, lastz):
    """Fill best, best[i] the score of the best chain that ends with segment i, and before, the segment before it in that chain (NONE: it is the first).

    Segments come in order of target start; order, nodes, leaf, levels: of `plant`. highest: int64[nodes], zeros, of the best chain in each node so far. No
    penalty is negative, so a node whose best chain is no better than what was found is passed over.

    lastz: find what LASTZ finds where it is not the best: nodes are passed over whose best chain less a toll is no better (LASTZ.md 28).
    """
    stack, tolls = np.empty((levels + 1, 2), np.int64), np.empty(levels + 1)  # node, its axis; its toll
    for i in range(len(t)):
        most, link = np.int64(0), NONE
        stack[0, 0], stack[0, 1], tolls[0] = 0, BY_QUERY, 0
        depth = 1
        while depth:
            depth -= 1
            node, axis, toll = stack[depth, 0], stack[depth, 1], tolls[depth]
            if highest[node] - toll <= most:
                continue
            lower, upper, cut = nodes[node, LOWER], nodes[node, UPPER], nodes[node, CUT]
            if lower == NONE:
                for k in range(nodes[node, FIRST], nodes[node, LAST] + 1):
                    j = order[k]
                    if t[j] < t[i] and q[j] < q[i]:
                        total = best[j] - _joined(t[i], q[i], t[j], q[j], length[j], diagonal, anti, overlap, lastz)
                        if total > most:
                            most, link = total, j
                continue
            # What is to be looked at first goes on the stack last: the side where the segment is. Nothing of a higher query place comes before it.
            by_query = axis == BY_QUERY
            beyond = _place(t, q, i, by_query) - cut
            here = beyond >= 0
            near, far, below = toll, 0.0, BY_DIAGONAL
            if by_query:
                near, below = 0.0, _next_axis(toll)
            else:
                below = BY_QUERY if axis == BY_DIAGONAL else LOST
                if lastz:
                    far = np.float64(_word(beyond)) * (diagonal if here else -anti)
            if here or not by_query:
                stack[depth, 0], stack[depth, 1], tolls[depth] = lower if here else upper, below, far
                depth += 1
            stack[depth, 0], stack[depth, 1], tolls[depth] = upper if here else lower, below, near
            depth += 1
        best[i], before[i] = most + score[i], link
        node = leaf[i]
        while node != NONE and highest[node] < best[i]:
            highest[node] = best[i]
            node = nodes[node, PARENT]
