# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Cells of one row of a y-drop extension by the vector: a numba intrinsic that emits LLVM vector code.

Lanes are columns, int16 or int32 by the argument `null`; values are relative to a base that the sweep moves along, and saturate: what falls to the
floor is dead. The rule of a cell is LASTZ's (gapped extension after Zhang, Berman, Wiehe, Miller 1999, "Post-processing long pairwise alignments"):
a gap is opened only from a cell that was reached by a pair of letters, so C, I and D differ from plain affine alignment where gaps touch.
Along the row I(c + 1) = max(I(c) - e, C(c) - o - e) is a prefix maximum over opened gaps, each lane raised by the e it has yet to pay.
"""

import os

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils

from tidalign.kernels.runtime import vectors as vectors_host
from tidalign.kernels.runtime.vectors import I8, I64, POINTER, intrinsic, load_lanes, splat, store_lanes

COLUMN_LANES = (
    2 * vectors_host.VECTOR_LANES if binding.get_host_cpu_features().get("avx512bw") and "TIDALIGN_LANES" not in os.environ else vectors_host.VECTOR_LANES
)
"""Columns of a block; a row is long, so the widest vectors there are pay."""

# What a byte of the trail says, each a bit of its negative: reached by a gap; I is above D; the gap that leaves to the right was opened here; the one that
# leaves down.
GAP, ACROSS, OPENED_ACROSS, OPENED_DOWN = 1, 2, 4, 8

PROLONGED = 256 - (GAP | ACROSS | OPENED_ACROSS | OPENED_DOWN)
"""Trail of a cell beyond the reach of the row before: only a gap along the row leads there, and another may be opened from it."""


def _element(null):
    return ir.IntType(null.bitwidth)


def floor(element):
    """Give the value of what is dead."""
    return -(1 << (element.width - 1))


def _constant(values, vector):
    return ir.Constant(vector, values if isinstance(values, list) else [values] * COLUMN_LANES)


def _shuffle(b, one, other, lanes):
    return b.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))


def _call(b, name, one, other):
    function = ir.FunctionType(one.type, [one.type, other.type])
    return b.call(cgutils.get_or_insert_function(b.module, function, f"llvm.{name}.v{COLUMN_LANES}i{one.type.element.width}"), [one, other])


def _larger(b, one, other):
    return _call(b, "smax", one, other)


def _plus(b, one, other):
    return _call(b, "sadd.sat", one, other)


def _minus(b, one, other):
    return _call(b, "ssub.sat", one, other)


def _prefix_maximum(b, values, low):
    """Replace each lane by the maximum of itself and all before it. Steps within groups of eight lanes first: on x86 those stay in a half of a register."""
    group = min(8, COLUMN_LANES)
    step = 1
    while step < group:
        values = _larger(b, values, _shuffle(b, values, low, [i - step if i % group >= step else COLUMN_LANES + group - step + i for i in range(COLUMN_LANES)]))
        step *= 2
    while step < COLUMN_LANES:
        values = _larger(b, values, _shuffle(b, values, low, [i // step * step - 1 if i // step % 2 else COLUMN_LANES for i in range(COLUMN_LANES)]))
        step *= 2
    return values


class _Block:
    """COLUMN_LANES columns of a row."""

    def __init__(self, b, places, costs, null):
        self.b = b
        self.vector = ir.VectorType(_element(null), COLUMN_LANES)
        self.size = null.bitwidth // 8
        self.places = places
        opened, extended, self.threshold, best = costs
        self.low = _constant(floor(self.vector.element), self.vector)
        self.opened = splat(b, opened, self.vector)
        self.extended = splat(b, extended, self.vector)
        self.best = splat(b, best, self.vector)
        self.threshold = splat(b, self.threshold, self.vector)
        self.ramp = b.mul(self.extended, _constant(list(range(COLUMN_LANES)), self.vector))
        self.raised = b.sub(b.add(self.ramp, self.extended), self.opened)
        self.whole = b.mul(self.extended, _constant(COLUMN_LANES, self.vector))

    def cells(self, offset, carry, inside=None):
        """Emit a block at a column offset. `carry`: I entering it, in all lanes; `inside`: lanes that are columns, or None for all.

        Returns the carry of the next block and the lanes that reach the best."""
        b, vector, low = self.b, self.vector, self.low
        shift = b.mul(offset, ir.Constant(I64, self.size))
        from_c, from_d, scores, to_c, to_d, trail = self.places
        diagonal = _plus(b, load_lanes(b, b.add(from_c, shift), vector, -1), load_lanes(b, b.add(scores, shift), vector))
        down = load_lanes(b, b.add(from_d, shift), vector)
        raised = b.select(b.icmp_signed(">", down, diagonal), low, _plus(b, diagonal, self.raised))
        if inside is not None:
            raised = b.select(inside, raised, low)
        raised = _prefix_maximum(b, raised, low)
        before = _shuffle(b, raised, carry, [2 * COLUMN_LANES - 1, *range(COLUMN_LANES - 1)])
        across = _minus(b, _larger(b, carry, before), self.ramp)
        last = _shuffle(b, raised, low, [COLUMN_LANES - 1] * COLUMN_LANES)
        carry = _minus(b, _larger(b, carry, last), self.whole)
        gap = _larger(b, down, across)
        is_gap = b.icmp_signed(">", gap, diagonal)
        value = _larger(b, diagonal, gap)
        alive = b.icmp_signed(">=", value, self.threshold)
        store_lanes(b, b.select(alive, value, low), b.add(to_c, shift))
        extended = _minus(b, down, self.extended)
        opened = b.select(is_gap, low, _minus(b, diagonal, self.opened))
        store_lanes(b, _larger(b, extended, opened), b.add(to_d, shift))
        opened_down = b.icmp_signed(">", opened, extended)
        opened_across = b.icmp_signed(">", opened, _minus(b, across, self.extended))
        flags = b.sext(opened_down, vector)
        for condition in (opened_across, b.icmp_signed(">", across, down), is_gap):
            flags = b.add(b.add(flags, flags), b.sext(condition, vector))
        store_lanes(b, b.trunc(flags, ir.VectorType(I8, COLUMN_LANES)), b.add(trail, offset))
        reached = b.icmp_signed(">=", diagonal, self.best)
        if inside is not None:
            reached = b.and_(reached, inside)
        return carry, reached


def _bits(b, lanes):
    """Gather a vector of flags into the low bits of an int64."""
    mask = b.bitcast(lanes, ir.IntType(COLUMN_LANES))
    return b.zext(mask, I64) if COLUMN_LANES < 64 else mask


@intrinsic
def row(typing, places, columns, costs, carried, null):
    """Compute a stretch of columns of one row.

    Invariant: columns before `offset` are stored, and `carry` is I of its first column, so a block depends on the row above and on the block before:

        block      0            1            2         ...   tail
        row above  C D          C D          C D             C D         and C one column on the left
        carry    -> I I I I I -> I I I I I -> I I I I I ...  I I . .     I within a block by a prefix maximum; lanes beyond the last column are dead

    Arguments: addresses of C and D of the row before, of the scores, and of the new C, D and trail, each at the first column (the letter before the
    first C is read too); the number of columns; (o + e, e, threshold, best) relative to the base; an address of two int64, I entering the first column
    and then I leaving the last one; `null`. It stops at the first block in which a pair of letters reaches `best`: it returns that block's offset, with
    the lanes as bits in the second int64; else the number of columns.
    """

    def codegen(context, b, signature, args):
        vector = ir.VectorType(_element(null), COLUMN_LANES)
        block = _Block(b, cgutils.unpack_tuple(b, args[0]), cgutils.unpack_tuple(b, args[2]), null)
        columns, carried = args[1], args[3]
        zero, lanes = ir.Constant(I64, 0), ir.Constant(I64, COLUMN_LANES)
        entering = splat(b, b.load(b.inttoptr(carried, POINTER), align=8, typ=I64), vector)
        begin = b.block
        loop, body, rest, tail, hit, done, out = (b.append_basic_block(f"row.{name}") for name in ("loop", "body", "rest", "tail", "hit", "done", "out"))
        b.branch(loop)

        b.position_at_end(loop)
        offset, carry = b.phi(I64), b.phi(vector)
        following = b.add(offset, lanes)
        b.cbranch(b.icmp_signed("<=", following, columns), body, rest)

        b.position_at_end(body)
        next_carry, reached = block.cells(offset, carry)
        bits = _bits(b, reached)
        full = b.block
        b.cbranch(b.icmp_unsigned("!=", bits, zero), hit, loop)
        offset.add_incoming(zero, begin)
        offset.add_incoming(following, full)
        carry.add_incoming(entering, begin)
        carry.add_incoming(next_carry, full)

        b.position_at_end(rest)
        left = b.sub(columns, offset)
        b.cbranch(b.icmp_signed(">", left, zero), tail, done)

        b.position_at_end(tail)
        ramp = _constant(list(range(COLUMN_LANES)), vector)
        inside = b.icmp_signed("<", ramp, splat(b, left, vector))
        tail_carry, tail_reached = block.cells(offset, carry, inside)
        tail_bits = _bits(b, tail_reached)
        partial = b.block
        b.cbranch(b.icmp_unsigned("!=", tail_bits, zero), hit, done)

        b.position_at_end(hit)
        where = b.phi(I64)
        which = b.phi(I64)
        where.add_incoming(offset, full)
        where.add_incoming(offset, partial)
        which.add_incoming(bits, full)
        which.add_incoming(tail_bits, partial)
        b.store(which, b.inttoptr(b.add(carried, ir.Constant(I64, 8)), POINTER), align=8)
        b.branch(out)

        b.position_at_end(done)
        leaving, end = b.phi(vector), b.phi(I64)
        leaving.add_incoming(carry, rest)
        leaving.add_incoming(tail_carry, partial)
        end.add_incoming(offset, rest)
        end.add_incoming(following, partial)
        # Lanes beyond the last column have paid for letters that are not there.
        value = b.sext(b.extract_element(leaving, ir.Constant(ir.IntType(32), 0)), I64)
        value = b.add(value, b.mul(b.sub(end, columns), cgutils.unpack_tuple(b, args[2])[1]))
        b.store(value, b.inttoptr(carried, POINTER), align=8)
        b.branch(out)

        b.position_at_end(out)
        result = b.phi(I64)
        result.add_incoming(where, hit)
        result.add_incoming(columns, done)
        return result

    return types.int64(places, types.int64, costs, types.int64, null), codegen
