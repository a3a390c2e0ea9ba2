"""Draw alignments as exact mode keeps them, with all places that they have."""

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension.side import DOWN

LETTERS = 9000
Path = list[tuple[int, int]]


def alignment(random: np.random.Generator, longest: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8], npt.NDArray[np.int64], Path]:
    """Make one of so many runs of pairs at most: its ends, runs, and all places (row, column) that it has, those of gaps between pairs too."""
    row, column = random.integers(0, LETTERS // 2, 2).tolist()
    begin, places, ops, lengths = (row, column), [], [], []
    count = int(random.integers(1, longest))
    for i in range(count):
        ops.append(0)
        lengths.append(int(random.integers(1, 120)))
        places += [(row + k, column + k) for k in range(lengths[-1])]
        row, column = row + lengths[-1], column + lengths[-1]
        if i < count - 1:
            ops.append(int(random.integers(1, 3)))
            lengths.append(int(random.choice([1, 5, 1500])) if random.random() < 0.1 else 2)
            down = ops[-1] == DOWN
            places += [(row + k, column) if down else (row - 1, column + k) for k in range(lengths[-1])]
            row, column = row + lengths[-1] * down, column + lengths[-1] * (not down)
    ends = np.array([begin[0], row, begin[1], column])
    return ends, np.array(ops, np.uint8), np.array(lengths, np.int64), places
