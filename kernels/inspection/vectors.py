# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Rows of VECTOR_LANES y-drop extensions at once, a lane each: a numba intrinsic that emits LLVM vector code.

Every lane goes through its own row column by column, so it has LASTZ's running best and its gaps without a scan (the cell's rule is that of
extension/vectors.py). What one extension does with the columns of the others is nothing: there its cells are dead.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils

from tidalign.kernels.runtime.vectors import I8, I16, I64, VECTOR_LANES, intrinsic, load_lanes, splat, store_lanes

VECTOR = ir.VectorType(I16, VECTOR_LANES)
BYTES = 2 * VECTOR_LANES
"""Of a vector."""

COLUMN_BYTES = 3 * BYTES
"""A column holds C, D and the query's letters of all lanes."""

DEAD = -(1 << 15)

# Places of vectors in the rows' state: the least value alive, one past the last column of the row before (before it prolongs), the last column alive, and the
# target letters' scores against A, C, G, T.
LINE, ENDS, LASTS, SCORES = range(4)
STATE_VECTORS = SCORES + 4

LETTERS = (0, 0x4040, -0x7F80, -0x3F40)
"""A, C, G, T as lanes: bit 1 of the code is the sign of both bytes, bit 0 the bit below it."""


def _constant(value):
    return ir.Constant(VECTOR, [value] * VECTOR_LANES)


def _call(b, name, one, other):
    return b.call(cgutils.get_or_insert_function(b.module, ir.FunctionType(VECTOR, [VECTOR, VECTOR]), f"llvm.{name}.v{VECTOR_LANES}i16"), [one, other])


def _load(b, address, vectors=0):
    return load_lanes(b, address, VECTOR, vectors * VECTOR_LANES)


def _store(b, value, address, vectors=0):
    store_lanes(b, value, address, vectors * VECTOR_LANES)


def _chosen(b, letters, if_set, if_clear):
    """Choose by the sign of each byte, lane by lane: both bytes of a lane have one sign."""
    octets = ir.VectorType(I8, BYTES)
    choice = b.icmp_signed("<", b.bitcast(letters, octets), ir.Constant(octets, [0] * BYTES))
    return b.bitcast(b.select(choice, b.bitcast(if_set, octets), b.bitcast(if_clear, octets)), VECTOR)


class _Column:
    """The step from a column to the next; its values: address, column, C of the row before one column left, I entering, least value alive, last alive."""

    def __init__(self, b, state, costs):
        self.b = b
        self.opened, self.extended, self.ydrop = (splat(b, cost, VECTOR) for cost in costs)
        self.scores = [_load(b, state, SCORES + i) for i in range(4)]
        self.ends = _load(b, state, ENDS)
        self.low = _constant(DEAD)

    def step(self, values, prolonged):
        """Compute the values at the next column, and lanes alive by a gap along the row alone (with `prolonged`: columns may lie beyond the row before)."""
        b = self.b
        address, column, left, across, line, last = values
        letters = _load(b, address, 2)
        one, other = self.scores[:2], self.scores[2:]
        low_bit = b.add(letters, letters)
        score = _chosen(b, letters, _chosen(b, low_bit, other[1], other[0]), _chosen(b, low_bit, one[1], one[0]))
        above, down = _load(b, address), _load(b, address, 1)
        diagonal = _call(b, "sadd.sat", left, score)
        gap = _call(b, "smax", down, across)
        is_gap = b.icmp_signed(">", gap, diagonal)
        value = _call(b, "smax", gap, diagonal)
        dead = b.icmp_signed(">", line, value)
        opened = b.select(is_gap, self.low, _call(b, "ssub.sat", diagonal, self.opened))
        new_down = _call(b, "smax", _call(b, "ssub.sat", down, self.extended), opened)
        if prolonged:
            beyond = b.icmp_signed(">=", column, self.ends)
            new_down = b.select(beyond, _call(b, "ssub.sat", across, self.opened), new_down)
        _store(b, b.select(dead, self.low, value), address)
        _store(b, new_down, address, 1)
        across = _call(b, "smax", _call(b, "ssub.sat", across, self.extended), opened)
        # A gap is never above the best, so a pair of letters at the best is always what its cell is reached by.
        line = _call(b, "smax", line, _call(b, "ssub.sat", diagonal, self.ydrop))
        last = b.select(dead, last, column)
        following = b.add(address, ir.Constant(I64, COLUMN_BYTES))
        return [following, b.add(column, _constant(1)), above, across, line, last]


@intrinsic
def inspect_row(typing, columns, first, shared, stop, room, state, costs):
    """Compute a row of all lanes.

    Invariant: columns before the one at hold the new row, others the row before; C of the row before one column on the left, I, the line and the last column
    alive are in registers.

        first ........ shared ........ stop ........ room
          every lane has these   | lanes end one by one | as long as a gap along the row keeps a lane alive

    columns: address of column 0. first: the first column that is alive in any lane. shared: columns before it lie before every lane's end; stop: one past the
    last column that any lane looks at without prolonging. room: columns there are. state: address of STATE_VECTORS vectors; costs: (o + e, e, y-drop).
    Returns one past the last column looked at; `room` where that was not enough.
    """

    def codegen(context, b, signature, args):
        columns, first, shared, stop, room, state = args[:6]
        step = _Column(b, state, cgutils.unpack_tuple(b, args[6]))
        low = _constant(DEAD)
        types_ = [I64, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR]
        ramp = splat(b, first, VECTOR)
        place = b.add(columns, b.mul(first, ir.Constant(I64, COLUMN_BYTES)))
        begun = [place, ramp, low, low, _load(b, state, LINE), _constant(-1)]
        begin = b.block
        loop, body, rest, more, out = (b.append_basic_block(f"inspect.{name}") for name in ("loop", "body", "rest", "more", "out"))
        b.branch(loop)

        def phis(count):
            return [b.phi(kind) for kind in types_], b.phi(count)

        b.position_at_end(loop)
        values, column = phis(I64)
        b.cbranch(b.icmp_signed("<", column, shared), body, rest)
        b.position_at_end(body)
        stepped = step.step(values, False)
        following = b.add(column, ir.Constant(I64, 1))
        for phi, one, other in zip([*values, column], [*begun, first], [*stepped, following], strict=True):
            phi.add_incoming(one, begin)
            phi.add_incoming(other, b.block)
        b.branch(loop)

        b.position_at_end(rest)
        late, at = phis(I64)
        alive = b.icmp_signed(">=", late[3], late[4])
        bits = b.bitcast(alive, ir.IntType(VECTOR_LANES))
        wanted = b.or_(b.icmp_signed("<", at, stop), b.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(VECTOR_LANES), 0)))
        b.cbranch(b.and_(wanted, b.icmp_signed("<", at, room)), more, out)
        b.position_at_end(more)
        stepped = step.step(late, True)
        following = b.add(at, ir.Constant(I64, 1))
        for phi, one, other in zip([*late, at], [*values, column], [*stepped, following], strict=True):
            phi.add_incoming(one, loop)
            phi.add_incoming(other, b.block)
        b.branch(rest)

        b.position_at_end(out)
        _store(b, late[4], state, LINE)
        _store(b, late[5], state, LASTS)
        return at

    return types.int64(types.int64, types.int64, types.int64, types.int64, types.int64, types.int64, costs), codegen
