# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""The sequential stage of exact mode: what is kept, what an anchor meets of it, and whether an extension that knew of no fences stands (LASTZ.md 15)."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tidalign.kernels.commit.beside import beside
from tidalign.kernels.commit.near import clear, clear_diagonal, none_touched
from tidalign.kernels.commit.paths_host import forget, has_room, keep, touched, within
from tidalign.kernels.extension.host import NO_SCORE, QUERY_END, QUERY_START, RESULT, SCORE, TARGET_START, VISITED, extend_anchor
from tidalign.kernels.fences.follow import step
from tidalign.kernels.fences.kept import (
    END_COLUMN,
    FIRST_COLUMN,
    HIGH_PIECE,
    HOLES,
    LOW_PIECE,
    begin,
)
from tidalign.kernels.gapped.speculated import ABOVE, REJECTED, REJECTION_LETTERS, UNDECIDED, UNKNOWN
from tidalign.kernels.runtime.numba_cache import inline, jit

ON = np.uint8(5)
"""Known of an anchor: it is on a kept alignment."""

# What a survey says of an anchor: nothing; it is on nothing that was kept then; nor does that change what is known of it.
UNSEEN, OFF, STANDS = (np.uint8(seen) for seen in range(3))

PLACE_BITS, DIAGONAL_BITS = 9, 6
"""Anchors that are equal in these many bits less of their target place and diagonal may lie on one alignment."""

# How `advance` ends: no anchor left, or enough done; one to be extended; arrays of what is kept have no room for the next.
AT_END, EXTEND, FULL = range(3)

# What is counted: anchors whose free extension stands, below the threshold and above it; the cells of all; anchors on kept alignments; those extended between
# fences; of these those that had a free extension, and those made ahead that are as they were though something was kept since.
PASSED, STOOD, CELLS, SKIPPED, EXTENDED, AGAIN, STILL = range(7)
COUNTS = 7


@jit
def untouched(kept, fence, holes, leftward, anchor, ranges):
    """Tell whether no fence or mask reaches a column that one side of a free extension looked at; ranges: int32[rows, 2], of rows 1.. ."""
    t, q, left, right = anchor
    begin(kept, fence, left, right, t, q, leftward)
    for i in range(ranges.shape[0]):
        low, high = np.int64(ranges[i, 0]), np.int64(ranges[i, 1])
        step(kept, fence, holes, np.int64(i + 1), low, high)
        if fence[LOW_PIECE] >= 0 and fence[FIRST_COLUMN] > low:
            return False
        if (fence[HIGH_PIECE] >= 0 and fence[END_COLUMN] <= high) or fence[HOLES] > 0:
            return False
    return True


class Made(NamedTuple):
    """Hold extensions between fences that were made ahead. row: int64[n], of each anchor in the other arrays, -1: none. beside: int64[m, 2], the pieces beside
    the anchor; kept: int64[m], how many alignments there were; boxes: int64[m, 4], rows and columns looked at left and right; cells: int64[m], how many;
    found: bool[m], whether it reached the threshold."""

    row: npt.NDArray[np.int64]
    beside: npt.NDArray[np.int64]
    kept: npt.NDArray[np.int64]
    boxes: npt.NDArray[np.int64]
    cells: npt.NDArray[np.int64]
    found: npt.NDArray[np.bool_]


@jit
def still(kept, made, t, q, i, left, right):
    """Tell whether the extension of an anchor that was made ahead is what would be made of it now, between these pieces."""
    row = made.row[i]
    if row < 0 or made.beside[row, 0] != left or made.beside[row, 1] != right:
        return False
    above, before, below, after = made.boxes[row, 0], made.boxes[row, 1], made.boxes[row, 2], made.boxes[row, 3]
    return clear(kept, t[i] - above, t[i] + below, q[i] - before, q[i] + after, made.kept[row])


class Survey(NamedTuple):
    """Hold what several threads found of anchors before a walk, which then looks at what was kept since alone. seen: uint8[n], UNSEEN .. STANDS. since:
    int64[n], how many were kept then. cells: bool[a power of two], those touched by what was kept since; one where there is no survey."""

    seen: npt.NDArray[np.uint8]
    since: npt.NDArray[np.int64]
    cells: npt.NDArray[np.bool_]


