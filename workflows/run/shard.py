"""A share of a run for a job of an array: each does its own in a run directory of its own, and `tidalign merge` puts them together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Shard:
    """The `number`th of `count` shares, from 1. What is in which follows from the run's plan alone, so all are planned by themselves and fit together."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def ranges(self, chunks: Mapping[K, tuple[int, float]]) -> dict[K, tuple[int, int]]:
        """Give the rows [start, stop) of each chunk that are in this share: a stretch of the line of all of them with a part in `count` of the work.

        chunks: rows and estimated work of each, in order.
        """
        total = sum(work for _, work in chunks.values())
        begin, end = (total * place / self.count for place in (self.number - 1, self.number))
        found, before = {}, 0.0
        for key, (rows, work) in chunks.items():
            start, stop = (_row(edge - before, rows, work) for edge in (begin, end))
            found[key] = (start if self.number > 1 else 0, stop if self.number < self.count else rows)
            before += work
        return found

    def members(self, items: Iterable[tuple[K, float]]) -> set[K]:
        """Give those items, of so much estimated work each, that are in this share: the largest first, each to the share that has least."""
        shares = [0.0] * self.count
        found = set()
        for key, work in sorted(items, key=lambda item: -item[1]):
            place = shares.index(min(shares))
            shares[place] += work or 1e-9
            if place == self.number - 1:
                found.add(key)
        return found


def _row(done: float, rows: int, work: float) -> int:
    """Tell the row up to which so much work of a chunk is done."""
    return min(rows, max(0, int(rows * done / work))) if work else 0


class ShardDone(Exception):
    """This share of the run is done, others are not: no failure, but there is nothing to export yet."""

    def __init__(self, shard: Shard, directory: str, done: int, total: int, what: str) -> None:
        super().__init__(f"shard {shard}: done, {done:,} of {total:,} {what}, in {directory}; when all are: tidalign merge RUN .. -o OUT")
