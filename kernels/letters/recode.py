# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Letters read of a text, their codes, and codes turned around: the loops, without the interpreter lock, of which readers of both sides need none at a time.

Nearly all bytes of a genome are A, C, G, T or N, of either case, which vectors take 64 at a time; the others are looked up in a table of 256.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.runtime.vectors import I8, I64, POINTER, intrinsic, store_u8, zeros_below

AT_ONCE = 64
"""Bytes of a vector."""

BLANK, LINE_END = (np.uint8(letter) for letter in b" \n")
INVALID = np.uint8(0xFF)

_VECTOR = ir.VectorType(I8, AT_ONCE)


def _each(value: int) -> Any:
    return ir.Constant(_VECTOR, [value] * AT_ONCE)


def _found(b: Any, address: Any) -> tuple[Any, Any, Any]:
    """Load the bytes at an address; tell which are N or n, and, a bit each, the first in the lowest, which are none of A, C, G, T and N."""
    found = b.load(b.inttoptr(address, POINTER), align=1, typ=_VECTOR)
    upper = b.and_(found, _each(0xDF))
    n = usual = b.icmp_unsigned("==", upper, _each(ord("N")))
    for letter in b"ACGT":
        usual = b.or_(usual, b.icmp_unsigned("==", upper, _each(letter)))
    return found, n, b.bitcast(b.not_(usual), I64)


@intrinsic
def copy_usual(typing: Any, source: Any, target: Any, kept: Any) -> Any:
    """Copy AT_ONCE bytes from an address to another, of each the bits in `kept` (uint8). Returns which are none of A, C, G, T and N, of either case."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        found, _, others = _found(b, args[0])
        empty = ir.Constant(_VECTOR, ir.Undefined)
        first = b.insert_element(empty, args[2], ir.Constant(ir.IntType(32), 0))
        kept = b.shuffle_vector(first, empty, ir.Constant(ir.VectorType(ir.IntType(32), AT_ONCE), [0] * AT_ONCE))
        b.store(b.and_(found, kept), b.inttoptr(args[1], POINTER), align=1)
        return others

    return types.uint64(types.int64, types.int64, types.uint8), codegen


@intrinsic
def encode_usual(typing: Any, source: Any, target: Any) -> Any:
    """Write the codes of AT_ONCE letters from an address to another, as nucleotides.ALPHABET has them. Returns which are none of A, C, G, T and N, of either
    case, and have none yet."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        found, n, others = _found(b, args[0])
        two_bits = b.and_(b.lshr(found, _each(1)), _each(3))
        base = b.xor(two_bits, b.lshr(two_bits, _each(1)))
        lower = b.and_(b.lshr(found, _each(5)), _each(1))
        codes = b.select(n, b.or_(lower, _each(8)), b.or_(b.shl(lower, _each(2)), base))
        b.store(codes, b.inttoptr(args[1], POINTER), align=1)
        return others

    return types.uint64(types.int64, types.int64), codegen


@jit
def read(text, table, kept, letters):
    """Write the letters of a text, looked up in a table that has BLANK for what is left out, to letters, uint8[len(text)] or more. Returns how many they are,
    -1 where the table has INVALID for one, and how many lines end. kept: the bits that the table leaves of A, C, G, T and N; 0 where it does other things."""
    address, out, size, room = text.ctypes.data, letters.ctypes.data, len(text), len(letters)
    at = count = lines = 0
    while at < size:
        if kept != 0 and at + AT_ONCE <= size and count + AT_ONCE <= room:
            others = copy_usual(address + at, out + count, kept)
            usual = AT_ONCE if others == 0 else zeros_below(others)
            at += usual
            count += usual
            if usual == AT_ONCE:
                continue
        letter = table[text[at]]
        if letter == INVALID:
            return -1, lines
        if letter == BLANK:
            lines += text[at] == LINE_END
        else:
            store_u8(out + count, np.int64(letter))
            count += 1
        at += 1
    return count, lines


@jit
def encode(table, letters, codes):
    """Write the codes of letters, table[letters]."""
    address, out = letters.ctypes.data, codes.ctypes.data
    whole = len(letters) // AT_ONCE * AT_ONCE
    for at in range(0, whole, AT_ONCE):
        others = encode_usual(address + at, out + at)
        while others != 0:
            place = at + zeros_below(others)
            codes[place] = table[letters[place]]
            others &= others - np.uint64(1)
    for at in range(whole, len(letters)):
        codes[at] = table[letters[at]]


@jit
def backward(table, codes, found):
    """Write table[codes[::-1]] to `found`."""
    last = len(codes) - 1
    for i in range(len(codes)):
        found[i] = table[codes[last - i]]
