# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Vectors of scores, a lane a pair: how many lanes there are, and what is done with all of them at once."""

import os
from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils

from tidalign.kernels.runtime import vectors as base
from tidalign.kernels.runtime.vectors import I32, I64, POINTER

HAS_AVX512 = binding.get_host_cpu_features().get("avx512bw") and "TIDALIGN_LANES" not in os.environ
PAIR_LANES = 2 * base.VECTOR_LANES if HAS_AVX512 else base.VECTOR_LANES


LOWEST = {8: -0x80, 16: -0x8000, 32: -(1 << 30), 64: -(1 << 60)}
"""The lowest value that lanes of so many bits hold."""


def zero(null: Any) -> int:
    """Give what lanes hold for a score of 0."""
    return LOWEST[null.bitwidth] if null.bitwidth <= 16 and not null.signed else 0


class Lanes:
    """Emit operations on a vector of what `null` says."""

    def __init__(self, b: Any, null: Any) -> None:
        self.b, self.local = b, not null.signed
        self.element = ir.IntType(null.bitwidth)
        self.count = {8: 2 * PAIR_LANES, 64: 1}.get(null.bitwidth, PAIR_LANES)
        self.vector = ir.VectorType(self.element, self.count)
        self.size = null.bitwidth // 8
        self.saturates = null.bitwidth <= 16
        self.zero = self.same(zero(null))
        self.lowest = self.same(LOWEST[null.bitwidth])

    def same(self, value: int) -> Any:
        return ir.Constant(self.vector, [value] * self.count)

    def splat(self, value: Any) -> Any:
        return self._spread(value if value.type == self.element else self.b.trunc(value, self.element), self.vector)

    def _spread(self, value: Any, vector: Any) -> Any:
        empty = ir.Constant(vector, ir.Undefined)
        first = self.b.insert_element(empty, value, ir.Constant(I32, 0))
        return self.b.shuffle_vector(first, empty, ir.Constant(ir.VectorType(I32, self.count), [0] * self.count))

    def _call(self, name: str, x: Any, y: Any) -> Any:
        function = ir.FunctionType(self.vector, [self.vector] * 2)
        return self.b.call(cgutils.get_or_insert_function(self.b.module, function, f"llvm.{name}.v{self.count}i{self.element.width}"), [x, y])

    def numbers(self) -> Any:
        """Give each lane its number."""
        return ir.Constant(self.vector, list(range(self.count)))

    def between(self, step: Any, last: Any) -> Any:
        """Tell of each lane whether it is in columns 1 to the last one, when it is its number behind the first lane, at `step` (i64)."""
        b, wide = self.b, ir.VectorType(I64, self.count)
        columns = b.sub(self._spread(step, wide), ir.Constant(wide, list(range(self.count))))
        return b.and_(b.icmp_signed(">", columns, ir.Constant(wide, [0] * self.count)), b.icmp_signed("<=", columns, self._spread(last, wide)))

    def moved(self, value: Any, address: Any) -> Any:
        """Give each lane what the one before it has; the first, what is at an address."""
        first = self.b.insert_element(self.lowest, self.b.load(self.b.inttoptr(address, POINTER), align=1, typ=self.element), ir.Constant(I32, 0))
        places = [0, *range(self.count, 2 * self.count - 1)]
        return self.b.shuffle_vector(first, value, ir.Constant(ir.VectorType(I32, self.count), places))

    def store_last(self, value: Any, address: Any) -> None:
        """Store what the last lane has."""
        self.b.store(self.b.extract_element(value, ir.Constant(I32, self.count - 1)), self.b.inttoptr(address, POINTER), align=1)

    def larger(self, x: Any, y: Any) -> Any:
        return self._call("smax", x, y)

    def smaller(self, x: Any, y: Any) -> Any:
        return self._call("smin", x, y)

    def plus(self, x: Any, y: Any) -> Any:
        return self._call("sadd.sat", x, y) if self.saturates else self.b.add(x, y)

    def minus(self, x: Any, y: Any) -> Any:
        return self._call("ssub.sat", x, y) if self.saturates else self.b.sub(x, y)

    def above(self, x: Any, y: Any) -> Any:
        return self.b.icmp_signed(">", x, y)

    def load(self, address: Any, place: int = 0, vector: Any = None) -> Any:
        vector = vector or self.vector
        at = self.b.add(address, ir.Constant(I64, place * self.count * (vector.element.width // 8)))
        return self.b.load(self.b.inttoptr(at, POINTER), align=1, typ=vector)

    def store(self, value: Any, address: Any, place: int = 0) -> None:
        at = self.b.add(address, ir.Constant(I64, place * self.count * (value.type.element.width // 8)))
        self.b.store(value, self.b.inttoptr(at, POINTER), align=1)
