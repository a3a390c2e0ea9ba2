# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Wavefront cells by the vector: numba intrinsics that emit LLVM vector code, and loads and stores at raw addresses.

Vectors have VECTOR_LANES lanes of the type of the argument `null` (int16 or int32 offsets). LLVM lowers any lane count on any processor, so the
same code serves all of them and only speed differs: 16 lanes where 256-bit integer vectors exist, 8 where 128-bit ones do, else 1 (a plain loop).

Rows are addressed by the lane of the first diagonal of a block; one lane up is one diagonal up. In our letters I consumes the query and comes
from diagonal k + 1, D consumes the target and comes from k - 1 (one letter of the target further); k = target - query.
"""

import os
from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba import extending, types
from numba.core import cgutils

intrinsic: Any = extending.intrinsic


def _lanes() -> int:
    """Choose how many lanes a vector has on this processor; TIDALIGN_LANES overrides it, so that tests can run every width."""
    if given := os.environ.get("TIDALIGN_LANES"):
        return int(given)
    features = binding.get_host_cpu_features()
    if features.get("avx2"):
        return 16
    return 8 if features.get("sse4.1") or features.get("neon") else 1


VECTOR_LANES = _lanes()

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
POINTER = ir.PointerType()


def _vector(element: Any) -> Any:
    return ir.VectorType(element, VECTOR_LANES)


def _constant(value: int, vector: Any) -> Any:
    return ir.Constant(vector, [value] * VECTOR_LANES)


def splat(b: Any, value: Any, vector: Any) -> Any:
    """Put `value` (int64) into every lane of a vector, whatever its width."""
    empty = ir.Constant(vector, ir.Undefined)
    first = b.insert_element(empty, b.trunc(value, vector.element), ir.Constant(I32, 0))
    return b.shuffle_vector(first, empty, ir.Constant(ir.VectorType(I32, vector.count), [0] * vector.count))


def load_lanes(b: Any, address: Any, vector: Any, lanes: int = 0) -> Any:
    """Load a vector from an address, or from so many lanes further on."""
    return b.load(b.inttoptr(_beyond(b, address, vector, lanes), POINTER), align=1, typ=vector)


def store_lanes(b: Any, value: Any, address: Any, lanes: int = 0) -> None:
    """Store a vector at an address, or so many lanes further on."""
    b.store(value, b.inttoptr(_beyond(b, address, value.type, lanes), POINTER), align=1)


def _beyond(b: Any, address: Any, vector: Any, lanes: int) -> Any:
    return b.add(address, ir.Constant(I64, lanes * (vector.element.width // 8))) if lanes else address


def _larger(b: Any, x: Any, y: Any) -> Any:
    name = f"llvm.smax.v{VECTOR_LANES}i{x.type.element.width}"
    return b.call(cgutils.get_or_insert_function(b.module, ir.FunctionType(x.type, [x.type, x.type]), name), [x, y])


def _inside(b: Any, best: Any, k: Any, n: Any, m: Any) -> Any:
    """Keep `best` where the cell lies in the matrix, else give NULL. Both tests are unsigned, so they catch negative offsets and rows as well."""
    vector = best.type
    ramp = ir.Constant(vector, list(range(VECTOR_LANES)))
    row = b.sub(best, b.add(splat(b, k, vector), ramp))
    outside = b.or_(b.icmp_unsigned(">", best, splat(b, m, vector)), b.icmp_unsigned(">", row, splat(b, n, vector)))
    return b.select(outside, _constant(_null(vector.element), vector), best)


def _null(element: Any) -> int:
    """Give what a lane that holds nothing is: every 16 bits of a row are then 0x8000, whatever the width of its lanes."""
    return -0x8000 if element.width == 16 else -0x7FFF8000


def _flag(b: Any, condition: Any, value: int, vector: Any) -> Any:
    return b.select(condition, _constant(value, vector), _constant(0, vector))


# What a direction byte says: the source of a cell in the low three bits, then which gaps were opened here, bit 2 + source of each (scoring/sources.cuh).
FROM_X, FROM_I1, FROM_D1, FROM_I2, FROM_D2 = range(5)
OPENED_I1, OPENED_D1, OPENED_I2, OPENED_D2 = (1 << 2 + source for source in range(1, 5))

TIES = (FROM_X, FROM_I2, FROM_I1, FROM_D2, FROM_D1)
"""Sources in the order in which equal ones are taken, in wavefronts and by scores."""


def taken(b: Any, best: Any, ways: list[Any], constant: Callable[[int], Any]) -> Any:
    """Say of each lane which source it takes, of those that are the best the first of TIES. ways: what each source comes to; constant: makes a vector."""
    order = [source for source in TIES if source < len(ways)]
    said = constant(order[-1])
    for source in reversed(order[:-1]):
        said = b.select(b.icmp_signed("==", best, ways[source]), constant(source), said)
    return said


def _cells(b: Any, vector: Any, sources: list[Any], k: Any, n: Any, m: Any, keep: bool) -> tuple[Any, list[Any], Any]:
    """Compute M, gap states (I1, D1, I2, D2) and directions of a block; `sources`: addresses of M[s-x] and, for each piece, M[s-o-e], I[s-e], D[s-e]."""
    mismatch = b.add(load_lanes(b, sources[0], vector), _constant(1, vector))
    gaps = []
    opened = []
    for piece in range(len(sources) // 3):
        opening, insertion, deletion = sources[1 + 3 * piece : 4 + 3 * piece]
        open_i, extend_i = load_lanes(b, opening, vector, 1), load_lanes(b, insertion, vector, 1)
        open_d, extend_d = load_lanes(b, opening, vector, -1), load_lanes(b, deletion, vector, -1)
        gaps += [_larger(b, open_i, extend_i), b.add(_larger(b, open_d, extend_d), _constant(1, vector))]
        # Extending wins a tie.
        opened += [b.icmp_signed(">", open_i, extend_i), b.icmp_signed(">", open_d, extend_d)]
    best = mismatch
    for gap in gaps:
        best = _larger(b, best, gap)
    directions = None
    if keep:
        directions = taken(b, best, [mismatch, *gaps], lambda source: _constant(source, vector))
        for condition, flag in zip(opened, (OPENED_I1, OPENED_D1, OPENED_I2, OPENED_D2), strict=False):
            directions = b.or_(directions, _flag(b, condition, flag, vector))
        directions = b.trunc(directions, _vector(I8))
    return _inside(b, best, k, n, m), gaps, directions


def _gap_cells(pieces: int, keep: bool) -> Any:
    """Define the intrinsic for a block of three (one piece) or five (two pieces) states.

    Its arguments: a tuple of addresses (the sources as `_cells` takes them, then where M, I1, D1 (I2, D2) go), bytes to add to each of them,
    the block's first diagonal, both lengths, `null`, and the address of the block's first direction byte, written where `keep`.
    """

    def define(typing: Any, addresses: Any, shift: Any, k: Any, n: Any, m: Any, null: Any, trail: Any) -> Any:
        def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
            places = [b.add(place, args[1]) for place in cgutils.unpack_tuple(b, args[0])]
            vector = _vector(_element(null))
            sources, targets = places[: 1 + 3 * pieces], places[1 + 3 * pieces :]
            best, gaps, directions = _cells(b, vector, sources, args[2], args[3], args[4], keep)
            for value, target in zip([best, *gaps], targets, strict=True):
                store_lanes(b, value, target)
            if keep:
                store_lanes(b, directions, args[6])
            return context.get_dummy_value()

        return types.void(addresses, types.int64, types.int64, types.int64, types.int64, null, types.int64), codegen

    return intrinsic(define)


cells3, cells3_keep = _gap_cells(1, False), _gap_cells(1, True)
cells5, cells5_keep = _gap_cells(2, False), _gap_cells(2, True)


def _element(null: Any) -> Any:
    return I16 if null.bitwidth == 16 else I32


def _single_cells(keep: bool) -> Any:
    """Define the intrinsic for a block of one state: addresses of M[s-x], M[s-g], of the row to keep, and where M goes; then as `_gap_cells`.

    What is kept is not a direction but the row itself, a step or more after it was made: its letters have been compared by then.
    """

    def define(typing: Any, addresses: Any, shift: Any, k: Any, n: Any, m: Any, null: Any, trail: Any) -> Any:
        def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
            mismatch, gap, kept, target = (b.add(place, args[1]) for place in cgutils.unpack_tuple(b, args[0]))
            vector = _vector(_element(null))
            one = _constant(1, vector)
            best = _larger(b, b.add(load_lanes(b, mismatch, vector), one), load_lanes(b, gap, vector, 1))
            best = _larger(b, best, b.add(load_lanes(b, gap, vector, -1), one))
            if keep:
                store_lanes(b, load_lanes(b, kept, vector), args[6])
            store_lanes(b, _inside(b, best, args[2], args[3], args[4]), target)
            return context.get_dummy_value()

        return types.void(addresses, types.int64, types.int64, types.int64, types.int64, null, types.int64), codegen

    return intrinsic(define)


cells1, cells1_keep = _single_cells(False), _single_cells(True)


@intrinsic
def fill_null(typing: Any, address: Any, null: Any) -> Any:
    """Store VECTOR_LANES lanes of NULL at an address."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        vector = _vector(_element(null))
        store_lanes(b, _constant(_null(vector.element), vector), args[0])
        return context.get_dummy_value()

    return types.void(types.int64, null), codegen


