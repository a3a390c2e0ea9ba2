"""The distinct targets of a run, for a header that lists each once: found in one pass, in memory that follows their number and not their names."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.text.lines import hash_names
from tidalign.pipeline.errors import InputError, shown
from tidalign.pipeline.formats.request import Batches
from tidalign.pipeline.text import content_of, strings

MERGE_ROWS = 1_000_000
"""Rows gathered before they are merged with the targets known, or half as many as are known if that is more."""

HashWords = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]

_COLUMNS = 4  # two words of the name's hash, length, ordinal


def first_rows(results: Batches) -> Numbers:
    """Find the first row of each distinct target name: ordinals, ascending. Raises InputError where one name has two lengths."""
    known: list[Any] = [np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64)]
    waiting: list[list[Any]] = []
    rows = 0
    for batch in results.to_batches(["ordinal", "target_name", "target_length"]):
        waiting.append([*hashes(batch["target_name"]), batch["target_length"].to_numpy(), batch["ordinal"].to_numpy()])
        rows += len(batch)
        if rows >= max(MERGE_ROWS, len(known[0]) // 2):
            known, waiting, rows = _merged(known, waiting, results), [], 0
    ordinals: Numbers = np.sort(_merged(known, waiting, results)[-1])
    return ordinals


def rows_at(results: Batches, ordinals: Numbers) -> Iterator[Any]:
    """Record batches (ordinal, target_name, target_length) of the rows with the given ascending ordinals."""
    for batch in results.to_batches(["ordinal", "target_name", "target_length"]):
        inside = batch["ordinal"].to_numpy()
        start, stop = np.searchsorted(ordinals, (inside[0], inside[-1] + 1))
        yield batch.take(pa.array(ordinals[start:stop] - inside[0]))


@dataclass(frozen=True)
class References:
    """Hold the targets of a header: `ordinals` of the rows that name each first, ascending."""

    rows: Batches
    ordinals: Numbers

    def __len__(self) -> int:
        return len(self._sorted[2])

    def batches(self) -> Iterator[tuple[Any, Numbers]]:
        """Give names and lengths, in the order of the header; a target without a letter is not there, as LN is at least 1 and nothing can be placed on it."""
        for batch in rows_at(self.rows, self.ordinals):
            kept = batch.filter(pc.greater(batch["target_length"], 0))
            yield kept["target_name"], kept["target_length"].to_numpy()

    @cached_property
    def _sorted(self) -> tuple[HashWords, HashWords, Numbers]:
        """Both words of the hashes of names, and the numbers of these, by the first word."""
        words = [hashes(names) for names, _ in self.batches() if len(names)]
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


def _merged(known: list[Any], waiting: list[list[Any]], results: Batches) -> list[Any]:
    """Merge the targets of both, one row each: that of the smallest ordinal, as rows arrive by ordinal and the sort is stable.

    Takes the columns out of its arguments and works on one at a time, as they may be most of what is in memory.
    """
    columns = [np.concatenate([known.pop(0), *(rows.pop(0) for rows in waiting)]) for _ in range(_COLUMNS)]
    order = np.lexsort((columns[1], columns[0]))
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
