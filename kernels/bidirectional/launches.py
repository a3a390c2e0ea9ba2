"""The launches of the bidirectional algorithm on the current CUDA device: many parts of many pairs at a time (bidirectional.cu)."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.bidirectional.rows import Memory, allot, move, on_device
from tidalign.kernels.letters.sequences import PackedSequences
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.errors import DeviceLimit
from tidalign.kernels.runtime.lanes import Lane, Steps
from tidalign.kernels.wavefront.device import SMALL
from tidalign.kernels.wavefront.model import Model

Integers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Subproblems = npt.NDArray[np.void]

SHAPES = ((128, 512), (64, 1024), (32, 512), (16, 512), (16, 128))
"""Penalties a sweep adds, and diagonals of a block: the first whose rows fit on chip, from the second on for groups of more than FEW letters, from the fourth
on for a HUGE pair."""

NARROW = 16, 128
"""Shape of a block that makes all of a part, as long as its wavefronts are so narrow; then it is a sweep's."""

FEW, HUGE = 1 << 18, 1 << 22
"""Letters of a group that does not fill the device, so that launches are what it waits for; letters of a pair whose rows are what memory is short for, as there
are more of them the more penalties a sweep adds."""

EACH = 2  # diagonals of a thread of a sweep
GRAIN = 16  # bidirectional.cuh

LIGHT_BLOCKS = 256
"""Blocks of a sweep from which on it first keeps no rows but those that the next one reads: memory is what sweeps of many blocks wait for."""

ALL, LAST, AGAIN = 0, 1, 2  # sweep.cuh

POLL_STEPS, POLLS = 512, 16
"""Penalties between two looks at what sweeps found: at least so many, or one in so many of those that there were."""

FIRST_STEPS = 2048
"""Penalties that rows are allotted for at first where the penalty is unknown; then twice as many, until it can be told how many are enough."""

MEET_BLOCKS, MEET_THREADS = 32, 256
WORD_BLOCKS, WORD_THREADS = 16, 256
LEAF_THREADS = 256

# What keys of 64 bits hold (bidirectional.cuh).
MAX_LETTERS, MAX_STEPS, MAX_LAG = 1 << 27, 1 << 23, 511
NO_KEY = np.uint64(2**64 - 1)

_BOTH = ("query", "target", "query_origin", "target_origin", "state", "far", "slots")  # one for each direction
_FIELDS = (
    *("query", "target", "query_origin", "target_origin", "n", "m", "state", "known", "place", "width", "centre", "first", "last", "goal_low", "goal_high"),
    *("far", "slots", "measured"),
)
TABLE = np.dtype({"names": _FIELDS, "formats": [np.dtype((np.int64, 2)) if name in _BOTH else np.dtype(np.int64) for name in _FIELDS]})
"""The struct Part of bidirectional.cuh."""


