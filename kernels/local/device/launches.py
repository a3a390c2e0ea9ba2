"""Launches of alignment by scores: the memory that each form of the kernel is given, and what comes of it."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tidalign.kernels.local.bars import Bars
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.device.forms import Form, macros
from tidalign.kernels.local.uploaded import PAIRS_SOURCE, Uploaded
from tidalign.kernels.runtime import compiler

OVER = 0x7FFF - 127
"""Scores of 16 bits from which on a sum may not have fitted."""

UNITS = 8
"""Of pairs that a team takes at least, of a product: so often the table of a query is of use."""

WARPS = 4
"""Of a block; one table that all teams share serves up to 16."""

WAYS, THREADS = 4, 64
"""Lanes that take a pair's way back (traces.cu), and threads of a block of them."""


class Kernels:
    """Launch the kernels for one scoring, span and report on the current device."""

    def __init__(self, coding: Coding, ends: tuple[bool, ...], *, keep: bool) -> None:
        import cupy

        costs = [int(cost) for cost in coding.costs]
        self._costs = costs if len(costs) == 4 else [*costs, *costs]
        self._pieces = len(costs) // 2
        dearest = max(costs[::2])
        self.lifted = int(coding.matrix.min()) + dearest >= 0 and int(coding.matrix.max()) + dearest <= 127
        size = self._letters = coding.size + 1
        table, lifted, same = np.full((size, size), -128, np.int8), np.zeros((size, size), np.int8), np.zeros((size, size), np.uint8)
        table[:-1, :-1] = coding.matrix
        lifted[:-1, :-1] = coding.matrix + np.int8(dearest if self.lifted else 0)
        if not self.lifted:
            lifted = table
        same[:-1, :-1] = coding.same[: size - 1, : size - 1]
        self._table, self._lifted, self._same = cupy.asarray(table), cupy.asarray(lifted), cupy.asarray(same)
        self._fours = cupy.asarray(np.ascontiguousarray(lifted[:, :4]).view(np.uint32)[:, 0]) if size > 4 else cupy.zeros(size, np.uint32)
        self._keep = keep
        self._fixed: dict[str, Any] = {"ends": ends, "pieces": self._pieces, "dearest": costs[::2].index(dearest), "lifted": self.lifted, "keep": keep}

    def ready(self, forms: Iterable[tuple[Form, int]]) -> None:
        """Compile what forms need, all at once. With each, of a product, the letters of its longest query."""
        wanted = []
        for form, longest in forms:
            threads, _ = self._block(form, longest if form.product else form.strip)
            wanted.append(("local/device/scores.cu", macros(form, threads, **self._fixed)))
            if self._keep:
                wanted.append(("local/device/traces.cu", macros(form, THREADS, **self._fixed)))
        compiler.ready(wanted)

    def kept_cells(self, form: Form, query: Uploaded, target: Uploaded) -> Any:
        """Say where the cells begin that each team keeps for the way back of pairs in this order, or else for the row under a strip, and where all end: int64
        on the device."""
        import cupy

        count = len(query)
        starts = cupy.empty(-(-count // form.pairs) + 1, np.int64)
        shape = form.pairs, int(self._keep), form.strip if form.several else 0, form.team, form.columns, form.rows
        compiler.launch_block(PAIRS_SOURCE, "cells_of_teams", query.lengths, target.lengths, count, *shape, starts)
        return starts

    @property
    def cell_bytes(self) -> int:
        """Count the bytes of a kept cell."""
        return 8 * self._pieces

    def score(self, form: Form, query: Uploaded, target: Uploaded, kept: Any, most_bytes: int, bars: Bars | None) -> "Scored":
        """Launch the scores of pairs of like lengths. kept: as `kept_cells` gives it, where the way back needs it. bars: of local pairs; one that does not come
        to its bar has any score below it."""
        import cupy

        count = len(query)
        scored = Scored(form, (query.codes, query.starts, query.lengths), (target.codes, target.starts, target.lengths), count)
        scored.score, scored.column, scored.place = (cupy.empty(count, np.int32) for _ in range(3))
        tallest = int(query.longest[0]) if form.several else form.strip
        threads, shared_bytes = self._block(form, tallest)
        kernel = self._kernel("scores.cu", "local_scores", form, threads, shared_bytes)
        units = -(-count // form.pairs)
        shared = form.gang > 1
        bands_a_pair = -(-tallest // (form.gang * form.strip))
        wanted = units * bands_a_pair if shared else -(-units * form.team // threads)
        blocks = min(wanted, compiler.resident(kernel, threads, shared_bytes))
        bands = cupy.zeros(1 + wanted * (1 + 3 * form.pairs), np.int32) if shared else None
        row_room = room = 0
        if self._keep:
            scored.kept_starts = kept
            room = int(kept[units])
        elif form.several:
            row_room = int(target.longest[0])
            teams = threads // form.team  # of a block
            if not shared:
                blocks = max(1, min(blocks, most_bytes // max(1, row_room * self.cell_bytes * teams)))
            room = (units if shared else blocks * teams) * row_room
        scored.room = cupy.empty((room * self.cell_bytes // 16 + 1, 4), np.uint32)
        given = (*scored.query, *scored.target, count, self._lifted, self._fours, self._letters, *self._costs, 1)
        found = (scored.room, scored.kept_starts, np.int64(row_room), scored.score, scored.column, scored.place)
        of_product = (0, None, np.int64(0), *_bounds(bars))
        compiler.launch(kernel, blocks, threads, *given, *found, *of_product, bands, bands_a_pair, shared_bytes=shared_bytes)
        return scored

    def product(self, form: Form, query: Uploaded, target: Uploaded, slots: Any, scores: Any, bars: Bars | None, most_bytes: int) -> None:
        """Launch the scores of every query with every target: scores[query, slots[target]], int32 on the device. form: for the longest query. bars: of local
        alignments; a pair that does not come to its query's has any score below it."""
        import cupy

        tallest, longest = int(query.longest[0]), int(target.longest[0])
        threads, shared_bytes = self._block(form, tallest)
        kernel = self._kernel("scores.cu", "local_scores", form, threads, shared_bytes)
        teams = threads // form.team
        a_query = max(1, -(-len(target) // (form.pairs * teams * UNITS)))
        row_room = longest if form.several else 0
        at_once = len(query)
        if row_room:
            at_once = max(1, min(at_once, most_bytes // (row_room * self.cell_bytes * teams * a_query)))
        room = cupy.empty((at_once * a_query * teams * row_room * self.cell_bytes // 16 + 1, 4), np.uint32)
        for start in range(0, len(query), at_once):
            part = slice(start, min(len(query), start + at_once))
            sides = (query.codes, query.starts[part], query.lengths[part], target.codes, target.starts, target.lengths, len(target))
            given = (*sides, self._lifted, self._fours, self._letters, *self._costs, 1, room, None, np.int64(row_room), scores[part], None, None)
            rest = (a_query, slots, np.int64(scores.shape[1]), *_bounds(bars and bars.at(part)), None, 0)
            blocks = (part.stop - part.start) * a_query
            compiler.launch(kernel, blocks, threads, *given, *rest, shared_bytes=shared_bytes)

    def trace(self, scored: "Scored", operations: bool) -> None:
        """Launch the ways back of pairs that were scored; those of too high a score are left out."""
        import cupy

        form, count = scored.form, scored.count
        shared_bytes = 2 * self._letters * self._letters
        kernel = self._kernel("traces.cu", "local_traces", form, THREADS, shared_bytes)
        scored.ends, scored.counts = cupy.zeros((count, 4), np.int32), cupy.zeros(count, np.int32)
        if operations:
            scored.operation_ends = cupy.empty(count, np.int64)
            lengths = scored.query[2], scored.target[2]
            compiler.launch_block(PAIRS_SOURCE, "room_of_operations", *lengths, count, scored.operation_ends)
            scored.operations = cupy.empty(int(scored.operation_ends[-1]), np.uint32)
        over = np.int32(0x7FFFFFFF if form.wide else OVER)
        given = (*scored.query, *scored.target, count, self._table, self._same, self._letters, *self._costs, scored.room, scored.kept_starts, over)
        found = (scored.score, scored.column, scored.place, scored.operations, scored.operation_ends, scored.ends, scored.counts)
        compiler.launch(kernel, -(-count * WAYS // THREADS), THREADS, *given, *found, shared_bytes=shared_bytes)

    def _kernel(self, source: str, entry: str, form: Form, threads: int, shared_bytes: int) -> compiler.Kernel:
        return compiler.kernel(f"local/device/{source}", entry, macros(form, threads, **self._fixed), shared_bytes=shared_bytes)

    def _block(self, form: Form, longest: int) -> tuple[int, int]:
        """Give the threads of a block, and the bytes of its tables."""
        threads = form.gang * form.team if form.gang > 1 else 32 * WARPS
        if not form.table:
            return threads, 0
        if form.product:
            size = -(-max(longest, 1) // form.strip) * form.strip * self._letters
            return 32 * min(16, max(WARPS, size >> 13)) // 128 * 128, size
        of_team = form.pairs * form.strip * self._letters
        while form.gang == 1 and threads > 32 and threads // form.team * of_team > compiler.most_shared_bytes() // 2:
            threads //= 2
        return threads, threads // form.team * of_team


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


def _bounds(bars: Bars | None) -> tuple[Any, Any]:
    """Give bars as the kernel takes them."""
    return bars.arrays if bars else (None, None)
