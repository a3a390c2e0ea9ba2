# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Bits of words: counted, found, and made of bytes that are compared."""

from typing import Any

from llvmlite import ir
from numba import types

from tidalign.kernels.runtime.vectors import I1, I8, I32, I64, POINTER, intrinsic


@intrinsic
def zeros_below(typing: Any, value: Any) -> Any:
    """Zero bits below the lowest one of a value that is not 0."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        return b.cttz(args[0], ir.Constant(I1, 1))

    return types.int64(types.uint64), codegen


@intrinsic
def ones(typing: Any, value: Any) -> Any:
    """Count the one bits of a value."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        return b.ctpop(args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def equal_bytes(typing: Any, address: Any, value: Any) -> Any:
    """Tell which of the 64 bytes at an address are `value` (uint8), a bit each, the first in the lowest."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(I8, 64)
        empty = ir.Constant(vector, ir.Undefined)
        first = b.insert_element(empty, args[1], ir.Constant(I32, 0))
        wanted = b.shuffle_vector(first, empty, ir.Constant(ir.VectorType(I32, 64), [0] * 64))
        return b.bitcast(b.icmp_unsigned("==", b.load(b.inttoptr(args[0], POINTER), align=1, typ=vector), wanted), I64)

    return types.uint64(types.int64, types.uint8), codegen
