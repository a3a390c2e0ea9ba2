"""What is known of diagonals on the current CUDA device between two tiles, in the form that HitFilter has it in, for who writes it down or goes on from it."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.runtime.errors import guarded
from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.seed.index import Positions, read_only
from tidalign.kernels.ungapped.hsps import SLOTS, record_type
from tidalign.kernels.ungapped.pages import PAGE, PAGE_BITS

if TYPE_CHECKING:
    from collections.abc import Callable

FETCHED = 1 << 12
"""Pages that are fetched, or sent, at a time: 64 MB."""


class Records:
    """Holds the records of the diagonals between a target and a query strand, on the device where there is more than one tile.

    array: uint32, the query place of each slot before which hits are passed over; None: no tile but the only one has asked for it, or none yet.
    waiting: the tile that is worked on, and that nobody was given yet. xdrop: None without gap-free extension. due: whether the next tile is to wait until what
    is known here was looked at.
    """

    def __init__(self, target: Codes, query: Codes, span: int, scoring: Scoring, *, exact: bool, xdrop: int | None) -> None:
        self._sides, self._span, self._scoring, self._exact, self._xdrop = (read_only(target), read_only(query)), span, scoring, exact, xdrop
        self.dtype = record_type(len(query))
        self.array: Any = None
        self.waiting: Any = None
        self.due: Callable[[], bool] = lambda: False

    @property
    def _pages(self) -> int:
        return (SLOTS if self._exact else sum(map(len, self._sides)) + PAGE) >> PAGE_BITS

    def make(self) -> None:
        """Have the array. MemoryError where there is no room for it."""
        import cupy

        if self.array is None:
            self.array = cupy.zeros(self._pages * PAGE, np.uint32)

    @property
    def ahead(self) -> bool:
        """Tell whether more is known here than what was given tells."""
        return self.array is None or self.waiting is not None

    def rest(self) -> tuple[Any, Positions] | None:
        """Give the tile that nobody was given yet, after which no other is begun; None: there is none."""
        last, self.waiting = self.waiting, None
        return last.fetch() if last is not None else None

    def state(self) -> tuple[Positions, npt.NDArray[Any], Positions]:
        """Give what HitFilter.state gives: here every record is known exactly."""
        import cupy

        touched, pages = [], []
        with guarded("records of diagonals"):
            for first in range(0, self._pages, FETCHED):
                some = cupy.asnumpy(self.array[first * PAGE : (first + FETCHED) * PAGE]).reshape(-1, PAGE)
                kept = np.arange(len(some)) if self._exact else np.flatnonzero(some.any(axis=1))
                touched.append(first + kept)
                pages.append(some[kept].astype(self.dtype) << (self._xdrop is not None))
        return np.concatenate(touched), np.concatenate(pages), np.zeros(SLOTS if self._exact else 0, np.int64)

    def restore(self, touched: Positions, pages: npt.NDArray[Any], origins: Positions) -> None:
        """Know what another filter of the same sides knew, here or on the host."""
        import cupy

        if self._xdrop is not None:
            from tidalign.kernels.ungapped.host import settle

            pages = pages.copy()
            where = (SLOTS - 1, 0) if self._exact else (-1, len(self._sides[1]))
            settle(*self._sides, self._scoring.masked().ravel(), self._span, self._xdrop, origins, *where, touched, pages)
            pages >>= 1
        with guarded("records of diagonals"):
            self.make()
            for first in range(0, self._pages, FETCHED):
                inside = (touched >= first) & (touched < first + FETCHED)
                if inside.any():
                    some = np.zeros((min(FETCHED, self._pages - first), PAGE), np.uint32)
                    some[touched[inside] - first] = pages[inside]
                    self.array[first * PAGE : (first + FETCHED) * PAGE] = cupy.asarray(some.ravel())
