"""Long pairs on the current CUDA device: the rows of `bidirectional_host`, cut at the same places, several pairs at a time.

Marco-Sola et al. 2023, Optimal gap-affine alignment in O(s) space (BiWFA, Bioinformatics 39:btad074), level by level instead of recursively: all parts of
all pairs of a group that have as many cuts behind them are cut together, and what is left in the end is aligned together. Of the first level, a sweep adds
wavefronts of many penalties at once: a block computes some diagonals more on both sides than it owns (sweep.cuh), so blocks never wait for each other, and a
single pair fills much of the GPU. Of the others, a block makes all of a part (narrow.cuh). A group's work goes through one lane (runtime/lanes.py); others run
beside it.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.bidirectional.launches import MAX_LETTERS, Launches
from tidalign.kernels.letters.sequences import PackedSequences, Sequences, pack
from tidalign.kernels.runtime.errors import DeviceLimit
from tidalign.kernels.runtime.gpu import Turns, room_beside
from tidalign.kernels.runtime.lanes import Lane, Steps, run
from tidalign.kernels.wavefront.alignments import Alignments
from tidalign.kernels.wavefront.device import CallSettings

Letters = Sequences | PackedSequences
Integers = npt.NDArray[np.int64]
Subproblems = npt.NDArray[np.void]

GROUP_PAIRS, GROUP_LETTERS = 32, 1 << 23
"""Pairs of a group, and letters of both sides: enough to fill the GPU together with a few other groups."""


GROUPS = 8
"""Groups that a call has under way: more would not be faster, and take memory."""

MOST_BESIDE = 3
"""Other calls that one may go on beside, where there is memory for them: the levels after the first leave the device idle."""

THREADS = 4
"""Threads that pack letters and put operations together while the device works on other groups."""

SUBPROBLEM = np.dtype(
    [*((name, np.int64) for name in ("pair", "q0", "q1", "t0", "t1", "begin", "end", "penalty")), *((name, np.int64, 2) for name in ("far", "slots"))]
)
"""Rows [q0, q1) and columns [t0, t1) of a pair, the states at begin and end, and the penalty in units, -1 where it is unknown (bidirectional_host.Part); where
Launches keeps how far each direction comes, and how much of it, 0 where that is not known."""


def align(queries: Letters, targets: Letters, rows: list[int], settings: CallSettings) -> tuple[dict[int, Alignments], list[int]]:
    """Align the pairs `rows`: alignments by row, and the rows that this device cannot take: too little memory, or numbers too large for its kernels."""
    import cupy

    found: dict[int, Alignments] = {}
    left: list[int] = []

    def job(rows: list[int], lane: Lane) -> Steps[None]:
        pending = [rows]
        while pending:
            these = pending.pop()
            try:
                query_side, target_side = (threads.submit(_packed, side, these) for side in (queries, targets))
                yield query_side.done
                yield target_side.done
                group = _Group(lane, threads, query_side.result(), target_side.result(), settings)
                found.update(zip(these, (yield from group.align()), strict=True))
            except (cupy.cuda.memory.OutOfMemoryError, DeviceLimit) as error:
                lane.stream.synchronize()
                cupy.get_default_memory_pool().free_all_blocks()
                if len(these) > 1:
                    pending += [these[len(these) // 2 :], these[: len(these) // 2]]
                elif isinstance(error, DeviceLimit):
                    left.extend(these)
                else:
                    crowded.extend(these)

    crowded: list[int] = []  # no memory while others had it
    with ThreadPoolExecutor(THREADS) as threads:
        with _CALLS.hold(inf):
            run((partial(job, these) for these in _groups(queries, targets, rows)), GROUPS)
        again, crowded = crowded, []
        for row in again:
            with _CALLS.hold():
                run([partial(job, [row])])
    return found, left + crowded


_CALLS = Turns()
"""Calls of `align` that go on in this process."""


def beside() -> int:
    """Tell how many calls of `align` by other threads the current device has memory for beside one."""
    return room_beside(MOST_BESIDE)


def _groups(queries: Letters, targets: Letters, rows: list[int]) -> Iterator[list[int]]:
    """Put rows of similar work together, the longest first."""
    letters = {row: length(queries, row) + length(targets, row) for row in rows}
    group: list[int] = []
    for row in sorted(rows, key=lambda row: -letters[row]):
        if group and (len(group) == GROUP_PAIRS or sum(letters[other] for other in group) + letters[row] > GROUP_LETTERS):
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def length(side: Letters, row: int) -> int:
    """Count the letters of one sequence."""
    return int(side.lengths[row] if isinstance(side, PackedSequences) else side.offsets[row + 1] - side.offsets[row])


def _packed(side: Letters, rows: list[int]) -> PackedSequences:
    """Pack the sequences `rows`, and no others."""

    def sums(pieces: list[npt.NDArray[np.uint8]]) -> Integers:
        return np.cumsum([0, *(len(piece) for piece in pieces)], dtype=np.int64)

    if isinstance(side, Sequences):
        letters = [side.letters[side.offsets[row] : side.offsets[row + 1]] for row in rows]
        return pack(Sequences(np.concatenate(letters), sums(letters)))
    codes = [side.codes[side.code_offsets[row] : side.code_offsets[row + 1]] for row in rows]
    masks = [side.ambiguous[side.ambiguous_offsets[row] : side.ambiguous_offsets[row + 1]] for row in rows]
    return PackedSequences(np.concatenate(codes), sums(codes), side.lengths[rows], np.concatenate(masks), sums(masks))


class _Group:
    """Pairs aligned together."""

    def __init__(self, lane: Lane, threads: ThreadPoolExecutor, queries: PackedSequences, targets: PackedSequences, settings: CallSettings) -> None:
        self._threads, self._settings, self._model = threads, settings, settings.model
        self._lengths = queries.lengths, targets.lengths
        self._launches = Launches(lane, settings.model, queries, targets, settings.ambiguous)

    def align(self) -> Steps[list[Alignments]]:
        """Align each pair."""
        from tidalign.kernels.bidirectional.host import LEAF

        parts = np.zeros(len(self._lengths[0]), SUBPROBLEM)
        parts["pair"], parts["q1"], parts["t1"], parts["penalty"] = np.arange(len(parts)), *self._lengths, -1
        if self._settings.free:
            parts = yield from self._between_free_ends(parts)
        whole = parts.copy()
        leaves: list[Subproblems] = []
        smallest = max(LEAF, 4 * (self._model.deepest + 1))
        while len(parts):
            gaps = (parts["q0"] == parts["q1"]) | (parts["t0"] == parts["t1"])
            of_gap = gaps & (parts["penalty"] < 0)
            parts["penalty"][of_gap] = self._gap_penalty(parts["q1"] - parts["q0"] + parts["t1"] - parts["t0"])[of_gap]
            whole["penalty"][parts["pair"][of_gap]] = parts["penalty"][of_gap]
            small = gaps | ((parts["penalty"] >= 0) & (parts["penalty"] <= smallest))
            leaves.append(parts[small])
            parts = parts[~small]
            if not self._settings.cigar:
                parts = parts[parts["penalty"] < 0]
            if len(parts):
                parts = yield from self._cut(parts, whole, smallest)
        pieces = (yield from self._finish(np.concatenate(leaves))) if self._settings.cigar else [None] * len(whole)
        return [self._alignment(part, cigar) for part, cigar in zip(whole, pieces, strict=True)]

    def _alignment(self, part: Any, cigar: npt.NDArray[np.uint32] | None) -> Alignments:
        penalty, q0, q1, t0, t1 = (
            np.array([value], np.int64) for value in (part["penalty"] * self._model.unit, *(part[name] for name in ("q0", "q1", "t0", "t1")))
        )
        return Alignments(penalty, q0, q1, t0, t1, cigar, None if cigar is None else np.array([0, len(cigar)]))

    def _gap_penalty(self, letters: Integers) -> Integers:
        model = self._model
        pieces = range(max(model.pieces, 1))
        costs = np.min([model.open_extend[piece] + (letters - 1) * model.extend[piece] for piece in pieces], axis=0)
        return np.where(letters > 0, costs, 0)

    def _between_free_ends(self, parts: Subproblems) -> Steps[Subproblems]:
        """Find what remains between the ends: the first that a pass forwards finds, and the first that one backwards finds from there."""
        n, m = self._lengths
        query_begin, query_end, target_begin, target_end = self._settings.ends
        table = self._launches.table(parts, np.full(len(parts), -1))
        table["first"], table["last"] = -np.minimum(query_begin, n), np.minimum(target_begin, m)
        table["goal_low"], table["goal_high"] = m - n - np.minimum(target_end, m), m - n + np.minimum(query_end, n)
        penalty, v, h = yield from self._free_end(table)
        ended = parts.copy()
        ended["q1"], ended["t1"], ended["penalty"] = v, h, penalty
        back = self._launches.table(ended, np.full(len(parts), -1))
        for name in ("query", "target", "query_origin", "target_origin"):
            back[name] = back[name][:, ::-1]
        back["goal_low"], back["goal_high"] = h - v - np.minimum(target_begin, h), h - v + np.minimum(query_begin, v)
        _, back_v, back_h = yield from self._free_end(back)
        ended["q0"], ended["t0"] = v - back_v, h - back_h
        return ended

    def _free_end(self, table: Subproblems) -> Steps[tuple[Integers, Integers, Integers]]:
        """Find the free ends of all problems: penalty, row and column of each."""
        keys, _, _ = yield from self._launches.sweep(table, free=True)
        k = (keys & np.uint64(MAX_LETTERS - 1)).astype(np.int64) - table["n"]
        h = np.minimum(table["m"], table["n"] + k)
        return (keys >> np.uint64(40)).astype(np.int64), h - k, h

    def _cut(self, parts: Subproblems, whole: Subproblems, smallest: int) -> Steps[Subproblems]:
        """Cut each part in two, but for those whose penalty turns out to be at most `smallest`; penalties found are those of the pairs, too."""
        known = np.where(parts["penalty"] < 0, -1, parts["penalty"] - self._launches.openings[parts["end"]])
        table = self._launches.table(parts, known)
        keys, h = yield from self._launches.cuts(table)
        total = (keys >> np.uint64(40)).astype(np.int64)
        lag, made, rank = ((keys >> np.uint64(at)).astype(np.int64) & mask for at, mask in ((31, 511), (30, 1), (27, 7)))
        k = (keys & np.uint64(MAX_LETTERS - 1)).astype(np.int64) - table["n"]
        state = np.argsort(-self._launches.openings, kind="stable")[rank]
        newest = (total + lag) // 2
        before = np.where(made == 0, newest, newest - (lag - self._launches.openings[state]))
        parts = parts.copy()
        parts["far"], parts["slots"] = table["far"], table["slots"]
        unknown = parts["penalty"] < 0
        parts["penalty"][unknown] = whole["penalty"][parts["pair"][unknown]] = total[unknown]
        entire = unknown & (parts["penalty"] <= smallest)
        left, right = parts.copy(), parts.copy()
        left["q1"] = right["q0"] = parts["q0"] + h - k
        left["t1"] = right["t0"] = parts["t0"] + h
        left["end"] = right["begin"] = state
        left["slots"][:, 1] = right["slots"][:, 0] = 0
        left["penalty"], right["penalty"] = before, parts["penalty"] - before
        return np.concatenate([parts[entire], left[~entire], right[~entire]])

    def _finish(self, leaves: Subproblems) -> Steps[list[npt.NDArray[np.uint32]]]:
        """Gather the operations of each pair from those of its leaves, which are aligned here."""
        letters = leaves["q1"] - leaves["q0"] + leaves["t1"] - leaves["t0"]
        gaps = (leaves["q0"] == leaves["q1"]) | (leaves["t0"] == leaves["t1"])
        aligned = leaves[~gaps]
        aligned = aligned[np.argsort(-aligned["penalty"], kind="stable")]  # the dearest first, so that the last to end are cheap
        table = self._launches.table(aligned, aligned["penalty"])
        runs, counts = (yield from self._launches.leaves(table)) if len(table) else (np.empty(0, np.uint32), np.empty(0, np.int32))
        insertion = (leaves["t0"] == leaves["t1"])[gaps]
        single = (letters[gaps] << 4 | np.where(insertion, 1, 2)).astype(np.uint32)
        places = np.concatenate([table["place"], len(runs) + np.arange(len(single))])
        numbers = np.concatenate([counts, letters[gaps] > 0]).astype(np.int64)
        pieces = np.concatenate([aligned, leaves[gaps]])
        joined = self._threads.submit(_joined, np.concatenate([runs, single]), places, numbers, pieces, len(self._lengths[0]))
        yield joined.done
        return joined.result()


def _joined(runs: npt.NDArray[np.uint32], places: Integers, counts: Integers, leaves: Subproblems, pairs: int) -> list[npt.NDArray[np.uint32]]:
    """Join the operations of each pair's leaves in order, the last of one and the first of the next together where they are the same."""
    order = np.lexsort((leaves["q0"] + leaves["t0"], leaves["pair"]))
    counts = counts[order]
    ends = np.cumsum(counts)
    words = runs[np.repeat(places[order] - (ends - counts), counts) + np.arange(ends[-1])]
    pair = np.repeat(leaves["pair"][order], counts)
    new = np.ones(len(words), np.bool_)
    new[1:] = ((words[1:] ^ words[:-1]) & 15 != 0) | (pair[1:] != pair[:-1])
    starts = np.flatnonzero(new)
    lengths = np.add.reduceat(words >> 4, starts) if len(starts) else np.empty(0, np.uint32)
    merged = (lengths << 4 | words[starts] & 15).astype(np.uint32)
    bounds = np.searchsorted(pair[starts], np.arange(pairs + 1))
    return [merged[start:stop].copy() for start, stop in zip(bounds, bounds[1:], strict=False)]
