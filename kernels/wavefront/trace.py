# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""The way back: from the trail of a sweep to CIGAR operations, by WFA2-lib's choice among equal paths (WAVEFRONT.md 4)."""

from tidalign.kernels.letters.host import run
from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import (
    FROM_D1,
    FROM_I1,
    FROM_I2,
    FROM_X,
    OPENED_D1,
    OPENED_D2,
    OPENED_I1,
    OPENED_I2,
    lane_bytes,
    load_i64,
    load_lane,
    load_u8,
    load_u32,
    store_u8,
    store_u32,
)
from tidalign.kernels.runtime.workspace import CIGAR, CIGAR_COUNT, CIGAR_FIRST, OPS, STEPS, TRAIL, reserve

INSERTION, DELETION, EQUAL, DIFFERENT = 1, 2, 7, 8
"""Codes of operations, as in BAM: I consumes the query, D the target."""

CONTINUES = 16
"""Set on a gap letter that continues the gap before it: nothing lies in between."""


@inline
def emit(address, first, count, operation, length):
    """Put `length` times an operation behind `count` of them, in the last one where it is the same (and not below `first`); returns the new count."""
    last = address + 4 * (count - 1)
    if count > first:
        word = load_u32(last)
        if word & 15 == operation:
            store_u32(last, word + (length << 4))
            return count
    store_u32(last + 4, length << 4 | operation)
    return count + 1


@inline
def kept(work, step, row_ago, s, k, null):
    """Load M[s, k] of a single state, from the row that step s + row_ago kept; -1 where there is none."""
    entry = step + (s + row_ago) * 24
    if s < 0 or k < load_i64(entry + 8) or k > load_i64(entry + 16):
        return -1
    return load_lane(work[TRAIL] + load_i64(entry) + k * lane_bytes(null), null)


@jit
def trace_single(work, model, s, k, h, null):
    """Append the operations that lead to offset h of M on diagonal k at step s: of equal source offsets X before I before D."""
    _, x, _, g, _, _ = model
    ago = min(x, g)
    reserve(work, OPS, 8 * (s + 4))
    ops = work[OPS]
    step = work[STEPS]
    count = 0
    while s > 0:
        best = kept(work, step, ago, s - x, k, null) + 1
        insertion = kept(work, step, ago, s - g, k + 1, null)
        deletion = kept(work, step, ago, s - g, k - 1, null) + 1
        if best <= 0:  # no source: its offset would be negative
            best = -1
        if deletion <= 0:
            deletion = -1
        operation = DIFFERENT
        if insertion > best:
            best = insertion
            operation = INSERTION
        if deletion > best:
            best = deletion
            operation = DELETION
        if h > best:
            count = emit(ops, 0, count, EQUAL, h - best)
        count = emit(ops, 0, count, operation, 1)
        h = best
        if operation == DIFFERENT:
            s -= x
            h -= 1
        elif operation == INSERTION:
            s -= g
            k += 1
        else:
            s -= g
            k -= 1
            h -= 1
    if h > max(k, 0):
        count = emit(ops, 0, count, EQUAL, h - max(k, 0))
    reserve(work, CIGAR, 4 * (work[CIGAR_COUNT] + count))
    total = work[CIGAR_COUNT]
    for i in range(count - 1, -1, -1):
        word = load_u32(ops + 4 * i)
        total = emit(work[CIGAR], work[CIGAR_FIRST], total, word & 15, word >> 4)
    work[CIGAR_COUNT] = total
    return k


@jit
def trace_gaps(work, q, t, model, s, k, state):
    """Append the operations that lead to a state (0 M, 1 I1, 2 D1, 3 I2, 4 D2) on diagonal k at step s, by the directions; matches are found anew.

    Invariant: OPS holds, from the end on, what leads from the state on diagonal k at step s to the end. A state's byte of directions says where it came from:

        M on k at s       <- X: M on k at s - x;  else I or D on k at s, which consumes nothing
        I on k at s       <- M on k + 1 at s - o - e where it opened, else I on k + 1 at s - e
        D on k at s       <- M on k - 1 at s - o - e where it opened, else D on k - 1 at s - e
    """
    _, x, o1, e1, o2, e2 = model
    reserve(work, OPS, s + 8)
    ops = work[OPS]
    step = work[STEPS]
    trail = work[TRAIL]
    count = 0
    while s > 0:
        directions = load_u8(trail + load_i64(step + s * 24) + k)
        if state == 0:
            source = directions & 7
            if source == FROM_X:
                store_u8(ops + count, DIFFERENT)
                count += 1
                s -= x
                continue
            if source == FROM_I1:
                state = 1
            elif source == FROM_D1:
                state = 2
            elif source == FROM_I2:
                state = 3
            else:
                state = 4
        if state == 1:
            opened = directions & OPENED_I1
        elif state == 2:
            opened = directions & OPENED_D1
        elif state == 3:
            opened = directions & OPENED_I2
        else:
            opened = directions & OPENED_D2
        operation = INSERTION if state & 1 else DELETION
        k += 1 if state & 1 else -1
        s -= e1 if state < 3 else e2
        if opened:
            s -= o1 if state < 3 else o2
            state = 0
        else:
            operation |= CONTINUES
        store_u8(ops + count, operation)
        count += 1

    total = work[CIGAR_COUNT]
    reserve(work, CIGAR, 4 * (total + 2 * count + 2))
    address = work[CIGAR]
    first = work[CIGAR_FIRST]
    v = max(-k, 0)
    h = max(k, 0)
    for i in range(count, -1, -1):
        if i < count:
            operation = load_u8(ops + i) & 15
            total = emit(address, first, total, operation, 1)
            if operation != DELETION:
                v += 1
            if operation != INSERTION:
                h += 1
        # No letters match inside a gap.
        if i == 0 or load_u8(ops + i - 1) & CONTINUES == 0:
            length = run(q, t, v, h) - h
            if length:
                total = emit(address, first, total, EQUAL, length)
                v += length
                h += length
    work[CIGAR_COUNT] = total
    return k