@inline
def meets_any(kept, t, q, known, boxes, survey, i):
    """Tell whether something kept may come near what an anchor is known by, and whether something kept is at it."""
    seen, since = survey.seen[i], survey.since[i]
    if seen != OFF and known[i] != UNKNOWN and known[i] != UNDECIDED:
        if known[i] == REJECTED:
            letters = REJECTION_LETTERS
            untouched = seen == STANDS and none_touched(survey.cells, t[i] - letters, t[i] + letters, q[i] - letters, q[i] + letters)
            if untouched or clear_diagonal(kept, t[i], q[i], since):
                return False, False
        else:
            above, before, below, after = boxes[i, 0], boxes[i, 1], boxes[i, 2], boxes[i, 3]
            low, high, first, last = t[i] - above, t[i] + below, q[i] - before, q[i] + after
            if (seen == STANDS and none_touched(survey.cells, low, high, first, last)) or clear(kept, low, high, first, last, since):
                return False, False
    return True, within(kept, t[i], q[i], 0, since)


@inline
def _stands(kept, fence, holes, t, q, known, free, i, left, right):
    """Tell whether an anchor's free extension reaches the threshold and stands, though something kept comes near; left, right: the pieces beside it."""
    if known[i] != ABOVE:
        return False
    row = free.row[i]
    first, middle, last = free.range_offsets[2 * row], free.range_offsets[2 * row + 1], free.range_offsets[2 * row + 2]
    anchor = (t[i], q[i], left, right)
    stands = untouched(kept, fence, holes, True, anchor, free.ranges[first:middle])
    return stands and untouched(kept, fence, holes, False, anchor, free.ranges[middle:last])


@inline
def _width(ranges):
    """Count the cells in the rows of one side."""
    cells = np.int64(0)
    for i in range(ranges.shape[0]):
        cells += np.int64(ranges[i, 1]) - np.int64(ranges[i, 0])
    return cells


@jit
def due(kept, fence, holes, t, q, known, free, seen, i):
    """Tell whether an anchor that something kept comes near, but is not at, has to be extended between what is kept; and the pieces beside it.

    One whose free extension did not stand in a survey (`seen` OFF) is not asked again: between fences the same comes of it if it stands after all.
    """
    _, left, right = beside(kept, t[i], q[i])
    return seen[i] == OFF or not _stands(kept, fence, holes, t, q, known, free, i, left, right), left, right


@jit
def advance(kept, fence, holes, t, q, known, boxes, free, survey, made, i, stop, most, chosen, counts):
    """Walk anchors [i, stop) past those on a kept alignment and those whose extension is sure to stay below the threshold; keep free extensions that reach it
    and met nothing.

    known: uint8[n], UNKNOWN .. REJECTED, or ON. boxes: int64[n, 4], rows and columns that a free extension looked at left and right. free: of those ABOVE.
    survey: a Survey, the cells of which are added to. made: of anchors that are to be extended; those that found nothing are passed over. most: cells after
    which it ends. chosen: int64[n], to which anchors whose free extension is kept are added. counts: int64[COUNTS], added to; of a box half the cells count.
    Returns (anchor, AT_END | EXTEND | FULL, nearest pieces left and right of it).
    """
    while i < stop and counts[CELLS] < most:
        if known[i] == ON:
            counts[SKIPPED] += 1
            i += 1
            continue
        meets, on = meets_any(kept, t, q, known, boxes, survey, i)
        if on:
            counts[SKIPPED] += 1
            i += 1
            continue
        if meets:
            extend, left, right = due(kept, fence, holes, t, q, known, free, survey.seen, i)
            if extend:
                if made.row[i] < 0 or made.found[made.row[i]] or not still(kept, made, t, q, i, left, right):
                    return i, EXTEND, left, right
                row = made.row[i]
                made.row[i] = -1
                counts[EXTENDED] += 1
                counts[CELLS] += made.cells[row]
                counts[AGAIN] += known[i] != UNDECIDED
                counts[STILL] += made.kept[row] < kept.counts[1]
                i += 1
                continue
        if known[i] != ABOVE:
            box = boxes[i]
            counts[PASSED] += 1
            counts[CELLS] += (box[0] * box[1] + box[2] * box[3]) >> 1
            i += 1
            continue
        row = free.row[i]
        first, last = free.range_offsets[2 * row], free.range_offsets[2 * row + 2]
        a, b = free.run_offsets[row], free.run_offsets[row + 1]
        if not has_room(kept, free.ends[row], b - a):
            return i, FULL, np.int64(-1), np.int64(-1)
        keep(kept, free.ends[row], free.run_ops[a:b], free.run_lengths[a:b])
        if len(survey.cells) > 1:
            touched(kept, kept.counts[1] - 1, survey.cells)
        chosen[counts[STOOD]] = i
        counts[STOOD] += 1
        counts[CELLS] += _width(free.ranges[first:last])
        i += 1
    return i, AT_END, np.int64(-1), np.int64(-1)


