"""Which anchors stay below the threshold, on the current CUDA device: FastZ's inspector as a rejection. `below` is as sure as the host twin's, said less often.

What is said of an anchor is said of an upper bound. Let U be the values of ordinary affine gaps (a cell is the best of the diagonal, a gap down and a gap
along, each of which opens from any cell) over cells that include all those that LASTZ keeps alive. A value of LASTZ's (`extension`) comes along a path of
cells that it keeps alive, by moves that U may make too at no higher cost, so U is never below it. LASTZ drops a cell that is under its line, its running best
less the y-drop; where U is under a line that is nowhere above LASTZ's, the cell may be dropped here.

The line. With M(r) the greatest sum of the first r or fewer pairs of letters on the anchor's diagonal (at least 0), LASTZ's best is at least M(r) once it has
seen cell (r, r), for r up to y-drop / largest score. For as long as the diagonal is alive its cells are worth no less than the sums. Where a cell is reached by
a pair of letters, and alive, the best is at least its value; where it is dead, the best is more by the y-drop. Where a gap is better, the gap was opened, at a
cost, from a cell that counted for the best, so the best is above it all the same. And when the diagonal has died, the best is higher than its last value by
the y-drop, which the sums do not gain in so few letters. So the line is -y-drop for the first DIAGONAL_LETTERS rows, and
M(DIAGONAL_LETTERS) - y-drop below them. It is known before the sweep, which therefore may go through the cells in any order.

Fences and masks (fences/kept.py) take cells away from LASTZ, and lower its line; neither lifts a value above U, which knows nothing of LASTZ's best but M.
So what is said holds between fences, too, as long as these leave the cells of the diagonal free whose letters M counts (gapped/speculated.py: REJECTED).

Strips of columns are swept one after the other, from the first row to the last in which anything can enter or is alive; cells are dropped only at their
borders. Separators, ends of sequences, a value that reaches the threshold, and more rows than there is memory for leave a side undecided; so does any other
letter that is none of ACGT where one of them may score 0 or more.
Only values of every fourth row and at the borders of half strips are compared with the threshold: another cell has less than `slack` more.

The score of an alignment is at most the bounds of both sides together. One thing may add to it: where a side is empty, the alignment may begin with a gap,
which LASTZ cuts off. A side is not empty where M is above 0; else the y-drop and a gap's first letter are added, as in host.py.

Letters that are none of ACGT count as one that scores with each letter what the best of them does. In the target it has a row of its own in the table of
scores. A query's letter selects bytes of that row, and none is left for a fifth, so its column selects the sign, 0 or -1, and what is missing is added: two
instructions more for two cells, in warps alone one of whose strips has such a column.

Cells: 4 operations of the integer pipe and 2 of the multiplier's for two cells (scores by PRMT, VIMNMX3, two VIADDMNMX; IMAD, VIADD), and some 12 a row.
Additions along the diagonal are of whole words: where the left half's score is negative, a carry makes the right half's value greater by 1, as a bound may be,
and by 1 more where other letters add to both.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension.costs import Costs, Integers
from tidalign.kernels.extension.sweep import ROOM as TRACEBACK
from tidalign.kernels.letters.nucleotides import SEPARATOR, Codes
from tidalign.kernels.letters.uploads import uploaded
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.errors import KernelError

SOURCE = "inspection/inspection.cu"

COLUMN_WORDS = 24
"""Words of columns that a thread holds, two columns a word."""

STRIP = 2 * COLUMN_WORDS
"""Columns of a strip."""

BLOCKS, THREADS = 4, 128
"""Blocks on a multiprocessor, threads a block."""

DIAGONAL_LETTERS = 32
"""Letters of the anchor's diagonal that the line is known by."""

MAX_ROWS, THREAD_SKEW = 2048, 32
"""Rows a side may have, and those between the memory of neighbouring threads: 4 bytes each for every thread on the GPU."""

MAX_STRIP_ROWS = 40_000
"""Rows of strips a side may take; chance takes about 10,000."""

PAD_BYTES = 256
"""Bytes of no letter around sequences: strips and groups of rows are whole."""

BATCH = 1 << 18
"""Anchors of a launch: 50 bytes each on the GPU. Two are under way, so that one begins where the other ends, and its copies hide behind it."""

MACROS: dict[str, object] = {"INSPECTION_WORDS": COLUMN_WORDS, "INSPECTION_BLOCKS": BLOCKS, "INSPECTION_PLAIN": 0}


