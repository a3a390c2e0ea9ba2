# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Cells of a strip of ROWS query rows, a lane a pair: numba intrinsics that emit LLVM vector code.

The argument `null` says by its type what a lane is. Its bits: 16 and 32 have LANES lanes, 64 has one. Unsigned: scores are never below 0 (local alignment);
signed: they may be. Lanes of uint16 hold the score less 32,768, so that subtraction stops at 0 by itself and scores go up to 65,535; all others hold the score.
With 16 bits sums stop at the ends of the range; the caller sees to it that they do so only where no alignment of worth goes, or looks for the highest value.

A gap state of a cell is kept as the next cell takes it: D as the next column does, I as the next row does. The recurrences are Gotoh's (1982, J. Mol. Biol.
162:705): H = max(diagonal + score, I, D), I and D opened from any H. Letters are compared, or their scores are looked up: eight rows of a letter of the target
are one word of a table of the pair, and the words of all lanes are transposed by perfect shuffles.
"""

import os
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils

from tidalign.kernels.runtime import vectors as base
from tidalign.kernels.runtime.vectors import I8, I32, I64, POINTER, intrinsic

WIDE = binding.get_host_cpu_features().get("avx512bw") and "TIDALIGN_LANES" not in os.environ
LANES = 2 * base.LANES if WIDE else base.LANES

ROWS = 8
"""Rows of a strip: as many as there are bytes in a word."""

LETTERS = 40
"""Words of a pair's table: a letter of 33 and of padding, and its end on a line of 64 bytes."""

NOWHERE = 7
"""What a direction byte says where a local alignment begins; else it is a FROM_* of kernels/runtime/vectors.py, with the same flags of opened gaps."""

UNTRACKED, SCORED, PLACED = range(3)
"""What a sweep says of each lane's highest score: nothing, the score, or also its first column and there its first row."""


class _Lanes:
    """Emit operations on a vector of what `null` says."""

    def __init__(self, b: Any, null: Any) -> None:
        self.b, self.local = b, not null.signed
        self.element = ir.IntType(null.bitwidth)
        self.count = 1 if null.bitwidth == 64 else LANES
        self.vector = ir.VectorType(self.element, self.count)
        self.size = null.bitwidth // 8
        self.saturates = null.bitwidth == 16
        self.zero = self.same(-0x8000 if self.local and self.saturates else 0)
        self.lowest = self.same({16: -0x8000, 32: -(1 << 30), 64: -(1 << 60)}[null.bitwidth])

    def same(self, value: int) -> Any:
        return ir.Constant(self.vector, [value] * self.count)

    def splat(self, value: Any) -> Any:
        short = value if value.type == self.element else self.b.trunc(value, self.element)
        empty = ir.Constant(self.vector, ir.Undefined)
        first = self.b.insert_element(empty, short, ir.Constant(I32, 0))
        return self.b.shuffle_vector(first, empty, ir.Constant(ir.VectorType(I32, self.count), [0] * self.count))

    def _call(self, name: str, x: Any, y: Any) -> Any:
        function = ir.FunctionType(self.vector, [self.vector] * 2)
        return self.b.call(cgutils.get_or_insert_function(self.b.module, function, f"llvm.{name}.v{self.count}i{self.element.width}"), [x, y])

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


def _transposed(b: Any, words: list[Any], lanes: int) -> list[Any]:
    """Turn the words of all lanes (i64) into vectors of bytes r = 0..7."""
    if lanes % 16:
        return [_byte(b, words, r, lanes) for r in range(ROWS)]
    rows = []
    for g in range(8):  # words 2g and 2g + 1 of each 16 lanes, so that shuffles stay within 128 bits
        row = ir.Constant(ir.VectorType(I64, lanes // 8), ir.Undefined)
        for group in range(lanes // 16):
            for i in range(2):
                row = b.insert_element(row, words[16 * group + 2 * g + i], ir.Constant(I32, 2 * group + i))
        rows.append(b.bitcast(row, ir.VectorType(I8, lanes)))
    for _ in range(4):
        pairs = [(rows[i], rows[i + 4], half) for i in range(4) for half in (0, 8)]
        rows = [b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, lanes), _interleaved(lanes, half))) for x, y, half in pairs]
    return rows


