"""Extensions on the current CUDA device: scores and ends as kernels/local/extension.py finds them, in a band of the matrix that is shown to be enough.

A path adds at most half of `most` a letter, most being what two letters score at best. So from a cell on antidiagonal a with score H no path comes to one on
antidiagonal b with more than H + most (b - a) / 2. Where that lies below the highest score of b, for every b that was made and every cell from which a path
leaves the band, the rule asks for nothing outside, and the band has told all. A pair's loss is the largest of most b - 2 (highest score of b); a band is enough
if most a - 2 H is larger wherever a path leaves. It is if it is k wide and most k + 2 gap(k) is above the loss, and it may narrow as the loss that is to come
does (band.cuh). Pairs whose band was too narrow are extended again in one of that width, and at last in the whole matrix.

Where a caller sets a band of W, a narrower one is tried as well; its strips have cells beyond W too. A cell that lies d diagonals from the main one lacks
most d + 2 gap(d) at least. Where that is above the loss for d = W + 1, no cell beyond W is the highest of an antidiagonal, or on the way to one: so what a band
that is enough tells of the whole matrix is so within W too. Other pairs are extended in all of W, by a kernel that makes no cell outside (MASKED), which is
always enough.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.device import forms
from tidalign.kernels.local.uploaded import Uploaded
from tidalign.kernels.runtime import compiler

SHAPES = {128: (8, 16), 2048: (16, 16), 1 << 30: (32, 16)}
"""Lanes of a team and rows of a lane, by the longest query that they are for: tall strips have little of their band to themselves where pairs are short."""

PAIRED_SHAPES = ((8, 16), (16, 16))
"""Lanes and rows of teams with two pairs (paired.cu): for so many pairs that all teams have two, or short queries; and for others."""

PAIRED_LOW = 128
"""Letters of the longest of these short queries."""

PAIRED_FROM = 16
"""Letters of the shortest query of such a pair: of fewer it knows too little."""

THREADS = 128
BLOCKS, PAIRED_BLOCKS = 3, 3
"""Of these threads, that a multiprocessor's registers are shared among."""

SCORE_SCALE = 512
"""So many times a score is what lanes hold (extensions.cu)."""

MAX_SCORE = (1 << 29) // SCORE_SCALE
"""Scores that 32 bits hold so, with room for what is none and what is subtracted from it."""

UNLIMITED = 1 << 28
"""More than any z-drop that could stop an extension."""

SAMPLE_PAIRS, SAMPLE_LETTERS = 512, 2048
"""Pairs, and letters of each side of them, that are extended first, of many more: by their losses a band is chosen for all."""

FIRST_BAND, SAMPLE_BAND = 1 / 8, 1 / 32
"""Diagonals to each side, a letter of the shorter sequence, of pairs of which nothing is known; and of these first ones, whose band need not be enough."""

LEAST_BAND = 32
"""Diagonals to each side that a band has besides, some half of which a pair of any length needs."""

TAIL_DIAGONALS = 48
"""Diagonals to each side that a band has left at its end, and an eighth of what it begins with."""

ENOUGH_SHARE = 0.95
"""Share of the sample whose band is wide enough for the band of all."""


