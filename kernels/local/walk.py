# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Groups of pairs on one core: their scores and ends, and the way back over blocks of rows that are made again.

With the way back H and I of the last row above each block are kept; from the last block to the first, the cells of a block are made again with a byte a cell
that says where it came from. Memory is that of the rows kept and of one block, whatever the lengths.
"""

import numpy as np

from tidalign.kernels.local.host import (
    BEGIN_QUERY,
    BEGIN_TARGET,
    END_CORNER,
    END_QUERY,
    END_TARGET,
    LOOK_ROWS,
    at_borders,
    first_row,
    letters_of,
    needed,
    strip_swept,
)
from tidalign.kernels.local.lookups import STRIP_ROWS
from tidalign.kernels.local.vectors import NOWHERE, lane_count
from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import FROM_D1, FROM_D2, FROM_I1, FROM_I2, FROM_X, OPENED_D1, OPENED_D2, OPENED_I1, OPENED_I2

MATCH, INSERTION, DELETION, MISMATCH = 7, 1, 2, 8
"""Operations as in BAM."""


@jit
def copy(out, at, values, first, count):
    """Copy so many values, one by one: numba takes two seconds to compile what assigns a slice."""
    for i in range(count):
        out[at + i] = values[first + i]


@inline
def add(cigar, at, stop, code):
    """Put one letter more of an operation in front of those that begin at `at`; returns where they begin then."""
    if at < stop and cigar[at] & 15 == code:
        cigar[at] += 16
        return at
    cigar[at - 1] = 16 | code
    return at - 1


@inline
def byte_of(row, column, stride, lanes, lane):
    """Find the direction byte of a cell of the pair in a lane, or where lanes have the strips of one pair (lane: -1)."""
    if lane < 0:
        lane = row // STRIP_ROWS % lanes
        row = row // (STRIP_ROWS * lanes) * STRIP_ROWS + row % STRIP_ROWS
        column += lane
    return row * stride + column * lanes + lane


@jit
def walked(directions, stride, lanes, lane, top_row, q, t, same, cursor, cigar, ends):
    """Walk back the pair in a lane (as `byte_of` has it) as far as it lies below `top_row`. cursor: row, column, state, and whether it is at its begin."""
    row, column, gap = cursor[0], cursor[1], cursor[2]
    at, stop = ends[0], ends[1]
    while row > top_row and column > 0:
        said = np.int64(directions[byte_of(row - 1 - top_row, column, stride, lanes, lane)])
        if (
            (gap == FROM_I1 and said & OPENED_I1)
            or (gap == FROM_D1 and said & OPENED_D1)
            or (gap == FROM_I2 and said & OPENED_I2)
            or (gap == FROM_D2 and said & OPENED_D2)
        ):
            gap = np.int64(FROM_X)
        if gap == FROM_X:
            gap = said & 7
            if gap == NOWHERE:
                cursor[3] = 1
                break
            if gap == FROM_X:
                row -= 1
                column -= 1
                at = add(cigar, at, stop, MATCH if same[q[row], t[column]] else MISMATCH)
                continue
        if gap in (FROM_I1, FROM_I2):
            at = add(cigar, at, stop, INSERTION)
            row -= 1
        else:
            at = add(cigar, at, stop, DELETION)
            column -= 1
    cursor[0], cursor[1], cursor[2] = row, column, gap
    ends[0] = at


@jit
def begun(i, cursor, cigar, ends, span, found):
    """Finish the way back of a pair that has come to row 0, column 0 or the begin of a local alignment."""
    row, column = cursor[0], cursor[1]
    if row > 0 and not span & BEGIN_QUERY:
        for _ in range(row):
            ends[0] = add(cigar, ends[0], ends[1], INSERTION)
        row = np.int64(0)
    if column > 0 and not span & BEGIN_TARGET:
        for _ in range(column):
            ends[0] = add(cigar, ends[0], ends[1], DELETION)
        column = np.int64(0)
    found[1, i], found[3, i] = row, column


@jit
def align_groups(order, sides, targets, target_starts, n, m, same, block_rows, span, costs, scores, bars, keep, buffers, kept, cigar, ends, found, null):
    """Align the pairs order[0], order[1], ..., as many at a time as there are lanes.

    Invariant: `above` holds H and I of the row above the next strip, of all lanes. Going back, what is right of and below a lane's cursor is written down.

        top      ===================    first_row
        block 0  strips of 8 rows       kept[0]: the row above, kept on the way down
        block 1  ...                    kept[1]
        last     ...          <- cursor: from the last block up, each made again from its kept row with a byte a cell, then walked

    sides: codes of all queries, where each begins, the table of scores; targets and target_starts: the same of targets. block_rows: rows of a block of each
    group. bars: least and worth of Bars; a group of local pairs is given up, with its best until then, once none can come to its bar.
    Fills found[:, i] = score, query start, query end, target start, target end, and with `keep` cigar[ends[i, 0] : ends[i, 1]], where ends[i] are both at the
    end of the room of pair i before.
    """
    top, letters, state, strip, words, limits, directions = buffers
    queries, query_starts, table = sides
    lanes = lane_count(null)
    pieces = len(costs) // 2
    local = span & (END_QUERY | END_TARGET | END_CORNER) == 0
    cursor = np.zeros((lanes, 4), np.int64)
    pad = 255 if len(scores) == 2 else len(table) - 1
    for group in range((len(order) + lanes - 1) // lanes):
        rows = order[group * lanes : (group + 1) * lanes]
        count = len(rows)
        height, width = np.int64(0), np.int64(1)
        for lane in range(count):
            height = max(height, n[rows[lane]])
            width = max(width, m[rows[lane]] + 1)
            at_borders(n[rows[lane]], m[rows[lane]], rows[lane], span, costs, found)
        letters_of(targets, target_starts, m, rows, count, width - 1, letters, pad, null)
        block = block_rows[group]
        blocks = max(np.int64(1), (height + block - 1) // block)
        above = top[: (1 + pieces) * width * lanes]
        used = (above, letters, state, strip, words, limits, directions)
        single = keep and blocks == 1
        first_row(above, width, np.int64(0), width, span, costs, null)
        start, stop = np.int64(1), width
        for row in range(0, height, STRIP_ROWS):
            if local and not keep and row and row % LOOK_ROWS == 0:
                start, end = needed(above, width, start, stop, sides, n, rows, count, row, bars, costs, found, null)
                if start == end:
                    break
                first_row(above, width, stop, end, span, costs, null)
                stop = end
            if keep and blocks > 1 and row % block == 0:
                copy(kept, row // block * len(above), above, np.int64(0), len(above))
            place = row * width * lanes if single else 0
            track = 1 if not keep else 2
            strip_swept(used, sides, n, m, rows, count, row, start, stop, width * lanes, place, span, costs, scores, track, single, found, null)
        if not keep:
            continue
        for lane in range(count):
            cursor[lane, 0], cursor[lane, 1] = found[2, rows[lane]], found[4, rows[lane]]
            cursor[lane, 2], cursor[lane, 3] = FROM_X, local and found[0, rows[lane]] == 0
        for turn in range(blocks):
            begin = (blocks - 1 - turn) * block
            reach = np.int64(0)
            for lane in range(count):
                if cursor[lane, 0] > begin and not cursor[lane, 3]:
                    reach = max(reach, cursor[lane, 1])
            if reach == 0:
                continue
            if blocks > 1:
                copy(above, np.int64(0), kept, begin // block * len(above), len(above))
                for row in range(begin, min(height, begin + block), STRIP_ROWS):
                    place = (row - begin) * width * lanes
                    strip_swept(used, sides, n, m, rows, count, row, np.int64(1), reach + 1, width * lanes, place, span, costs, scores, 0, True, found, null)
            for lane in range(count):
                i = rows[lane]
                if cursor[lane, 0] > begin and not cursor[lane, 3]:
                    q, t = queries[query_starts[i] :], targets[target_starts[i] :]
                    walked(directions, width * lanes, lanes, lane, begin, q, t, same, cursor[lane], cigar, ends[i])
        for lane in range(count):
            begun(rows[lane], cursor[lane], cigar, ends[rows[lane]], span, found)


@jit
def gathered(cigar, ends, offsets, out):
    """Copy the operations of all pairs one after the other."""
    for i in range(len(ends)):
        copy(out, offsets[i], cigar, ends[i, 0], ends[i, 1] - ends[i, 0])
