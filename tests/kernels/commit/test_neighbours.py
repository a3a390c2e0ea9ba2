"""Compare what finds kept alignments near a place, beside it or in a box with plain searches of all their places; alignments cross many blocks."""

from typing import Any

import numpy as np
import pytest
from kept_alignments import LETTERS, Path, alignment

from tidalign.kernels.commit.beside import beside
from tidalign.kernels.commit.near import MARGIN, clear, clear_diagonal
from tidalign.kernels.commit.paths import NEAR_DIAGONALS, Paths
from tidalign.kernels.fences.kept import HIGH_TARGET, LOW_TARGET, OWNER
from tidalign.kernels.gapped.speculated import REJECTION_LETTERS


def check_diagonal(paths: Paths, made: list[tuple[Any, Any, Any, Path]], since: int, target: int, query: int, seen: dict[str, int]) -> None:
    """Check that a diagonal is not said to be clear where an alignment is as near as its fences may be, or changes sides; count those beside it."""
    tells = clear_diagonal(paths.kept, np.int64(target), np.int64(query), np.int64(since))
    reach = int(REJECTION_LETTERS + MARGIN)
    near = beside_it = False
    for *_, places in made[since:]:
        offsets = [column - row - (query - target) for row, column in places if abs(row - target) <= reach]
        near |= bool(offsets) and min(offsets) <= 2 * MARGIN and max(offsets) >= -2 * MARGIN
        beside_it |= any(abs(offset) <= reach for offset in offsets)
    assert not (tells and near)
    if near:
        seen["on diagonal"] += 1
    elif tells and beside_it:
        seen["beside diagonal"] += 1


@pytest.mark.parametrize("seed", range(4))
def test_against_plain_searches(seed: int) -> None:
    random = np.random.default_rng(seed)
    made = [alignment(random, 40 if seed % 2 else 4) for _ in range(60 if seed % 2 else 300)]
    paths = Paths()
    for _ in range(2):  # what was forgotten is not found
        paths.clear()
        for ends, ops, lengths, _ in made:
            paths.keep(ends, ops, lengths)
    first: list[dict[int, int]] = []  # the first column of each row
    for _, _, _, places in made:
        rows: dict[int, int] = {}
        for row, column in places:
            rows.setdefault(row, column)
        first.append(rows)
    seen = {"near": 0, "far": 0, "left": 0, "right": 0, "none": 0, "clear": 0, "met": 0, "on diagonal": 0, "beside diagonal": 0}
    for _ in range(200):
        target, query = random.integers(0, LETTERS, 2).tolist()
        if random.random() < 0.3:
            target, query = made[random.integers(len(made))][3][0]
        there = [(rows[target], -made[k][0][0], k) for k, rows in enumerate(first) if target in rows]
        near = paths.near([target], [query])[0]
        assert near == any(abs(column - query) <= NEAR_DIAGONALS for column, *_ in there)
        seen["near" if near else "far"] += 1
        on, left, right = beside(paths.kept, np.int64(target), np.int64(query))
        assert on == any(column == query for column, *_ in there)
        for piece, name, chosen in (
            (left, "left", max((one for one in there if one[0] < query), default=None)),
            (right, "right", min(((column, -start, -k) for column, start, k in there if column > query), default=None)),
        ):
            if chosen is None:
                assert piece == -1
                seen["none"] += 1
            else:
                assert paths.kept.pieces[piece, OWNER] == abs(chosen[2])
                seen[name] += 1
        high, wide = (int(2.0 ** random.uniform(0, 8)), int(2.0 ** random.uniform(0, 15)))
        box = np.int64(target - high), np.int64(target + high), np.int64(query - wide), np.int64(query + wide)
        low, last, left_column, right_column = box[0] - MARGIN, box[1] + MARGIN, box[2] - MARGIN, box[3] + MARGIN
        since = int(random.integers(len(made))) if random.random() < 0.3 else 0
        met = any(low <= row <= last and left_column <= column <= right_column for *_, places in made[since:] for row, column in places)
        assert clear(paths.kept, *box, np.int64(since)) == (not met)
        seen["met" if met else "clear"] += 1
        beside_it = int(random.integers(-40, 40)) if random.random() < 0.5 else 0
        check_diagonal(paths, made, since, target, query + beside_it, seen)
    assert min(seen.values()) > 5, seen
    assert len(paths) == len(made)
    assert (paths.kept.alignments[: len(made), LOW_TARGET] == [ends[0] for ends, *_ in made]).all()
    assert (paths.kept.alignments[: len(made), HIGH_TARGET] == [ends[1] - 1 for ends, *_ in made]).all()
