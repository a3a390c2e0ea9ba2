"""Pairs aligned with a heuristic on the device: passes of growing width and memory, a warp a pair.

No bound says how wide the rows of a pair will be, or how far it goes. The first pass has room for what a heuristic leaves of pairs with one difference in
seven letters, as a rule; those that outgrow it go to the next, and those that outgrow all are the host's.
"""

from collections.abc import Iterator

import numpy as np

from tidalign.kernels.runtime.lanes import Steps
from tidalign.kernels.wavefront.device import OTHER_LETTERS, OUTGROWN, Batch, BatchRows
from tidalign.kernels.wavefront.model import WIDTHS

PAIRS = 2
"""Pairs a block, a warp each: of 10,000 letters 22 fit a multiprocessor's memory so, in blocks of four pairs 20."""

ADAPTIVE_WIDTH = 256
"""Diagonals of the first pass where a heuristic does not say how many it leaves: `adaptive:10,50,1` leaves at most 200 of pairs of 10,000 letters."""

PASS_SHARES = (0.15, 0.4, 2.0)
"""Differences a letter that a pass has room for."""


class PrunedBatch(Batch):
    """The launches of one batch with a heuristic."""

    _share = PASS_SHARES[0]

    def align(self) -> Steps[BatchRows]:
        """Launch until every pair is aligned, given up by the heuristic (its penalty is NOWHERE), or fits nothing."""
        passes = list(self._passes())
        yield from self._pass(*passes[0], None, 0)
        if self._outcome is not None:
            lettered = self._outcome == OTHER_LETTERS
            yield from self._pass(*passes[0], np.flatnonzero(lettered), self._settings.ambiguous)
            for ambiguous, among in ((0, ~lettered), (self._settings.ambiguous, lettered)):
                for width, share in passes[1:]:
                    yield from self._pass(width, share, np.flatnonzero(among & (self._outcome == OUTGROWN)), ambiguous)
        return (yield from self._gather())

    def _pass(self, width: int, share: float, rows: "np.ndarray[tuple[int], np.dtype[np.int64]] | None", ambiguous: int) -> Steps[None]:
        self._share = share
        yield from self._run(width, rows, ambiguous)

    def _passes(self) -> Iterator[tuple[int, float]]:
        """List widths and shares of differences, from the least on."""
        heuristic = self._settings.heuristic
        assert heuristic is not None
        letters = 2 * self._longest + 1
        least = ADAPTIVE_WIDTH
        if heuristic.kind == "band" or (heuristic.kind == "adaptive-band" and not self._settings.model.edit):
            least = min(heuristic.numbers[1] - heuristic.numbers[0] + 3, letters)
        first = next((width for width in WIDTHS if width >= least), WIDTHS[-1])
        close, far, every = PASS_SHARES
        for factor, share in ((1, close), (4, far), (16, far), (16, every)):
            yield min(factor * first, WIDTHS[-1]), share
        yield WIDTHS[-1], every

    def _team(self, width: int, row_bytes: int, count: int) -> tuple[int, int]:
        return 32, PAIRS

    def _held_bytes(self) -> int:
        return 16 * self._settings.model.rows

    def _budget(self, width: int, longest: int, narrow: bool, bound: int | None) -> tuple[int, int]:
        """Budget for a third of the differences being mismatches, the others gaps of a letter; rows are half full on average."""
        model = self._settings.model
        difference = (model.mismatch + 2 * max(model.open_extend[: max(model.pieces, 1)])) / 3
        steps = int(self._share * longest * difference) + 4 * model.deepest + 64
        return steps, min(steps * min(width // 2, 2 * longest + 1) + 2 * width, 2**31 - 1)
