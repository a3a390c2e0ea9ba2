"""Launches of alignment by scores: which pairs go together, in which form of the kernel, and the memory they are given."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.uploaded import Uploaded
from tidalign.kernels.local.vectors import NOWHERE
from tidalign.kernels.runtime import compiler, vectors
from tidalign.kernels.runtime.errors import DeviceLimit

SOURCE = "local/local.cu"

SHAPES = ((4, 16), (8, 16), (8, 20), (8, 24), (16, 16), (16, 24), (32, 16))
"""Lanes of a team and rows of a lane: the first that holds a query is taken. A longer one goes through the last in strips."""

TABLE_SHAPES = ((4, 16), (8, 16), (16, 16), (32, 16))
"""The same where scores come from tables: a lane looks up 16 rows at a time."""

OVER = 0x7FFF - 127
"""Scores of 16 bits from which on a sum may not have fitted."""

COLUMNS = 32
"""Of local.cu: steps from one place where all rows are kept to the next."""

WARPS = 4
"""Of a block whose teams have tables of their own, at most; one table that all share serves up to 16."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Form:
    """A form of the kernel: lanes of a team, rows of a lane, whether scores have 32 bits, come from tables, and whether all pairs have one query."""

    team: int
    rows: int
    wide: bool
    table: bool
    shared: bool

    @property
    def pairs(self) -> int:
        """Count the pairs of a team."""
        return 1 if self.wide else 2

    @property
    def strip(self) -> int:
        """Count the rows of a team."""
        return self.team * self.rows


@dataclass(frozen=True, slots=True)
class Launch:
    """Say what a launch takes: a form, and pairs by their places in the batch, those with the shortest targets first."""

    form: Form
    rows: Integers


def planned(n: Integers, m: Integers, table: npt.NDArray[np.bool_], *, wide: bool, shared: bool) -> Iterator[Launch]:
    """Cut pairs into launches by form. table: whether the scores of a pair must come from a table. shared: whether all have one query."""
    for tabled in (False, True):
        shapes = TABLE_SHAPES if tabled else SHAPES
        heights = np.array([team * rows for team, rows in shapes])
        shape = np.minimum(np.searchsorted(heights, n), len(shapes) - 1)
        for number in np.unique(shape[table == tabled]).tolist():
            rows = np.flatnonzero((shape == number) & (table == tabled))
            short = m[rows]
            if len(rows) and int(short.max()) < 1 << 16:
                short = short.astype(np.uint16)  # which NumPy sorts by radix
            yield Launch(Form(*shapes[number], wide, tabled, shared and tabled), rows[np.argsort(short, kind="stable")])


