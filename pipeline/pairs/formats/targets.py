"""Find the distinct targets of a run, for a header that lists each once: in one pass, in memory that follows their number and not their names; threads read."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.text.lines import hash_names
from tidalign.pipeline.device import cores
from tidalign.pipeline.errors import InputError, shown
from tidalign.pipeline.formats.request import Pieces
from tidalign.pipeline.in_turn import in_turn
from tidalign.pipeline.text import content_of, strings

MERGE_ROWS = 1_000_000
"""Rows gathered before they are merged with the targets known, or half as many as are known if that is more."""

READERS = 4
"""Threads that look at names, at most: each holds those of a block of the input."""

T = TypeVar("T")
HashWords = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]

_COLUMNS = 4  # two words of the name's hash, length, ordinal


Piece = Callable[[], Iterable[Any]]
"""Reads the record batches (ordinal, target_name, target_length) of a piece of the rows."""


def look(rows: Pieces, function: Callable[[Piece], T]) -> Iterator[T]:
    """Give what a function makes of each piece of the targets' names, in order; threads call it."""
    return in_turn((piece.then(function) for piece in rows.pieces_of(["ordinal", "target_name", "target_length"])), min(READERS, cores()))


def first_rows(results: Pieces) -> Numbers:
    """Find the first row of each distinct target name: ordinals, ascending. Raises InputError where one name has two lengths."""
    known: list[Any] = [np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64)]
    waiting: list[list[Any]] = []
    rows = 0
    for found in look(results, _hashed):
        waiting += found
        rows += sum(len(columns[-1]) for columns in found)
        if rows >= max(MERGE_ROWS, len(known[0]) // 2):
            known, waiting, rows = _merged(known, waiting, results), [], 0
    ordinals: Numbers = np.sort(_merged(known, waiting, results)[-1])
    return ordinals


def _hashed(piece: Piece) -> list[list[Any]]:
    return [[*hashes(batch["target_name"]), batch["target_length"].to_numpy(), batch["ordinal"].to_numpy()] for batch in piece()]


def rows_at(results: Pieces, ordinals: Numbers) -> Iterator[Any]:
    """Give record batches (ordinal, target_name, target_length) of the rows with the given ascending ordinals."""
    for batches in look(results, partial(_taken, ordinals)):
        yield from batches


def _taken(ordinals: Numbers, piece: Piece) -> list[Any]:
    found = []
    for batch in piece():
        inside = batch["ordinal"].to_numpy()
        start, stop = np.searchsorted(ordinals, (inside[0], inside[-1] + 1))
        found.append(batch.take(pa.array(ordinals[start:stop] - inside[0])))
    return found


@dataclass(frozen=True)
class References:
    """Hold the targets of a header: `ordinals` of the rows that name each first, ascending."""

    rows: Pieces
    ordinals: Numbers

    def __len__(self) -> int:
        return len(self._sorted[2])

    def each(self, function: Callable[[Any, Numbers], T]) -> Iterator[T]:
        """Give what a function makes of some names and their lengths, in the order of the header; threads call it. A target without a letter is not there, as
        LN is at least 1 and nothing can be placed on it."""

        def made(piece: Piece) -> list[T]:
            filled = (batch.filter(pc.greater(batch["target_length"], 0)) for batch in _taken(self.ordinals, piece))
            return [function(batch["target_name"], batch["target_length"].to_numpy()) for batch in filled if len(batch)]

        for found in look(self.rows, made):
            yield from found

    @cached_property
    def _sorted(self) -> tuple[HashWords, HashWords, Numbers]:
        """Both words of the hashes of names, and the numbers of these, by the first word."""
        words = list(self.each(lambda names, lengths: hashes(names)))
        one, two = (np.concatenate([np.empty(0, np.uint64), *side]) for side in zip(*words, strict=True)) if words else (np.empty(0, np.uint64),) * 2
        order = np.argsort(one)
        return one[order], two[order], order

    def numbers(self, names: Any) -> Numbers:
        """Number names by their targets, int64[n], from 0; -1 for one that is not there."""
        one, two, order = self._sorted
        if not len(names) or not len(one):
            return np.full(len(names), -1, np.int64)
        wanted, other = hashes(names)
        places = np.minimum(np.searchsorted(one, wanted), len(one) - 1)
        return np.where((one[places] == wanted) & (two[places] == other), order[places], -1)


def hashes(names: Any) -> tuple[HashWords, HashWords]:
    """Hash each name to 128 bits, in two words: sums of each byte times a random odd word of its position (multilinear hashing, Carter and Wegman 1979).

    Two given names have the same with a probability below 2^-110, so names of equal hash are taken to be one.
    """
    letters, places = content_of(strings(names))
    words = np.empty((2, len(names)), np.uint64)
    hash_names(letters, places, np.stack([_weights(int(np.diff(places).max(initial=0)), seed) for seed in (1, 2)]), words)
    return words[0], words[1]


def _weights(count: int, seed: int) -> HashWords:
    """Draw the first `count` of a fixed sequence of random words."""
    return np.random.default_rng(seed).integers(0, 1 << 64, count, np.uint64, endpoint=False) | np.uint64(1)


def _merged(known: list[Any], waiting: list[list[Any]], results: Pieces) -> list[Any]:
    """Merge the targets of both, one row each: that of the smallest ordinal, as rows arrive by ordinal and the sort is stable.

    Takes the columns out of its arguments and works on one at a time, as they may be most of what is in memory.
    """
    columns = [np.concatenate([known.pop(0), *(rows.pop(0) for rows in waiting)]) for _ in range(_COLUMNS)]
    order = _order(columns[0], columns[1])
    for column in range(_COLUMNS):
        columns[column] = columns[column][order]
    del order
    one, two, lengths, ordinals = columns
    same = (one[1:] == one[:-1]) & (two[1:] == two[:-1])
    different = np.flatnonzero(same & (lengths[1:] != lengths[:-1]))
    if len(different):
        at = different[0]
        name = next(name for batch in rows_at(results, ordinals[at : at + 1]) for name in batch["target_name"].to_pylist())
        found = f"{lengths[at]} and {lengths[at + 1]} for {shown(name)} (records {ordinals[at] + 1} and {ordinals[at + 1] + 1})"
        raise InputError("SAM header", "one length for each target name", found, "name the targets apart, or export .paf")
    if not same.any():
        return columns
    del one, two, lengths, ordinals
    first = np.concatenate(([True], ~same))
    for column in range(_COLUMNS):
        columns[column] = columns[column][first]
    return columns


def _order(one: HashWords, two: HashWords) -> Numbers:
    """Order rows by both words, those of equal names as they are. Where most first words differ that takes a quarter of the time of a sort that is stable."""
    order = np.argsort(one)
    same = one[order[1:]] == one[order[:-1]]
    if 2 * np.count_nonzero(same) > len(order):
        return np.lexsort((two, one))
    tied = np.flatnonzero(np.concatenate((same, [False])) | np.concatenate(([False], same))) if len(order) else order
    rows = np.sort(order[tied])
    order[tied] = rows[np.lexsort((two[rows], one[rows]))]
    return order
