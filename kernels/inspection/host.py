# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Which anchors stay below the threshold: both sides of many at once, scores and what they look at only (FastZ's inspector, LASTZ.md 16).

Nearly all bare seeds are chance: their extensions die within a thousand rows. They are decided here, at several times the speed of one extension after
the other. An extension that reaches the threshold, meets a letter other than ACGT or the end of a sequence, or outgrows the columns there are, is left
undecided and belongs to the exact sweep of extension/sweep.py.
"""

import numpy as np

from tidalign.kernels.extension.costs import COLUMNS
from tidalign.kernels.extension.sweep import EXTENDED, OPENED, ROOM, YDROP
from tidalign.kernels.inspection.vectors import BYTES, COLUMN_BYTES, ENDS, LASTS, LETTERS, LINE, SCORES, STATE_VECTORS, inspect_row
from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import VECTOR_LANES, apart

MEMORY_WORDS = (STATE_VECTORS * BYTES + int(COLUMNS) * COLUMN_BYTES) // 2 + 64
"""int16 of memory for `inspect`."""

UNDECIDED = np.int64(-1)

DEAD = np.int16(-32768)
"""A dead cell."""

BELOW = np.uint8(1)
"""What `inspect` says of an anchor that stays below the threshold."""

UNUSED_LINE = np.int16(32767)
"""The line of a lane that is not in use: nothing is alive."""

CODED = np.array(LETTERS, np.int16)
COLUMN_WIDTH = np.int64(COLUMN_BYTES // 2)  # int16 of a column


@jit
def _fill(columns, query, sides, bad, first, stop):
    """Make columns first..stop - 1 dead in all lanes, with their letters; `bad`: the first column of each side that holds no base is noted."""
    for at in range(first * COLUMN_WIDTH, stop * COLUMN_WIDTH):
        columns[at] = DEAD
    for i in range(len(sides)):
        origin, onward, limit = sides[i, 1], sides[i, 2], sides[i, 4]
        for column in range(max(first, 1), stop):
            code = query[origin + onward * (column - 1)] if column <= limit else np.uint8(8)
            if code < 8:
                columns[column * COLUMN_WIDTH + 2 * VECTOR_LANES + i] = CODED[code & 3]
            else:
                bad[i] = min(bad[i], column)


@jit
def _begin(columns, count, costs):
    """Fill row 0, gaps along the query, of `count` lanes; returns one past its last column."""
    opened, extended, ydrop = costs[OPENED], costs[EXTENDED], costs[YDROP]
    value, before, column = np.int64(0), np.int64(0), np.int64(0)
    while before >= -ydrop:
        for i in range(count):
            columns[column * COLUMN_WIDTH + i] = max(value, DEAD)
            columns[column * COLUMN_WIDTH + VECTOR_LANES + i] = max(value - opened, DEAD)
        before = value
        value -= opened if column == 0 else extended
        column += 1
    return column


@jit
def inspect_sides(memory, target, query, sides, scores, costs, threshold, found):
    """Score up to VECTOR_LANES sides at once.

    Invariant: before a row, columns [first, filled) hold, for each lane, C and D of its row before and the letter of the query, dead where it has no cell; its
    line is the least value that is alive, its end one past the last column that its row may look at.

        column c - 1             column c                     a row goes over all lanes' columns from left to right, in place:
        [C.. | D.. | letters]    [C.. | D.. | letters]        C[c] = max(C before of c - 1 + score, D[c], I), I and the old C are carried along

    memory: int16[MEMORY_WORDS]. sides: int64[n, 5], as `gapped_host.sweep` takes one. scores: int16[4, 4] of ACGT. found: int64[n, 3], filled: the score, or
    UNDECIDED; rows and columns looked at.
    """
    apart()
    n = len(sides)
    opened, extended, ydrop = costs[OPENED], costs[EXTENDED], costs[YDROP]
    prolonged = ydrop // extended + 8  # what a row may reach beyond the one before
    begin = (64 - memory.ctypes.data % 64) % 64 // 2  # vectors lie within lines of the cache
    state = memory[begin : begin + STATE_VECTORS * VECTOR_LANES]
    columns = memory[begin + STATE_VECTORS * VECTOR_LANES :]
    address = memory.ctypes.data + 2 * begin
    lines, ends, lasts = state[LINE * VECTOR_LANES :], state[ENDS * VECTOR_LANES :], state[LASTS * VECTOR_LANES :]
    bad = np.full(VECTOR_LANES, COLUMNS, np.int64)
    active = np.zeros(VECTOR_LANES, np.bool_)
    filled = 2 * prolonged
    _fill(columns, query, sides, bad, np.int64(0), filled)
    width = _begin(columns, n, costs)
    for i in range(VECTOR_LANES):
        active[i] = i < n and sides[i, 3] > 0 and width <= bad[i]
        lines[i], ends[i] = -ydrop if active[i] else UNUSED_LINE, width
    for i in range(n):
        found[i, 0], found[i, 1], found[i, 2] = UNDECIDED, 0, width
    first, row, looked = np.int64(0), np.int64(0), width
    while True:
        row += 1
        shared, stop = COLUMNS, np.int64(0)
        for i in range(n):
            if not active[i]:
                continue
            code = target[sides[i, 0] + sides[i, 2] * (row - 1)] if row <= sides[i, 3] else np.uint8(8)
            # LASTZ's traceback buffer: an upper bound of the cells in it.
            if code >= 8 or looked + ends[i] - first + prolonged >= costs[ROOM]:
                active[i] = False
                lines[i] = UNUSED_LINE
                continue
            for other in range(4):
                state[(SCORES + other) * VECTOR_LANES + i] = scores[code & 3, other]
            shared, stop = min(shared, np.int64(ends[i])), max(stop, np.int64(ends[i]))
        if stop == 0:
            return
        if stop + prolonged > filled:
            if stop + prolonged > COLUMNS:
                return
            wanted = min(stop + prolonged + 64, COLUMNS)
            _fill(columns, query, sides, bad, filled, wanted)
            filled = wanted
        reached = inspect_row(address + STATE_VECTORS * BYTES, first, shared, stop, filled, address, (opened, extended, ydrop))
        looked += reached - first
        for i in range(n):
            if not active[i]:
                continue
            if lasts[i] < 0:
                active[i] = False
                found[i, 0], found[i, 1] = lines[i] + ydrop, row
                lines[i] = UNUSED_LINE
                continue
            ends[i] = lasts[i] + 2
            found[i, 2] = max(found[i, 2], np.int64(ends[i]))
            if lines[i] + ydrop >= threshold or ends[i] > bad[i]:
                active[i] = False
                lines[i] = UNUSED_LINE
        # Columns that are dead in all lanes are left behind.
        while first < filled and _dead(columns, first):
            first += 1


@inline
def _dead(columns, column):
    for i in range(VECTOR_LANES):  # noqa: SIM110 - numba
        if columns[column * COLUMN_WIDTH + i] != DEAD:
            return False
    return True


@jit
def inspect(memory, target, query, t, q, limits, scores, costs, threshold, known, boxes):
    """Reject anchors t, q (int64[n]); limits: int64[n, 2], first place and end of their target sequences. Other arguments as `inspect_sides`.

    known: uint8[n], set to BELOW where an anchor is sure to stay below the threshold. boxes: int64[n, 4], rows and columns looked at left and right.
    """
    n = len(t)
    sides = np.empty((2 * n, 5), np.int64)
    for i in range(n):
        # The anchor's own letters belong to the left side.
        sides[i, 0], sides[i, 1], sides[i, 2], sides[i, 3], sides[i, 4] = t[i], q[i], -1, t[i] + 1 - limits[i, 0], q[i] + 1
        right = sides[n + i]
        right[0], right[1], right[2], right[3], right[4] = t[i] + 1, q[i] + 1, 1, limits[i, 1] - t[i] - 1, len(query) - q[i] - 1
    found = np.empty((2 * n, 3), np.int64)
    for start in range(0, 2 * n, VECTOR_LANES):
        inspect_sides(memory, target, query, sides[start : start + VECTOR_LANES], scores, costs, threshold, found[start : start + VECTOR_LANES])
    for i in range(n):
        left, right = found[i], found[n + i]
        if left[0] == UNDECIDED or right[0] == UNDECIDED:
            continue
        # Where a side is empty, the other may begin with gaps: they are cut off, which raises the score by what they cost.
        raised = costs[YDROP] + costs[OPENED] if left[0] == 0 or right[0] == 0 else np.int64(0)
        if left[0] + right[0] + raised < threshold:
            known[i] = BELOW
            boxes[i, 0], boxes[i, 1], boxes[i, 2], boxes[i, 3] = left[1], left[2], right[1], right[2]