class Kernels:
    """Launch the kernels for one scoring, span and report on the current device."""

    def __init__(self, coding: Coding, ends: tuple[bool, ...], *, keep: bool) -> None:
        import cupy

        size = coding.size + 1
        table = np.full((size, size), -128, np.int8)
        table[:-1, :-1] = coding.matrix
        same = np.zeros((size, size), np.uint8)
        same[:-1, :-1] = coding.same[: size - 1, : size - 1]
        self._letters, self._table, self._same = size, cupy.asarray(table), cupy.asarray(same)
        costs = [int(cost) for cost in coding.costs]
        self._costs = costs if len(costs) == 4 else [*costs, *costs]
        self._pieces = len(costs) // 2
        self._keep = keep
        names = ("BEGIN_QUERY", "BEGIN_TARGET", "END_QUERY", "END_TARGET", "END_CORNER")
        self._macros: dict[str, object] = {f"LOCAL_{name}": int(value) for name, value in zip(names, ends, strict=True)}
        self._macros |= {f"LOCAL_{name}": int(getattr(vectors, name)) for name in dir(vectors) if name.startswith(("FROM_", "OPENED_"))}
        self._macros |= {"LOCAL_NOWHERE": NOWHERE, "LOCAL_PIECES": self._pieces, "LOCAL_KEEP": int(keep)}

    def kept_cells(self, form: Form, n: Integers, m: Integers) -> Integers:
        """Count what each team keeps for the way back, in cells of 8 bytes a piece: n, m are of the pairs of a launch in order."""
        tall, long = (_of_teams(lengths, form.pairs) for lengths in (n, m))
        strips = np.where(form.team == 32, -(-tall // form.strip), 1)
        steps = (long + form.team - 1 + 3) // 4 * 4
        return np.asarray(strips * form.team * (steps + -(-steps // COLUMNS) * form.rows))

    @property
    def cell_bytes(self) -> int:
        """Count the bytes of a kept cell."""
        return 8 * self._pieces

    def score(self, form: Form, query: Uploaded, target: Uploaded, rows: Integers, most_bytes: int) -> "Scored":
        """Launch the scores of pairs rows[0], rows[1], ..."""
        import cupy

        n, m = query.lengths[rows], target.lengths[rows]
        scored = Scored(form, _sent(query, rows), _sent(target, rows), len(rows))
        found = (cupy.empty(len(rows), np.int32) for _ in range(3))
        scored.score, scored.column, scored.place = found
        threads, shared_bytes = self._block(form, int(n.max(initial=0)))
        kernel = self._kernel("local_scores", form, threads, shared_bytes)
        units = -(-len(rows) // form.pairs)
        blocks = min(-(-units * form.team // threads), compiler.resident(kernel, threads, shared_bytes))
        row_room = 0
        if self._keep:
            cells = self.kept_cells(form, n, m)
            scored.kept_starts = cupy.asarray(np.cumsum(cells) - cells)
            room = int(cells.sum())
        else:
            scored.kept_starts = None
            row_room = int(m.max(initial=0)) if int(n.max(initial=0)) > form.strip else 0
            if row_room:
                blocks = max(1, min(blocks, most_bytes // (row_room * self.cell_bytes * threads // 32)))
            room = blocks * threads // 32 * row_room
        scored.room = cupy.empty((room * self.cell_bytes // 16 + 1, 4), np.uint32)
        sides = (*scored.query, *scored.target, len(rows))
        rest = (scored.room, scored.kept_starts, np.int64(row_room), scored.score, scored.column, scored.place)
        compiler.launch(kernel, blocks, threads, *sides, self._table, self._letters, *self._costs, *rest, shared_bytes=shared_bytes)
        return scored

    def trace(self, scored: "Scored", operations: bool) -> None:
        """Launch the ways back of pairs that were scored; those of too high a score are left out."""
        import cupy

        form, count = scored.form, scored.count
        threads, _ = self._block(form, 0)
        shared_bytes = self._letters * self._letters
        kernel = self._kernel("local_traces", form, threads, shared_bytes)
        scored.ends, scored.counts = cupy.zeros((count, 4), np.int32), cupy.zeros(count, np.int32)
        if operations:
            sizes = scored.query[2].astype(np.int64) + scored.target[2] + 1
            scored.operation_ends = cupy.cumsum(sizes)
            scored.operations = cupy.empty(int(scored.operation_ends[-1]), np.uint32)
        over = np.int32(0x7FFFFFFF if form.wide else OVER)
        given = (*scored.query, *scored.target, count, self._table, self._same, self._letters, *self._costs, scored.room, scored.kept_starts, over)
        found = (scored.score, scored.column, scored.place, scored.operations, scored.operation_ends, scored.ends, scored.counts)
        compiler.launch(kernel, -(-count // 128), 128, *given, *found, shared_bytes=shared_bytes)

    def _kernel(self, entry: str, form: Form, threads: int, shared_bytes: int) -> compiler.Kernel:
        macros = {"LOCAL_TEAM": form.team, "LOCAL_ROWS": form.rows, "LOCAL_WIDE": int(form.wide), "LOCAL_TABLE": int(form.table)}
        macros |= {"LOCAL_SHARED": int(form.shared), "LOCAL_THREADS": threads}
        return compiler.kernel(SOURCE, entry, self._macros | macros, shared_bytes=shared_bytes)

    def _block(self, form: Form, longest: int) -> tuple[int, int]:
        """Threads of a block, and the bytes of its tables."""
        if not form.table:
            return 32 * WARPS, 0
        if form.shared:
            size = -(-longest // form.strip) * form.strip * self._letters
            return 32 * min(16, max(WARPS, size >> 13)) // 128 * 128, size
        threads = 32 * WARPS
        while (size := threads // form.team * form.pairs * form.strip * self._letters) > compiler.most_shared_bytes() // 2 and threads > 32:
            threads //= 2
        if size > compiler.most_shared_bytes():
            raise DeviceLimit(f"tables of {self._letters} letters take {size} bytes of shared memory")
        return threads, size


class Scored:
    """Hold what a launch has on the device: of both sides codes, starts and lengths; scores and ends; what is kept for the way back, and what that found."""

    def __init__(self, form: Form, query: tuple[Any, ...], target: tuple[Any, ...], count: int) -> None:
        self.form, self.query, self.target, self.count = form, query, target, count
        self.score: Any = None
        self.column: Any = None
        self.place: Any = None
        self.room: Any = None
        self.kept_starts: Any = None
        self.ends: Any = None
        self.counts: Any = None
        self.operations: Any = None
        self.operation_ends: Any = None


def _sent(side: Uploaded, rows: Integers) -> tuple[Any, Any, Any]:
    import cupy

    return side.codes, cupy.asarray(side.starts[rows]), cupy.asarray(side.lengths[rows].astype(np.int32))


def _of_teams(lengths: Integers, pairs: int) -> Integers:
    """Take the longest of each `pairs` lengths."""
    return np.asarray(np.maximum.reduceat(lengths, np.arange(0, len(lengths), pairs)) if len(lengths) else lengths)
