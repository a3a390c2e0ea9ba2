# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Stage what passes between the caller's arrays and pinned memory: letters to two bits, a batch as one stream, and results to the types of `Alignments`.

One call a batch each way, since threads that often need the interpreter lock spend their time waiting for it. Everything is addressed, so that arrays
that may not be written to need no second compilation.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import I8, I16, I32, POINTER, intrinsic, load_i64, load_u8, load_u32, load_u64, store_i64, store_u8, store_u32, store_u64

BLOCK_LETTERS = 256
"""Letters packed and checked at a time: a cache line of codes."""

MAX_SHORT_LETTERS = np.int64(0x7FFF)
"""Letters of the longest sequence that a device takes; a longer one is sent as one letter more."""

RUNS_AT_ONCE = 32
"""Runs widened at a time."""

_WORDS = 16
_VECTOR = ir.VectorType(I32, _WORDS)

_ONES = np.uint64(0x0101010101010101)
_CASE_AND_CODE = np.uint64(0xD9D9D9D9D9D9D9D9)
_A = np.uint64(0x4141414141414141)


@intrinsic
def _pack_block(typing: Any, letters: Any, codes: Any) -> Any:
    """Pack BLOCK_LETTERS letters to two bits, the first in the top bits of a byte; gives 0 if all are of ACGT in either case.

    Four letters a lane. Two bits of a letter are its code; what is left of ACGT without these and the case is 0x41, or 0x50 where the code is T's.
    """

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        def every_byte(value: int) -> Any:
            return ir.Constant(_VECTOR, [value * 0x01010101] * _WORDS)

        def lanes(value: int) -> Any:
            return ir.Constant(_VECTOR, [value] * _WORDS)

        others = None
        for step in range(BLOCK_LETTERS // (4 * _WORDS)):
            at = b.add(args[0], ir.Constant(args[0].type, 4 * _WORDS * step))
            word = b.load(b.inttoptr(at, POINTER), align=1, typ=_VECTOR)
            half = b.lshr(word, lanes(1))
            code = b.and_(half, every_byte(3))
            pairs = b.and_(b.or_(b.shl(code, lanes(2)), b.lshr(code, lanes(8))), lanes(0x000F000F))
            packed = b.trunc(b.or_(b.shl(pairs, lanes(4)), b.lshr(pairs, lanes(16))), ir.VectorType(I8, _WORDS))
            to = b.add(args[1], ir.Constant(args[1].type, _WORDS * step))
            b.store(packed, b.inttoptr(to, POINTER), align=1)
            is_t = b.and_(b.and_(b.lshr(word, lanes(2)), b.not_(half)), every_byte(1))
            expected = b.xor(b.xor(is_t, b.shl(is_t, lanes(4))), every_byte(0x41))
            other = b.xor(b.and_(word, every_byte(0xD9)), expected)
            others = other if others is None else b.or_(others, other)
        reduce = cgutils.get_or_insert_function(b.module, ir.FunctionType(I32, [_VECTOR]), f"llvm.vector.reduce.or.v{_WORDS}i32")
        return b.zext(b.call(reduce, [others]), args[0].type)

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def _widen_block(typing: Any, short: Any, wide: Any) -> Any:
    """Widen RUNS_AT_ONCE uint16 at one address to uint32 at the other."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        values = b.load(b.inttoptr(args[0], POINTER), align=1, typ=ir.VectorType(I16, RUNS_AT_ONCE))
        b.store(b.zext(values, ir.VectorType(I32, RUNS_AT_ONCE)), b.inttoptr(args[1], POINTER), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@inline
def _load_u16(address):
    return load_u8(address) | load_u8(address + 1) << 8


@inline
def _others(word):
    """Mark, in a word of eight letters, the bytes that are none of ACGT: not 0 there, as in `_pack_block`."""
    is_t = (word >> np.uint64(2)) & ~(word >> np.uint64(1)) & _ONES
    return (word & _CASE_AND_CODE) ^ _A ^ is_t ^ (is_t << np.uint64(4))


@jit
def stage_letters(letters, offsets, count, codes, others, starts, short_lengths, lengths):
    """Pack `count` sequences, the first one's letters at `letters`, to codes (four letters a byte, the first on top), and note for each what `_place` writes.

    `others`: for each BLOCK_LETTERS of letters a byte that says whether one of them is none of ACGT. Returns the longest length, and
    whether there is such a letter.
    """
    base = load_i64(offsets)
    total = load_i64(offsets + 8 * count) - base
    found = np.int64(0)
    whole = total // BLOCK_LETTERS
    for block in range(whole):
        other = _pack_block(letters + BLOCK_LETTERS * block, codes + BLOCK_LETTERS // 4 * block)
        found |= other
        store_u8(others + block, np.int64(other != 0))
    if total > BLOCK_LETTERS * whole:
        other, byte = np.int64(0), 0
        for j in range(BLOCK_LETTERS * whole, total):
            letter = load_u8(letters + j)
            other |= np.int64(_others(_A ^ np.uint64(letter ^ 65)))
            byte |= (letter >> 1 & 3) << (6 - 2 * (j & 3))
            if j & 3 == 3 or j + 1 == total:
                store_u8(codes + (j >> 2), byte)
                byte = 0
        found |= other
        store_u8(others + whole, np.int64(other != 0))
    longest = np.int64(0)
    for i in range(count):
        start = load_i64(offsets + 8 * i)
        length = load_i64(offsets + 8 * i + 8) - start
        longest = max(longest, length)
        _place(i, start - base, length, starts, short_lengths, lengths)
    return longest, found != 0


@jit
def stage_packed(source, source_bytes, code_offsets, source_lengths, count, codes, starts, short_lengths, lengths):
    """Copy `count` sequences that are packed, the first one's codes at `source`, the same way; returns the longest length."""
    words = source_bytes // 8
    for i in range(words):
        store_u64(codes + 8 * i, load_u64(source + 8 * i))
    for i in range(8 * words, source_bytes):
        store_u8(codes + i, load_u8(source + i))
    base = load_i64(code_offsets)
    longest = np.int64(0)
    for i in range(count):
        length = load_i64(source_lengths + 8 * i)
        longest = max(longest, length)
        _place(i, 4 * (load_i64(code_offsets + 8 * i) - base), length, starts, short_lengths, lengths)
    return longest


@inline
def _place(i, start, length, starts, short_lengths, lengths):
    """Write the letter that sequence i begins at (int32), min(length, MAX_SHORT_LETTERS + 1) (uint16) and its length (int64)."""
    store_u32(starts + 4 * i, start)
    short = min(length, MAX_SHORT_LETTERS + np.int64(1))
    store_u8(short_lengths + 2 * i, short & 255)
    store_u8(short_lengths + 2 * i + 1, short >> 8)
    store_i64(lengths + 8 * i, length)


@jit
def mask_letters(letters, offsets, count, others, masks, used, mask_starts):
    """Write a bit a letter, set where it is none of ACGT, for those of `count` sequences that hold such letters: bytes from masks + used on, where they begin
    (int32; -1: nowhere), and how many are used then. Letters, and blocks of `others`, are counted from the first sequence's."""
    base = load_i64(offsets)
    for i in range(count):
        start = load_i64(offsets + 8 * i) - base
        length = load_i64(offsets + 8 * i + 8) - base - start
        place = np.int64(-1)
        suspect = np.int64(0)
        if length:
            for block in range(start // BLOCK_LETTERS, (start + length - 1) // BLOCK_LETTERS + 1):
                suspect |= load_u8(others + block)
        if suspect:
            for j in range(0, length, 8):
                byte = np.int64(0)
                if j + 8 > length or _others(load_u64(letters + start + j)) != np.uint64(0):
                    for bit in range(min(8, length - j)):
                        letter = load_u8(letters + start + j + bit) & 0xDF
                        if letter != 65 and letter != 67 and letter != 71 and letter != 84:
                            byte |= 128 >> bit
                            place = used
                store_u8(masks + used + (j >> 3), byte)
            if place >= 0:
                used += (length + 7) >> 3
        store_u32(mask_starts + 4 * i, place)
    return used


@jit
def deliver(penalties, unit, count, penalty, run_counts, place, offsets, runs, run_bytes, cigar):
    """Copy the results of `count` pairs to the arrays of `Alignments`: uint32 penalties in units to int64 `penalty`, uint16 numbers of runs to int64 `offsets`
    (where the next pair begins, the first pair at `place`), and the runs, of 2 or 4 bytes, to 4 bytes from `cigar` on. `offsets` 0: there are no CIGARs."""
    for i in range(count):
        store_i64(penalty + 8 * i, load_u32(penalties + 4 * i) * unit)
    if offsets:
        total = np.int64(0)
        for i in range(count):
            total += _load_u16(run_counts + 2 * i)
            store_i64(offsets + 8 * i, place + total)
        if run_bytes == 2:
            for block in range(total // RUNS_AT_ONCE):
                _widen_block(runs + 2 * RUNS_AT_ONCE * block, cigar + 4 * RUNS_AT_ONCE * block)
            for i in range(total // RUNS_AT_ONCE * RUNS_AT_ONCE, total):
                store_u32(cigar + 4 * i, _load_u16(runs + 2 * i))
        else:
            for i in range(total):
                store_u32(cigar + 4 * i, load_u32(runs + 4 * i))
