# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Cells of strips of STRIP_ROWS query rows, a lane a pair or a strip of one pair: numba intrinsics that emit LLVM vector code.

The argument `null` says by its type what a lane is. Its bits: 16 and 32 have PAIR_LANES, 64 has one. Unsigned: scores are never below 0 (local alignment);
signed: they may be. Lanes of uint16 hold the score less 32,768, so that subtraction stops at 0 by itself and scores go up to 65,535; all others hold the score.
With 16 bits sums stop at the ends of the range; the caller sees to it that they do so only where no alignment of worth goes, or looks for the highest value.

A gap state of a cell is kept as the next cell takes it: D as the next column does, I as the next row does. The recurrences are Gotoh's (1982, J. Mol. Biol.
162:705): H = max(diagonal + score, I, D), I and D opened from any H. Letters are compared, or their scores are looked up: eight rows of a letter of the target
are one word of a table of the pair, and the words of all lanes are transposed by perfect shuffles.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from tidalign.kernels.local.lanes import LOWEST, Lanes, zero
from tidalign.kernels.local.lookups import STRIP_ROWS, Scores
from tidalign.kernels.runtime import vectors as base
from tidalign.kernels.runtime.vectors import I8, I64, intrinsic

NOWHERE = 7
"""What a direction byte says where a local alignment begins; else it is a FROM_* of kernels/runtime/vectors.py, with the same flags of opened gaps."""

UNTRACKED, SCORED, PLACED = range(3)
"""What a sweep says of each lane's highest score: nothing, the score, or also its first column and there its first row."""


def _directions(lanes: Lanes, best: Any, diagonal: Any, insertions: list[Any], deletions: list[Any], opened: list[Any]) -> Any:
    """Say where a cell's H came from, and which gaps that leave it were opened here (I, D of each piece)."""
    b = lanes.b
    gaps = [gap for both in zip(insertions, deletions, strict=True) for gap in both]
    said = base.taken(b, best, [diagonal, *gaps], lanes.same)
    if lanes.local:
        said = b.select(b.icmp_signed("==", best, lanes.zero), lanes.same(NOWHERE), said)
    for condition, flag in zip(opened, (base.OPENED_I1, base.OPENED_D1, base.OPENED_I2, base.OPENED_D2), strict=False):
        said = b.or_(said, b.select(condition, lanes.same(flag), lanes.same(0)))
    return b.trunc(said, ir.VectorType(I8, lanes.count))


