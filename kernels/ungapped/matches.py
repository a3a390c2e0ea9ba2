# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Gap-free extension of hits by their mismatches in place of their scores (LASTZ.md 25), on one core."""

import numpy as np

from tidalign.kernels.letters.nucleotides import SEPARATOR
from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.ungapped.pages import PAGE, PAGE_BITS

SEPARATOR_CODE = np.int64(SEPARATOR)

BASES = np.int64(8)
"""Codes below it are of A, C, G and T; the lowest two bits say which."""


@inline
def _same(t, q):
    return t < BASES and q < BASES and (t & 3) == (q & 3)


@jit
def match_hits(target, query, targets, queries, span, mismatches, least, pages, page_of, mask, base, out):
    """Find the longest stretches of hits with at most `mismatches` (and those at the ends left out), of at least `least` letters; returns how many.

    Hits before the record of their diagonal are passed over; records are as `use_seeds` has them. Case does not matter; what is not A, C, G or T differs from
    everything. out: int64[5, n], target, query, length, score (the length), and where the hit starts in the query.
    """
    before = np.empty(mismatches + 1, np.int64)
    count = 0
    for i in range(len(targets)):
        t, q = np.int64(targets[i]), np.int64(queries[i])
        slot = (t - q + base) & mask
        page, entry = page_of[slot >> PAGE_BITS], slot & (PAGE - 1)
        done = np.int64(pages[page, entry])
        if done > q:
            continue
        # Those in the hit, the last one first; the record is at the first of all that were looked at.
        differ, record = 0, np.int64(-1)
        for place in range(span - 1, -1, -1):
            if not _same(target[t + place], query[q + place]):
                differ += 1
                record = q + place
                if differ > mismatches:
                    break
        if differ > mismatches:
            pages[page, entry] = max(done, record)
            continue
        # To the left, as many as may be in a stretch, and one that ends it. `before`: their places on the target, the nearest first.
        stop = max(np.int64(0), t - q, done + t - q)
        wanted, known = mismatches + 1 - differ, 0
        s = t
        while known < wanted:
            s -= 1
            if s < stop:
                break
            letter, other = target[s], query[s - t + q]
            if letter == SEPARATOR_CODE or other == SEPARATOR_CODE:
                break
            if not _same(letter, other):
                before[known] = s
                known += 1
        missing = 0
        if known < wanted:
            before[known] = s
            known += 1
            missing = wanted - known
        # To the right, an end for each of these begins, the farthest first.
        end = min(np.int64(len(target)), len(query) - q + t)
        best, left, right = np.int64(0), np.int64(-2), np.int64(0)
        s, begin = t + span, known - 1
        while s < end:
            letter, other = target[s], query[s - t + q]
            if letter == SEPARATOR_CODE or other == SEPARATOR_CODE:
                break
            if not _same(letter, other):
                if record < 0:
                    record = s - t + q
                if missing > 0:
                    missing -= 1
                else:
                    if s - before[begin] > best:
                        best, left, right = s - before[begin], before[begin], s
                    begin -= 1
                    if begin < 0:
                        break
            s += 1
        if begin >= 0:
            if record < 0:
                record = s - t + q
            if s - before[begin] > best:
                left, right = before[begin], s
        length = right - left - 1
        if length >= least:
            # By mismatches beyond the one that ends it; without any, to where it ends.
            record = right - t + q + (mismatches > 0)
            out[0, count], out[1, count], out[2, count], out[3, count], out[4, count] = left + 1, left + 1 - t + q, length, length, q
            count += 1
        elif mismatches == 0:
            record = right - t + q
        pages[page, entry] = max(done, record)
    return count