def _interleaved(lanes: int, half: int) -> list[int]:
    """Take of each 16 bytes the eight from `half` on, of two vectors in turn."""
    return [16 * group + half + i // 2 + lanes * (i & 1) for group in range(lanes // 16) for i in range(16)]


def _byte(b: Any, words: list[Any], r: int, lanes: int) -> Any:
    row = ir.Constant(ir.VectorType(I8, lanes), ir.Undefined)
    for lane, word in enumerate(words):
        row = b.insert_element(row, b.trunc(b.lshr(word, ir.Constant(I64, 8 * r)), I8), ir.Constant(I32, lane))
    return row


class _Scores:
    """Emit the scores of a column's letters with those of the strip's rows."""

    def __init__(self, lanes: _Lanes, query: Any, letters: Any, scores: list[Any]) -> None:
        self.lanes, self.query, self.letters = lanes, query, letters
        self.compared = [lanes.splat(score) for score in scores] if len(scores) == 2 else None

    def rows(self, column: Any) -> list[Any]:
        lanes, b = self.lanes, self.lanes.b
        at = b.add(self.letters, b.mul(column, ir.Constant(I64, lanes.count)))
        if self.compared:
            match, mismatch = self.compared
            letter = b.zext(lanes.load(at, vector=ir.VectorType(I8, lanes.count)), lanes.vector)
            return [b.select(b.icmp_unsigned("==", letter, lanes.load(self.query, r)), match, mismatch) for r in range(ROWS)]
        words = []
        for lane in range(lanes.count):
            letter = b.load(b.inttoptr(b.add(at, ir.Constant(I64, lane)), POINTER), align=1, typ=I8)
            place = b.add(b.mul(b.zext(letter, I64), ir.Constant(I64, 8)), ir.Constant(I64, 8 * LETTERS * lane))
            words.append(b.load(b.inttoptr(b.add(self.query, place), POINTER), align=1, typ=I64))
        return [b.sext(row, lanes.vector) for row in _transposed(b, words, lanes.count)]


def _directions(lanes: _Lanes, best: Any, diagonal: Any, insertions: list[Any], deletions: list[Any], opened: list[Any]) -> Any:
    """Say where a cell's H came from, and which gaps that leave it were opened here (I, D of each piece)."""
    b = lanes.b
    order = [(diagonal, base.FROM_X), (insertions[0], base.FROM_I1), (deletions[0], base.FROM_D1)]
    if len(insertions) == 2:
        order = [order[0], (insertions[1], base.FROM_I2), order[1], (deletions[1], base.FROM_D2), order[2]]
    said = lanes.same(order[-1][1])
    for source, code in reversed(order[:-1]):
        said = b.select(b.icmp_signed("==", best, source), lanes.same(code), said)
    if lanes.local:
        said = b.select(b.icmp_signed("==", best, lanes.zero), lanes.same(NOWHERE), said)
    for condition, flag in zip(opened, (base.OPENED_I1, base.OPENED_D1, base.OPENED_I2, base.OPENED_D2), strict=False):
        said = b.or_(said, b.select(condition, lanes.same(flag), lanes.same(0)))
    return b.trunc(said, ir.VectorType(I8, lanes.count))


def _sweep(track: int, keep: bool) -> Any:
    """Make the intrinsic for columns [start, stop) of a strip. Its arguments: addresses (`places`), start, stop, bytes from a row of directions to the next,
    what gaps cost ((open + extend, extend) of each piece), what letters score ((match, mismatch), or (0,) where they are looked up), `null`.

    places: H of the row above and then, below, of the strip's last; bytes from it to I of a piece, and from there to that of the next; the target's letters (a
    byte a lane, from column 0 on); the strip's state: H above to the left, H of the rows, D of each piece of the rows, highest score, its column, its row; the
    rows' letters or tables; limits of the rows' scores where these are tracked (not of local alignments); directions of the first row.
    """

    def define(typing: Any, places: Any, start: Any, stop: Any, stride: Any, costs: Any, scores: Any, null: Any) -> Any:
        def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
            lanes = _Lanes(b, null)
            addresses, start, stop, stride = cgutils.unpack_tuple(b, args[0]), args[1], args[2], args[3]
            prices = [lanes.splat(cost) for cost in cgutils.unpack_tuple(b, args[4])]
            pieces = len(prices) // 2
            above, apart, letters, state, query, limits, directions = addresses
            gaps_above = [b.add(above, b.mul(apart, ir.Constant(I64, 1 + piece))) for piece in range(pieces)]
            matrix = _Scores(lanes, query, letters, cgutils.unpack_tuple(b, args[5]))
            limited = [lanes.load(limits, r) for r in range(ROWS)] if track and not lanes.local else None
            held = 1 + ROWS * (1 + pieces) + {UNTRACKED: 0, SCORED: 1, PLACED: 3}[track]
            begin = b.block
            entering = [lanes.load(state, place) for place in range(held)]
            loop, body, done = (b.append_basic_block(f"sweep.{name}") for name in ("loop", "body", "done"))
            b.branch(loop)

            b.position_at_end(loop)
            column = b.phi(I64)
            values = [b.phi(lanes.vector) for _ in range(held)]
            b.cbranch(b.icmp_signed("<", column, stop), body, done)

            b.position_at_end(body)
            shift = b.mul(column, ir.Constant(I64, lanes.count * lanes.size))
            corner, rows = values[0], values[1 : 1 + ROWS]
            deletions = [values[1 + ROWS * (1 + piece) : 1 + ROWS * (2 + piece)] for piece in range(pieces)]
            new_corner = lanes.load(b.add(above, shift))
            insertions = [lanes.load(b.add(gap, shift)) for gap in gaps_above]
            out_rows: list[Any] = []
            out_deletions: list[list[Any]] = [[] for _ in range(pieces)]
            found, place = matrix.rows(column), b.add(directions, b.mul(column, ir.Constant(I64, lanes.count)))
            for r in range(ROWS):
                diagonal = lanes.plus(corner if r == 0 else rows[r - 1], found[r])
                best = diagonal
                for gap in [*(deletion[r] for deletion in deletions), *insertions]:
                    best = lanes.larger(best, gap)
                if lanes.local and not lanes.saturates:
                    best = lanes.larger(best, lanes.zero)
                before, opened = insertions, []
                insertions = []
                for piece in range(pieces):
                    opening = lanes.minus(best, prices[2 * piece])
                    longer_i, longer_d = (lanes.minus(gap, prices[2 * piece + 1]) for gap in (before[piece], deletions[piece][r]))
                    opened += [lanes.above(opening, longer_i), lanes.above(opening, longer_d)]
                    insertions.append(lanes.larger(longer_i, opening))
                    out_deletions[piece].append(lanes.larger(longer_d, opening))
                if keep:
                    lanes.store(_directions(lanes, best, diagonal, before, [deletion[r] for deletion in deletions], opened), place)
                    place = b.add(place, stride)
                out_rows.append(best)
            lanes.store(out_rows[-1], b.add(above, shift))
            for gap, value in zip(gaps_above, insertions, strict=True):
                lanes.store(value, b.add(gap, shift))
            leaving = [new_corner, *out_rows, *sum(out_deletions, [])]
            leaving += _tracked(lanes, out_rows, limited, values[len(leaving) :], column)
            for came, block in ((start, begin), (b.add(column, ir.Constant(I64, 1)), b.block)):
                column.add_incoming(came, block)
            after = b.block
            b.branch(loop)
            for value, first, following in zip(values, entering, leaving, strict=True):
                value.add_incoming(first, begin)
                value.add_incoming(following, after)

            b.position_at_end(done)
            for place, value in enumerate(values):
                lanes.store(value, state, place)
            return context.get_dummy_value()

        return types.void(places, types.int64, types.int64, types.int64, costs, scores, null), codegen

    return intrinsic(define)


def _tracked(lanes: _Lanes, rows: list[Any], limits: list[Any] | None, held: list[Any], column: Any) -> list[Any]:
    """Give the highest score so far and, where `held` has them, its column and row, with the rows of this column."""
    if not held:
        return []
    b = lanes.b
    if limits:
        rows = [lanes.smaller(row, limit) for row, limit in zip(rows, limits, strict=True)]
    highest, place = rows[0], lanes.same(0)
    for r, row in enumerate(rows[1:], 1):
        if len(held) > 1:
            place = b.select(lanes.above(row, highest), lanes.same(r), place)
        highest = lanes.larger(highest, row)
    best = lanes.larger(held[0], highest)
    if len(held) == 1:
        return [best]
    better = lanes.above(highest, held[0])
    return [best, b.select(better, lanes.splat(column), held[1]), b.select(better, place, held[2])]


sweep, sweep_scored, sweep_placed = (_sweep(track, False) for track in (UNTRACKED, SCORED, PLACED))
sweep_keep, sweep_placed_keep = _sweep(UNTRACKED, True), _sweep(PLACED, True)


@intrinsic
def fill(typing: Any, address: Any, value: Any, null: Any) -> Any:
    """Store a score (int64) in every lane at an address, as lanes hold it."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        lanes = _Lanes(b, null)
        lanes.store(lanes.splat(args[1]), args[0])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, null), codegen


@intrinsic
def lane_count(typing: Any, null: Any) -> Any:
    """Give the lanes of a vector, as a constant of the kernel."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(I64, _Lanes(b, null).count)

    return types.int64(null), codegen


@intrinsic
def score_of_zero(typing: Any, null: Any) -> Any:
    """Give what lanes hold for a score of 0."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(I64, -0x8000 if null.bitwidth == 16 and not null.signed else 0)

    return types.int64(null), codegen


@intrinsic
def lowest_score(typing: Any, null: Any) -> Any:
    """Give the lowest value that lanes hold."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(I64, {16: -0x8000, 32: -(1 << 30), 64: -(1 << 60)}[null.bitwidth])

    return types.int64(null), codegen
