"""Which seed hits are used (LASTZ's record of diagonals, LASTZ.md 6) and their gap-free x-drop extension to HSPs (LASTZ.md 7)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.scoring.scores import STRIDE, Scoring
from tidalign.kernels.seed.index import Positions, read_only
from tidalign.kernels.ungapped.pages import PAGE, PAGE_BITS

SLOTS = 1 << 16
"""Diagonals that are this far apart share a record in LASTZ."""

WIDEST_XDROP = 16_000
"""Sums of the sieve have 16 bits."""

HIGHEST_SCORE = 126
"""Two columns of half as much each are a byte of its tables."""


def record_type(letters: int) -> type[np.unsignedinteger[Any] | np.signedinteger[Any]]:
    """Give the type of the records of diagonals with a query of so many letters: twice a place has room in it."""
    return np.uint32 if letters < (1 << 31) - (1 << 10) else np.int64


@dataclass(frozen=True, slots=True)
class Segments:
    """Gap-free segments: int64[n] each. target, query: starts; score: after entropy."""

    target: Positions
    query: Positions
    length: Positions
    score: Positions

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: npt.NDArray[Any]) -> "Segments":
        """Take rows by place or by mask."""
        return Segments(self.target[rows], self.query[rows], self.length[rows], self.score[rows])

    @classmethod
    def concat(cls, parts: list["Segments"]) -> "Segments":
        """Join the rows of all, one after the other."""
        empty = np.empty(0, np.int64)
        return cls(*(np.concatenate([empty, *(getattr(part, name) for part in parts)]) for name in ("target", "query", "length", "score")))


def packed(codes: Codes) -> npt.NDArray[np.uint8]:
    """Pack codes (uint8[n]) as the sieve takes a side."""
    from tidalign.kernels.ungapped.host import LEAD, pack

    letters = np.zeros((len(codes) + 2 * int(LEAD)) // 4 + 1, np.uint8)
    pack(read_only(codes), letters)
    return letters


def highest_of_kinds(table: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Find the highest score of each kind of column (vectors.py) in a table of scores."""
    codes = np.arange(STRIDE)
    bases = np.where(codes < 8, codes & 3, 0)
    kinds = bases[:, None] ^ bases
    return np.array([table.reshape(STRIDE, STRIDE)[kinds == kind].max() for kind in range(4)])


