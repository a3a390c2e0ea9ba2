# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Letters as the host kernels compare them: one byte each, such that query & target is 0 where they match, eight at a time.

A query letter is one bit of four and 0x20, a target letter the other three bits and 0x10: both share a bit unless they are the same letter. The
sentinel 0x30 shares one with everything, so it ends every run of matches; a letter that equals nothing is written as it. A letter that equals
every letter has no low bits: it shares a bit with a sentinel only.
"""

import numpy as np

from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import load_u64, store_u8, store_u32, store_u64, zeros_below

SENTINEL = 0x30
BEHIND = 32
"""Sentinels behind a sequence: nothing is read further than 8 letters beyond its end."""

QUERY_TAG, TARGET_TAG = 0x20, 0x10


def _of_code(code: int, target: bool) -> int:
    return (~(1 << code) & 15) | TARGET_TAG if target else 1 << code | QUERY_TAG


def _ascii_table(target: bool, match: bool) -> list[int]:
    other = (TARGET_TAG if target else QUERY_TAG) if match else SENTINEL
    table = [other] * 256
    for letter in b"ACGTacgt":
        table[letter] = _of_code(letter >> 1 & 3, target)
    return table


def _packed_table(target: bool) -> list[int]:
    return [sum(_of_code(byte >> (6 - 2 * i) & 3, target) << 8 * i for i in range(4)) for byte in range(256)]


# First index: mismatch or match of ambiguous letters; second: query or target.
ASCII = np.array([[_ascii_table(target, match) for target in (False, True)] for match in (False, True)], np.uint8)
PACKED = np.array([_packed_table(target) for target in (False, True)], np.uint32)
OTHER = np.array([[SENTINEL, SENTINEL], [QUERY_TAG, TARGET_TAG]], np.uint8)


@inline
def run(q, t, v, h):
    """Find the target position where the letters from query position v and target position h on stop matching."""
    x = load_u64(q + v) & load_u64(t + h)
    while x == np.uint64(0):
        v += 8
        h += 8
        x = load_u64(q + v) & load_u64(t + h)
    return h + (zeros_below(x) >> 3)


@inline
def sentinels(address):
    for place in range(address, address + BEHIND, 8):
        store_u64(place, np.uint64(0x3030303030303030))


@jit
def encode_ascii(letters, start, length, table, address):
    """Encode letters [start, start + length) by a table of 256 bytes; sentinels follow."""
    for i in range(length):
        store_u8(address + i, np.int64(table[letters[start + i]]))
    sentinels(address + length)


@jit
def encode_packed(codes, start, length, table, ambiguous, ambiguous_start, ambiguous_stop, other, address):
    """Encode `length` letters of packed codes from byte `start` on, `other` where the ambiguous bits say so; sentinels follow."""
    for i in range((length + 3) // 4):
        store_u32(address + 4 * i, np.int64(table[codes[start + i]]))
    for i in range(length if ambiguous_stop > ambiguous_start else 0):
        if ambiguous[ambiguous_start + (i >> 3)] >> (7 - (i & 7)) & 1:
            store_u8(address + i, other)
    sentinels(address + length)
