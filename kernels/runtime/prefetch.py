# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Asking the processor for memory before it is needed."""

from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

intrinsic: Any = extending.intrinsic


@intrinsic
def prefetch(typing: Any, address: Any) -> Any:
    """Begin to load the cache line at an address (int64), which need not be valid."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        pointer, flag = ir.PointerType(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        hint = cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0")
        # To be read, kept in every cache, data.
        b.call(hint, [b.inttoptr(args[0], pointer), *(ir.Constant(flag, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(types.int64), codegen
