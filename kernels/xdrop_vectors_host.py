# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Gap-free scans of LANES hits at once: numba intrinsics that emit LLVM vector code, which any processor has in some width.

A hit's columns are scored along the sequences, SCORED at a time, a byte each; LANES of them for all hits are then turned, so that a vector holds one
column of every hit, and go through the x-drop rule in 16-bit lanes.
"""

from typing import Any

from llvmlite import ir
from numba import extending, types

intrinsic: Any = extending.intrinsic

LANES = 16
"""Hits that are scanned together, and columns between two looks at whether any of them goes on."""

SCORED = 32
"""Columns scored at once."""

FIELDS = 7
BEST, PLACE, LOOKED, ALIVE = 3, 4, 5, 6
"""A batch's state, int16[FIELDS, LANES]: sum, highest sum, columns there, both again up to where the scan ended, columns looked at, and -1 where it goes on."""

I8, I16, I32, I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
POINTER = ir.PointerType()


def _load(b: Any, address: Any, offset: int, vector: Any) -> Any:
    return b.load(b.inttoptr(b.add(address, ir.Constant(I64, offset)), POINTER), align=1, typ=vector)


def _splat(b: Any, value: Any, vector: Any) -> Any:
    empty = ir.Constant(vector, ir.Undefined)
    first = b.insert_element(empty, b.trunc(value, vector.element), ir.Constant(I32, 0))
    return b.shuffle_vector(first, empty, ir.Constant(ir.VectorType(I32, vector.count), [0] * vector.count))


@intrinsic
def score_columns(typing: Any, target: Any, profile: Any, stride: Any, out: Any) -> Any:
    """Scores of SCORED columns, a byte each, written at `out`. target: address of the codes; profile: address, at the query's first letter, of five rows
    that are `stride` bytes apart: its score with A, C, G and T, and whether it has none. Returns whether a letter of either has no score here."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(I8, SCORED)
        zero, codes = ir.Constant(vector, [0] * SCORED), _load(b, args[0], 0, vector)
        rows = [_load(b, b.add(args[1], b.mul(args[2], ir.Constant(I64, row))), 0, vector) for row in range(5)]
        odd, high = (b.icmp_unsigned("!=", b.and_(codes, ir.Constant(vector, [bit] * SCORED)), zero) for bit in (1, 2))
        scores = b.select(high, b.select(odd, rows[3], rows[2]), b.select(odd, rows[1], rows[0]))
        b.store(scores, b.inttoptr(args[3], POINTER), align=1)
        other = b.or_(b.and_(codes, ir.Constant(vector, [0xFC] * SCORED)), rows[4])
        return b.icmp_unsigned("!=", b.bitcast(other, ir.IntType(8 * SCORED)), ir.Constant(ir.IntType(8 * SCORED), 0))

    return types.boolean(types.int64, types.int64, types.int64, types.int64), codegen


def _turned(b: Any, rows: list[Any]) -> list[Any]:
    """Columns of 16 rows of 16 bytes: four perfect shuffles."""
    half = LANES // 2
    for _ in range(4):
        pairs = [(rows[i], rows[i + half], first) for i in range(half) for first in (0, half)]
        rows = [
            b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, LANES), [first + i // 2 + LANES * (i & 1) for i in range(LANES)])) for x, y, first in pairs
        ]
    return rows


def _scan(backwards: bool) -> Any:
    """The intrinsic that takes LANES columns of all hits through the x-drop rule, from the first of them or from the last.

    scores: address of the first hit's first column of these; `stride` bytes on is the next hit's. state: address. done: columns looked at before. Returns
    whether a scan goes on.
    """

    def define(typing: Any, scores: Any, stride: Any, state: Any, done: Any, xdrop: Any) -> Any:
        def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
            narrow, wide = ir.VectorType(I8, LANES), ir.VectorType(I16, LANES)
            rows = [_load(b, b.add(args[0], b.mul(args[1], ir.Constant(I64, lane))), 0, narrow) for lane in range(LANES)]
            columns = _turned(b, rows)
            total, highest, peak, best, place, looked, alive = (_load(b, args[2], 2 * LANES * field, wide) for field in range(FIELDS))
            limit = _splat(b, args[4], wide)
            for number, column in enumerate(reversed(columns) if backwards else columns, 1):
                total = b.add(total, b.sext(column, wide))
                peak = b.select(b.icmp_signed(">", total, highest), _splat(b, b.add(args[3], ir.Constant(I64, number)), wide), peak)
                highest = b.select(b.icmp_signed(">", total, highest), total, highest)
                # Sums go on where a scan has ended, so that no column waits for the one before; what a scan has found stays as it was.
                going = b.icmp_signed("!=", alive, ir.Constant(wide, [0] * LANES))
                best, place = b.select(going, highest, best), b.select(going, peak, place)
                looked = b.sub(looked, alive)
                alive = b.and_(alive, b.sext(b.icmp_signed(">=", total, b.sub(highest, limit)), wide))
            for field, value in enumerate((total, highest, peak, best, place, looked, alive)):
                b.store(value, b.inttoptr(b.add(args[2], ir.Constant(I64, 2 * LANES * field)), POINTER), align=1)
            whole = ir.IntType(16 * LANES)
            return b.icmp_unsigned("!=", b.bitcast(alive, whole), ir.Constant(whole, 0))

        return types.boolean(types.int64, types.int64, types.int64, types.int64, types.int64), codegen

    return intrinsic(define)


scan_right, scan_left = _scan(False), _scan(True)
