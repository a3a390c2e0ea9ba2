"""Slow reference model of gapped extension and of independent mode (genome_oracle.py has what comes before)."""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from genome_oracle import Anchor, Letters, anchors, letters, reverse_complement, sequence_around, tables

COLUMN, INSERT, DELETE = 0, 1, 2  # a pair of letters; query letters against a gap (I); target letters against a gap (D)


@numba.njit(cache=True)
def one_sided(
    target, query, plain, gap_open, gap_extend, ydrop, use_left, left, use_right, right, limited, mask_starts, mask_columns, bounded, room, trim
):  # pragma: no cover - compiled
    """Extend target (rows) and query (columns) that lead away from the anchor, by y-drop.

    Fences are one for each row, of no effect where not bounded; `room` is the traceback buffer. Returns score, rows, columns, operations from the end
    back to the anchor, cells, whether it was cut, and for each row the first and one past the last column looked at.
    """
    rows, columns = target.shape[0], query.shape[0]
    low = -1932735283
    ops = np.zeros(0, np.uint8)
    footprint = np.zeros((rows + 1, 2), np.int64)
    if rows == 0 or columns == 0:
        return 0, 0, 0, ops, 0, False, footprint[:0]
    opened = gap_open + gap_extend
    best_of = np.full(columns + 2, low, np.int64)
    down = np.full(columns + 2, low, np.int64)
    reserve = ydrop // gap_extend + 6 if gap_extend != 0 else min(columns + 1, 500000)
    trace = np.zeros(1024, np.uint8)
    row_start = np.zeros(rows + 1, np.int64)
    best_of[0] = 0
    down[0] = -opened
    used = 1
    value = -opened
    previous = 0
    column = 1
    while column <= columns and previous >= -ydrop:
        previous = value
        best_of[column] = value
        down[column] = value - opened
        value -= gap_extend
        if used >= trace.shape[0]:
            longer = np.zeros(trace.shape[0] * 2, np.uint8)
            longer[:used] = trace[:used]
            trace = longer
        trace[used] = 1
        used += 1
        column += 1
    first, end = 0, column
    footprint[0, 1] = end
    seen = 1
    best = best_row = best_column = 0
    border = low
    at_border = False
    cut = False
    for row in range(1, rows + 1):
        if bounded:
            if use_left[row] and left[row] > first:
                first = left[row]
            if use_right[row]:
                end = max(min(end, right[row]), 0)
        end = max(end, first)
        if used + (end - first + reserve) >= room:
            cut = True
            break
        while used + (end - first) + columns + 10 >= trace.shape[0]:
            longer = np.zeros(trace.shape[0] * 2, np.uint8)
            longer[:used] = trace[:used]
            trace = longer
        row_start[row] = used - first
        footprint[row, 0] = first
        footprint[row, 1] = end
        seen = row + 1
        across = diagonal = low
        last = first
        column = first
        while column < end and column <= columns:
            vertical = down[column]
            following = best_of[column] + (plain[target[row - 1], query[column]] if column < columns else low // 4)
            dead = False
            if bounded:
                for i in range(mask_starts[row], mask_starts[row + 1]):
                    if mask_columns[i] == column:
                        dead = True
            link = 0
            if not dead:
                if vertical > diagonal or across > diagonal:
                    value, link = (vertical, 2 | 4 | 8) if vertical >= across else (across, 1 | 4 | 8)
                    if value < best - ydrop:
                        dead = True
                    else:
                        best_of[column] = value
                        down[column] = vertical - gap_extend
                        across -= gap_extend
                elif diagonal < best - ydrop:
                    dead = True
                else:
                    value = diagonal
                    if value >= best:
                        best, best_row, best_column, at_border = value, row, column, False
                    if not trim and value >= border and (row == rows or column == columns):
                        border, best_row, best_column, at_border = value, row, column, True
                    vertical -= gap_extend
                    across -= gap_extend
                    if value - opened > vertical:
                        down[column] = value - opened
                    else:
                        down[column] = vertical
                        link = 8
                    if value - opened > across:
                        across = value - opened
                    else:
                        link |= 4
                    best_of[column] = value
            if dead:
                link = 0
                if column == first:
                    first += 1
                else:
                    across = low
                    best_of[column] = low
                    down[column] = low
            else:
                last = column
            trace[used] = link
            used += 1
            diagonal = following
            column += 1
        if first >= end:
            break
        most = columns
        if bounded and limited[row] and right[row] > 0:
            most = min(columns, right[row] - 1)
        if end > last + 1:
            end = last + 1
        else:
            while across >= best - ydrop and end <= most:
                best_of[end] = across
                down[end] = across - opened
                across -= gap_extend
                trace[used] = 1
                used += 1
                end += 1
        if end <= most:
            best_of[end] = low
            down[end] = low
            end += 1
        footprint[row, 1] = max(footprint[row, 1], end)
    row, column = best_row, best_column
    ops = np.zeros(row + column, np.uint8)
    count = 0
    before = 0
    while row >= 1 or column > 0:
        link = trace[row_start[row] + column]
        op = link & 3
        if before == 1 and link & 4:
            op = 1
        if before == 2 and link & 8:
            op = 2
        row -= op != 1
        column -= op != 2
        ops[count] = op
        count += 1
        before = op
    return (border if at_border else best), best_row, best_column, ops[:count], used, cut, footprint[:seen]


@dataclass(frozen=True)
class Costs:
    """What gapped extension needs of a run's parameters."""

    plain: np.ndarray
    gap_open: int = 400
    gap_extend: int = 30
    ydrop: int = 9400
    threshold: int = 3000
    traceback: int = 80 * 1024 * 1024
    trim: bool = True

    @classmethod
    def of(cls, parameters: Any) -> "Costs":
        scoring = parameters.scoring
        traceback = parameters.traceback_bytes if parameters.mode == "exact" else 1 << 40
        return cls(
            *(tables(scoring)[0], scoring.gap_open, scoring.gap_extend, parameters.ydrop, parameters.gappedthresh),
            *(traceback, parameters.trim),
        )


@dataclass(frozen=True)
class Alignment:
    score: int
    target_start: int
    target_end: int
    query_start: int
    query_end: int
    runs: tuple[tuple[int, int], ...]  # (COLUMN | INSERT | DELETE, length)
    cut: bool  # by the traceback buffer

    def ends(self) -> tuple[int, int, int, int]:
        return self.target_start, self.target_end, self.query_start, self.query_end

    def cigar(self, target: Letters, query: Letters) -> str:
        """Write the CIGAR, letters = X I D; a column with a letter other than ACGT is an X."""
        t, q, spelled = self.target_start, self.query_start, ""
        for op, length in self.runs:
            if op == COLUMN:
                pairs = zip(target[t : t + length].tobytes().upper(), query[q : q + length].tobytes().upper(), strict=True)
                spelled += "".join("=" if a == b and a in b"ACGT" else "X" for a, b in pairs)
            else:
                spelled += " ID"[op] * length
            t += length * (op != INSERT)
            q += length * (op != DELETE)
        return "".join(f"{length}{op}" for op, length in merged(spelled))


def merged(values: Any) -> list[tuple[Any, int]]:
    """Gather runs of equal values."""
    runs: list[tuple[Any, int]] = []
    for value in values:
        if runs and runs[-1][0] == value:
            runs[-1] = (value, runs[-1][1] + 1)
        else:
            runs.append((value, 1))
    return runs


_NO_ROWS, _NO_FLAGS = np.zeros(1, np.int64), np.zeros(1, np.bool_)
FREE = (_NO_FLAGS, _NO_ROWS, _NO_FLAGS, _NO_ROWS, _NO_FLAGS, _NO_ROWS, _NO_ROWS, False)


def extend(
    target: Letters, query: Letters, t: int, q: int, costs: Costs, fences: Any = None, footprints: list[tuple[np.ndarray, np.ndarray]] | None = None
) -> Alignment | None:
    """Extend both sides of one anchor within its target sequence; free, or between `fences` (genome_oracle_fences.Fences). Thresholds are the caller's."""
    low, high = sequence_around(target, t)
    sides = []
    for left in (True, False):
        rows, columns = (target[low : t + 1][::-1], query[: q + 1][::-1]) if left else (target[t + 1 : high], query[q + 1 :])
        bounds = FREE if fences is None else fences.rows(left, len(rows), t, q, len(columns))
        sides.append(
            one_sided(
                *(np.ascontiguousarray(rows), np.ascontiguousarray(columns), costs.plain, costs.gap_open, costs.gap_extend, costs.ydrop),
                *(*bounds, costs.traceback - 7, costs.trim),
            )
        )
    (left_score, up, back, left_ops, _, left_cut, left_foot), (right_score, down, forth, right_ops, _, right_cut, right_foot) = sides
    if footprints is not None:
        footprints.append((left_foot, right_foot))
    runs = merged([*left_ops.tolist(), *right_ops[::-1].tolist()])
    ends = [t + 1 - up, t + 1 + down, q + 1 - back, q + 1 + forth]
    score = left_score + right_score
    lopped = False
    for place, sign in ((0, 1), (-1, -1)):
        while runs and runs[place][0] != COLUMN:
            op, length = runs.pop(place)
            ends[(2 if op == INSERT else 0) + (place != 0)] += sign * length
            lopped = True
    if not runs:
        return None
    if lopped:
        score = path_score(target, query, ends[0], ends[2], runs, costs)
    return Alignment(int(score), *map(int, ends), tuple(runs), bool(left_cut or right_cut))


def path_score(target: Letters, query: Letters, t: int, q: int, runs: Any, costs: Costs) -> int:
    """Score of a path, each gap opened once."""
    score = 0
    for op, length in runs:
        if op == COLUMN:
            score += int(costs.plain[target[t : t + length], query[q : q + length]].sum())
        else:
            score -= costs.gap_open + length * costs.gap_extend
        t += length * (op != INSERT)
        q += length * (op != DELETE)
    return score


def independent(target: Letters, query: Letters, anchors: list[Anchor], costs: Costs) -> list[Alignment]:
    """Extend every anchor on its own; of alignments with the same ends the best, then the first in order of the anchors."""
    found: dict[tuple[int, int, int, int], Alignment] = {}
    for t, q, _ in anchors:
        alignment = extend(target, query, t, q, costs)
        if alignment is not None and alignment.score >= costs.threshold:
            before = found.setdefault(alignment.ends(), alignment)
            if alignment.score > before.score:
                found[alignment.ends()] = alignment
    return list(found.values())


def strands(query: Letters, parameters: Any) -> list[tuple[str, Letters]]:
    """List the strands of a query that a run looks at, in its order."""
    wanted = {"both": "+-", "plus": "+", "minus": "-"}[parameters.strand]
    return [(strand, query if strand == "+" else reverse_complement(query)) for strand in wanted]


def align_independent(target: str | bytes, query: str | bytes, parameters: Any) -> list[tuple[str, Alignment]]:
    """Align one query in independent mode: (strand, alignment)."""
    array = letters(target)
    costs = Costs.of(parameters)
    found = []
    for strand, turned in strands(letters(query), parameters):
        found += [(strand, alignment) for alignment in independent(array, turned, anchors(array, turned, parameters), costs)]
    return found
