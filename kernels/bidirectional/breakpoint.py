# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Where the bidirectional algorithm cuts a problem: the first place in a fixed order where the two directions meet on an optimal path.

Marco-Sola et al. 2023, Optimal gap-affine alignment in O(s) space (BiWFA, Bioinformatics 39:btad074). Wavefronts are made in the order forward 0,
backward 0, forward 1, backward 1, ... Each new one, of penalty s, is held against those of the other direction from its newest to older ones: M with
M down to scope - 1 below s, a gap state with the same one down to its extension penalty below s; at each penalty r the states M, I1, D1, I2, D2, and in
each state the diagonals (k = target - query, seen forward) upwards. A cell of each on one diagonal that reach or pass each other (their offsets add
up to at least the target's length) make a path of reduced penalty s + r, less the opening in a gap state. The first cells in this order that give
the optimum are the breakpoint, and it lies at the forward direction's offset. A device that follows this order (WAVEFRONT.md 9) cuts at the same place.

Those ranges are enough: along an optimal path the difference between the penalty so far and the penalty to come changes sign, and it jumps over 0 by so little
that the cell before or after the jump lies in them. (Into a gap it jumps by opening + 2 extensions, of which M covers opening + extension; inside one by 2
extensions; out of one by the opening.)

Of a problem whose penalty is known, a cell counts only if the other direction comes to it with what is left of the penalty: `reach` measures how far one
comes, the other leaves out what that does not come to, and meetings are the same (WAVEFRONT.md 9).
"""

import numpy as np

from tidalign.kernels.bidirectional.direction import NOTHING, extension_of, opening_of, scope_of, slot_of, start, step
from tidalign.kernels.runtime.numba_cache import jit

UNKNOWN = 1 << 60
"""No penalty is known, no diagonal found."""


@jit
def _meeting(forward, backward, model, state, f, r, n, m):
    """Find the first diagonal k where forward's cells of a state at penalty f and backward's at r (on its diagonal m - n - k) reach each other, or UNKNOWN."""
    scope = len(forward.low)
    f_low, f_high = forward.low[f % scope], forward.high[f % scope]
    r_low, r_high = backward.low[r % scope], backward.high[r % scope]
    low, high = max(f_low, m - n - r_high), min(f_high, m - n - r_low)
    if f_low > f_high or r_low > r_high or low > high:
        return UNKNOWN
    ahead = forward.rows[slot_of(model, state, f), low + forward.centre : high + 1 + forward.centre]
    behind = backward.rows[slot_of(model, state, r), m - n - high + backward.centre : m - n - low + 1 + backward.centre]
    count = len(ahead)
    short = np.int32(m - 1)
    signs = np.int32(0)
    for j in range(count):  # a vector loop first: it nearly always ends here
        signs |= np.int32(np.int32(short - ahead[j]) - behind[count - 1 - j])
    if signs >= 0:
        return UNKNOWN
    for j in range(count):
        h, back = np.int64(ahead[j]), np.int64(behind[count - 1 - j])
        k = low + j
        # Cells of gap states may lie outside the matrix.
        if h + back >= m and 0 <= h <= m and 0 <= h - k <= n and 0 <= back <= m and 0 <= back - (m - n - k) <= n:
            return k
    return UNKNOWN


@jit
def _better(forward, backward, model, f, b, best, lowest, n, m):
    """Hold the newest wavefront against the other direction's; gives the best meeting so far, (reduced penalty, forward's part, state, v, h).

    Forward's newest is f, backward's b: forward is a step ahead, or backward has just drawn level. Only penalties of at least `lowest` are looked at.
    """
    scope = len(forward.low)
    made, kept = (forward, backward) if f > b else (backward, forward)
    s = max(f, b)
    for r in range(min(f, b), max(0, s - scope + 1) - 1, -1):
        if made.reach[s % scope] + kept.reach[r % scope] < n + m:
            continue
        for state in range(model[0]):
            total = s + r - opening_of(model, state)
            if total < lowest or total >= best[0] or (state > 0 and s - r > extension_of(model, state)):
                continue
            part = s if f > b else r
            k = _meeting(forward, backward, model, state, part, s + r - part, n, m)
            if k != UNKNOWN:
                h = np.int64(forward.rows[slot_of(model, state, part), k + forward.centre])
                best = (np.int64(total), np.int64(part), np.int64(state), h - k, h)
    return best


@jit
def _least(model, known, reached, s, letters):
    """Give the antidiagonal that a cell of penalty s must have come to: the other direction, which `reached` so far, meets it with what is left of `known`."""
    rest = max(known - s + max(model[2], model[4]), 0)  # in a gap both directions have paid its opening
    return letters - reached[rest] if rest < len(reached) else 0


@jit
def reach(side, model, q, n, t, m, begin, known, other, spare):
    """Make one direction's wavefronts of a problem up to its known penalty, or until `spare` cells are spent, for what they reach; gives the last one too."""
    side = start(side, model, q, n, t, m, begin, NOTHING, NOTHING)
    s = np.int64(0)
    while s < known and spare > 0:
        s += 1
        side = step(side, model, s, q, n, t, m, _least(model, known, other, s, n + m))
        here = s % len(side.low)
        spare -= side.high[here] - side.low[here] + 1
    return side, s


@jit
def breakpoint(forward, backward, model, q, n, t, m, back_q, back_t, begin, end, known, ahead_reached, behind_reached):
    """Find where a problem is cut: both directions, and (its reduced penalty, the forward part's penalty, the state, v, h). `known`: the reduced penalty, or
    UNKNOWN.

    `back_q`, `back_t`: addresses of the reversed letters from the problem's end on. `ahead_reached`, `behind_reached`: how far forward and backward cells of
    optimal paths come at most, by penalty, as far as it is known.
    """
    lowest = 0 if known == UNKNOWN else known
    nothing = UNKNOWN if known == UNKNOWN else known + 1
    s = np.int64(0)
    best = (np.int64(nothing), s, s, s, s)
    forward = start(forward, model, q, n, t, m, begin, s, s)
    backward = start(backward, model, back_q, n, back_t, m, end, s, s)
    best = _better(forward, backward, model, s, s, best, lowest, n, m)
    scope = scope_of(model)
    # The furthest that any wavefront reaches: one that meets none is not held against each.
    ahead, behind = forward.reach[0], backward.reach[0]
    # A path of penalty p has its cells to be met at penalties of at most (p + opening + scope - 1) / 2 on both sides.
    slack = scope + max(model[2], model[4]) - 2
    while best[0] > lowest and (best[0] == nothing or 2 * s < best[0] + slack):
        if s > nothing:
            raise RuntimeError("bidirectional alignment: no breakpoint at the known penalty")
        s += 1
        forward = step(forward, model, s, q, n, t, m, _least(model, known, behind_reached, s, n + m))
        ahead = max(ahead, forward.reach[s % scope])
        if forward.reach[s % scope] + behind >= n + m:
            best = _better(forward, backward, model, s, s - 1, best, lowest, n, m)
        if best[0] > lowest:
            backward = step(backward, model, s, back_q, n, back_t, m, _least(model, known, ahead_reached, s, n + m))
            behind = max(behind, backward.reach[s % scope])
            if backward.reach[s % scope] + ahead >= n + m:
                best = _better(forward, backward, model, s, s, best, lowest, n, m)
    return forward, backward, best
