# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Pairs too long to keep all wavefronts of: optimal alignments in memory that grows with the penalty, not with its square.

Marco-Sola et al. 2023, Optimal gap-affine alignment in O(s) space (BiWFA, Bioinformatics 39:btad074). Penalty-only wavefronts from both ends meet in a
breakpoint (breakpoint.py), at which the pair is cut in two; parts are cut again until the ordinary wavefronts can finish them.

A part is a rectangle with a begin and an end state (M, I1, D1, I2, D2). In a begin state other than M the gap is open: its opening was paid
before. In an end state other than M the opening is paid inside, whether or not a letter of the gap lies inside. The backward direction takes a gap that is
open at the end as open and paid, so the *reduced* penalty of a part leaves the opening of its end state out.

Everything here is plain Python around compiled parts: a pair takes milliseconds at least, and little is compiled twice.
"""

import ctypes
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tidalign.kernels.bidirectional.breakpoint import UNKNOWN, breakpoint, reach
from tidalign.kernels.bidirectional.direction import Direction, free_end, new_direction, opening_of, scope_of
from tidalign.kernels.letters.host import BEHIND, SENTINEL
from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.runtime.workspace import CIGAR, CIGAR_COUNT, CIGAR_FIRST, LETTERS, Memory, reserve
from tidalign.kernels.wavefront.host import NO_PAUSE
from tidalign.kernels.wavefront.solve import solve
from tidalign.kernels.wavefront.trace import DELETION, INSERTION, emit

LEAF = 1024
"""Parts of a penalty up to this many units (or 4 * scope, if more) are finished with all their wavefronts in memory.

CIGARs depend on it: it is a constant of the product, not of the machine.
"""

MEASURED = 2048
"""Parts of a penalty above this many gap letters' are measured before they are cut: most diagonals are left out then, but there are more steps.