class Extensions:
    """Extend pairs by one scoring."""

    def __init__(self, coding: Coding, zdrop: int | None, end_bonus: int, band: int | None = None) -> None:
        import cupy

        costs = [int(cost) for cost in coding.costs]
        self._pieces = [(first - more, more) for first, more in zip(costs[::2], costs[1::2], strict=True)]
        self._costs = costs if len(costs) == 4 else [*costs, *costs]
        self._most = max(0, int(coding.matrix.max()))
        self._zdrop, self._end_bonus, self._limit = -1 if zdrop is None else zdrop, end_bonus, band
        self._dearest = max(extended for _, extended in self._pieces)
        if band is not None:  # whose cells may have nothing but mismatches before them
            self._dearest = max(self._dearest, -int(coding.matrix.min()) // 2 + 1)
        self._named = coding.scoring.letters[:4] != "ACGT"
        size = self._letters = coding.size + 1
        table = np.full((size, size), -128, np.int8)
        table[:-1, :-1] = coding.matrix
        self._table = cupy.asarray(table)
        self._fours = cupy.asarray(np.ascontiguousarray(table[:, :4]).view(np.uint32)[:, 0]) if size > 4 else cupy.zeros(size, np.uint32)
        lift = max(costs[::2]) + self._most
        lifted = np.zeros((size, 4), np.int64)
        lifted[:-1] = coding.matrix[:, :4].astype(np.int64) - self._most + lift
        self._paired = bool(
            end_bonus == 0 and self._most > 0 and min(costs) > 0 and lifted.min() >= 0 and lift <= 127 and 2 * self._most * SCORE_SCALE < 1 << 15
        )
        self._lifted_fours = cupy.asarray(np.ascontiguousarray(lifted.astype(np.uint8)).view(np.uint32)[:, 0])

    def possible(self, query: Uploaded, target: Uploaded) -> Any:
        """Tell which pairs' scores fit (bool, on the device)."""
        n, m = query.lengths.astype(np.int64), target.lengths.astype(np.int64)
        shorter = n + (m - n) * (m < n)
        return (self._most * shorter < MAX_SCORE) & ((n + m) * self._dearest + 2 * sum(self._costs) < MAX_SCORE) & ((n + m) * max(1, self._most) < 1 << 29)

    def ends(self, query: Uploaded, target: Uploaded, most_bytes: int) -> tuple[Any, Any, Any]:
        """Extend pairs -> scores, query ends and target ends, int32 on the device."""
        import cupy

        count = len(query)
        found = cupy.zeros((3, count), np.int32)
        n, m = query.lengths, target.lengths
        shorter = cupy.minimum(n, m)
        widest = cupy.maximum(n, m)
        left = cupy.arange(count)
        share, narrows = FIRST_BAND, count > 8 * SAMPLE_PAIRS
        if narrows:
            share = self._share(query, target, left[:: count // SAMPLE_PAIRS], most_bytes)
        bands = self._band(shorter, widest, left, share)
        tails = cupy.where(bands < widest[left], bands // 8 + TAIL_DIAGONALS, bands).astype(np.int32) if narrows else bands
        for last in (False, True, True):
            losses, enough = self._tried(query, target, left, bands, tails, most_bytes, found)
            again = cupy.flatnonzero(~enough)
            left = left[again]
            if not len(left):
                break
            needed = self._needed(losses[again])
            needed += needed // 16 + 8
            whole = last | (needed * 2 > shorter[left])
            bands = tails = cupy.where(whole, widest[left], needed).astype(np.int32)
        return found[0], found[1], found[2]

    def _share(self, query: Uploaded, target: Uploaded, sample: Any, most_bytes: int) -> float:
        """Choose a band for all, diagonals a letter of the shorter sequence, by what the first letters of some pairs lose."""
        import cupy

        first, other = (replace(side, lengths=cupy.minimum(side.lengths, SAMPLE_LETTERS)) for side in (query.at(sample), target.at(sample)))
        whole = cupy.minimum(query.lengths[sample], target.lengths[sample])
        shorter, widest = (choose(first.lengths, other.lengths) for choose in (cupy.minimum, cupy.maximum))
        rows = cupy.arange(len(sample))
        bands = self._band(shorter, widest, rows, SAMPLE_BAND)
        losses, enough = self._tried(first, other, rows, bands, bands, most_bytes, cupy.empty((3, len(sample)), np.int32))
        needed = cupy.where(enough, cupy.minimum(bands, self._needed(losses)), self._needed(losses))
        shares = cupy.sort(cupy.maximum(needed - LEAST_BAND // 2, 0) / cupy.maximum(shorter, 1))
        middle, most = (float(shares[int(part * (len(sample) - 1))]) for part in (0.5, ENOUGH_SHARE))
        # Of longer pairs shares differ less.
        return middle + (most - middle) * math.sqrt(int(shorter.sum()) / max(1, int(whole.sum())))

    def _band(self, shorter: Any, widest: Any, rows: Any, share: float) -> Any:
        import cupy

        bands = (shorter[rows] * share).astype(np.int32) + LEAST_BAND
        return cupy.where(bands * 2 > shorter[rows], widest[rows], bands).astype(np.int32)

    def _needed(self, losses: Any) -> Any:
        """Give the band that is enough for these losses."""
        import cupy

        bands = cupy.zeros(len(losses), np.int64)
        for opened, extended in self._pieces:
            if (slope := self._most + 2 * extended) == 0:
                return cupy.full(len(losses), 1 << 28, np.int64)
            bands = cupy.maximum(bands, (losses.astype(np.int64) - 2 * opened) // slope + 1)
        return bands

    def _tried(self, query: Uploaded, target: Uploaded, rows: Any, bands: Any, tails: Any, most_bytes: int, found: Any) -> tuple[Any, Any]:
        """Extend these pairs as `_launched` does, and within the band that all have: those whose own is no narrower, in that."""
        import cupy

        if self._limit is None:
            return self._launched(query, target, rows, bands, tails, most_bytes, found, masked=False)
        losses, enough = cupy.empty(len(rows), np.int32), cupy.empty(len(rows), np.bool_)
        limited = bands >= self._limit
        for masked in (False, True):
            if not len(taken := cupy.flatnonzero(limited == masked)):
                continue
            places = rows[taken]
            limits = cupy.full(len(taken), self._limit, np.int32)
            each, ends = (limits, limits) if masked else (bands[taken], tails[taken])
            losses[taken], told = self._launched(query, target, places, each, ends, most_bytes, found, masked=masked)
            inside = cupy.maximum(query.lengths[places], target.lengths[places]) <= self._limit
            enough[taken] = told & (inside | (self._needed(losses[taken]) <= self._limit + 1) | masked)
        return losses, enough

    def _launched(self, query: Uploaded, target: Uploaded, rows: Any, bands: Any, tails: Any, most_bytes: int, found: Any, *, masked: bool) -> tuple[Any, Any]:
        """Extend these pairs within bands; `found` takes their scores and ends. Returns their losses, and whether their bands were enough."""
        import cupy

        losses, enough = cupy.empty(len(rows), np.int32), cupy.empty(len(rows), np.bool_)
        n = query.lengths[rows]
        tabled = target.others[rows] | self._named
        work = (n.astype(np.int64) + 1) * cupy.minimum(target.lengths[rows], 2 * bands.astype(np.int64) + SCORE_SCALE)
        order = cupy.argsort(-work)
        paired = ~tabled[order] & (n[order] >= PAIRED_FROM) & self._paired
        left = [order[~paired]]
        order = order[paired]
        many = len(order) >= 2 * THREADS // PAIRED_SHAPES[0][0] * PAIRED_BLOCKS * compiler.multiprocessors()
        high = (n[order] > PAIRED_LOW) & (not many)
        for tall, (team, rows_of_lane) in enumerate(PAIRED_SHAPES):
            if len(taken := order[high == bool(tall)]):
                form = forms.Form(team, rows_of_lane, wide=False, table=False, product=False, several=True)
                places = rows[taken]
                each, enough[taken], sure = self._launch_paired(form, query.at(places), target.at(places), bands[taken], tails[taken], most_bytes, masked)
                found[:, places] = each[:3]
                losses[taken] = each[3]
                left.append(taken[~sure])
        order = cupy.concatenate(left)
        shape = cupy.searchsorted(cupy.asarray(list(SHAPES)), n.astype(np.int64))
        for number, (team, rows_of_lane) in enumerate(SHAPES.values()):
            for table in (False, True):
                taken = order[(shape[order] == number) & (tabled[order] == table)]
                if len(taken):
                    form = forms.Form(team, rows_of_lane, wide=True, table=table, product=False, several=True)
                    places = rows[taken]
                    each, enough[taken] = self._launch(form, query.at(places), target.at(places), bands[taken], tails[taken], most_bytes, masked)
                    found[:, places] = each[:3]
                    losses[taken] = each[3]
        return losses, enough

    def _launch(self, form: forms.Form, query: Uploaded, target: Uploaded, bands: Any, tails: Any, most_bytes: int, masked: bool) -> tuple[Any, Any]:
        """Extend pairs in one form of the kernel -> int32[4, n]: scores, query ends, target ends, losses; and whether bands were enough."""
        import cupy

        count, pieces, teams = len(query), len(self._pieces), THREADS // form.team
        macros = forms.macros(form, THREADS, ends=(False,) * 5, pieces=pieces, dearest=0, lifted=False, keep=False)
        macros |= {"LOCAL_BONUS": int(self._end_bonus > 0), "LOCAL_BLOCKS": BLOCKS, "LOCAL_MASKED": int(masked)}
        shared_bytes = teams * form.strip * self._letters if form.table else 0
        kernel = compiler.kernel("local/device/extensions.cu", "local_extensions", macros, shared_bytes=shared_bytes)
        memory, blocks = self._room(form, query, target, compiler.resident(kernel, THREADS, shared_bytes), count, most_bytes)
        row_room = int(memory[1])
        last_row_room = row_room if self._end_bonus > 0 else 0
        last = cupy.empty(blocks * teams * last_row_room + 1, np.int32)
        found, enough = cupy.empty((4, count), np.int32), cupy.empty(count, np.bool_)
        sides = (query.codes, query.starts, query.lengths, target.codes, target.starts, target.lengths, count)
        rule = (self._zdrop, max(self._pieces)[1], self._end_bonus, self._most)
        given = (*sides, self._table, self._fours, self._letters, *self._costs, 1, SCORE_SCALE, *rule, bands, tails, cupy.zeros(1, np.int32))
        compiler.launch(kernel, blocks, THREADS, *given, *memory, last, np.int64(last_row_room), *found, enough, shared_bytes=shared_bytes)
        return found, enough

    def _room(self, form: forms.Form, query: Uploaded, target: Uploaded, resident: int, units: int, most_bytes: int) -> tuple[Any, int]:
        """Give memory to the teams of a launch: of each room for a row of cells, and for all antidiagonals; and the number of blocks."""
        import cupy

        row_room, diagonals_room = int(target.lengths.max()) + 1, int((query.lengths.astype(np.int64) + target.lengths).max()) + 1
        teams, cell_bytes = THREADS // form.team, 8 * len(self._pieces)
        a_block = teams * (row_room * (cell_bytes + 4 * (self._end_bonus > 0)) + 8 * diagonals_room)
        blocks = max(1, min(-(-units // teams), resident, most_bytes // a_block))
        cells = cupy.empty((blocks * teams * row_room * cell_bytes // 16 + 1, 4), np.uint32)
        return (cells, np.int64(row_room), cupy.empty(blocks * teams * diagonals_room, np.int64), np.int64(diagonals_room)), blocks

    def _launch_paired(
        self, form: forms.Form, query: Uploaded, target: Uploaded, bands: Any, tails: Any, most_bytes: int, masked: bool
    ) -> tuple[Any, Any, Any]:
        """Extend pairs two a team -> as `_launch`, and of which of them this is so."""
        import cupy

        count, firsts, units = len(query), self._costs[::2], -(-len(query) // 2)
        macros = forms.macros(form, THREADS, ends=(False,) * 5, pieces=len(self._pieces), dearest=firsts.index(max(firsts)), lifted=True, keep=False)
        macros |= {"LOCAL_MASKED": int(masked), "LOCAL_BLOCKS": PAIRED_BLOCKS}
        kernel = compiler.kernel("local/device/paired.cu", "local_paired_extensions", macros)
        room, blocks = self._room(form, query, target, compiler.resident(kernel, THREADS, 0), units, most_bytes)
        found, enough, sure = cupy.empty((4, count), np.int32), cupy.empty(count, np.bool_), cupy.empty(count, np.bool_)
        sides = (query.codes, query.starts, query.lengths, target.codes, target.starts, target.lengths, count)
        rule = (min(self._zdrop, UNLIMITED), self._most)
        given = (*sides, self._lifted_fours, self._letters, *self._costs, 1, *rule, bands, tails, cupy.zeros(1, np.int32))
        compiler.launch(kernel, blocks, THREADS, *given, *room, *found, enough, sure)
        return found, enough, sure
