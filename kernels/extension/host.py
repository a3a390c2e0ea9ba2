# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Both sides of a gapped extension joined into one alignment: junction, ends cut back, score anew where they are (LASTZ.md 11)."""

import numpy as np

from tidalign.kernels.extension.side import DOWN, PAIR, RUNS, one_side
from tidalign.kernels.extension.sweep import (
    AT_BORDER,
    BASE,
    BEST,
    BEST_COLUMN,
    BEST_ROW,
    BORDER,
    CELLS,
    CUT,
    EXTENDED,
    OPENED,
    RANGES,
    ROW,
    WIDEST,
)
from tidalign.kernels.fences.kept import begin
from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import apart, load_i64

# What an extension leaves in its row of results: score; ends, half open; whether it was cut; cells looked at; rows and columns looked at left (the
# anchor's letter included) and right. SCORE is NO_SCORE where there is no alignment at all.
SCORE, TARGET_START, TARGET_END, QUERY_START, QUERY_END, CAPPED, VISITED, LEFT_ROWS, LEFT_COLUMNS, RIGHT_ROWS, RIGHT_COLUMNS, RESULT = range(12)

NO_SCORE = np.int64(-(1 << 62))


@inline
def _score(state):
    return state[BORDER] if state[AT_BORDER] else state[BASE] + state[BEST]


@jit
def _path_score(target, query, t, q, operations, lengths, classes, scores, costs):
    total = np.int64(0)
    for operation, length in zip(operations, lengths):  # noqa: B905 - numba
        if operation == PAIR:
            for _ in range(length):
                total += scores[classes[target[t]], query[q]]
                t += 1
                q += 1
        else:
            total -= costs[OPENED] - costs[EXTENDED] + length * costs[EXTENDED]
            if operation == DOWN:
                t += length
            else:
                q += length
    return total


@jit
def join(target, query, words, left_count, classes, scores, costs, result, operations, lengths):
    """Join the paths of two sides: gaps at the ends are cut off, and then the score is that of what remains.

    words: int64[count], runs (length << 2 | operation) of the left side, `left_count` of them, and of the right one, each from its far end to the anchor.
    result: int64[RESULT] with the score of both sides and the ends of both paths; becomes that of the alignment, SCORE NO_SCORE if there is none.
    operations, lengths: uint8[count], int64[count], filled with runs from left to right. Returns how many.
    """
    count = words.shape[0]
    n = 0
    for i in range(count):  # the right side's runs are turned around; one run may go over the junction
        word = words[i if i < left_count else count - 1 - (i - left_count)]
        if n > 0 and operations[n - 1] == word & 3:
            lengths[n - 1] += word >> 2
        else:
            operations[n], lengths[n] = word & 3, word >> 2
            n += 1
    first = 0
    while first < n and operations[first] != PAIR:
        if operations[first] == DOWN:
            result[TARGET_START] += lengths[first]
        else:
            result[QUERY_START] += lengths[first]
        first += 1
    stop = n
    while stop > first and operations[stop - 1] != PAIR:
        stop -= 1
        if operations[stop] == DOWN:
            result[TARGET_END] -= lengths[stop]
        else:
            result[QUERY_END] -= lengths[stop]
    if first > 0:
        for i in range(first, stop):
            operations[i - first], lengths[i - first] = operations[i], lengths[i]
    if first == stop:
        result[SCORE] = NO_SCORE
    elif first > 0 or stop < n:
        kept = stop - first
        result[SCORE] = _path_score(target, query, result[TARGET_START], result[QUERY_START], operations[:kept], lengths[:kept], classes, scores, costs)
    return stop - first


@jit
def join_all(target, query, words, offsets, classes, scores, costs, results, operations, lengths, counts):
    """Join the sides of many anchors as `join` does: runs of side i are words[offsets[i]..offsets[i + 1]), left and right sides by turns; those of anchor i are
    left at offsets[2 * i]."""
    for i in range(results.shape[0]):
        begin, middle, end = offsets[2 * i], offsets[2 * i + 1], offsets[2 * i + 2]
        counts[i] = join(*(target, query, words[begin:end], middle - begin, classes, scores, costs, results[i], operations[begin:end], lengths[begin:end]))


@jit
def _ranges(work, state, count):
    """Copy the columns looked at in the rows of the last side, from 1 on, int32[rows, 2]: first, and one past the last."""
    found = np.empty((count, 2), np.int32)
    for i in range(count):
        both = load_i64(work[RANGES] + 8 * (i + 1))
        found[i, 0], found[i, 1] = both & 0xFFFFFFFF, both >> 32
    return found


@jit
def extend_anchor(work, spare, state, target, query, anchor, limits, classes, scores, costs, kept, fence, holes, fenced, ranges, result, null):
    """Extend an anchor to both sides.

    anchor: (target place, query place, nearest pieces left and right of it as `commit.beside` gives them; the base itself belongs to the left
    side). limits: first place and end of its target sequence, and of its
    query sequence. classes, scores: as `sweep` takes them. fenced: keep to the fences of `kept`.
    ranges: also return the columns looked at. result: int64[RESULT], filled.
    Returns operations uint8[], lengths int64[] (runs, left to right) and the ranges of both sides, int32[rows, 2].
    """
    apart()
    t, q, left, right = anchor
    low, high, query_low, query_high = limits
    side = (t, q, np.int64(-1), t + 1 - low, q + 1 - query_low)
    if fenced:
        begin(kept, fence, left, right, t, q, True)
    left_count = one_side(work, spare, state, target, query, side, classes, scores, costs, kept, fence, holes, fenced, ranges, np.int64(0), null)
    result[SCORE] = _score(state)
    result[CAPPED], result[VISITED] = state[CUT], state[CELLS]
    result[LEFT_ROWS], result[LEFT_COLUMNS] = state[ROW], state[WIDEST]
    target_start, query_start = t + 1 - state[BEST_ROW], q + 1 - state[BEST_COLUMN]
    left_ranges = _ranges(work, state, state[ROW] if ranges else np.int64(0))

    side = (t + 1, q + 1, np.int64(1), high - t - 1, query_high - q - 1)
    if fenced:
        begin(kept, fence, left, right, t, q, False)
    count = one_side(work, spare, state, target, query, side, classes, scores, costs, kept, fence, holes, fenced, ranges, left_count, null)
    result[SCORE] += _score(state)
    result[CAPPED] |= state[CUT]
    result[VISITED] += state[CELLS]
    result[RIGHT_ROWS], result[RIGHT_COLUMNS] = state[ROW], state[WIDEST]
    target_end, query_end = t + 1 + state[BEST_ROW], q + 1 + state[BEST_COLUMN]
    right_ranges = _ranges(work, state, state[ROW] if ranges else np.int64(0))

    words = np.empty(count, np.int64)
    for i in range(count):
        words[i] = load_i64(spare[RUNS] + 8 * i)
    result[TARGET_START], result[TARGET_END], result[QUERY_START], result[QUERY_END] = target_start, target_end, query_start, query_end
    operations, lengths = np.empty(count, np.uint8), np.empty(count, np.int64)
    n = join(target, query, words, left_count, classes, scores, costs, result, operations, lengths)
    return operations[:n].copy(), lengths[:n].copy(), left_ranges, right_ranges