class HitFilter:
    """Hold what is known of the diagonals between a target (uint8[n]) and a query strand (uint8[m]) while hits come in, tile after tile, in their order.

    A diagonal's record is a query place: hits that start before it are passed over. `exact`: LASTZ's 65,536 records, which diagonals share; else every
    diagonal has its own, in pages that are made when they are touched: at most 8 bytes a letter of both, twice that for a query of 2^31 letters and more;
    and a quarter of a byte a letter for the sieve. packed_target: gives what `packed` makes of the target, for which many queries may ask.
    """

    def __init__(
        self, target: Codes, query: Codes, span: int, scoring: Scoring, *, exact: bool, packed_target: Callable[[], npt.NDArray[np.uint8]] | None = None
    ) -> None:
        self._sides = read_only(target), read_only(query)
        self._packed_target = packed_target or partial(packed, target)
        self._span = span
        self._table = scoring.masked().ravel()
        self.dtype = record_type(len(query))
        self._exact, self._base = exact, 0 if exact else len(query)
        pages = (SLOTS if exact else len(target) + len(query) + PAGE) >> PAGE_BITS
        self._page_of = np.full(pages, -1, np.int64)
        self._pages = np.zeros((pages if exact else 16, PAGE), self.dtype)
        self._used = 0
        self._origins = np.zeros(SLOTS if exact else 0, np.int64)
        if exact:
            self._page_of[:] = np.arange(pages)

    quick = ahead = False
    """Nothing is known but what was given tells, and it takes its time."""

    def pause(self, due: Callable[[], bool]) -> None:
        """Be asked between any two tiles."""

    def rest(self) -> None:
        """Give nothing that nobody was given."""

    def state(self) -> tuple[Positions, npt.NDArray[Any], Positions]:
        """Copy what is known after whole tiles, for `restore`: numbers of the pages that were touched, int64[k], their records, [k, PAGE], and, of records that
        diagonals share, the target place of the last hit of each, int64[SLOTS], else nothing."""
        touched = np.flatnonzero(self._page_of >= 0)
        return touched, self._pages[self._page_of[touched]], self._origins

    def restore(self, touched: Positions, pages: npt.NDArray[Any], origins: Positions) -> None:
        """Know what another filter of the same sides knew."""
        if not self._exact:
            self._pages = np.zeros((max(16, len(touched)), PAGE), self._pages.dtype)
            self._page_of[touched], self._used = np.arange(len(touched)), len(touched)
        self._pages[self._page_of[touched]] = pages
        self._origins[:] = origins

    def seeds(self, targets: Positions, queries: Positions) -> Segments:
        """Give the used hits of a tile, each as long as the pattern; their score is that of all their columns."""
        from tidalign.kernels.ungapped.host import use_seeds

        out = np.empty((4, len(targets)), np.int64)
        count = use_seeds(*self._sides, targets, queries, self._span, self._table, *self._records(targets, queries), out)
        return Segments(*out[:, :count].copy())

    def hsps(self, targets: Positions, queries: Positions, xdrop: int, threshold: int, entropy: bool) -> Segments:
        """Find the HSPs of a tile's used hits, in the order of these.

        From a hit's right end both scans go on while the sum is at least the best so far less `xdrop`, the one to the left not beyond the diagonal's record;
        then the record is where the scan to the right stopped. `entropy`: scores from `threshold` to three times it are scaled by the entropy of the
        identical columns. HSPs below `threshold` are left out.
        """
        return self.hsps_of_hits(targets, queries, xdrop, threshold, entropy)[0]

    def hsps_of_hits(self, targets: Positions, queries: Positions, xdrop: int, threshold: int, entropy: bool) -> tuple[Segments, Positions]:
        """Find HSPs as `hsps` does, and where in the query each one's hit starts."""
        from tidalign.kernels.ungapped.host import extend_hits
        from tidalign.kernels.ungapped.vectors import HIT_LANES, LEFTS, RIGHTS

        out = np.empty((5, len(targets)), np.int64)
        room = np.empty((5, HIT_LANES), np.int64), np.empty((LEFTS + RIGHTS, HIT_LANES), np.uint64)
        limits, tables = (np.int64(xdrop), np.int64(threshold), bool(entropy)), self._tables if xdrop <= WIDEST_XDROP else self._tables[:0]
        records = (self._origins, *self._records(targets, queries))
        count = extend_hits(*self._sides, targets, queries, self._span, self._table, limits, *self._packed, tables, *records, *room, out)
        *columns, ends = out[:, :count].copy()
        return Segments(*columns), ends - self._span

    def matches_of_hits(self, targets: Positions, queries: Positions, mismatches: int, length: int) -> tuple[Segments, Positions]:
        """Find the stretches of a tile's used hits of at least so many letters and at most so many mismatches, and where in the query each one's hit starts."""
        from tidalign.kernels.ungapped.matches import match_hits

        out = np.empty((5, len(targets)), np.int64)
        numbers = np.int64(self._span), np.int64(mismatches), np.int64(length)
        count = match_hits(*self._sides, targets, queries, *numbers, *self._records(targets, queries), out)
        *columns, places = out[:, :count].copy()
        return Segments(*columns), places

    @cached_property
    def _packed(self) -> list[npt.NDArray[np.uint8]]:
        """Both sides as the sieve takes them."""
        return [self._packed_target(), packed(self._sides[1])]

    @cached_property
    def _tables(self) -> npt.NDArray[np.int8]:
        """The sieve's, int8[3, 16]; none where a score is too high for them."""
        highest = highest_of_kinds(self._table)
        if highest.max() > HIGHEST_SCORE:
            return np.empty((0, 16), np.int8)
        halves = np.maximum(-(-highest // 2), -HIGHEST_SCORE // 2)
        left, right = np.tile(halves, 4), np.repeat(halves, 4)
        return np.array([left + right, np.maximum(right, left + right), np.maximum(left, left + right)], np.int8)

    def _records(self, targets: Positions, queries: Positions) -> tuple[npt.NDArray[Any], Positions, int, int]:
        """Give what the kernels need to find the records of a tile's diagonals: pages, which page holds what, and how a diagonal is counted."""
        if self._exact:
            return self._pages, self._page_of, SLOTS - 1, self._base
        touched = (targets - queries + self._base) >> PAGE_BITS
        new = np.unique(touched[self._page_of[touched] < 0])
        if len(new):
            end = self._used + len(new)
            if end > len(self._pages):
                pages = np.zeros((2 * end, PAGE), self._pages.dtype)
                pages[: self._used] = self._pages[: self._used]
                self._pages = pages
            self._page_of[new] = np.arange(self._used, end)
            self._used = end
        return self._pages, self._page_of, -1, self._base
