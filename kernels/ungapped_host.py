# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Which hits are used, and their gap-free extension, on one core."""

import math

import numpy as np

from tidalign.kernels.nucleotides import SEPARATOR
from tidalign.kernels.numba_cache import inline, jit
from tidalign.kernels.prefetch_host import prefetch
from tidalign.kernels.ungapped import PAGE, PAGE_BITS
from tidalign.kernels.vectors_host import load_u8
from tidalign.kernels.xdrop_vectors_host import ALIVE, BEST, FIELDS, LANES, LOOKED, PLACE, SCORED, scan_left, scan_right, score_columns

SEPARATOR_CODE = np.int64(SEPARATOR)

AHEAD = 24
"""Hits between the one that is looked at and the one whose letters are asked for."""

REACH = 2 * SCORED
"""Columns to each side of a hit's right end that are scored by vectors; scans that go further, few of them, are done again one column at a time."""


@jit
def use_seeds(target, query, targets, queries, span, table, pages, page_of, mask, base, out):
    """Hits that start at or beyond the end of the last one used on their diagonal, with the score of their columns; returns how many.

    A diagonal's record, the query place where its last used hit ended, is at slot = (target - query + base) & mask: entry slot % PAGE of page
    page_of[slot // PAGE]. out: int64[4, n], target, query, length, score.
    """
    count = 0
    for i in range(len(targets)):
        t, q = targets[i], queries[i]
        slot = (t - q + base) & mask
        page, entry = page_of[slot >> PAGE_BITS], slot & (PAGE - 1)
        if pages[page, entry] > q:
            continue
        pages[page, entry] = q + span
        score = np.int64(0)
        for place in range(span):
            score += table[np.int64(target[t + place]) << 6 | query[q + place]]
        out[0, count], out[1, count], out[2, count], out[3, count] = t, q, span, score
        count += 1
    return count


@jit
def make_profile(query, first, table, profile):
    """The rows that `score_columns` wants, for query places from `first`; places beyond the query have no score."""
    for i in range(profile.shape[1]):
        place = first + i
        code = np.int64(query[place]) if 0 <= place < len(query) else SEPARATOR_CODE
        for row in range(4):
            profile[row, i] = table[row << 6 | code & 3]
        profile[4, i] = code > 3


@jit
def extend_hits(target, query, targets, queries, span, table, xdrop, threshold, entropy, profile, first, pages, page_of, mask, base, out):
    """HSPs of hits that start at or beyond where their diagonal's last scan to the right stopped looking; returns how many.

    Hits are gathered and scanned LANES at a time. Meanwhile their records say `pending`; a hit that meets such a record has the scans done first.
    profile: as make_profile has it for query places from `first`, or empty where scores or `xdrop` are too large for it. out: int64[5, n], target,
    query, length, score, and where the hit ends in the query.
    """
    pending = np.iinfo(pages.dtype).max
    batch = np.empty((5, LANES), np.int64)  # right end in target and query, record, page, entry
    scores = np.empty((LANES, 2 * REACH), np.int8)
    state = np.empty((2, FIELDS, LANES), np.int16)
    alone = np.empty(LANES, np.bool_)  # to be scanned one column at a time
    fixed = (target, query, table, np.int64(xdrop), np.int64(threshold), entropy)
    address, scores_address, profile_address = target.ctypes.data, scores.ctypes.data, profile.ctypes.data
    stride = profile.shape[1]
    waiting, count = 0, 0
    for i in range(len(targets)):
        # Hits are all over the target: what a later one needs is on its way before it is its turn.
        ahead = address + targets[min(i + AHEAD, len(targets) - 1)]
        for place in (span - REACH, span, span + REACH - 1):
            prefetch(ahead + place)
        t, q = targets[i], queries[i]
        slot = (t - q + base) & mask
        page, entry = page_of[slot >> PAGE_BITS], slot & (PAGE - 1)
        if pages[page, entry] == pending:
            count = _extend_batch(*fixed, batch, scores, alone, waiting, state, pages, out, count)
            waiting = 0
        done = np.int64(pages[page, entry])
        if done > q:
            continue
        pages[page, entry] = pending
        end, query_end = t + span, q + span
        batch[0, waiting], batch[1, waiting], batch[2, waiting], batch[3, waiting], batch[4, waiting] = end, query_end, done, page, entry
        outside = stride == 0 or end < REACH or query_end - REACH < done or end + REACH > len(target) or query_end + REACH > len(query)
        if not outside:
            for column in range(0, 2 * REACH, SCORED):
                place = column - REACH
                there = profile_address + query_end + place - first
                outside |= score_columns(address + end + place, there, stride, scores_address + waiting * (2 * REACH) + column)
        alone[waiting] = outside
        waiting += 1
        if waiting == LANES:
            count = _extend_batch(*fixed, batch, scores, alone, waiting, state, pages, out, count)
            waiting = 0
    return _extend_batch(*fixed, batch, scores, alone, waiting, state, pages, out, count)


