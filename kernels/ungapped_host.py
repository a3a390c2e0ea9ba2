# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Which hits are used, and their gap-free extension, on one core."""

import math

import numpy as np

from tidalign.kernels.nucleotides import SEPARATOR
from tidalign.kernels.numba_cache import inline, jit
from tidalign.kernels.prefetch_host import prefetch
from tidalign.kernels.ungapped import PAGE, PAGE_BITS
from tidalign.kernels.vectors_host import load_u8

AHEAD = 12
"""Hits between the one that is extended and the one whose letters are asked for."""

SEPARATOR_CODE = np.int64(SEPARATOR)


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
def extend_hits(target, query, targets, queries, span, table, xdrop, threshold, entropy, pages, page_of, mask, base, out):
    """HSPs of hits that start at or beyond where their diagonal's last scan to the right stopped looking; returns how many."""
    count = 0
    address, query_address = target.ctypes.data, query.ctypes.data
    for i in range(len(targets)):
        # Hits are all over the target: what a later one needs is on its way while this one is extended.
        ahead = address + targets[min(i + AHEAD, len(targets) - 1)]
        prefetch(ahead - 32)
        prefetch(ahead + 32)
        t, q = targets[i], queries[i]
        slot = (t - q + base) & mask
        page, entry = page_of[slot >> PAGE_BITS], slot & (PAGE - 1)
        done = np.int64(pages[page, entry])
        if done > q:
            continue
        # Both scans begin at the hit's right end: the one to the left goes through the hit.
        end = t + span
        diagonal = t - q
        to_query = query_address - diagonal - address
        place = address + end
        stop = address + max(np.int64(0), diagonal, done + diagonal)
        running, left_score, left = np.int64(0), np.int64(0), place
        while place > stop:
            place -= 1
            running += table[np.uint64(load_u8(place) << 6 | load_u8(place + to_query))]
            left = place if running > left_score else left
            left_score = max(left_score, running)
            if running < left_score - xdrop:
                break
        place = address + end
        stop = address + min(len(target), len(query) + diagonal)
        running, right_score, right = np.int64(0), np.int64(0), place
        while place < stop:
            running += table[np.uint64(load_u8(place) << 6 | load_u8(place + to_query))]
            place += 1
            right = place if running > right_score else right
            right_score = max(right_score, running)
            if running < right_score - xdrop:
                break
        left, right, place = left - address, right - address, place - address
        if place > end and (target[place - 1] == SEPARATOR_CODE or query[place - 1 - diagonal] == SEPARATOR_CODE):
            place -= 1  # a sequence ends where its separator is, and is not looked at further
        if place - diagonal > done:
            pages[page, entry] = place - diagonal
        score = left_score + right_score
        if score < threshold:
            continue
        if entropy and 0 <= score <= 3 * threshold:
            score = np.int64(score * _entropy(target, query, left, right, diagonal))
            if score < threshold:
                continue
        out[0, count], out[1, count], out[2, count], out[3, count] = left, left - diagonal, right - left, score
        count += 1
    return count


@inline
def _entropy(target, query, left, right, diagonal):
    """Of the identical upper-case columns, in units of two bits; 1 where there are fewer than 20 of them."""
    counts = np.zeros(4, np.int64)
    for place in range(left, right):
        code = target[place]
        if code < 4 and code == query[place - diagonal]:
            counts[code] += 1
    if counts.sum() < 20:
        return 1.0
    total = 0.0
    for i in range(4):
        if counts[i]:
            share = counts[i] / (right - left)
            total += share * math.log(share)
    return -total / math.log(4.0)
