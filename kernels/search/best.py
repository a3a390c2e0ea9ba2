"""Search of queries against a database by scores: the best of each query, a bounded number of pairs at a time."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidalign.kernels.local import pairs
from tidalign.kernels.local.coding import Coded, Coding

CALL_PAIRS = 1 << 14
"""Pairs that are scored in one call, or the sequences of one query on one strand if that is more."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Hits:
    """Hold hits, int64[n] each: queries in order, and of one the best first. strand: place in the strands that were searched; query, target: numbers."""

    query: Integers
    target: Integers
    strand: Integers
    score: Integers

    def __len__(self) -> int:
        return len(self.query)

    def at(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> "Hits":
        """Take the hits at these places."""
        return Hits(self.query[rows], self.target[rows], self.strand[rows], self.score[rows])


NO_HITS = Hits(*(np.empty(0, np.int64) for _ in range(4)))


def search(strands: list[Coded], database: Coded, coding: Coding, *, top: int, least: int, span: str = "local") -> Hits:
    """Score every query with every sequence of the database on one core, and keep the `top` best of each with a score of `least` or more.

    strands: the queries, and if wanted the same ones reverse complemented. Of equal scores the first in the database counts more, then the first strand: what
    is kept is what comes first where all pairs are sorted so. Memory is that of CALL_PAIRS pairs and of what is kept. span: as of `pairs.align`.
    """
    order = np.argsort(database.lengths, kind="stable")  # lanes of a vector are sequences of one length, about
    count, width = len(strands[0]), len(order)
    # One query alone, whose scores all lanes share, where that fills the lanes for long enough.
    alone = len(coding.scores) == 1 and width >= pairs.SHARED_PAIRS
    at_once = 1 if alone else max(1, CALL_PAIRS // max(1, width * len(strands)))
    found = [
        _of_queries(strands, start, min(count, start + at_once), database, order, coding, top, least, span)
        for start in range(0, count if width else 0, at_once)
    ]
    return joined(found)


def joined(found: list[Hits]) -> Hits:
    """Put hits one after the other."""
    parts = [NO_HITS, *found]
    return Hits(*(np.concatenate([getattr(each, name) for each in parts]) for name in ("query", "target", "strand", "score")))


def best(hits: Hits, top: int) -> Hits:
    """Take the best of each query: higher scores, then smaller numbers of targets, then of strands."""
    order = np.lexsort((hits.strand, hits.target, -hits.score, hits.query))
    return hits.at(order[ranks(hits.query[order]) < top])


def ranks(queries: Integers) -> Integers:
    """Count from 0 in each run of equal numbers."""
    firsts = np.flatnonzero(np.diff(queries, prepend=-1))
    return np.asarray(np.arange(len(queries)) - np.repeat(firsts, np.diff(np.append(firsts, len(queries)))))


def _of_queries(strands: list[Coded], start: int, stop: int, database: Coded, order: Integers, coding: Coding, top: int, least: int, span: str) -> Hits:
    """Search queries [start, stop)."""
    kept = NO_HITS
    bound = np.full(stop - start, least, np.int64)
    for first in range(0, len(order), CALL_PAIRS):
        targets = order[first : first + CALL_PAIRS]
        scores = np.stack([_scores(strand, start, stop, database.at(targets), coding, span) for strand in strands], axis=1).reshape(stop - start, -1)
        if scores.shape[1] > top:  # no more of a query can be among its best
            bound = np.maximum(bound, np.partition(scores, -top, axis=1)[:, -top])
        query, place = np.nonzero(scores >= bound[:, None])
        more = Hits(query + start, targets[place % len(targets)], place // len(targets), scores[query, place])
        kept = best(joined([kept, more]), top)
        full = np.bincount(kept.query - start, minlength=stop - start) == top
        last = np.searchsorted(kept.query, np.arange(start, stop), side="right") - 1
        bound[full] = np.maximum(bound[full], kept.score[last[full]])
    return kept


def _scores(queries: Coded, start: int, stop: int, targets: Coded, coding: Coding, span: str) -> Integers:
    """Score queries [start, stop) with all targets -> int64[queries, targets]."""
    i, j = np.repeat(np.arange(start, stop), len(targets)), np.tile(np.arange(len(targets)), stop - start)
    found = pairs.align_coded(queries.at(i), targets.at(j), coding, span=span, report="score").score
    assert found is not None
    return found.reshape(stop - start, len(targets))
