"""Slow reference model of LASTZ's sequential gapped stage: anchors in falling score, each kept alignment fences later ones.

genome_oracle.py has what comes before.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from genome_oracle import Anchor, Letters, anchors, letters
from genome_oracle_extension import COLUMN, DELETE, INSERT, Alignment, Costs, extend, strands

DIAGONAL, HORIZONTAL, VERTICAL = 0, 1, 2
FAR = 1 << 31


@dataclass(eq=False)
class Piece:
    """Part of a kept alignment; ends are inclusive, and an empty diagonal ends before it starts."""

    kind: int
    target_start: int
    query_start: int
    target_end: int
    query_end: int
    next: "Piece | None" = None
    previous: "Piece | None" = None

    def column(self, row: int) -> int:
        """Query place at a target row."""
        return self.query_start + (row - self.target_start if self.kind == DIAGONAL else 0)


Neighbour = tuple["Kept", Piece] | None


@dataclass(eq=False)
class Kept:
    """A kept alignment as pieces, with its neighbours at both ends as they were when it was kept."""

    alignment: Alignment
    pieces: list[Piece] = field(default_factory=list)
    low: tuple[Neighbour, Neighbour] = (None, None)  # left and right of its first row
    high: tuple[Neighbour, Neighbour] = (None, None)

    def __post_init__(self) -> None:
        t, q, runs = self.alignment.target_start, self.alignment.query_start, list(self.alignment.runs)
        while t < self.alignment.target_end or q < self.alignment.query_end:
            length = runs.pop(0)[1] if runs and runs[0][0] == COLUMN else 0
            if self.pieces:
                last = self.pieces[-1]
                kind = HORIZONTAL if t == last.target_end + 1 else VERTICAL
                self.pieces.append(Piece(kind, last.target_end + 1, last.query_end + 1, t - 1, q - 1))
            self.pieces.append(Piece(DIAGONAL, t, q, t + length - 1, q + length - 1))
            t, q = t + length, q + length
            if runs and runs[0][0] != COLUMN:
                op, length = runs.pop(0)
                t += length * (op == DELETE)
                q += length * (op == INSERT)
        for one, other in zip(self.pieces, self.pieces[1:], strict=False):
            one.next, other.previous = other, one

    @property
    def first_row(self) -> int:
        return self.alignment.target_start

    @property
    def last_row(self) -> int:
        return self.alignment.target_end - 1


def nearest(kept: list[Kept], t: int, q: int) -> tuple[Neighbour, Neighbour] | None:
    """Find the closest pieces left and right of a point on its row; None where the point is on one."""
    left_distance = right_distance = FAR
    left: Neighbour = None
    right: Neighbour = None
    for one in kept:
        if not one.first_row <= t <= one.last_row:
            continue
        piece = next((piece for piece in one.pieces if piece.target_end >= t), None)
        if piece is None:
            continue
        distance = piece.column(t) - q
        if distance == 0:
            return None
        if 0 < distance < right_distance:
            right_distance, right = distance, (one, piece)
        elif 0 < -distance < left_distance:
            left_distance, left = -distance, (one, piece)
    return left, right


def neighbours(kept: list[Kept], new: Kept) -> None:
    """Link a new alignment to those beside its two ends."""
    distances = [[FAR, FAR], [FAR, FAR]]
    found: list[list[Neighbour]] = [[None, None], [None, None]]
    alignment = new.alignment
    for one in kept:
        if one.first_row > new.last_row or one.last_row < new.first_row:
            continue
        pieces = [piece for piece in one.pieces if piece.kind != HORIZONTAL]
        for end, (row, column) in enumerate(((new.first_row, alignment.query_start), (new.last_row, alignment.query_end - 1))):
            piece = next((piece for piece in pieces if piece.target_end >= row), None)
            if piece is None or (end == 0 and piece.target_start > row):
                continue
            distance = piece.query_start - column + (row - piece.target_start if piece.kind == DIAGONAL else 0)
            side = 1 if distance > 0 else 0
            if distance != 0 and abs(distance) < distances[end][side]:
                distances[end][side], found[end][side] = abs(distance), (one, piece)
    new.low, new.high = (found[0][0], found[0][1]), (found[1][0], found[1][1])


@dataclass
class Fences:
    """Fences of one anchor: its neighbours, the alignments that begin after its row (rising) and those that end before it (falling)."""

    left: Neighbour
    right: Neighbour
    after: list[Kept]
    before: list[Kept]

    def rows(self, leftward: bool, rows: int, t: int, q: int, columns: int) -> tuple[Any, ...]:
        """Make for each row of one side what genome_oracle_extension.one_sided takes: left and right limits, whether there is one, and masked columns."""
        use_left, use_right, limited = (np.zeros(rows + 2, np.bool_) for _ in range(3))
        left_limit, right_limit = np.zeros(rows + 2, np.int64), np.zeros(rows + 2, np.int64)
        left_column, right_column = (None if beside is None else beside[1].column(t) - q for beside in (self.left, self.right))
        if leftward:
            low, high = 0 if right_column is None else 1 - right_column, columns + 1 if left_column is None else -1 - left_column
        else:
            low, high = left_column or 0, columns + 1 if right_column is None else right_column
        starts, masks = self._masks(leftward, rows, t, q)
        # Going left the fences change roles: the one on the right gives the first column.
        one, other = (self.right, self.left) if leftward else (self.left, self.right)
        for row in range(1, rows + 1):
            if one is not None:
                if _current(one[1], leftward, row, t):
                    low += one[1].kind == DIAGONAL
                else:
                    one, column = _following(one, leftward, row, t, q, right=leftward)
                    low = column + 1
            if other is not None:
                if _current(other[1], leftward, row, t):
                    high += other[1].kind == DIAGONAL
                else:
                    other, column = _following(other, leftward, row, t, q, right=not leftward)
                    high = column - 1
            use_left[row], use_right[row] = one is not None, other is not None
            left_limit[row], right_limit[row] = low, high
            limited[row] = (one if leftward else other) is not None
        return use_left, left_limit, use_right, right_limit, limited, starts, masks, True

    def _masks(self, leftward: bool, rows: int, t: int, q: int) -> tuple[np.ndarray, np.ndarray]:
        masked: list[list[int]] = [[] for _ in range(rows + 2)]
        todo = list(self.before if leftward else self.after)
        active: list[list[Any]] = []  # piece, column, last row

        def start(piece: Piece, row: int) -> list[Any]:
            column, last, end = (
                (q - piece.query_end, t - piece.target_start, q - piece.query_start)
                if leftward
                else (piece.query_start - q, piece.target_end - t, piece.query_end - q)
            )
            if piece.kind != HORIZONTAL:
                masked[row].append(column)
            elif column >= 0:  # one that starts left of column 0 masks nothing
                masked[row] += range(column, end + 1)
            return [piece, column, last]

        for row in range(1, rows + 1):
            still = []
            for entry in active:
                piece, _, last = entry
                if last >= row:
                    entry[1] += piece.kind == DIAGONAL
                    masked[row].append(entry[1])
                    still.append(entry)
                    continue
                following = piece.previous if leftward else piece.next
                if following is None:
                    continue
                begun = start(following, row)
                if following.kind == HORIZONTAL:
                    begun = start(following.previous if leftward else following.next, row)
                still.append(begun)
            active = still
            while todo and (t - todo[0].last_row if leftward else todo[0].first_row - t) == row:
                one = todo.pop(0)
                active.insert(0, start(one.pieces[-1] if leftward else one.pieces[0], row))
        starts = np.concatenate(([0], np.cumsum([len(columns) for columns in masked]))).astype(np.int64)
        return starts, np.array([column for columns in masked for column in columns] or [0], np.int64)


def _current(piece: Piece, leftward: bool, row: int, t: int) -> bool:
    # The program's arithmetic is unsigned: left of row 0 every piece is current.
    return piece.target_start <= (t - row) & 0xFFFFFFFF if leftward else piece.target_end >= t + row


def _following(at: tuple[Kept, Piece], leftward: bool, row: int, t: int, q: int, *, right: bool) -> tuple[Neighbour, int]:
    """Find the piece a fence goes on with, and its column."""
    kept, piece = at
    step = piece.previous if leftward else piece.next
    if step is not None:
        if step.kind == HORIZONTAL:
            step = step.previous if leftward else step.next
        assert step is not None
        return (kept, step), (q - step.query_end if leftward else step.query_start - q)
    neighbour = (kept.low if leftward else kept.high)[right]
    if neighbour is None:
        return None, 0
    step = neighbour[1]
    progress = row - (t - step.target_end if leftward else step.target_start - t) if step.kind == DIAGONAL else 0
    return neighbour, (q - step.query_end if leftward else step.query_start - q) + progress


def gapped_stage(target: Letters, query: Letters, anchors: list[Anchor], costs: Costs) -> list[Alignment]:
    """Align one query strand, in LASTZ's order of output."""
    by_start: list[Kept] = []  # of equal starts the newest first
    by_end: list[Kept] = []  # falling; of equal ends the newest first
    for t, q, _ in sorted(anchors, key=lambda anchor: (-anchor[2], anchor[1], anchor[0])):
        beside = nearest(by_start, t, q)
        if beside is None:
            continue
        fences = Fences(*beside, [one for one in by_start if one.first_row > t], [one for one in by_end if one.last_row < t])
        alignment = extend(target, query, t, q, costs, fences)
        if alignment is None or alignment.score < costs.threshold:
            continue
        new = Kept(alignment)
        neighbours(by_start, new)
        by_start.insert(sum(one.first_row < new.first_row for one in by_start), new)
        by_end.insert(sum(one.last_row > new.last_row for one in by_end), new)
    return [one.alignment for one in by_start]


def align_exact(target: str | bytes, query: str | bytes, parameters: Any) -> list[tuple[str, Alignment]]:
    """Align one query in exact mode: (strand, alignment), in order of output."""
    array = letters(target)
    costs = Costs.of(parameters)
    found = []
    for strand, turned in strands(letters(query), parameters):
        found += [(strand, alignment) for alignment in gapped_stage(array, turned, anchors(array, turned, parameters), costs)]
    return found
