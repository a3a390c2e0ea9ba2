# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Words of seed windows, an index of them, and the hits between two sequences, on one core."""

import numpy as np

from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.runtime.prefetch import prefetch
from tidalign.kernels.runtime.vectors import store_i64

NO_WORD = np.uint32(0xFFFFFFFF)
"""In place of the word of a window that holds a letter other than upper-case ACGT."""

FLIP_BITS = np.int64(7)
"""Of the number of what a word is XORed with: two transitions of 14 letters are 106."""

BLOCK = 32
"""Query places whose words are looked up together, so that their cache misses overlap."""


@jit
def pack_words(codes, first, span, shifts, high_masks, low_masks, high_bits, words):
    """Set words[i] to the word of the window that starts at first + i: below the high bits of the pattern's 1s (those that a transition changes), above the low
    bits of its 1s and Ts."""
    high, low, seen = np.uint64(0), np.uint64(0), 0
    for place in range(first, first + len(words) + span - 1):
        code = codes[place]
        high = high << np.uint64(1) | np.uint64(code >> 1 & 1)
        low = low << np.uint64(1) | np.uint64(code & 1)
        seen = seen + 1 if code < 4 else 0
        window = place - span + 1 - first
        if window >= 0:
            word = np.uint64(NO_WORD)
            if seen >= span:
                word, lower = np.uint64(0), np.uint64(0)
                for i in range(len(shifts)):
                    word |= high >> shifts[i] & high_masks[i]
                    lower |= low >> shifts[i] & low_masks[i]
                word |= lower << high_bits
            words[window] = word


@jit
def count_words(words, first, span, step, shift, begins):
    """Add the indexed words of windows from `first` to begins[bucket + 2]."""
    for i in range(-(first + span) % step, len(words), step):
        if words[i] != NO_WORD:
            begins[(words[i] >> shift) + 2] += 1


@jit
def place_words(words, first, span, step, shift, begins, places, tags):
    """Put windows in their buckets, those further right first; begins[bucket + 1] moves from a bucket's begin to its end."""
    offset = -(first + span) % step
    for i in range((len(words) - 1 - offset) // step * step + offset, -1, -step):
        word = words[i]
        if word != NO_WORD:
            bucket = (word >> shift) + 1
            at = begins[bucket]
            begins[bucket] = at + 1
            places[at] = first + i
            if shift:
                tags[at] = word


@jit
def count_alike(begins, tags, shift, alike, histogram):
    """Count for each entry k of the index, in alike[k], the entries that have its word; and in histogram[c] the entries that have c of them."""
    for bucket in range(len(begins) - 1):
        begin, end = np.int64(begins[bucket]), np.int64(begins[bucket + 1])
        if shift and end - begin > 1:
            ordered = np.sort(tags[begin:end])
            for k in range(begin, end):
                alike[k] = np.searchsorted(ordered, tags[k], "right") - np.searchsorted(ordered, tags[k])
        else:
            alike[begin:end] = end - begin
        for k in range(begin, end):
            histogram[alike[k]] += 1


@jit
def drop_frequent(begins, places, tags, shift, alike, limit):
    """Close up the index where words with more than `limit` entries are left out; returns how many entries remain."""
    kept, begin = 0, np.int64(begins[0])
    for bucket in range(len(begins) - 1):
        end = np.int64(begins[bucket + 1])
        for k in range(begin, end):
            if alike[k] <= limit:
                places[kept] = places[k]
                if shift:
                    tags[kept] = tags[k]
                kept += 1
        begins[bucket + 1] = kept
        begin = end
    return kept


@jit
def mark_buckets(begins, marks):
    """Set the bit of each bucket that holds something in marks, uint64, and no other."""
    whole = (len(begins) - 1) >> 6
    for i in range(whole):
        mark = np.uint64(0)
        for bit in range(64):  # as many as are known when it is compiled, which takes several at once
            mark |= np.uint64(begins[(i << 6) + bit + 1] != begins[(i << 6) + bit]) << np.uint64(bit)
        marks[i] = mark
    for i in range(whole, len(marks)):
        mark = np.uint64(0)
        for bucket in range(whole << 6, len(begins) - 1):
            mark |= np.uint64(begins[bucket + 1] != begins[bucket]) << np.uint64(bucket & 63)
        marks[i] = mark


@jit
def find_hits(words, first, flips, shift, marks, begins, places, tags, state, targets, queries):
    """Write hits of query windows from `first` until there are no more or the tile is full; returns how many.

    state: window, flip and entry of the index to go on from (an entry of -1: from the bucket's first); at the end, the window is len(words).
    """
    flip_count = len(flips)
    lookup = np.empty(BLOCK * flip_count, np.int64)
    low = np.empty(BLOCK * flip_count, np.int64)
    high = np.empty(BLOCK * flip_count, np.int64)
    begins_address, places_address = begins.ctypes.data, places.ctypes.data
    targets_address, queries_address, size = targets.ctypes.data, queries.ctypes.data, len(targets)
    count = np.int64(0)
    begin, flip, entry = state[0], state[1], state[2]
    while begin < len(words):
        stop = min(begin + BLOCK, len(words))
        # Each step asks for the memory of the next one for all the block, and no branch depends on what is found, so that cache misses overlap.
        found = np.int64(0)
        for i in range(begin, stop):
            if words[i] != NO_WORD:
                for f in range(flip, flip_count):
                    bucket = np.uint64((words[i] ^ flips[f]) >> shift)
                    lookup[found] = i << FLIP_BITS | f
                    low[found] = bucket
                    found += np.int64(marks[bucket >> np.uint64(6)] >> (bucket & np.uint64(63)) & np.uint64(1))
            flip = 0
        for j in range(found):
            prefetch(begins_address + low[j] * begins.itemsize)
        for j in range(found):
            bucket = np.uint64(low[j])
            low[j], high[j] = begins[bucket], begins[bucket + np.uint64(1)]
            prefetch(places_address + low[j] * places.itemsize)
        for j in range(found):
            i, f = lookup[j] >> FLIP_BITS, lookup[j] & ((1 << FLIP_BITS) - 1)
            wanted = words[i] ^ flips[f]
            for k in range(entry if entry >= 0 else low[j], high[j]):
                if count == size:
                    state[0], state[1], state[2] = i, f, k
                    return count
                store_i64(targets_address + 8 * count, np.int64(places[np.uint64(k)]))
                store_i64(queries_address + 8 * count, first + i)
                count += np.int64(not shift or tags[np.uint64(k)] == wanted)
            entry = -1
        begin = stop
    state[0], state[1], state[2] = begin, 0, -1
    return count


@jit
def keep_hits(target, query, full, transitions, span, matches, transversions, targets, queries, count):
    """Keep hits whose windows differ by transitions only, and at most so many, at the places `full`, and have in all enough matches and few enough
    transversions; returns how many."""
    kept = 0
    for i in range(count):
        t, q = targets[i], queries[i]
        differing = 0
        for place in full:
            differing += (target[t + place] != query[q + place]) + 4 * ((target[t + place] ^ query[q + place]) & 1)
        equal, crossing = 0, 0
        for place in range(span):
            equal += target[t + place] == query[q + place]
            crossing += (target[t + place] ^ query[q + place]) & 1
        targets[kept], queries[kept] = t, q
        kept += differing <= transitions and equal >= matches and crossing <= transversions
    return kept
