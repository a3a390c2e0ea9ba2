"""Hold alignments as straight lines between two genomes; choose some of them, and put a genome's sequences along the diagonal."""

import re
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from tidalign.pipeline.errors import InputError

Places = npt.NDArray[np.int64]

MOST_DRAWN = 100_000
"""Alignments of a picture above which the shortest are left out, unless it is said which."""

_REGION = re.compile(r"^(?P<name>.+?)(?::(?P<start>[\d,]+)-(?P<end>[\d,]+))?$")


@dataclass(frozen=True, slots=True)
class Side:
    """The sequences of one genome. turned: bool[k], those that are shown from their end to their begin."""

    names: list[str]
    lengths: Places
    turned: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, names: list[str], lengths: Places) -> Self:
        """Make a side of which no sequence is turned."""
        return cls(names, lengths, np.zeros(len(names), bool))

    def taken(self, order: Places) -> "Side":
        """Give some of the sequences, in this order."""
        return Side([self.names[i] for i in order], self.lengths[order], self.turned[order])


@dataclass(frozen=True, slots=True)
class Segments:
    """Alignments of two genomes, and the genomes.

    target_at, query_at: int64[n], which sequence of its side each lies on. The others int64[n], 0-based and half open, on the forward strand.
    forward: bool[n], those on the strand +. identity: float64[n], matches by columns of the alignment, gaps too; NaN where nobody says. score: int64[n].
    """

    target: Side
    query: Side
    target_at: Places
    target_start: Places
    target_end: Places
    query_at: Places
    query_start: Places
    query_end: Places
    forward: npt.NDArray[np.bool_]
    identity: npt.NDArray[np.float64]
    score: Places

    def __len__(self) -> int:
        """Count the alignments."""
        return len(self.target_at)

    @property
    def lengths(self) -> Places:
        """int64[n]: letters of the target in each."""
        return self.target_end - self.target_start

    def taken(self, chosen: npt.NDArray[np.bool_] | Places) -> "Segments":
        """Give some of the alignments."""
        names = ("target_at", "target_start", "target_end", "query_at", "query_start", "query_end", "forward", "identity", "score")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})


def chosen(segments: Segments, min_length: int | None = None, min_identity: float | None = None) -> Segments:
    """Leave out what is short or unlike. Where nothing is said and there are more than `MOST_DRAWN`, the shortest are left out. min_identity: of 1."""
    if min_length is None and min_identity is None:
        if len(segments) <= MOST_DRAWN:
            return segments
        longest = np.argpartition(-segments.lengths, MOST_DRAWN)[:MOST_DRAWN]
        return segments.taken(np.sort(longest))
    kept = segments.lengths >= (min_length or 0)
    if min_identity is not None:
        kept &= ~(segments.identity < min_identity)  # what nobody knows stays
    return segments.taken(kept)


def along(segments: Segments) -> Segments:
    """Put the query's sequences in the order of where they align on the target, and turn those that mostly align on the strand -.

    An alignment weighs the square of its letters, and the place of a sequence is the median: many short repeats, far away, move neither of both.
    """
    count = len(segments.query.names)
    weights = segments.lengths.astype(np.float64) ** 2
    order_of_target = np.concatenate([[0], np.cumsum(segments.target.lengths)])[:-1]
    both, of_both = np.unique(np.stack([segments.query_at, segments.target_at]), axis=1, return_inverse=True)
    together = np.bincount(of_both, weights, both.shape[1])
    best = np.full(count, -1)
    best[both[0, np.argsort(together, kind="stable")]] = both[1, np.argsort(together, kind="stable")]  # the last one stays: the greatest weight
    there = segments.taken(best[segments.query_at] == segments.target_at)
    weights = weights[best[segments.query_at] == segments.target_at]
    medians = _medians(there.query_at, order_of_target[there.target_at] + (there.target_start + there.target_end) / 2, weights, count)
    turned = np.bincount(there.query_at, np.where(there.forward, -weights, weights), count) > 0
    order = np.lexsort((-segments.query.lengths, medians))
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    flipped = turned[segments.query_at]
    sizes = segments.query.lengths[segments.query_at]
    return replace(
        segments,
        query=Side(segments.query.names, segments.query.lengths, turned).taken(order),
        query_at=place[segments.query_at],
        query_start=np.where(flipped, sizes - segments.query_end, segments.query_start),
        query_end=np.where(flipped, sizes - segments.query_start, segments.query_end),
        forward=segments.forward ^ flipped,
    )