@jit
def ahead(kept, t, q, known, i, room):
    """List the next anchors, from the i-th on and not far from it, of which nothing is known and that lie on no kept alignment: int64[at most room]."""
    found = np.empty(room, np.int64)
    n = 0
    stop = min(len(t), i + 64 * room)
    while i < stop and n < room:
        if known[i] == UNKNOWN and not within(kept, t[i], q[i], 0, 0):
            found[n] = i
            n += 1
        i += 1
    return found[:n].copy()


@jit
def walk_few(
    memory, target, query, strands, begins, t, q, limits, costs, kept, fence, holes, at, found, run_offsets, run_ops, run_lengths, owner, counts, null
):
    """Walk the anchors of strands from the `at`-th on, each strand by itself, and extend between fences all that are on no kept alignment.

    memory: int64 arrays to work in, work, spare and state. query: an array of strands, strand i from strands[i, 0] to strands[i, 1]. begins: int64[k + 1], of
    each strand's anchors (t, q), places in this array, with `limits` of their target sequences, int64[n, 2]. costs: classes, scores and costs as
    `extend_anchor` takes them, and the threshold. found: int64[., RESULT], filled with alignments in the order they are kept, query places those in the
    array, their runs as in gapped.Extensions. owner: int64[.], filled with the strand of each. counts: int64[COUNTS], added to.
    Ends before a strand whose alignments have no room; returns this strand, how many alignments those before have, and whether `kept` has none.
    """
    work, spare, state = memory
    classes, scores, prices, threshold = costs
    result = np.zeros(RESULT, np.int64)
    n = np.int64(0)
    for i in range(at, len(strands)):
        first = n
        forget(kept)
        one = query[strands[i, 0] : strands[i, 1]]
        for a in range(begins[i], begins[i + 1]):
            place = q[a] - strands[i, 0]
            on, left, right = beside(kept, t[a], place)
            if on:
                counts[SKIPPED] += 1
                continue
            anchor, sequence, fenced = (t[a], place, left, right), (limits[a, 0], limits[a, 1], np.int64(0), np.int64(len(one))), kept.counts[1] > 0
            ops, lengths, _, _ = extend_anchor(
                work, spare, state, target, one, anchor, sequence, classes, scores, prices, kept, fence, holes, fenced, False, result, null
            )
            counts[EXTENDED] += 1
            counts[CELLS] += result[VISITED]
            if result[SCORE] == NO_SCORE or result[SCORE] < threshold:
                continue
            ends, run = result[TARGET_START : QUERY_END + 1], run_offsets[n]
            short = not has_room(kept, ends, len(ops))
            if short or n == len(found) or run + len(ops) > len(run_ops):
                return i, first, short
            keep(kept, ends, ops, lengths)
            for slot in range(RESULT):  # one by one: numba takes two seconds to compile what assigns a slice
                found[n, slot] = result[slot]
            found[n, QUERY_START] += strands[i, 0]
            found[n, QUERY_END] += strands[i, 0]
            for j in range(len(ops)):
                run_ops[run + j], run_lengths[run + j] = ops[j], lengths[j]
            run_offsets[n + 1], owner[n] = run + len(ops), i
            n += 1
    return np.int64(len(strands)), n, False
