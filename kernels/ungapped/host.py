# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Which hits are used, and their gap-free extension, on one core."""

import math

import numpy as np

from tidalign.kernels.letters.nucleotides import SEPARATOR
from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.prefetch import prefetch
from tidalign.kernels.runtime.uncounted import uncounted
from tidalign.kernels.runtime.vectors import load_u8, load_u64
from tidalign.kernels.ungapped.pages import PAGE, PAGE_BITS
from tidalign.kernels.ungapped.vectors import HIT_LANES, LEFTS, RIGHTS, WORD, sieve

SEPARATOR_CODE = np.int64(SEPARATOR)

AHEAD = 24
"""Hits between the one that is looked at and the one whose letters are asked for."""

LEAD = np.int64(128)
"""Letters before the first one, and after the last one, that words may reach to; a multiple of four."""

HIGHEST_LIMIT = 30_000
"""More than half of what the best scores in a hit's words sum up to."""


@jit
def use_seeds(target, query, targets, queries, span, table, pages, page_of, mask, base, out):
    """Use hits that start at or beyond the end of the last one used on their diagonal, with the score of their columns; returns how many.

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


@uncounted
def pack(codes, packed):
    """Pack letters in two bits, four a byte, the first in the lowest bits, from letter -LEAD on: bases in either case; others are as the first base."""
    for i in range(len(packed)):
        first = 4 * i - LEAD
        byte = 0
        for place in range(first, first + 4):
            if 0 <= place < len(codes) and codes[place] < 8:
                byte |= (codes[place] & 3) << 2 * (place - first)
        packed[i] = byte


@inline
def _letters(packed, place):
    """Load WORD letters from a place on, two bits each; above them others."""
    return load_u64(packed + ((place + LEAD) >> 2)) >> np.uint64(2 * (place & 3))


@uncounted
def extend_hits(target, query, targets, queries, span, table, limits, packed, query_packed, tables, origins, pages, page_of, mask, base, batch, words, out):
    """Find the HSPs of hits that start at or beyond where their diagonal's last scan to the right stopped looking; returns how many.

    Hits are gathered and sieved LANES at a time; meanwhile their records say `pending`. A record is twice the query place. Of a hit that does not pass the
    sieve it is not known exactly: the record is odd, and beyond where the scan can have stopped; it is found out if a later hit starts before.
    limits: xdrop, threshold, entropy. packed, query_packed: as `pack` has them. tables: of the sieve, or empty where scores or `xdrop` are too large for it.
    origins: int64[SLOTS], for records that diagonals share the target place of the last hit. batch: int64[5, HIT_LANES], words:
    uint64[LEFTS + RIGHTS, HIT_LANES], to work in. out: int64[5, n], target, query, length, score, and where the hit ends in the query.
    """
    xdrop, threshold, entropy = limits
    pending = np.iinfo(pages.dtype).max
    fixed = (target, query, table, np.int64(span), np.int64(xdrop), np.int64(threshold), entropy, tables, origins, pages, np.int64(mask), np.int64(base))
    letters, query_letters = packed.ctypes.data, query_packed.ctypes.data
    waiting, count = 0, 0
    for i in range(len(targets)):
        # Hits are all over the target: what a later one needs is on its way before it is its turn.
        ahead = letters + ((targets[min(i + AHEAD, len(targets) - 1)] + span + LEAD) >> 2)
        prefetch(ahead - WORD * LEFTS // 4)
        prefetch(ahead + WORD * RIGHTS // 4)
        t, q = targets[i], queries[i]
        slot = (t - q + base) & mask
        page, entry = page_of[slot >> PAGE_BITS], slot & (PAGE - 1)
        record = np.int64(pages[page, entry])
        if record >> 1 > q:
            if record == pending:
                count = _extend_batch(*fixed, batch, words, waiting, out, count)
                waiting = 0
                record = np.int64(pages[page, entry])
            if record & 1:
                record = _found_out(target, query, table, span, xdrop, origins, mask, base, slot, record)
                pages[page, entry] = record
            if record >> 1 > q:
                continue
        pages[page, entry] = pending
        # Places in target and query, page, entry, record.
        batch[0, waiting], batch[1, waiting], batch[2, waiting], batch[3, waiting], batch[4, waiting] = t, q, page, entry, record
        end, query_end = t + span, q + span
        for word in range(LEFTS):
            back = WORD * (word + 1)
            words[word, waiting] = _letters(letters, end - back) ^ _letters(query_letters, query_end - back)
        for word in range(RIGHTS):
            on = WORD * word
            words[LEFTS + word, waiting] = _letters(letters, end + on) ^ _letters(query_letters, query_end + on)
        waiting += 1
        if waiting == HIT_LANES:
            count = _extend_batch(*fixed, batch, words, waiting, out, count)
            waiting = 0
    return _extend_batch(*fixed, batch, words, waiting, out, count)


@uncounted
def _found_out(target, query, table, span, xdrop, origins, mask, base, slot, record):
    """Find out the record of a hit that did not pass the sieve: where its scan to the right stopped looking."""
    q = (record >> 1) - WORD * RIGHTS - span
    t = origins[slot] if mask >= 0 else q + slot - base
    end, query_end = t + span, q + span
    _, _, looked = _scan_right(target, query, table, xdrop, end, query_end, min(len(target) - end, len(query) - query_end))
    return (query_end + looked) << 1


@jit
def settle(target, query, table, span, xdrop, origins, mask, base, touched, pages):
    """Find out the records of pages (`touched`: their numbers) that are not known exactly."""
    for row in range(len(touched)):
        for entry in range(PAGE):
            record = np.int64(pages[row, entry])
            if record & 1:
                slot = touched[row] * PAGE + entry
                pages[row, entry] = _found_out(target, query, table, np.int64(span), np.int64(xdrop), origins, np.int64(mask), np.int64(base), slot, record)


@uncounted
def _extend_batch(target, query, table, span, xdrop, threshold, entropy, tables, origins, pages, mask, base, batch, words, waiting, out, count):
    """Sieve the hits that wait; scan those that pass to the left from their right end through the hit and to the right; renew the records of all; write HSPs
    from row `count`."""
    passing = np.int64(-1)
    if len(tables):
        limit = np.int64(max(0, min((threshold + 1) >> 1, HIGHEST_LIMIT)))
        passing = sieve(words.ctypes.data, tables.ctypes.data, xdrop >> 1, limit)
    for lane in range(waiting):
        t, q, page, entry, record = batch[0, lane], batch[1, lane], batch[2, lane], batch[3, lane], batch[4, lane]
        end, query_end = t + span, q + span
        slot = (t - q + base) & mask
        if not passing >> lane & 1:
            pages[page, entry] = (query_end + WORD * RIGHTS) << 1 | 1
            if mask >= 0:
                origins[slot] = t
            continue
        if record & 1:
            record = _found_out(target, query, table, span, xdrop, origins, mask, base, slot, record)
        done = record >> 1
        stop = max(np.int64(0), end - query_end, done + end - query_end)
        left_score, to_left = _scan_left(target, query, table, xdrop, end, query_end, end - stop)
        right_score, to_right, looked = _scan_right(target, query, table, xdrop, end, query_end, min(len(target) - end, len(query) - query_end))
        pages[page, entry] = max(done, query_end + looked) << 1
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
    """Find the best sum of columns from (end, query_end) to the left, and how many columns it has."""
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
    """Find the best sum of columns from (end, query_end) to the right, how many columns it has, and how many columns were looked at."""
    running, best, place, looked = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    here, there = target.ctypes.data + end, query.ctypes.data + query_end
    for column in range(columns):
        t, q = load_u8(here + column), load_u8(there + column)
        if q == SEPARATOR_CODE:
            break  # the query ends, as where there is no more of it
        looked += 1
        if t == SEPARATOR_CODE:
            break  # LASTZ looks at it as at a letter, with a score that stops any scan
        running += table[np.uint64(t << 6 | q)]
        if running > best:
            best, place = running, looked
        if running < best - xdrop:
            break
    return best, place, looked


@inline
def _scaled(target, query, left, query_left, length, score, threshold):
    if 0 <= score <= 3 * threshold:
        a, c, g, t = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        for place in range(left, left + length):
            code = target[place]
            if code == query[place - left + query_left]:
                a += code == 0
                c += code == 1
                g += code == 2
                t += code == 3
        score = np.int64(score * _entropy((a, c, g, t), length))
    return score


@jit
def scale_by_entropy(counts, lengths, scores, threshold):
    """Do what extend_hits does with the scores of HSPs, all at least `threshold`. counts: int64[n, 4], the identical columns of A, C, G and T."""
    for i in range(len(scores)):
        if 0 <= scores[i] <= 3 * threshold:
            each = (counts[i, 0], counts[i, 1], counts[i, 2], counts[i, 3])
            scores[i] = np.int64(scores[i] * _entropy(each, lengths[i]))


@inline
def _entropy(counts, length):
    """Measure the entropy of the identical upper-case columns, in units of two bits; 1 where there are fewer than 20 of them."""
    if counts[0] + counts[1] + counts[2] + counts[3] < 20:
        return 1.0
    total = 0.0
    for count in counts:
        if count:
            share = count / length
            total += share * math.log(share)
    return -total / math.log(4.0)