def _medians(groups: Places, values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.float64]:
    """Give the weighted median of the values of each group; infinity for one without."""
    order = np.lexsort((values, groups))
    sums = np.cumsum(weights[order])
    first, after = (np.searchsorted(groups[order], np.arange(count), side) for side in ("left", "right"))
    before = np.concatenate([[0], sums])[first]
    middle = np.searchsorted(sums, before + np.bincount(groups, weights, count) / 2)
    found = np.full(count, np.inf)
    some = after > first
    found[some] = values[order][np.clip(middle, first, after - 1)[some]]  # sums of many groups are rounded
    return found


@dataclass(frozen=True, slots=True)
class Region:
    """A sequence, or letters [start, end) of it."""

    name: str
    start: int = 0
    end: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `chr1` or `chr1:1001-2,000`, from 1 and with its end, as samtools has it. ValueError where it is none."""
        found = _REGION.match(text)
        if not found:
            raise ValueError(f"expected a region as chr1 or chr1:1001-2000, not {text!r}")
        if not found["start"]:
            return cls(text)
        start, end = (int(found[name].replace(",", "") or 0) for name in ("start", "end"))
        if not 1 <= start <= end:
            raise ValueError(f"expected a region from 1 on that ends after its begin, not {text!r}")
        return cls(found["name"], start - 1, end)

    def of(self, side: Side, file: str) -> tuple[int, int, int]:
        """Find the sequence of a region on a side, and its letters. InputError where there is none of this name."""
        if self.end is not None and (spelled := f"{self.name}:{self.start + 1}-{self.end}") in side.names:
            return Region(spelled).of(side, file)  # as `samtools faidx` names what it cuts out
        if self.name not in side.names:
            known = ", ".join(side.names[:5]) + (", ..." if len(side.names) > 5 else "")
            raise InputError(file, f"one of its sequences ({known})", repr(self.name), "name one")
        at = side.names.index(self.name)
        length = int(side.lengths[at])
        end = length if self.end is None else min(self.end, length)
        if self.start >= end:
            raise InputError(file, f"a region within the {length:,} letters of {self.name}", f"one from {self.start + 1:,} on", "name another")
        return at, self.start, end


def within(segments: Segments, side: str, at: int, start: int, end: int) -> Segments:
    """Keep what lies on letters [start, end) of a sequence of a side, which is then the only one there; what sticks out is cut as the line it is."""
    one = getattr(segments, f"{side}_at") == at
    kept = segments.taken(one & (getattr(segments, f"{side}_start") < end) & (getattr(segments, f"{side}_end") > start))
    begin, stop = getattr(kept, f"{side}_start"), getattr(kept, f"{side}_end")
    size = np.maximum(1, stop - begin)
    before, after = np.maximum(0, start - begin) / size, np.maximum(0, stop - end) / size
    other = "query" if side == "target" else "target"
    low, high = getattr(kept, f"{other}_start"), getattr(kept, f"{other}_end")
    first, last = np.where(kept.forward, before, after), np.where(kept.forward, after, before)
    cut = (low + first * (high - low)).astype(np.int64), (high - last * (high - low)).astype(np.int64)
    genome: Side = getattr(kept, side)
    return replace(
        kept,
        **{
            side: genome.taken(np.array([at])),
            f"{side}_at": np.zeros(len(kept), np.int64),
            f"{side}_start": np.maximum(begin, start),
            f"{side}_end": np.minimum(stop, end),
            f"{other}_start": cut[0],
            f"{other}_end": cut[1],
        },
    )


def without_empty(segments: Segments, side: str) -> Segments:
    """Leave out the sequences of a side that nothing aligns to, unless all are such."""
    used = np.unique(getattr(segments, f"{side}_at"))
    if not len(used):
        return segments
    genome: Side = getattr(segments, side)
    place = np.zeros(len(genome.names), np.int64)
    place[used] = np.arange(len(used))
    return replace(segments, **{side: genome.taken(used), f"{side}_at": place[getattr(segments, f"{side}_at")]})
