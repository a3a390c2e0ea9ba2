"""Count how often alignments cover each letter of a target, in LASTZ's order, and which letters that masks for later queries (`--masking`, LASTZ.md 23)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from tidalign.kernels.letters.nucleotides import ALPHABET, Codes
from tidalign.pipeline.genome.input.sequences import Genome

Positions = npt.NDArray[np.int64]

MASK = ALPHABET.index(b"x")
"""What a masked letter is from then on."""

PLACED = ("target_number", "target_start", "target_end", "query_number", "strand")
"""Columns of rows that say what they cover, and which query's they are."""

_UPPER = np.array([bytes([letter]).isupper() for letter in ALPHABET])


class Census:
    """Counts alignments over the letters of a target.

    codes: uint8[n], of the letters as they were read. threshold: letters that so many alignments cover are masked, unless they are small already.
    """

    def __init__(self, codes: Codes, threshold: int) -> None:
        self._threshold = threshold
        self._unmasked = _UPPER[codes]
        self._counts = np.zeros(len(codes), np.min_scalar_type(threshold))

    def add(self, starts: Positions, ends: Positions) -> list[tuple[int, int]]:
        """Count alignments of the letters [starts, ends), int64[k] places in the array; the ranges of letters that are masked now, and were not."""
        found = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            counts, unmasked = self._counts[start:end], self._unmasked[start:end]
            counts += counts < self._threshold  # beyond it nothing is asked
            fresh = unmasked & (counts == self._threshold)
            if fresh.any():
                unmasked[fresh] = False
                found += [(start + a, start + b) for a, b in ranges(fresh)]
        return found

    def reached(self) -> list[tuple[int, int]]:
        """Give the ranges of letters that are covered so often, small ones too."""
        return ranges(self._counts == self._threshold)


def ranges(chosen: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Give the ranges [a, b) that a mask, bool[n], is true in."""
    edges = np.flatnonzero(np.diff(chosen, prepend=False, append=False))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def covered(genome: Genome, rows: Any) -> tuple[Positions, Positions]:
    """Say which letters of its array rows of `schema.GENOME_ALIGNMENTS` cover: int64[k] starts and ends."""
    number, start, end = (rows[name].to_numpy() for name in PLACED[:3])
    shift = genome.starts[number] - genome.offsets[number]
    return start + shift, end + shift


@dataclass(frozen=True)
class Masks:
    """Holds what masks which letter of a target in a whole run.

    by: int64[n], the key (`keys`) of the query strand whose alignments masked a letter; LATER for those that none did. reached: ranges that are covered often
    enough, small letters too.
    """

    by: Positions
    reached: list[tuple[int, int]]

    LATER = np.iinfo(np.int64).max

    @classmethod
    def of(cls, target: Genome, tables: Iterable[Any], threshold: int, *, joint: bool) -> "Masks":
        """Go through all rows of a run, in their order. joint: all sequences of the query are one."""
        census, by = Census(target.codes(), threshold), np.full(len(target.letters), cls.LATER)
        for key, rows in _of_strands(tables, joint):
            for start, end in census.add(*covered(target, rows)):
                by[start:end] = key
        return cls(by, census.reached())

    def of_strand(self, key: int) -> int:
        """Count the letters that a query strand masked."""
        return int((self.by == key).sum())

    def write(self, text: npt.NDArray[np.uint8], offsets: Positions, starts: Positions, keys: Positions) -> None:
        """Write an x for every letter of alignments' target texts that was masked before them. starts: of each in the array; keys: of their query strands."""
        for row, (start, key) in enumerate(zip(starts.tolist(), keys.tolist(), strict=True)):
            line = text[offsets[row] : offsets[row + 1]]
            places = np.flatnonzero(line != ord("-"))
            line[places[self.by[start : start + len(places)] < key]] = ALPHABET[MASK]


def key(query: int, strand: str) -> int:
    """Number a query strand among those of queries that are each by itself."""
    return 2 * query + (strand == "-")


def keys(rows: Any, *, joint: bool) -> Positions:
    """Number the query strands of rows, int64[k], in LASTZ's order. joint: all sequences of the query are one."""
    minus = np.asarray(pc.equal(rows["strand"], "-")).astype(np.int64)
    return minus if joint else np.asarray(2 * rows["query_number"].to_numpy() + minus)


def _of_strands(tables: Iterable[Any], joint: bool) -> Iterator[tuple[int, Any]]:
    for table in tables:
        every = keys(table, joint=joint)
        cuts = [*np.flatnonzero(np.diff(every, prepend=-1)).tolist(), len(every)]
        for first, last in pairwise(cuts):
            yield int(every[first]), table.slice(first, last - first)