@jit
def _extend_batch(target, query, table, xdrop, threshold, entropy, batch, scores, alone, waiting, state, pages, out, count):
    """Scan the hits that wait, to the left from their right end through the hit and to the right; renew their records; write HSPs from row `count`."""
    state[:] = 0
    state[:, ALIVE, :waiting] = -1
    left, right = state[0].ctypes.data, state[1].ctypes.data
    places = scores.ctypes.data
    for column in range(0, REACH, LANES):
        if not scan_left(places + REACH - LANES - column, 2 * REACH, left, column, xdrop):
            break
    for column in range(0, REACH, LANES):
        if not scan_right(places + REACH + column, 2 * REACH, right, column, xdrop):
            break
    for lane in range(waiting):
        end, query_end, done = batch[0, lane], batch[1, lane], batch[2, lane]
        if alone[lane] or state[0, ALIVE, lane]:
            stop = max(np.int64(0), end - query_end, done + end - query_end)
            left_score, to_left = _scan_left(target, query, table, xdrop, end, query_end, end - stop)
        else:
            left_score, to_left = np.int64(state[0, BEST, lane]), np.int64(state[0, PLACE, lane])
        if alone[lane] or state[1, ALIVE, lane]:
            columns = min(len(target) - end, len(query) - query_end)
            right_score, to_right, looked = _scan_right(target, query, table, xdrop, end, query_end, columns)
        else:
            right_score, to_right = np.int64(state[1, BEST, lane]), np.int64(state[1, PLACE, lane])
            looked = np.int64(state[1, LOOKED, lane])
        pages[batch[3, lane], batch[4, lane]] = max(done, query_end + looked)
        score = left_score + right_score
        if score < threshold:
            continue
        if entropy:
            score = _scaled(target, query, end - to_left, query_end - to_left, to_left + to_right, score, threshold)
            if score < threshold:
                continue
        out[0, count], out[1, count], out[2, count], out[3, count], out[4, count] = end - to_left, query_end - to_left, to_left + to_right, score, query_end
        count += 1
    return count


@inline
def _scan_left(target, query, table, xdrop, end, query_end, columns):
    """The best sum of columns from (end, query_end) to the left, and how many columns it has."""
    running, best, place = np.int64(0), np.int64(0), np.int64(0)
    here, there = target.ctypes.data + end, query.ctypes.data + query_end
    for column in range(1, columns + 1):
        running += table[np.uint64(load_u8(here - column) << 6 | load_u8(there - column))]
        if running > best:
            best, place = running, np.int64(column)
        if running < best - xdrop:
            break
    return best, place


@inline
def _scan_right(target, query, table, xdrop, end, query_end, columns):
    """The same to the right, and how many columns were looked at."""
    running, best, place, looked = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    here, there = target.ctypes.data + end, query.ctypes.data + query_end
    for column in range(columns):
        t, q = load_u8(here + column), load_u8(there + column)
        if t == SEPARATOR_CODE or q == SEPARATOR_CODE:
            break  # a sequence ends where its separator is, which is not looked at
        looked += 1
        running += table[np.uint64(t << 6 | q)]
        if running > best:
            best, place = running, looked
        if running < best - xdrop:
            break
    return best, place, looked


@inline
def _scaled(target, query, left, query_left, length, score, threshold):
    if 0 <= score <= 3 * threshold:
        counts = np.zeros(4, np.int64)
        for place in range(left, left + length):
            code = target[place]
            if code < 4 and code == query[place - left + query_left]:
                counts[code] += 1
        score = np.int64(score * _entropy(counts, length))
    return score


@jit
def scale_by_entropy(counts, lengths, scores, threshold):
    """What extend_hits does with the scores of HSPs, all at least `threshold`. counts: int64[n, 4], the identical columns of A, C, G and T."""
    for i in range(len(scores)):
        if 0 <= scores[i] <= 3 * threshold:
            scores[i] = np.int64(scores[i] * _entropy(counts[i], lengths[i]))


@inline
def _entropy(counts, length):
    """Of the identical upper-case columns, in units of two bits; 1 where there are fewer than 20 of them."""
    if counts.sum() < 20:
        return 1.0
    total = 0.0
    for i in range(4):
        if counts[i]:
            share = counts[i] / length
            total += share * math.log(share)
    return -total / math.log(4.0)
