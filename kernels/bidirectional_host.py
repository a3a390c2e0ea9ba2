"""Pairs too long to keep all wavefronts of: optimal alignments in memory that grows with the penalty, not with its square.

Marco-Sola et al. 2023, Optimal gap-affine alignment in O(s) space (BiWFA, Bioinformatics 39:btad074). Penalty-only wavefronts from both ends meet in a
breakpoint (breakpoint_host.py), at which the pair is cut in two; parts are cut again until the ordinary wavefronts can finish them.

A part is a rectangle with a begin and an end state (M, I1, D1, I2, D2). In a begin state other than M the gap is open: its opening was paid
before. In an end state other than M the opening is paid inside, whether or not a letter of the gap lies inside. The backward direction takes a gap that is
open at the end as open and paid, so the *reduced* penalty of a part leaves the opening of its end state out.

Everything here is plain Python around compiled parts: a pair takes milliseconds at least, and little is compiled twice.
"""

from typing import NamedTuple

import numpy as np

from tidalign.kernels.breakpoint_host import NONE, breakpoint
from tidalign.kernels.direction_host import Direction, extension_of, free_end, new_direction, opening_of, scope_of
from tidalign.kernels.letters_host import BEHIND, SENTINEL
from tidalign.kernels.trace_host import DELETION, INSERTION
from tidalign.kernels.wavefront_host import solve
from tidalign.kernels.workspace_host import CIGAR, CIGAR_COUNT, CIGAR_FIRST, Memory, copied

LEAF = 1024
"""Parts of a penalty up to this many units (or 4 * scope, if more) are finished with all their wavefronts in memory.

CIGARs depend on it: it is a constant of the product, not of the machine.
"""

Letters = np.ndarray
"""Encoded letters (letters_host.py), uint8, BEHIND sentinels behind them."""

Model = tuple[int, int, int, int, int, int]


class LongAlignment(NamedTuple):
    penalty: int  # in units
    query_start: int
    query_end: int
    target_start: int
    target_end: int
    cigar: np.ndarray  # uint32, as in BAM; empty unless asked for


class Part(NamedTuple):
    query: tuple[int, int]
    target: tuple[int, int]
    begin: int
    end: int
    penalty: int  # in units, with the opening of the end state; NONE: not known yet


def with_sentinels(letters: np.ndarray) -> Letters:
    """A copy of encoded letters with BEHIND sentinels behind."""
    padded = np.full(len(letters) + BEHIND, SENTINEL, np.uint8)
    padded[: len(letters)] = letters
    return padded