No result depends on it.
"""

Letters = npt.NDArray[np.uint8]
"""Encoded letters (letters/host.py) with BEHIND sentinels behind them."""

Integers = npt.NDArray[np.int64]
NOTHING_REACHED = np.empty(0, np.int64)
Model = tuple[int, int, int, int, int, int]
Free = tuple[int, int, int, int]


class Subproblem(NamedTuple):
    """Rows and columns of the matrix, first and last; states; the penalty in units, with the opening of the end state, or UNKNOWN where it is not known yet.

    `reached`: how far forward and backward cells of optimal paths come at most, by penalty, as far as it is known.
    """

    query: tuple[int, int]
    target: tuple[int, int]
    begin: int
    end: int
    penalty: int
    reached: tuple[Integers, Integers] = (NOTHING_REACHED, NOTHING_REACHED)


def align_encoded(
    memory: Memory,
    rows: Integers,
    places: Integers,
    n: Integers,
    m: Integers,
    model: Model,
    free: Free,
    unit: int,
    keep: bool,
    out: Integers,
    ends: Integers,
) -> None:
    """Align long and dear pairs as batch_host.align_encoded does: all of `rows`, whose letters lie encoded at `places`."""
    work = memory.work
    for i, place in zip(rows.tolist(), places.tolist(), strict=True):
        lengths = int(n[i]), int(m[i])
        query, target = (_letters_at(int(work[LETTERS]) + at, length) for at, length in zip(place, lengths, strict=True))
        work[CIGAR_FIRST] = ends[i, 0] = work[CIGAR_COUNT]
        penalty, (q0, q1), (t0, t1) = align_long(memory, query, target, model, free, keep)
        ends[i, 1] = work[CIGAR_COUNT]
        out[:, i] = penalty * unit, q0, q1, t0, t1


def _letters_at(address: int, length: int) -> Letters:
    return np.ctypeslib.as_array((ctypes.c_uint8 * (length + BEHIND)).from_address(address))


def align_long(
    memory: Memory, query: Letters, target: Letters, model: Model, free: Free, keep: bool, leaf: int = LEAF
) -> tuple[int, tuple[int, int], tuple[int, int]]:
    """Find the optimal penalty of one pair in units, and the rows and columns that the alignment covers; with `keep` its operations are appended to the CIGAR.

    `model` and `free` as in wavefront_host. With free ends the end is the one that a penalty-only pass finds (the first diagonal, from the lowest, that
    ends it), the begin the one that such a pass finds backwards from there, and what lies between is aligned from end to end.

    Invariant: the problems on the stack, from its top down, hold what is still to be aligned, from left to right, and their penalties and those of what is
    done add up to the pair's (a gap's opening is of the problem that it begins in). One too dear for a leaf is cut at a cell (v, h) of an optimal path:

        q0      +---------+                      forward wavefronts from the upper left, backward ones from the lower right; the other two corners
                |  first  |                      are not looked at again
        q0 + v  +---------o---------------+
                          |    second     |
        q1                +---------------+
                t0      t0 + h            t1
    """
    n, m = len(query) - BEHIND, len(target) - BEHIND
    directions = [new_direction(model), new_direction(model)]
    rows, columns = (0, n), (0, m)
    if any(free):
        query_begin, query_end, target_begin, target_end = (min(letters, length) for letters, length in zip(free, (n, n, m, m), strict=True))
        ends = query_begin, query_end, target_begin, target_end
        _, v, h = free_end(directions[0], model, query.ctypes.data, n, target.ctypes.data, m, ends)
        back_query, back_target = with_sentinels(query[:v][::-1]), with_sentinels(target[:h][::-1])
        ends = 0, min(query_begin, v), 0, min(target_begin, h)
        _, back_v, back_h = free_end(directions[1], model, back_query.ctypes.data, v, back_target.ctypes.data, h, ends)
        rows, columns = (v - back_v, v), (h - back_h, h)
    back_query, back_target = with_sentinels(query[:n][::-1]), with_sentinels(target[:m][::-1])
    leaf = max(leaf, 4 * int(scope_of(model)))
    parts = [Subproblem(rows, columns, 0, 0, UNKNOWN)]
    penalty = -1
    while parts:
        part = parts.pop()
        (q0, q1), (t0, t1) = part.query, part.target
        if part.penalty == UNKNOWN and (q0 == q1 or t0 == t1):
            penalty = gap_penalty(model, q1 - q0 + t1 - t0)
            part = part._replace(penalty=penalty)
        if part.penalty <= leaf or q0 == q1 or t0 == t1:
            if keep:
                _finish(memory, query[q0:q1], target[t0:t1], model, part)
            continue
        known = UNKNOWN if part.penalty == UNKNOWN else part.penalty - opening_of(model, part.end)
        ahead = query.ctypes.data + q0, q1 - q0, target.ctypes.data + t0, t1 - t0, part.begin
        behind = back_query.ctypes.data + n - q1, q1 - q0, back_target.ctypes.data + m - t1, t1 - t0, part.end
        reached = list(part.reached)
        if known != UNKNOWN and known > MEASURED * (extension := min(model[3], model[5]) if model[0] == 5 else model[3]):
            new = 1 if len(reached[0]) else 0  # what the part that this one was cut from does not tell of
            measured, made = reach(directions[new], model, *(ahead, behind)[new], known, reached[1 - new], known * known // (32 * extension))
            directions[new] = Direction(*measured)
            reached[new] = directions[new].reached[: made + 1].copy()
        forward, backward, (reduced, before, state, v, h) = breakpoint(
            *directions, model, *ahead[:4], behind[0], behind[2], part.begin, part.end, known, *reached
        )
        directions = [Direction(*forward), Direction(*backward)]
        for way, share in enumerate((before, reduced + opening_of(model, state) - before)):
            if len(reached[way]) <= share:
                reached[way] = directions[way].reached[: share + 1].copy()
        if part.penalty == UNKNOWN:
            penalty = reduced
            if not keep:
                break
            part = part._replace(penalty=penalty)
            if penalty <= leaf:
                parts.append(part)
                continue
        parts.append(Subproblem((q0 + v, q1), (t0 + h, t1), state, part.end, part.penalty - before, (NOTHING_REACHED, reached[1])))
        parts.append(Subproblem((q0, q0 + v), (t0, t0 + h), part.begin, state, before, (reached[0], NOTHING_REACHED)))
    return penalty, rows, columns


def with_sentinels(letters: npt.NDArray[np.uint8]) -> Letters:
    """Copy encoded letters, with sentinels behind."""
    padded = np.full(len(letters) + BEHIND, SENTINEL, np.uint8)
    padded[: len(letters)] = letters
    return padded


def gap_penalty(model: Model, length: int) -> int:
    """Price a gap, in units."""
    states, _, o1, e1, o2, e2 = model
    return 0 if length == 0 else min(o1 + length * e1, o2 + length * e2) if states == 5 else o1 + length * e1


@jit
def append(work, operation, length):
    """Append `length` times an operation to the CIGAR."""
    reserve(work, CIGAR, 4 * (work[CIGAR_COUNT] + 1))
    work[CIGAR_COUNT] = emit(work[CIGAR], work[CIGAR_FIRST], work[CIGAR_COUNT], operation, length)


def _finish(memory: Memory, query: Letters, target: Letters, model: Model, part: Subproblem) -> None:
    """Append the operations of a part whose penalty is known."""
    work, n, m = memory.work, len(query), len(target)
    if n == 0 or m == 0:
        if n + m:
            append(work, INSERTION if m == 0 else DELETION, n + m)
        return
    query, target = with_sentinels(query), with_sentinels(target)
    null = np.int16(-0x8000) if n + m <= 0x7FFF else np.int32(-0x7FFF8000)

    def solved(end: int, penalty: int, keep: bool) -> int:
        pair = query.ctypes.data, n, target.ctypes.data, m
        return int(solve(work, memory.spare, *pair, model, (0, 0, 0, 0), part.begin, end, penalty, NO_PAUSE, keep, null)[0])

    end, penalty = part.end, part.penalty
    if end != 0 and solved(0, penalty, False) == penalty - opening_of(model, end):
        # All letters of the end's gap may lie beyond the end; then they do. (Wavefronts that end in a gap are sure to get there only if none need to.)
        end, penalty = 0, penalty - opening_of(model, end)
    found = solved(end, penalty, True)
    if found != penalty:
        raise RuntimeError(f"bidirectional alignment: a part has penalty {found}, its breakpoint says {penalty}")