@intrinsic
def lane_bytes(typing: Any, null: Any) -> Any:
    """Give the bytes of a lane."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(I64, null.bitwidth // 8)

    return types.int64(null), codegen


@intrinsic
def load_lane(typing: Any, address: Any, null: Any) -> Any:
    """Load the offset at an address, as int64."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        return b.sext(b.load(b.inttoptr(args[0], POINTER), align=1, typ=_element(null)), I64)

    return types.int64(types.int64, null), codegen


@intrinsic
def store_lane(typing: Any, address: Any, value: Any, null: Any) -> Any:
    """Store an int64 as an offset."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        store_lanes(b, b.trunc(args[1], _element(null)), args[0])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, null), codegen


def _loader(element: Any, result: Any) -> Any:
    def define(typing: Any, address: Any) -> Any:
        def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
            value = b.load(b.inttoptr(args[0], POINTER), align=1, typ=element)
            return value if element is I64 else b.zext(value, I64)

        return result(types.int64), codegen

    return intrinsic(define)


load_u64 = _loader(I64, types.uint64)
load_i64 = _loader(I64, types.int64)
load_u32 = _loader(I32, types.int64)
load_u8 = _loader(I8, types.int64)


def _storer(element: Any, source: Any) -> Any:
    def define(typing: Any, address: Any, value: Any) -> Any:
        def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
            store_lanes(b, args[1] if element is I64 else b.trunc(args[1], element), args[0])
            return context.get_dummy_value()

        return types.void(types.int64, source), codegen

    return intrinsic(define)


store_u64 = _storer(I64, types.uint64)
store_i64 = _storer(I64, types.int64)
store_u32 = _storer(I32, types.int64)
store_u8 = _storer(I8, types.int64)


@intrinsic
def zeros_below(typing: Any, value: Any) -> Any:
    """Count the zero bits below the lowest one of a value that is not 0."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        return b.cttz(args[0], ir.Constant(I1, 1))

    return types.int64(types.uint64), codegen


@intrinsic
def reallocate(typing: Any, address: Any, size: Any) -> Any:
    """Call C's realloc over addresses: 0 where there is no memory."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        function = cgutils.get_or_insert_function(b.module, ir.FunctionType(POINTER, [POINTER, I64]), "realloc")
        return b.ptrtoint(b.call(function, [b.inttoptr(args[0], POINTER), args[1]]), I64)

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def apart(typing: Any) -> Any:
    """Keep LLVM from putting the body of the calling function into its callers: large ones would be compiled again in each."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        b.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen
