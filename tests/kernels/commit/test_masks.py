"""Compare what a fence masks, row by row, with the reference model's masks; rows that look at a few columns, which may move to the right."""

import numpy as np
import pytest
from genome_oracle_extension import COLUMN, DELETE, INSERT, Alignment
from genome_oracle_fences import Fences, Kept
from kept_alignments import alignment

from tidalign.kernels.commit.paths import Paths
from tidalign.kernels.extension.side import DOWN
from tidalign.kernels.fences.follow import step
from tidalign.kernels.fences.kept import HOLES, WAITING, begin

OPERATIONS = {0: COLUMN, int(DOWN): DELETE}


def kept_of(ends: np.ndarray, ops: np.ndarray, lengths: np.ndarray) -> Kept:
    """Make the reference model's form of an alignment."""
    runs = [(OPERATIONS.get(op, INSERT), length) for op, length in zip(ops.tolist(), lengths.tolist(), strict=True)]
    target_start, target_end, query_start, query_end = ends.tolist()
    return Kept(Alignment(0, target_start, target_end, query_start, query_end, tuple(runs), False))


@pytest.mark.parametrize("leftward", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_masks_equal_the_reference(seed: int, leftward: bool) -> None:
    random = np.random.default_rng(seed)
    masked = waited = 0
    for _ in range(12):
        made = [alignment(random, 8)[:3] for _ in range(60)]
        paths = Paths()
        for ends, ops, lengths in made:
            paths.keep(ends, ops, lengths)
        models = [kept_of(*one) for one in made]
        t, q = random.integers(1000, 4000, 2).tolist()
        rows = 800 if leftward else 1500
        by_start = sorted((one for one in models if one.first_row > t), key=lambda one: one.first_row)
        by_end = sorted((one for one in models if one.last_row < t), key=lambda one: -one.last_row)
        starts, columns = Fences(None, None, by_start, by_end)._masks(leftward, rows, t, q)
        begin(paths.kept, paths.fence, np.int64(-1), np.int64(-1), np.int64(t), np.int64(q), leftward)
        low, high = 0, 40
        for row in range(1, rows + 1):
            low += int(random.integers(0, 3))
            high = max(high + int(random.integers(-2, 5)), low)
            if random.random() < 0.01:  # a gap along the query
                high += 300
            step(paths.kept, paths.fence, paths.holes, np.int64(row), np.int64(low), np.int64(high))
            holes = paths.holes[: paths.fence[HOLES]].tolist()
            assert holes == sorted(holes, key=lambda hole: hole[0])
            here = {column for first, last in holes for column in range(first, last + 1) if low <= column < high}
            assert here == {column for column in columns[starts[row] : starts[row + 1]].tolist() if low <= column < high}, row
            masked += len(here)
            waited += int(paths.fence[WAITING])
    assert masked > 300
    assert waited > 300
