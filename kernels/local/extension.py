# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Extension from the corner: score and end, one antidiagonal after the other, stopped by minimap2's z-drop, with BWA-MEM's bonus for the query's end.

After each antidiagonal its highest score (of equal ones that with the smallest target position) is held against the highest so far. A higher one takes its
place. Otherwise, where it lies further on both sequences, the extension stops if it is more than zdrop + e * d below, d being how many diagonals apart both
are and e the extension of the gap piece that opens dearest (Li 2018, 10.1093/bioinformatics/bty191; ksw2's rule). Of all cells made by then, the end is that
of the highest score, then the smallest target end, then the smallest query end; 0 letters of both score 0. Where the whole query scores above 0, and with the
bonus above that, the end is the best of those cells instead (Li 2013, arXiv:1303.3997); the bonus is not in the score. With a band no cell is made whose
numbers of letters of query and target differ by more: an extension is over with the last antidiagonal that has one left.

A letter adds at most half of what two letters score at best. What a path lacks of that, its *loss*, never shrinks: the highest cell of an antidiagonal, and
those equal to it, come only of cells that have lost no more. So cells are made up to a *depth* of loss, and a pair is done again, with more, where that leaves
an antidiagonal without any. Lanes of 16 bits are enough wherever the losses of the highest cells are below 65,536, whatever the lengths and the scores.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from tidalign.kernels.local.lanes import PAIR_LANES, Lanes
from tidalign.kernels.local.vectors import lane_count
from tidalign.kernels.runtime.numba_cache import inline, jit
from tidalign.kernels.runtime.vectors import I1, I8, I64, intrinsic

NUMBERS = (np.uint16, np.uint32, np.uint64)
"""List what lanes may be, the next where losses do not fit."""

FIRST_DEPTH = 256
"""Depth of the first try, less what the dearest two steps lose."""

MOST_DEPTH = 1 << 60
"""More than any pair loses."""

NO_SCORE = np.int64(-MOST_DEPTH)
"""Score of what has no cell."""

NO_BAND = np.int64(1 << 40)
"""More diagonals than any pair has."""


def ends(query: Any, target: Any, letters: Any, zdrop: int | None, end_bonus: int, band: int | None = None) -> Any:
    """Extend all pairs -> scores int64[n] and int64[2, n]: query and target ends. query, target, letters: as pairs.py has them; zdrop: None for no stop; band:
    diagonals to each side of the corner's that have cells, 1 at least; None for all."""
    found = np.zeros((3, len(query.lengths)), np.int64)
    most = int(letters.matrix.max())
    unit = 1 + most % 2  # so that half of `most` is whole
    drift = unit * most // 2
    steps = tuple(np.int64(unit * cost + drift) for cost in letters.costs)
    table = (unit * (most - letters.matrix.astype(np.int64))).astype(np.uint16)
    scores = tuple(np.int64(unit * (most - int(score))) for score in letters.scores) if len(letters.scores) == 2 else (np.int64(0),)
    floor = max(int(table.max()), *(int(first + more) for first, more in zip(steps[::2], steps[1::2], strict=True)))
    slope = unit * max(letters.scoring.pieces)[1]
    rule = tuple(map(np.int64, (floor, drift, unit, -1 if zdrop is None else unit * zdrop, slope, unit * end_bonus, NO_BAND if band is None else band)))
    sides = (query.codes, query.starts, query.lengths, target.codes, target.starts, target.lengths)
    longest = [int(lengths.max(initial=0)) for lengths in (query.lengths, target.lengths)]
    texts = [np.zeros(length + 4 * PAIR_LANES + 4, np.uint8) for length in longest]
    rows, depth = np.arange(len(query.lengths)), FIRST_DEPTH + 2 * floor
    for number in NUMBERS:
        room = min(int(np.iinfo(number).max) - floor, MOST_DEPTH)
        if depth > room or not len(rows):
            continue
        cells = np.empty((2 + len(steps) + (len(scores) == 1), longest[1] + 4 * PAIR_LANES), number)
        left = extend(rows, sides, scores, table, steps, rule, np.int64(depth), np.int64(room), texts[0], texts[1], cells, found, number(0))
        rows, depth = rows[left], 2 * room
    return found[0], found[1:]


@intrinsic
def antidiagonal(typing: Any, places: Any, first: Any, last: Any, steps: Any, scores: Any, floor: Any, null: Any) -> Any:
    """Make the lanes' columns from `first` to that before `last` of an antidiagonal, the last first; gives the highest H.

    Invariant: H and gap states lie by column. Before it, the row of H has the antidiagonal before the last, and gaps are as the next antidiagonal takes them:
    I in the same column, D in the next. So a vector reads what the vectors on its right, which are done, do not write.

        antidiagonal   a - 2           a - 1            a
                       H, column - 1   I, column        H = max(H - score, I, D, floor);  I and D of the next cells from it
                                       D, column - 1

    places: of column 0 the query's letter, the target's, and H; column 0 of `cells` (as `extend` has them), and bytes from one of their rows to the next.
    steps: what a gap's first letter and each more lose; scores: what equal letters lose, and others, or (0,) where that is looked up.
    """
    pieces = len(steps) // 2

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        lanes = Lanes(b, null)
        query, target, row, cells, stride = cgutils.unpack_tuple(b, args[0])
        *gaps, looked = (b.add(cells, b.mul(stride, ir.Constant(I64, 2 + k))) for k in range(2 * pieces + 1))
        prices, lost = ([lanes.splat(value) for value in cgutils.unpack_tuple(b, args[k])] for k in (3, 4))
        least, width = lanes.splat(args[5]), ir.Constant(I64, lanes.count)
        begin = b.block
        loop, body, done = (b.append_basic_block(name) for name in ("antidiagonal", "columns", "made"))
        b.branch(loop)
        b.position_at_end(loop)
        end, highest = b.phi(I64), b.phi(lanes.vector)
        b.cbranch(b.icmp_signed(">", end, args[1]), body, done)

        b.position_at_end(body)
        column = b.sub(end, width)
        shift = b.mul(column, ir.Constant(I64, lanes.size))

        def at(place: Any, back: int = 0) -> Any:
            return b.add(place, b.sub(shift, ir.Constant(I64, back * lanes.size)))

        if len(lost) == 2:
            one, other = (lanes.load(b.add(place, column), vector=ir.VectorType(I8, lanes.count)) for place in (query, target))
            loss = b.select(b.icmp_unsigned("==", one, other), lost[0], lost[1])
        else:
            loss = lanes.load(at(looked))
        best = b.sub(lanes.load(at(row, 1)), loss)
        came = [lanes.load(at(gap, back)) for gap, back in zip(gaps, (0, 1) * pieces, strict=True)]
        for value in (*came, least):
            best = lanes._call("umax", best, value)
        lanes.store(best, at(row))
        for k, (gap, value) in enumerate(zip(gaps, came, strict=True)):
            opened, longer = b.sub(best, prices[k // 2 * 2]), b.sub(value, prices[k // 2 * 2 + 1])
            lanes.store(lanes._call("umax", opened, longer), at(gap))
        for value, at_first, following in ((end, args[2], column), (highest, least, lanes._call("umax", highest, best))):
            value.add_incoming(at_first, begin)
            value.add_incoming(following, b.block)
        b.branch(loop)

        b.position_at_end(done)
        name = f"llvm.vector.reduce.umax.v{lanes.count}i{lanes.element.width}"
        reduce = cgutils.get_or_insert_function(b.module, ir.FunctionType(lanes.element, [lanes.vector]), name)
        value = b.call(reduce, [highest])
        return value if lanes.element.width == 64 else b.zext(value, I64)

    return types.int64(places, types.int64, types.int64, steps, scores, types.int64, null), codegen


def _first(predicate: str) -> Any:
    """Make the intrinsic that finds the first lane at an address which compares so with a value: the number of lanes, if none."""

    def define(typing: Any, address: Any, value: Any, null: Any) -> Any:
        def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
            lanes, bits = Lanes(b, null), ir.IntType(64)
            held = b.icmp_unsigned(predicate, lanes.load(args[0]), lanes.splat(args[1]))
            mask = b.bitcast(held, ir.IntType(lanes.count)) if lanes.count > 1 else b.extract_element(held, ir.Constant(ir.IntType(32), 0))
            return b.cttz(b.or_(b.zext(mask, bits), ir.Constant(bits, 1 << lanes.count)), ir.Constant(I1, 1))

        return types.int64(types.int64, types.int64, null), codegen

    return intrinsic(define)


first_equal, first_above = _first("=="), _first(">")


@jit
def look_up(row, query, target, table):
    """Write what letters lose. Arrays begin at the first cell: so the compiler sees that no place is negative."""
    for k in range(len(row)):
        row[k] = table[query[k], target[k]]


@inline
def place_of(row, first, size, value, null):
    """Find the first column from `first` on that has a value. row: the address of column 0; size: bytes of a column."""
    lanes = lane_count(null)
    while first_equal(row + first * size, value, null) == lanes:
        first += lanes
    return first + first_equal(row + first * size, value, null)


@inline
def none(now, before, block, floor, null):
    """Tell whether a block has no cells on two antidiagonals."""
    lanes = lane_count(null)
    return first_above(now + block, floor, null) == lanes and first_above(before + block, floor, null) == lanes


@jit
def extended(n, m, scores, table, steps, rule, depth, backwards, forwards, cells, found, null):
    """Extend one pair with cells up to a depth; gives the antidiagonal that had none, or 0 and fills found = score, query end, target end.

    Blocks [low, high] of as many columns as there are lanes are made, those around the last cells that are left. Cells outside the matrix and the band are none
    either: what would come to them from the query's last row, the target's last column and the band's outer diagonals is taken away.
    """
    floor, drift, unit, zdrop, slope, end_bonus, band = rule
    lanes = lane_count(null)
    margin, size, top = 2 * lanes + 2, cells.itemsize, floor + depth
    for r in range(2 + len(steps)):
        for j in range(lanes + m + 1 + lanes):
            cells[r, j] = floor
    cells[0, lanes] = top if n > 0 and m > 0 else floor
    for r in range(len(steps)):
        if (r % 2 == 0 and n > 0) or (r % 2 == 1 and m > 0):
            cells[2 + r, lanes] = top - steps[r // 2 * 2]
    origin = cells.ctypes.data + lanes * size
    stride = cells.shape[1] * size
    columns = cells[:, lanes:]
    target = forwards.ctypes.data + margin - 1
    best, best_q, best_t = np.int64(0), np.int64(0), np.int64(0)  # the highest score, and the end
    seen_q, seen_t = np.int64(0), np.int64(0)  # what the z-drop is measured from
    whole, whole_t, hidden = np.int64(0) if n == 0 else NO_SCORE, np.int64(0), NO_SCORE
    low, high = np.int64(0), np.int64(min(m, 1) // lanes)
    for a in range(1, min(n + m, 2 * min(n, m) + band) + 1):
        now = origin + (a & 1) * stride
        query = backwards.ctypes.data + margin + n - a
        first, last = low * lanes, (high + 1) * lanes
        if len(scores) == 1:
            shift = margin + n - a
            look_up(columns[2 + len(steps), first:last], backwards[shift + first : shift + last], forwards[margin - 1 + first : margin - 1 + last], table)
        value = antidiagonal((query, target, now, origin, stride), first, last, steps, scores, floor, null)
        if value <= floor:
            return a
        highest = value - top + drift * a
        if highest >= best:
            h = place_of(now, first, size, value, null)
            if highest > best or h < best_t or (h == best_t and a - h < best_q):
                best_q, best_t = a - h, h
            if highest > best:
                best, seen_q, seen_t = highest, a - h, h
        if a >= max(n, 2 * n - band):
            of_row = np.int64(columns[a & 1, a - n])
            if of_row <= floor:
                hidden = drift * a - depth
            elif of_row - top + drift * a > whole:
                whole, whole_t = of_row - top + drift * a, a - n
        if zdrop >= 0 and best - highest > zdrop:
            h = place_of(now, first, size, value, null)
            if h >= seen_t and a - h >= seen_q and best - highest > zdrop + slope * abs((h - seen_t) - (a - h - seen_q)):
                break
        before = origin + (1 - (a & 1)) * stride
        if none(now, before, low * lanes * size, floor, null):
            low += 1
        elif none(now, before, high * lanes * size, floor, null):
            high -= 1
        edge = (high + 1) * lanes - 1
        if edge < m and (columns[0, edge] > floor or columns[1, edge] > floor):
            high += 1
        if a >= n:
            columns[a & 1, a - n] = floor
            for r in range(2, 2 + len(steps), 2):
                columns[r, a - n] = floor
        if a >= m:
            columns[a & 1, m] = floor
            for r in range(3, 2 + len(steps), 2):
                columns[r, m] = floor
        if a >= band and (a - band) % 2 == 0:  # only gaps leave a diagonal: to the left of the band the query's, to the right the target's
            for r in range(2, 2 + len(steps), 2):
                columns[r, (a - band) // 2] = floor
            if a + band <= 2 * m:
                for r in range(3, 2 + len(steps), 2):
                    columns[r, (a + band) // 2] = floor
    if end_bonus > 0 and hidden > 0 and hidden >= whole and hidden + end_bonus > best:
        return n + m
    if end_bonus > 0 and whole > 0 and whole + end_bonus > best:
        best, best_q, best_t = whole, n, whole_t
    found[0], found[1], found[2] = best // unit, best_q, best_t
    return np.int64(0)


@jit
def extend(rows, sides, scores, table, steps, rule, first_depth, room, backwards, forwards, cells, found, null):
    """Extend the pairs `rows` as `ends` says; gives bool[len(rows)], which of them lose more than `room`, and are left.

    A cell holds the floor and what is left of the depth once its loss is gone; the floor is what no two steps in a row take more than, and who comes to it is
    no cell. rule: the floor, half of the highest score of two letters, what a score of 1 is held as; z-drop, slope and bonus, as they are held; the band.
    backwards, forwards: room for the letters of a query and of a target. cells: rows for two antidiagonals of H, I and D of each piece, and what letters lose.
    """
    queries, query_starts, n, targets, target_starts, m = sides
    lanes = lane_count(null)
    margin = 2 * lanes + 2
    left = np.zeros(len(rows), np.bool_)
    for k in range(len(rows)):
        i = rows[k]
        for j in range(n[i]):
            backwards[margin + j] = queries[query_starts[i] + n[i] - 1 - j]
        for j in range(m[i]):
            forwards[margin + j] = targets[target_starts[i] + j]
        depth = first_depth
        while True:
            came = extended(n[i], m[i], scores, table, steps, rule, depth, backwards, forwards, cells, found[:, i], null)
            if came == 0:
                break
            if depth == room:
                left[k] = True
                break
            depth = np.int64(min(float(room), max(2.0 * depth, 1.25 * depth * (n[i] + m[i]) / came)))
    return left