@dataclass(frozen=True, eq=False)
class Bound:
    """The costs as the kernels take them (inspection.cu). scores: uint32[5], of A, C, G, T of the target and any other letter against A, C, G, T, a byte each.
    others: codes of other letters end here; other: what is added to the score of one of the query."""

    scores: npt.NDArray[np.uint32]
    others: int
    other: int
    opened: int
    extended: int
    start: int
    threshold: int
    line: int
    looked: int
    slack: int
    raised: int
    cells: int

    @classmethod
    def of(cls, costs: Costs) -> "Bound | None":
        """Make the bounds of these costs; None where 16 bits cannot hold them."""
        if costs.inspected is None:
            return None
        others = slice(8, SEPARATOR)
        table = np.concatenate([costs.inspected.astype(np.int64), costs.plain[others, :4].max(axis=0, keepdims=True)]).clip(-128)  # more is a bound too
        other = max(int(costs.plain[:SEPARATOR, others].max()) + 1, -127)  # 0 or -1 is the column's own
        if other > 0 or table[4].max() >= 0:
            others, other = slice(8, 8), 0
        most, least = max(int(table.max()), 0), min(int(table.min()), other - 1)
        # Of the i-th of three rows between two that are compared with the threshold: what a value gained since, or will lose at most until then.
        slack = max(min((i + 1) * (most + 2), (3 - i) * -least) for i in range(3))
        growth = 20 * (most + 2)  # of a value until it is compared
        start = 32767 - growth - costs.threshold
        if most > 127 or start - costs.ydrop < 2 * growth:
            return None
        opened, extended = costs.gap_open + costs.gap_extend, costs.gap_extend
        return cls(
            scores=table.astype(np.int8).view(np.uint32).reshape(5),
            others=others.stop,
            other=other,
            opened=opened,
            extended=extended,
            start=start,
            threshold=start + costs.threshold - slack,
            line=start - costs.ydrop,
            looked=min(DIAGONAL_LETTERS, costs.ydrop // max(most, 1)),
            slack=slack,
            raised=costs.ydrop + opened,
            cells=int(costs.compiled[2][TRACEBACK]) - (costs.ydrop // extended + 6),
        )


class Inspector:
    """Inspects anchors of one query strand on one target, whose letters stay on the GPU; of one thread at a time.

    target, query: codes (nucleotides.encode); bounds: int64[k, 2], start and end of each target sequence, ascending. A letter takes two bytes.
    `swept` counts cells of the strips that anchors took. Raises OutOfMemoryError of cupy where the letters do not fit.
    """

    def __init__(self, target: Codes, query: Codes, bounds: Any, costs: Costs) -> None:
        import cupy

        self._bound, self._threshold = Bound.of(costs), costs.threshold
        self.swept = 0
        if self._bound is None:
            return
        others = self._bound.others
        self._target, self._query = _Letters(target, False, others), _Letters(query, True, others)
        self._bounds = cupy.asarray(np.ascontiguousarray(bounds, np.int64).reshape(-1, 2))
        self._scores = cupy.asarray(self._bound.scores)

    def inspect(self, t: Any, q: Any) -> tuple[npt.NDArray[np.bool_], Integers]:
        """Reject anchors at t, q, int64[n]: (whether each is sure to stay below the threshold, its box), as `gapped.Extender.inspect`: free of fences.

        Boxes, int64[n, 4], are rows and columns left and right, at least those that LASTZ looks at; 0 where it is not sure. Anchors are left undecided
        where the GPU lacks memory for even one block. Raises KernelError where the device fails: this process cannot use it any more then.
        """
        import cupy

        t, q = np.ascontiguousarray(t, np.int64), np.ascontiguousarray(q, np.int64)
        below, boxes = np.zeros(len(t), np.bool_), np.zeros((len(t), 4), np.int64)
        if self._bound is None:
            return below, boxes
        starts = range(0, len(t), BATCH)
        try:
            turns = _turns(self, min(BATCH, len(t)), len(starts[:2]))
            for i, start in enumerate(starts if turns else ()):
                turn = turns[i % len(turns)]
                turn.collect(below, boxes)
                turn.launch(t, q, start, min(start + BATCH, len(t)))
            for turn in turns:
                turn.collect(below, boxes)
        except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
            raise KernelError(f"device {cupy.cuda.runtime.getDevice()} failed on {len(t)} anchors: {error}") from error
        return below, boxes


class _Letters:
    """Letters of a sequence as the kernels have them."""

    def __init__(self, codes: Codes, is_query: bool, others: int) -> None:
        import cupy

        self.count = len(codes)
        self.array = cupy.empty(2 * self.count + 3 * PAD_BYTES, np.uint8)
        kernel = compiler.kernel(SOURCE, "inspection_letters", MACROS)
        sent = uploaded(np.ascontiguousarray(codes, np.uint8))
        blocks = min(1024, -(-len(self.array) // 4096))  # some letters a thread
        compiler.launch(kernel, blocks, 256, sent.codes, np.int64(self.count), PAD_BYTES, int(is_query), others, self.array)

    @property
    def arguments(self) -> tuple[Any, np.int64]:
        return self.array, np.int64(self.count)


def _turns(inspector: Inspector, most: int, count: int) -> "list[_Turn]":
    """Make up to `count` turns; fewer blocks, then none, where the GPU's memory is too small."""
    import cupy

    turns: list[_Turn] = []
    sweep = compiler.kernel(SOURCE, "inspection_sweep", MACROS)
    blocks = min(compiler.resident(sweep, THREADS, 0), -(-2 * most // THREADS)) if most else 0
    while len(turns) < count and blocks:
        try:
            turns.append(_Turn(inspector, most, blocks))
        except cupy.cuda.memory.OutOfMemoryError:
            cupy.get_default_memory_pool().free_all_blocks()
            if turns:
                break
            blocks //= 2
    return turns


class _Turn:
    """A batch of up to `most` anchors on a stream of its own, with the memory it takes. Raises OutOfMemoryError of cupy."""

    def __init__(self, inspector: Inspector, most: int, blocks: int) -> None:
        import cupy

        self._of, self._blocks = inspector, blocks
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._boundary = cupy.empty(blocks * THREADS * (MAX_ROWS + THREAD_SKEW), np.uint32)
        self._places = cupy.empty((2, most), np.int64)
        self._sides, self._found = cupy.empty((2 * most, 4), np.int32), cupy.empty((2 * most, 4), np.uint16)
        self._below, self._boxes = cupy.empty(most, np.uint8), cupy.empty((most, 4), np.uint16)
        self._counts = cupy.empty(2, np.uint64)  # next side, rows of strips
        self._queue, self._work = self._counts[:1].view(np.uint32), self._counts[1:]
        self._below_here, self._boxes_here = compiler.pinned(most, np.uint8), compiler.pinned((most, 4), np.uint16)
        self._counts_here = compiler.pinned(2, np.uint64)
        self._range = (0, 0)
        cupy.cuda.get_current_stream().synchronize()  # letters are there

    def launch(self, t: Integers, q: Integers, start: int, stop: int) -> None:
        """Begin with anchors [start, stop)."""
        of, bound, count = self._of, self._of._bound, stop - start
        assert bound is not None
        self._range = (start, stop)
        with self._stream:
            self._places[0, :count].set(t[start:stop])
            self._places[1, :count].set(q[start:stop])
            self._counts.fill(0)
            letters = (*of._target.arguments, *of._query.arguments, PAD_BYTES)
            places = (self._places[0], self._places[1])
            sides = compiler.kernel(SOURCE, "inspection_sides", MACROS)
            sweep = compiler.kernel(SOURCE, "inspection_sweep", MACROS)
            blocks = -(-2 * count // THREADS)
            compiler.launch(sides, blocks, THREADS, *letters, *places, count, of._bounds, len(of._bounds), of._scores, bound.looked, self._sides)
            compiler.launch(
                *(sweep, min(self._blocks, blocks), THREADS, *letters, *places, self._sides, 2 * count, of._scores, bound.other, self._boundary),
                *(
                    _halves(-bound.opened),
                    _halves(-bound.extended),
                    bound.start,
                    bound.threshold,
                    bound.line,
                    bound.looked,
                    bound.slack,
                    MAX_ROWS,
                    MAX_STRIP_ROWS,
                ),
                *(np.uint32(1), self._queue, self._found, self._work),
            )
            verdicts = compiler.kernel(SOURCE, "inspection_verdicts", MACROS)
            compiler.launch(
                *(verdicts, -(-count // THREADS), THREADS, self._found, self._sides, count, of._threshold, bound.raised, np.int64(bound.cells)),
                *(self._below, self._boxes),
            )
            self._below[:count].get(out=self._below_here[:count], blocking=False)
            self._boxes[:count].get(out=self._boxes_here[:count], blocking=False)
            self._counts.get(out=self._counts_here, blocking=False)

    def collect(self, below: npt.NDArray[np.bool_], boxes: Integers) -> None:
        """Wait for what was begun last, and copy what it found."""
        start, stop = self._range
        if start == stop:
            return
        self._stream.synchronize()
        below[start:stop] = self._below_here[: stop - start]
        boxes[start:stop] = self._boxes_here[: stop - start]
        self._of.swept += int(self._counts_here[1]) * STRIP
        self._range = (0, 0)


def _halves(value: int) -> np.uint32:
    return np.uint32((value & 0xFFFF) * 0x10001)
