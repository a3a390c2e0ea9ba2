# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""A sieve of seed hits, LANES at once: numba intrinsics that emit LLVM vector code, which any processor has in some width.

Letters have two bits here, and a column is what the bits of its two letters differ in: 0 a match, 2 a transition, 1 and 3 the transversions. The best score
of each kind bounds that of its columns. Scans by the x-drop rule over these bounds go at least as far as over the scores themselves: where the sum of some
columns in a row is below what ends the one, so it is for the other. And their best sums are no smaller. Most hits are seen to be below the threshold by them.
"""

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils

from tidalign.kernels.runtime.vectors import I8, I16, I32, I64, intrinsic, load_lanes, splat

HIT_LANES = 16
"""Hits that are looked at together."""

WORD = 28
"""Columns of a word: of the 64 bits 56 are used."""

LEFTS, RIGHTS = 3, 2
"""Words of a hit to the left of its right end, its seed among them, and to the right of it."""

SUM, BACKWARD, FORWARD = range(3)
"""A sieve's tables, int8[3, 16], of pairs of columns (the left one in the low two bits), in halves of the score: the sum of both; and the higher one of it and
of the first alone, which is the right one or the left one."""

ENDED, ENDED_BELOW = -16_000, -9_000
"""A sum that has ended, which is set anew after each pair of columns; others are not below half of the widest x-drop."""

BYTES, SHORTS = ir.VectorType(I8, HIT_LANES), ir.VectorType(I16, HIT_LANES)


def _same(value: int, vector: Any) -> Any:
    return ir.Constant(vector, [value] * HIT_LANES)


def _turned(b: Any, rows: list[Any]) -> list[Any]:
    """Turn bytes 0.. of 16 words of 8 bytes, which lie one after the other in 8 rows: four perfect shuffles."""
    half = len(rows) // 2
    for _ in range(4):
        pairs = [(rows[i], rows[i + half], first) for i in range(half) for first in (0, HIT_LANES // 2)]
        rows = [
            b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, HIT_LANES), [first + i // 2 + HIT_LANES * (i & 1) for i in range(HIT_LANES)]))
            for x, y, first in pairs
        ]
    return rows


def _looked_up(b: Any, table: Any, places: Any) -> Any:
    """Look up table[places], lane by lane; places: 0..15."""
    features = binding.get_host_cpu_features()
    name = "llvm.x86.ssse3.pshuf.b.128" if features.get("ssse3") else "llvm.aarch64.neon.tbl1.v16i8" if features.get("neon") else None
    if name:
        return b.call(cgutils.get_or_insert_function(b.module, ir.FunctionType(BYTES, [BYTES, BYTES]), name), [table, places])
    found = ir.Constant(BYTES, ir.Undefined)
    for lane in range(HIT_LANES):
        place = b.zext(b.extract_element(places, ir.Constant(I32, lane)), I32)
        found = b.insert_element(found, b.extract_element(table, place), ir.Constant(I32, lane))
    return found


def _larger(b: Any, x: Any, y: Any) -> Any:
    name = f"llvm.smax.v{HIT_LANES}i16"
    return b.call(cgutils.get_or_insert_function(b.module, ir.FunctionType(SHORTS, [SHORTS, SHORTS]), name), [x, y])


@intrinsic
def sieve(typing: Any, words: Any, tables: Any, xdrop: Any, limit: Any) -> Any:
    """Tell which of LANES hits may reach a threshold, or are not known to end in sight: bits of an int64.

    words: address of uint64[LEFTS + RIGHTS, HIT_LANES], what the columns of each hit differ in, from its right end to the left (the nearest columns in
    the highest bits of the first word) and to the right (in the lowest bits). tables: address. xdrop: half of it. limit: half of the threshold, rounded up.
    """

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        words, tables = args[:2]
        drop, limit = splat(b, args[2], SHORTS), splat(b, args[3], SHORTS)
        sums, *peaks = (load_lanes(b, tables, BYTES, HIT_LANES * table) for table in (SUM, BACKWARD, FORWARD))
        bests, ends = [], []
        for backward, kinds in ((True, range(LEFTS)), (False, range(LEFTS, LEFTS + RIGHTS))):
            total = best = _same(0, SHORTS)
            for kind in kinds:
                rows = _turned(b, [load_lanes(b, words, BYTES, 8 * HIT_LANES * kind + HIT_LANES * row) for row in range(8)])[: WORD // 4]
                for row in reversed(rows) if backward else rows:
                    pairs = [b.and_(row, _same(15, BYTES)), b.lshr(row, _same(4, BYTES))]
                    for pair in reversed(pairs) if backward else pairs:
                        peak = b.sext(_looked_up(b, peaks[0 if backward else 1], pair), SHORTS)
                        best = _larger(b, best, b.add(total, peak))
                        total = b.add(total, b.sext(_looked_up(b, sums, pair), SHORTS))
                        total = b.select(b.icmp_signed(">", b.sub(best, total), drop), _same(ENDED, SHORTS), total)
            bests.append(best)
            ends.append(b.icmp_signed("<", total, _same(ENDED_BELOW, SHORTS)))
        below = b.and_(b.and_(*ends), b.icmp_signed("<", b.add(*bests), limit))
        return b.zext(b.not_(b.bitcast(below, ir.IntType(HIT_LANES))), I64)

    return types.int64(types.int64, types.int64, types.int64, types.int64), codegen