class Launches:
    """Launch the kernels for a group of pairs, whose letters it holds on the device."""

    def __init__(self, lane: Lane, model: Model, queries: PackedSequences, targets: PackedSequences, ambiguous: int) -> None:
        self._lane, self._model, self._sides = lane, model, (queries, targets)
        self._ambiguous = ambiguous if len(queries.ambiguous) + len(targets.ambiguous) else 0
        opening = [both - extension for both, extension in zip(model.open_extend[: model.pieces], model.extend, strict=False)]
        self.openings = np.array([0, *(each for each in opening for _ in "ID")])
        self._least = min(model.extend[: max(model.pieces, 1)])
        self._slack = model.deepest + int(self.openings.max()) - 1
        letters = queries.lengths + targets.lengths
        tried = SHAPES[3 if letters.max() >= HUGE else int(letters.sum() > FEW) :]
        fitting = [shape for shape in tried if self._sweep_bytes(*shape) <= compiler.most_shared_bytes()]
        if not fitting or self._slack + 1 > MAX_LAG or letters.max() >= MAX_LETTERS:
            raise DeviceLimit("these penalties or lengths are more than the bidirectional kernels take")
        self._steps, self._columns = fitting[0]
        self._own = self._columns - 2 * ((self._steps - 1) // self._least + 1)  # diagonals of a block that no other makes
        self._shared = self._sweep_bytes(self._steps, self._columns)
        self._send()

    def _sweep_bytes(self, steps: int, columns: int) -> int:
        halo = (steps - 1) // self._least + 1
        return 4 * self._model.rows * (columns + 2) if columns > 2 * halo else 2**31

    def _send(self) -> None:
        """Send the letters to the device, and make words of them there, forwards and backwards."""
        import cupy

        count = len(self._sides[0])
        ends = np.cumsum([side.lengths // 16 + 2 for side in self._sides for _ in range(2)])
        self._places = np.concatenate([[0], ends[:-1]]).reshape(2, 2, count)  # by side and direction
        self._words = cupy.empty(int(ends[-1]), np.uint32)
        self._far = cupy.zeros(0, np.int32)  # how far directions of all parts have come, each at its place
        self._masks = cupy.empty(int(ends[-1]), np.uint32) if self._ambiguous else None
        function = self._kernel("bidirectional_words")
        arrays = [
            array
            for side, places in zip(self._sides, self._places, strict=True)
            for array in (side.codes, side.code_offsets, side.lengths, side.ambiguous, side.ambiguous_offsets, places.ravel())
        ]
        staged = self._lane.stage([(array.size, array.dtype) for array in arrays])
        for array, place in zip(arrays, staged, strict=True):
            place[:] = array
        sent = self._lane.send(staged)
        for *letters, word_places in (sent[:6], sent[6:]):
            compiler.launch(function, count * WORD_BLOCKS, WORD_THREADS, *letters, count, WORD_BLOCKS, word_places, self._words, self._masks)

    def _kernel(self, entry: str, *, free: bool = False, shared_bytes: int = 0, shape: tuple[int, int] | None = None) -> Any:
        steps, columns = shape or (self._steps, self._columns)
        macros = self._model.macros | {
            "WAVEFRONT_AMBIGUOUS": self._ambiguous,
            "BIDIRECTIONAL_STEPS": steps,
            "BIDIRECTIONAL_COLUMNS": columns,
            "BIDIRECTIONAL_EACH": EACH,
            "BIDIRECTIONAL_FREE": int(free),
        }
        return compiler.kernel("bidirectional/bidirectional.cu", entry, macros, shared_bytes=shared_bytes)

    def table(self, parts: Subproblems, known: Integers) -> Subproblems:
        """Give what the kernels take, without rows. `parts`: bidirectional_device.SUBPROBLEM."""
        table = np.zeros(len(parts), TABLE)
        for side, (name, begin, end, count) in enumerate((("query", "q0", "q1", "n"), ("target", "t0", "t1", "m"))):
            table[name] = self._places[side][:, parts["pair"]].T
            table[f"{name}_origin"] = np.stack([parts[begin], self._sides[side].lengths[parts["pair"]] - parts[end]], axis=1)
            table[count] = parts[end] - parts[begin]
        table["state"] = np.stack([parts["begin"], parts["end"]], axis=1)
        table["known"], table["far"], table["slots"] = known, parts["far"], parts["slots"]
        return table

    def cuts(self, table: Subproblems) -> Steps[tuple[Keys, Integers]]:
        """Find where parts are cut: their keys, and forward's columns there. Tells in the table where it is kept how far both directions of each came."""
        import cupy

        keys, columns = np.full(len(table), NO_KEY), np.zeros(len(table), np.int64)
        told = np.flatnonzero((table["slots"] > 0).any(axis=1))
        # A block that makes all of a part has the least work, but goes to its end and half the way back where a sweep goes to the middle.
        if len(told) and not self._few(table[told]):
            for shape in dict.fromkeys((NARROW, (self._steps, self._columns))):
                part = table[told]
                found = cupy.full(len(part), NO_KEY), cupy.zeros(len(part), np.int32)
                self._measure(part, np.maximum(part["known"], (part["known"] + self._model.deepest) // 2), shape, *found)
                keys[told], columns[told] = yield from self._lane.fetch(*found)
                made = keys[told] != NO_KEY
                table[told[made]], told = part[made], told[~made]
                if not len(told):
                    break
        wide = np.flatnonzero(keys == NO_KEY)
        if len(wide):
            part = table[wide]
            most = np.where(part["known"] < 0, self._worst(part["n"], part["m"]), part["known"])
            self._tell(part, np.repeat((most + self._slack)[:, None] // 2, 2, axis=1))
            keys[wide], block_keys, block_columns = yield from self.sweep(part)
            columns[wide] = np.take_along_axis(block_columns, np.argmin(block_keys, axis=1)[:, None], axis=1)[:, 0]
            table[wide] = part
        return keys, columns

    def _few(self, table: Subproblems) -> bool:
        """Tell whether a sweep over parts of known penalties has no more blocks than run at a time."""
        blocks = 2 * -(-((table["known"] + self._slack) // self._least + 1) // self._own).sum()
        return int(blocks) <= compiler.resident(self._kernel("bidirectional_sweep", shared_bytes=self._shared), self._columns // EACH, self._shared)

    def _worst(self, n: Integers, m: Integers) -> Integers:
        """Give a penalty that no pair is above: that of two gaps."""
        model = self._model
        worst: Integers = np.minimum(2 * model.open_extend[0] + (n + m) * model.extend[0], MAX_STEPS)
        return worst

    def _tell(self, table: Subproblems, penalties: Integers) -> None:
        """Keep room for how far directions come, up to these penalties, where they are not negative."""
        import cupy

        asked = penalties >= 0
        table["slots"][asked] = penalties[asked] // GRAIN + 1
        ends = np.cumsum(table["slots"][asked])
        held = len(self._far)
        table["far"][asked] = held + ends - table["slots"][asked]
        far = cupy.full(held + int(ends[-1]), -1, np.int32)
        far[:held] = self._far
        self._far = far

    def _measure(self, table: Subproblems, penalties: Integers, shape: tuple[int, int], keys: Any = None, columns: Any = None) -> None:
        """Measure up to these penalties the direction of each part that was not measured, and cut the part if there is room for its key; as far as its
        wavefronts are as narrow as a block of this shape."""
        import cupy

        table["measured"] = np.where(table["slots"][:, 0] > 0, 0, 1)
        self._tell(table, np.where(np.arange(2) == table["measured"][:, None], -1, penalties[:, None]))
        shared = self._sweep_bytes(*shape)
        rows = None if keys is None else cupy.empty(len(table) * 2 * shared // 4, np.int32)
        function = self._kernel("bidirectional_narrow", shared_bytes=shared, shape=shape)
        compiler.launch(*(function, len(table), shape[1], on_device(table), self._words, self._masks, rows, self._far, keys, columns), shared_bytes=shared)

    def sweep(self, table: Subproblems, *, free: bool = False) -> Steps[tuple[Any, Any, Any]]:
        """Make wavefronts until every part has its key: keys, and of each block of `bidirectional_meet` the best key and forward's column there."""
        with Memory(self._lane) as memory:
            return (yield from self._swept(table, free, memory))

    def _swept(self, table: Subproblems, free: bool, memory: Memory) -> Steps[tuple[Any, Any, Any]]:
        import cupy

        count, model, steps = len(table), self._model, self._steps
        directions = 1 if free else 2
        least_known, most_known = int(table["known"].min()), int(table["known"].max())
        sweep, meet = self._kernel("bidirectional_sweep", free=free, shared_bytes=self._shared), self._kernel("bidirectional_meet", free=free)
        ring = directions * (model.deepest + steps + sum(2 * (extension + steps) for extension in model.extend[: model.pieces]))
        far, newest = self._far, cupy.full(count, -1, np.int32)
        keys, block_keys = cupy.full(count, NO_KEY), cupy.full((count, MEET_BLOCKS), NO_KEY)
        block_columns = cupy.zeros((count, MEET_BLOCKS), np.int32)
        rows, first = None, 0
        allotted, done = np.zeros(count, np.int64), np.zeros(count, np.bool_)
        lowest, highest, most_n, most_m = int(table["first"].min()), int(table["last"].max()), int(table["n"].max()), int(table["m"].max())
        while True:
            if least_known < 0:  # the fewer looks, the later it is, as far as there is room
                many = max(POLL_STEPS, min(first // POLLS, int(allotted[~done].min()) - first)) // steps
            else:
                many = min(8 * POLL_STEPS // steps, (most_known + self._slack) // 2 // steps + 1 - first // steps)
            many = max(many, 1)
            if (first + many * steps > allotted[~done]).any():
                wanted = np.maximum(2 * allotted, FIRST_STEPS)
                if rows is not None and least_known < 0 and not free:
                    (told,) = yield from self._lane.fetch(far)
                    wanted = self._expected(table, told, first, wanted)
                allotted = np.where(done, allotted, np.maximum(np.maximum(wanted, allotted), first + many * steps))
                if allotted.max() > MAX_STEPS:
                    raise DeviceLimit("a penalty is more than the bidirectional kernels take")
                before = table.copy()
                size = allot(table, allotted if least_known < 0 else (table["known"] + self._slack) // 2 + steps + 1, self._least, ring)
                smaller, rows = rows, memory.take(size)
                if smaller is not None:
                    move(before, table, smaller, rows, ring)
                parts = on_device(table)
                sweeping = compiler.launcher(
                    *(sweep, self._columns // EACH, parts, 0, 0, 0, self._words, self._masks, rows, far, newest, keys), shared_bytes=self._shared
                )
                meeting = compiler.launcher(meet, MEET_THREADS, parts, MEET_BLOCKS, 0, rows, far, newest, keys, block_keys, block_columns)
            for _ in range(many):
                last = first + steps - 1
                wide = last // self._least + 1
                tiles = -(-(min(wide - lowest, most_n) + 1 + min(wide + highest, most_m)) // self._own)
                blocks = count * directions * tiles
                for keep in (LAST, AGAIN) if least_known < 0 and not free and blocks >= LIGHT_BLOCKS else (ALL,):
                    sweeping(blocks, tiles=tiles, first_step=first, keep=keep)
                if not free and 2 * last >= least_known:
                    meeting(count * MEET_BLOCKS, first_step=first)
                first += steps
            fetched = yield from self._lane.fetch(keys, block_keys, block_columns)
            memory.waited()
            total = (fetched[0] >> np.uint64(40)).astype(np.int64)
            done = (fetched[0] != NO_KEY) & (free | (table["known"] >= 0) | (2 * (first - 1) >= total + self._slack))
            if done.all():
                return fetched[0].copy(), fetched[1].copy(), fetched[2].copy()
            if least_known >= 0 and 2 * first > most_known + self._slack + 2:
                raise RuntimeError("bidirectional alignment: no breakpoint at the known penalty")

    def _expected(self, table: Subproblems, told: Integers, first: int, otherwise: Integers) -> Integers:
        """Estimate up to which penalty the directions of each part go, as they have come so far; or `otherwise` where that is too little of the way."""
        come = told[table["far"] + np.minimum(first // GRAIN, table["slots"][:, :1]) - 1].sum(axis=1)
        letters = table["n"] + table["m"]
        enough = (1.03 * first * letters / np.maximum(come, 1)).astype(np.int64) + self._slack + POLL_STEPS
        return np.where(come < letters // 8, otherwise, enough)

    def leaves(self, table: Subproblems) -> Steps[tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]]:
        """Trace the operations of parts of a known penalty, the dearest first; and how many each has at its `place`, which this sets."""
        import cupy

        penalties, letters = table["known"], table["n"] + table["m"]
        backward = (table["slots"][:, 0] > 0) & (table["slots"][:, 1] == 0)
        if backward.any():  # from the end, so that leaves make the cells alone which are met
            part = table[backward]
            part["known"] -= self.openings[part["state"][:, 1]]
            self._measure(part, part["known"], NARROW)
            table["far"][backward], table["slots"][backward] = part["far"], part["slots"]
        most = 2 * np.minimum(penalties // min(self._model.mismatch, self._least), letters) + 1
        ends = np.cumsum(most)
        table["place"] = ends - most
        dearest = int(penalties[0])
        width = dearest // self._least + 3
        row_bytes = 4 * self._model.rows * (width + 2)
        try:
            function, shared = self._kernel("bidirectional_leaf", shared_bytes=row_bytes), row_bytes
        except DeviceLimit:
            function, shared = self._kernel("bidirectional_leaf"), 0
        scratch = dearest * width + dearest + 1 + (row_bytes - shared)
        blocks = max(1, min(compiler.resident(function, LEAF_THREADS, shared), len(table), SMALL // scratch))
        runs, counts = cupy.empty(int(ends[-1]), np.uint32), cupy.empty(len(table), np.int32)
        compiler.launch(
            *(function, blocks, LEAF_THREADS, on_device(table), len(table), cupy.zeros(1, np.int32), self._words, self._masks, self._far, width),
            None if shared else cupy.empty(blocks * row_bytes // 4, np.int32),
            *(cupy.empty(blocks * dearest * width, np.uint8), np.int64(dearest * width), cupy.empty(blocks * (dearest + 1), np.uint8), dearest),
            *(runs, counts),
            shared_bytes=shared,
        )
        found = yield from self._lane.fetch(runs, counts)
        if (found[1] < 0).any():
            raise RuntimeError("bidirectional alignment: a part has another penalty than its breakpoint says")
        return found[0].copy(), found[1].copy()
