"""One side of a genome run: the sequences of a file in one array, and what their places in it stand for; and strands of some of a query's in another."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.nucleotides import SEPARATOR, Codes, encode, reverse_complement

Positions = npt.NDArray[np.int64]

LETTERS, QUALITIES, CODES = "letters", "qualities", "codes"
_COLUMNS = ("starts", "lengths", "offsets", "full_lengths", "numbers", "origins")


@dataclass(frozen=True, slots=True, eq=False)
class Genome:
    """Sequences of one file, as LASTZ keeps them in memory.

    letters: uint8[n], ASCII as read, after the actions of the file's name. Where there are several sequences, or one that is read as several
    ([multiple], [separator=C]), a NUL stands before each and in place of each separator; so the first sequence begins at 1, and else at 0.
    names: of the sequences, as output shows them. starts, lengths: int64[k], their places in `letters`.
    offsets: int64[k], what is left out at the beginning of each (a subrange; or, in a query, what a [separator=C] before it ends). full_lengths: int64[k],
    with all that is left out.
    numbers: int64[k], which record of the file each is of, from 0, as LASTZ counts them: all of them, also those that are empty or not asked for.
    pieces: int64[m, 2], begins and ends in `letters` of what has no NUL within it: extensions do not leave a piece.
    together: of a query, whether all its sequences are one to LASTZ ([multiple]).
    empty: number and name of each record that was asked for and had no letters. They are not among the sequences, but each has its NUL in `letters`.
    qualities: uint8[n], of FASTQ, beside each letter, as they were read; else None.
    origins: of a query, int64[k], where LASTZ has the first letter of each that it aligns by itself; empty: all at 0.
    """

    letters: npt.NDArray[np.uint8]
    names: list[str]
    starts: Positions
    lengths: Positions
    offsets: Positions
    full_lengths: Positions
    numbers: Positions
    pieces: Positions
    empty: list[tuple[int, str]] = field(default_factory=list)
    together: bool = False
    qualities: npt.NDArray[np.uint8] | None = None
    origins: Positions = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        """Count the sequences."""
        return len(self.names)

    @property
    def joint(self) -> bool:
        """Tell whether all sequences of a query are one to LASTZ, sought in their array."""
        return self.together and len(self) > 1

    def origin(self, i: int) -> int:
        """Give where LASTZ has the first letter of sequence i of a query that is not joint."""
        return int(self.origins[i]) if len(self.origins) else 0

    def sought(self) -> list[int]:
        """Count the letters of each query: of each sequence, or of all in one."""
        return [int(self.lengths.sum())] if self.joint else [int(length) for length in self.lengths]

    def codes(self, i: int | None = None) -> Codes:
        """Encode the whole array, or sequence i on its forward strand (kernels/letters/nucleotides.py)."""
        return encode(self.letters if i is None else self.letters[self.starts[i] : self.starts[i] + self.lengths[i]])

    def qualities_of(self, i: int) -> npt.NDArray[np.uint8] | None:
        """Give the qualities of sequence i on its forward strand; None where there are none."""
        return None if self.qualities is None else self.qualities[self.starts[i] : self.starts[i] + self.lengths[i]]

    def bounds(self, i: int | None = None) -> Positions:
        """Give the pieces of the whole array, or those of sequence i, counted from its own first letter: int64[m, 2].

        On the reverse strand of a sequence of n letters they are `n - bounds(i)[::-1, ::-1]`.
        """
        if i is None:
            return self.pieces
        start = self.starts[i]
        inside = slice(*np.searchsorted(self.pieces[:, 0], [start, start + self.lengths[i]]))
        return np.ascontiguousarray(self.pieces[inside] - start)

    def sequence_at(self, places: Positions) -> Positions:
        """Find which sequence holds each place of `letters`, int64[n] -> int64[n]."""
        return np.asarray(np.searchsorted(self.starts, places, "right") - 1)

    def whole(self) -> Positions:
        """Find which sequence of the file each is of, from 0, int64[k]: those that are pieces of one are of the same."""
        origins = self.starts - self.offsets
        return np.asarray(np.cumsum(np.diff(origins, prepend=origins[:1]) != 0), np.int64)

    def mapped(self) -> dict[str, npt.NDArray[np.uint8]]:
        """Give the arrays that have files of their own, by the files' names."""
        return {LETTERS: self.letters} | ({} if self.qualities is None else {QUALITIES: self.qualities})

    def to_json(self) -> dict[str, Any]:
        """Say all but the arrays that are mapped, for `from_json`."""
        columns = {name: getattr(self, name).tolist() for name in (*_COLUMNS, "pieces")}
        return {"names": self.names, "empty": self.empty, "together": self.together, **columns}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], letters: npt.NDArray[np.uint8], qualities: npt.NDArray[np.uint8] | None = None) -> Self:
        """Make one of what `to_json` gave, and its arrays."""
        columns = {name: np.array(values[name], np.int64) for name in _COLUMNS}
        empty = [(number, name) for number, name in values["empty"]]
        pieces = np.array(values["pieces"], np.int64).reshape(-1, 2)
        return cls(letters, values["names"], **columns, pieces=pieces, empty=empty, together=values["together"], qualities=qualities)


def turned(codes: Codes) -> Codes:
    """Give the other strand: of an array of several sequences each is turned where it is."""
    separators = np.flatnonzero(codes == SEPARATOR)
    if not len(separators):
        return reverse_complement(codes)
    ends = np.append(separators, len(codes))
    starts = np.concatenate([[0], separators + 1])
    places = np.arange(len(codes))
    each = np.searchsorted(ends, places)
    there = np.where(codes == SEPARATOR, places, starts[each] + ends[each] - 1 - places)
    return np.asarray(reverse_complement(codes)[len(codes) - 1 - there], np.uint8)


@dataclass(frozen=True, eq=False)
class Queries:
    """Strands of query sequences in one array, a separator between two, so that a stage takes many small ones at once.

    codes: uint8[n]. starts: int64[k], where each begins there. numbers: int64[k], which sequence each is of. minus: bool[k], whether it is turned around.
    """

    codes: Codes
    starts: Positions
    numbers: Positions
    minus: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, number: int, strand: str, codes: Codes) -> Self:
        """Hold one strand alone."""
        return cls(codes, np.zeros(1, np.int64), np.array([number]), np.array([strand == "-"]))

    @classmethod
    def joined(cls, strands: Iterable[tuple[int, str, Codes]]) -> Self:
        """Join many strands, each a sequence's number, strand and codes."""
        numbers, names, codes = zip(*strands, strict=True)
        ends = np.cumsum([len(one) + 1 for one in codes])
        separator = np.full(1, SEPARATOR, np.uint8)
        array = np.concatenate([piece for one in codes for piece in (one, separator)])[:-1]
        return cls(array, np.concatenate([[0], ends[:-1]]).astype(np.int64), np.array(numbers, np.int64), np.array(names) == "-")

    def __len__(self) -> int:
        """Count the strands."""
        return len(self.starts)

    def at(self, places: Positions) -> Positions:
        """Find which strand holds each place of the array, int64[n] -> int64[n]."""
        return np.asarray(np.searchsorted(self.starts, places, "right") - 1)

    @cached_property
    def ends(self) -> Positions:
        """Where each strand ends, int64[k]."""
        return np.append(self.starts[1:] - 1, len(self.codes))

    def one(self, i: int) -> Codes:
        """Give the codes of strand i."""
        return self.codes[self.starts[i] : self.ends[i]]
