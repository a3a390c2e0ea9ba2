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
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.device import forms
from tidalign.kernels.local.uploaded import Uploaded
from tidalign.kernels.runtime import compiler

SOURCE = "local/device/plan.cu"

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
        pieces = [*self._pieces, (0, 0)][:2]
        self._rule = (self._most, len(self._pieces), *pieces[0], *pieces[1])
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

    def possible(self, query: Uploaded, target: Uploaded) -> npt.NDArray[np.bool_]:
        """Tell which pairs' scores fit."""
        import cupy

        count = len(query)
        found = cupy.empty(count, np.bool_)
        most = np.int64(MAX_SCORE), np.int64(1 << 29), self._most, self._dearest, np.int64(2 * sum(self._costs))
        compiler.launch_each(SOURCE, "pairs_possible", count, query.lengths, target.lengths, count, *most, found)
        return np.asarray(found.get())

    def ends(self, query: Uploaded, target: Uploaded, most_bytes: int) -> Any:
        """Extend pairs -> scores, query ends and target ends, int32[3, pairs] on the device."""
        import cupy

        count = len(query)
        found = cupy.zeros((3, count), np.int32)
        share, narrows = FIRST_BAND, count > 8 * SAMPLE_PAIRS
        if narrows:
            share = self._share(query, target, np.arange(0, count, count // SAMPLE_PAIRS), most_bytes)
        bands, tails = self._begun(query, target, share, narrows)
        rows = None  # all
        for last in (False, True, True):
            losses, enough = self._tried(query, target, rows, bands, tails, most_bytes, found)
            rows, bands = self._again(query, target, rows, losses, enough, whole=last)
            tails = bands
            if not len(rows):
                break
        return found

    def _share(self, query: Uploaded, target: Uploaded, sample: npt.NDArray[np.int64], most_bytes: int) -> float:
        """Choose a band for all, diagonals a letter of the shorter sequence, by what the first letters of some pairs lose."""
        import cupy

        taken = query.at(sample), target.at(sample)
        whole = [side.lengths.get() for side in taken]
        cut = [np.minimum(lengths, SAMPLE_LETTERS) for lengths in whole]
        first, other = (replace(side, lengths=cupy.asarray(lengths)) for side, lengths in zip(taken, cut, strict=True))
        bands, tails = self._begun(first, other, SAMPLE_BAND, False)
        losses, enough = (each.get() for each in self._tried(first, other, None, bands, tails, most_bytes, cupy.empty((3, len(sample)), np.int32)))
        needed, shorter = self._needed(losses), np.minimum(*cut)
        needed = np.where(enough, np.minimum(bands.get(), needed), needed)
        shares = np.sort(np.maximum(needed - LEAST_BAND // 2, 0) / np.maximum(shorter, 1))
        middle, most = (float(shares[int(part * (len(sample) - 1))]) for part in (0.5, ENOUGH_SHARE))
        # Of longer pairs shares differ less.
        return middle + (most - middle) * math.sqrt(int(shorter.sum(dtype=np.int64)) / max(1, int(np.minimum(*whole).sum(dtype=np.int64))))

    def _begun(self, query: Uploaded, target: Uploaded, share: float, narrows: bool) -> tuple[Any, Any]:
        """Give the first bands of pairs, and how wide they end."""
        import cupy

        count = len(query)
        bands, tails = cupy.empty(count, np.int32), cupy.empty(count, np.int32)
        given = np.float64(share), LEAST_BAND, int(narrows), TAIL_DIAGONALS
        compiler.launch_each(SOURCE, "bands_begun", count, query.lengths, target.lengths, count, *given, bands, tails)
        return bands, tails

    def _needed(self, losses: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Give the band that is enough for these losses, as plan.cu does."""
        bands = np.zeros(len(losses), np.int64)
        for opened, extended in self._pieces:
            if (slope := self._most + 2 * extended) == 0:
                return np.full(len(losses), 1 << 28, np.int64)
            bands = np.maximum(bands, (losses.astype(np.int64) - 2 * opened) // slope + 1)
        return bands

    def _again(self, query: Uploaded, target: Uploaded, rows: Any, losses: Any, enough: Any, *, whole: bool) -> tuple[Any, Any]:
        """Give the pairs whose bands were not enough, and their next ones."""
        import cupy

        count = len(losses)
        left, bands, taken = cupy.empty(count, np.int64), cupy.empty(count, np.int32), cupy.zeros(1, np.int32)
        compiler.launch_each(
            SOURCE, "extensions_again", count, rows, count, query.lengths, target.lengths, losses, enough, int(whole), *self._rule, left, bands, taken
        )
        return left[: int(taken[0])], bands[: int(taken[0])]

    def _tried(self, query: Uploaded, target: Uploaded, rows: Any, bands: Any, tails: Any, most_bytes: int, found: Any) -> tuple[Any, Any]:
        """Extend these pairs (None: all) within bands, and within the one that all have: those whose own is no narrower, in that. `found` takes their scores
        and ends. Returns their losses, and whether their bands were enough."""
        import cupy

        count = len(bands)
        told = cupy.empty(count, np.int32), cupy.empty(count, np.bool_)
        picks: list[tuple[bool, Any]] = [(False, None)]
        if self._limit is not None:
            places, counts = cupy.empty((2, count), np.int64), cupy.zeros(2, np.int32)
            compiler.launch_each(SOURCE, "bands_within", count, bands, count, self._limit, *places, counts)
            picks = [(bool(masked), places[masked, :taken]) for masked, taken in enumerate(counts.get().tolist()) if taken]
        for masked, places in picks:
            given = query, target, rows, bands, tails, most_bytes, masked, found, told
            unsure = self._launched(places, *given, paired=self._paired)
            if len(unsure):
                self._launched(unsure, *given, paired=False)
        return told

    def _launched(
        self,
        picks: Any,
        query: Uploaded,
        target: Uploaded,
        rows: Any,
        bands: Any,
        tails: Any,
        most_bytes: int,
        masked: bool,
        found: Any,
        told: tuple[Any, Any],
        *,
        paired: bool,
    ) -> Any:
        """Extend these of the pairs (None: all), two a team where that may be; gives those of which it was not sure."""
        import cupy

        count, limit = len(bands) if picks is None else len(picks), self._limit if masked else -1
        keys, counts = cupy.empty(count, np.int64), cupy.zeros(2 + 2 * len(SHAPES), np.int32)
        kinds = int(self._named), PAIRED_FROM if paired else -1, PAIRED_LOW, *list(SHAPES)[:2], SCORE_SCALE
        compiler.launch_each(
            SOURCE, "keys_of_extensions", count, picks, rows, count, query.lengths, target.lengths, target.others, bands, limit, *kinds, keys, counts
        )
        order, ends = forms.ordered(keys), np.cumsum(counts.get()).tolist()
        many = ends[1] >= 2 * THREADS // PAIRED_SHAPES[0][0] * PAIRED_BLOCKS * compiler.multiprocessors()
        unsure, left = cupy.empty(ends[1], np.int64), cupy.zeros(1, np.int32)
        for kind, (start, stop) in enumerate(pairwise([0, *ends])):
            if start == stop:
                continue
            places, of = cupy.empty(stop - start, np.int64), cupy.empty(stop - start, np.int64)
            each, ending = cupy.empty(stop - start, np.int32), cupy.empty(stop - start, np.int32)
            compiler.launch_each(
                SOURCE, "extensions_taken", stop - start, order[start:stop], stop - start, picks, rows, bands, tails, limit, places, of, each, ending
            )
            sides = query.at(of), target.at(of)
            if kind < 2:
                form = forms.Form(*PAIRED_SHAPES[kind == 1 and not many], wide=False, table=False, product=False, several=True)
                values, enough, sure = self._launch_paired(form, *sides, each, ending, most_bytes, masked)
            else:
                shape = list(SHAPES.values())[(kind - 2) // 2]
                form = forms.Form(*shape, wide=True, table=kind % 2 == 1, product=False, several=True)
                (values, enough), sure = self._launch(form, *sides, each, ending, most_bytes, masked), None
            lengths = stop - start, sides[0].lengths, sides[1].lengths
            rule = -1 if self._limit is None else self._limit, int(masked), *self._rule, np.int64(found.shape[1])
            compiler.launch_each(SOURCE, "extensions_placed", stop - start, places, of, *lengths, values, enough, sure, *rule, found, *told, unsure, left)
        return unsure[: int(left[0])]

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

        row_room = int(target.longest[0]) + 1
        diagonals_room = int(query.longest[0]) + row_room
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