def _sweep(track: int, keep: bool, along: bool = False, masked: bool = False) -> Any:
    """Make the intrinsic for columns [start, stop) of a strip. Its arguments: addresses (`places`), start, stop, bytes from a row of directions to the next,
    what gaps cost ((open + extend, extend) of each piece), what letters score ((match, mismatch), or (0,) where they are looked up, three of them in
    rows that all lanes share), `null`.

    Invariant: before a column, registers hold H and D of the column before in all rows of the strip; each column is done from its first row to its last.

                    column - 1     column
        above       corner         H, I from memory: of the strip before
        row 0       H, D           H = max(corner + score, D, I);  D and I of the next cells from it
        ...
        row 7       H, D           H, I to memory: `above` of the next strip

    places: H of the row above and then, below, of the strip's last; bytes from it to I of a piece, and from there to that of the next; the target's letters (a
    byte a lane, from column 0 on); the strip's state: H above to the left, H of the rows, D of each piece of the rows, highest score, its column, its row; the
    rows' letters or tables; limits of the rows' scores where these are tracked (not of local alignments); directions of the first row.

    along: lanes have the strips of one pair, each a column behind the one above it: start and stop are steps, the columns of the first lane. H and I of the row
    above, and then below all strips, are of one lane; letters lie backwards, that of column c at -c; I of the last rows is in the state behind all else.
    masked: lanes that are not in columns 1 to the last one, which comes behind the places, stay as they are.
    """

    def define(typing: Any, places: Any, start: Any, stop: Any, stride: Any, costs: Any, scores: Any, null: Any) -> Any:
        def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
            lanes = Lanes(b, null)
            addresses, start, stop, stride = cgutils.unpack_tuple(b, args[0]), args[1], args[2], args[3]
            prices = [lanes.splat(cost) for cost in cgutils.unpack_tuple(b, args[4])]
            pieces = len(prices) // 2
            above, apart, letters, state, query, limits, directions, *last_column = addresses
            gaps_above = [b.add(above, b.mul(apart, ir.Constant(I64, 1 + piece))) for piece in range(pieces)]
            matrix = Scores(lanes, query, letters, cgutils.unpack_tuple(b, args[5]), along)
            limited = [lanes.load(limits, r) for r in range(STRIP_ROWS)] if track and not lanes.local else None
            held = 1 + STRIP_ROWS * (1 + pieces) + {UNTRACKED: 0, SCORED: 1, PLACED: 3}[track]
            begin = b.block
            entering = [lanes.load(state, place) for place in range(held + pieces * along)]
            loop, body, done = (b.append_basic_block(f"sweep.{name}") for name in ("loop", "body", "done"))
            b.branch(loop)

            b.position_at_end(loop)
            column = b.phi(I64)
            values = [b.phi(lanes.vector) for _ in entering]
            below = values[held:]  # I of the strips' last rows
            b.cbranch(b.icmp_signed("<", column, stop), body, done)

            b.position_at_end(body)
            shift = b.mul(column, ir.Constant(I64, lanes.size if along else lanes.count * lanes.size))
            corner, rows = values[0], values[1 : 1 + STRIP_ROWS]
            deletions = [values[1 + STRIP_ROWS * (1 + piece) : 1 + STRIP_ROWS * (2 + piece)] for piece in range(pieces)]
            if along:
                new_corner = lanes.moved(rows[-1], b.add(above, shift))
                insertions = [lanes.moved(value, b.add(gap, shift)) for value, gap in zip(below, gaps_above, strict=True)]
            else:
                new_corner = lanes.load(b.add(above, shift))
                insertions = [lanes.load(b.add(gap, shift)) for gap in gaps_above]
            out_rows: list[Any] = []
            out_deletions: list[list[Any]] = [[] for _ in range(pieces)]
            found, place = matrix.rows(column), b.add(directions, b.mul(column, ir.Constant(I64, lanes.count)))
            for r in range(STRIP_ROWS):
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
            for at, value in zip([above, *gaps_above], [out_rows[-1], *insertions], strict=True):
                if along:
                    lanes.store_last(value, b.sub(b.add(at, shift), ir.Constant(I64, (lanes.count - 1) * lanes.size)))
                else:
                    lanes.store(value, b.add(at, shift))
            leaving = [new_corner, *out_rows, *sum(out_deletions, [])]
            columns = b.sub(lanes.splat(column), lanes.numbers()) if along else lanes.splat(column)
            leaving += _tracked(lanes, out_rows, limited, values[len(leaving) : held], columns)
            leaving += insertions[: len(below)]
            if masked:
                inside = lanes.between(column, last_column[0])
                leaving = [b.select(inside, new, old) for new, old in zip(leaving, values, strict=True)]
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


def _tracked(lanes: Lanes, rows: list[Any], limits: list[Any] | None, held: list[Any], columns: Any) -> list[Any]:
    """Give the highest score so far and, where `held` has them, its column and row, with the rows of a column, that of each lane."""
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
    return [best, b.select(better, columns, held[1]), b.select(better, place, held[2])]


sweep, sweep_scored, sweep_placed = (_sweep(track, False) for track in (UNTRACKED, SCORED, PLACED))
sweep_keep, sweep_placed_keep = _sweep(UNTRACKED, True), _sweep(PLACED, True)
_ALONG = (UNTRACKED, False), (SCORED, False), (PLACED, False), (UNTRACKED, True), (PLACED, True)
along, along_scored, along_placed, along_keep, along_placed_keep = (_sweep(*kind, along=True) for kind in _ALONG)
masked, masked_scored, masked_placed, masked_keep, masked_placed_keep = (_sweep(*kind, along=True, masked=True) for kind in _ALONG)


@intrinsic
def fill(typing: Any, address: Any, value: Any, null: Any) -> Any:
    """Store a score (int64) in every lane at an address, as lanes hold it."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        lanes = Lanes(b, null)
        lanes.store(lanes.splat(args[1]), args[0])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, null), codegen


@intrinsic
def lane_count(typing: Any, null: Any) -> Any:
    """Give the lanes of a vector, as a constant of the kernel."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(I64, Lanes(b, null).count)

    return types.int64(null), codegen


@intrinsic
def score_of_zero(typing: Any, null: Any) -> Any:
    """Give what lanes hold for a score of 0."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(I64, zero(null))

    return types.int64(null), codegen


@intrinsic
def lowest_score(typing: Any, null: Any) -> Any:
    """Give the lowest value that lanes hold."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(I64, LOWEST[null.bitwidth])

    return types.int64(null), codegen