def align_long(memory: Memory, query: Letters, target: Letters, model: Model, free: tuple[int, int, int, int], keep: bool, leaf: int = LEAF) -> LongAlignment:
    """Align one pair, optimally; with `keep` the CIGAR too. `model` and `free` (no larger than the sequences) as in wavefront_host.

    With free ends the end is the one a penalty-only pass finds (the first diagonal, from the lowest, that ends it), the begin the one that such a pass finds
    backwards from there, and what lies between is aligned from end to end.
    """
    n, m = len(query) - BEHIND, len(target) - BEHIND
    directions = (new_direction(model), new_direction(model))
    rows, columns = (0, n), (0, m)
    if any(free):
        query_begin, query_end, target_begin, target_end = free
        _, v, h = free_end(directions[0], model, query.ctypes.data, n, target.ctypes.data, m, free)
        back_query, back_target = with_sentinels(query[:v][::-1]), with_sentinels(target[:h][::-1])
        _, back_v, back_h = free_end(
            directions[1], model, back_query.ctypes.data, v, back_target.ctypes.data, h, (0, min(query_begin, v), 0, min(target_begin, h))
        )
        rows, columns = (v - back_v, v), (h - back_h, h)
    parts = [Part(rows, columns, 0, 0, NONE)]
    backward = with_sentinels(query[:n][::-1]), with_sentinels(target[:m][::-1])
    leaf = max(leaf, 4 * scope_of(model))
    penalty = -1
    finished: list[np.ndarray] = []
    while parts:
        part = parts.pop()
        (q0, q1), (t0, t1) = part.query, part.target
        if part.penalty <= leaf or q0 == q1 or t0 == t1:
            if part.penalty == NONE:
                penalty = gap_penalty(model, q1 - q0 + t1 - t0)
            if keep:
                finished.append(_finish(memory, query[q0:q1], target[t0:t1], model, part))
            continue
        known = NONE if part.penalty == NONE else part.penalty - opening_of(model, part.end)
        forward, behind = directions
        addresses = (query.ctypes.data + q0, q1 - q0, target.ctypes.data + t0, t1 - t0, backward[0].ctypes.data + n - q1, backward[1].ctypes.data + m - t1)
        forward, behind, found = breakpoint(forward, behind, model, *addresses, part.begin, part.end, known)
        directions = (Direction(*forward), Direction(*behind))
        reduced, first, state, v, h = found
        if part.penalty == NONE:
            penalty = reduced
            if not keep:
                break
            part = part._replace(penalty=penalty)
            if penalty <= leaf:
                parts.append(part)
                continue
        parts.append(Part((q0 + v, q1), (t0 + h, t1), state, part.end, part.penalty - first))
        parts.append(Part((q0, q0 + v), (t0, t0 + h), part.begin, state, first))
    return LongAlignment(penalty, *rows, *columns, merged(finished))


def gap_penalty(model: Model, length: int) -> int:
    """What a gap costs, in units."""
    states, _, o1, e1, o2, e2 = model
    return 0 if length == 0 else min(o1 + length * e1, o2 + length * e2) if states == 5 else o1 + length * e1


def _finish(memory: Memory, query: np.ndarray, target: np.ndarray, model: Model, part: Part) -> np.ndarray:
    """The operations of a part whose penalty is known."""
    if len(query) == 0 or len(target) == 0:
        length, code = len(query) + len(target), INSERTION if len(target) == 0 else DELETION
        return np.array([length << 4 | code] if length else [], np.uint32)
    opening = opening_of(model, part.end)
    # With a letter of the end's gap inside it costs at most what takes the last letters out of their column.
    slack = model[2] + model[3] + extension_of(model, part.end) if part.end else 0
    found, operations = _solve(memory, query, target, model, part.begin, part.end, part.penalty + slack)
    if part.end and found > part.penalty:
        # All letters of the gap lie beyond the end.
        found, operations = _solve(memory, query, target, model, part.begin, 0, part.penalty - opening)
        found += opening
    if found != part.penalty:
        raise RuntimeError(f"bidirectional alignment: a part has penalty {found}, its breakpoints say {part.penalty}")
    return operations


def _solve(memory: Memory, query: np.ndarray, target: np.ndarray, model: Model, begin: int, end: int, bound: int) -> tuple[int, np.ndarray]:
    """Penalty and operations of a part by the ordinary wavefronts; `bound`: no less than its penalty."""
    work, n, m = memory.work, len(query), len(target)
    query, target = with_sentinels(query), with_sentinels(target)
    work[CIGAR_COUNT] = work[CIGAR_FIRST] = 0
    null = np.int16(-0x8000) if n + m <= 0x7FFF else np.int32(-0x7FFF8000)
    penalty, _, _ = solve(work, memory.spare, query.ctypes.data, n, target.ctypes.data, m, model, (0, 0, 0, 0), begin, end, bound, True, null)
    return penalty, copied(work, CIGAR, int(work[CIGAR_COUNT]))


def merged(pieces: list[np.ndarray]) -> np.ndarray:
    """One CIGAR of many, neighbours of one kind made one."""
    operations = np.concatenate([np.empty(0, np.uint32), *pieces])
    if len(operations) == 0:
        return operations
    codes, lengths = operations & 15, operations >> 4
    first = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    return (np.add.reduceat(lengths, first) << 4 | codes[first]).astype(np.uint32)
