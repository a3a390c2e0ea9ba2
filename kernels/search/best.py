"""Search of queries against a database by scores: the best of each query, a bounded number of pairs at a time."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.words import WORDS
from tidalign.kernels.local import pairs
from tidalign.kernels.local.bars import Bars, worth
from tidalign.kernels.local.coding import Coded, Coding
from tidalign.kernels.search import words, words_host

CALL_PAIRS = 1 << 14
"""Pairs that are scored in one call, about."""

LIKE_PAIRS = 1 << 10
"""Pairs in one call where most are given up."""

WORDS_CELLS = 2e8
"""Cells of a query with the whole database (10 ms) from which on words are counted."""

PROMISING = 4
"""Part of what a query scores at best that its worst hit must score, so that others are given up soon."""

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
    Local pairs that cannot be among the best any more are given up (local/bars.py). Of long queries of DNA those that share most words go first: they say soon
    what that takes.
    """
    count, width = len(strands[0]), len(database)
    work = _Search(strands, database, coding, top, least, span)
    order = np.argsort(database.lengths, kind="stable")  # lanes of a vector are sequences of one length, about
    counted = work.counted() & (width >= pairs.SHARED_PAIRS)
    # One query alone, whose scores all lanes share, where that fills the lanes for long enough.
    alone = counted | (len(coding.scores) == 1 and width >= pairs.SHARED_PAIRS)
    at_once = max(1, CALL_PAIRS // max(1, width * len(strands)))
    found, start = [], 0
    while start < count and width:
        others = np.flatnonzero(alone[start : start + at_once])
        stop = start + (max(1, int(others[0])) if len(others) else min(at_once, count - start))
        queries = _Queries(work, start, stop)
        queries.likeliest_first(order) if counted[start] else queries.in_calls(order)
        found.append(queries.kept)
        start = stop
    return joined(found)


def shared_words(strands: list[Coded], query: int, database: Coded) -> tuple[Integers, Integers]:
    """Count the words that a query shares with each sequence, and those that it shares beyond what any letters would -> both int64[strands, sequences]."""
    shared = np.empty((len(strands), len(database)), np.int64)
    by_chance = np.empty_like(shared)
    for number, strand in enumerate(strands):
        letters = strand.codes[strand.starts[query] :][: strand.lengths[query]]
        different = words_host.count_shared(letters, database.codes, database.starts, database.lengths, shared[number])
        by_chance[number] = database.lengths * different // WORDS
    return shared, shared - by_chance


def left(strands: list[Coded], query: int, database: Coded, coding: Coding, *, top: int, least: int) -> tuple[float, int]:
    """Tell of one query, for a forecast, what part of the pairs `search` does not leave out by their words, and what score the last one kept has."""
    shared, alike = shared_words(strands, query, database)
    likeliest = np.unique(np.argsort(-alike, axis=None)[: words.likeliest(top)] % len(database))
    hits = search([strand.at(np.array([query])) for strand in strands], database.at(likeliest), coding, top=top, least=least)
    bar = int(hits.score[-1]) if len(hits) == top else least
    return float((shared >= words.fewest(strands[0].lengths[[query]], np.array([bar]), coding)).mean()), bar


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


class _Search:
    """Hold what is searched in what, and how."""

    def __init__(self, strands: list[Coded], database: Coded, coding: Coding, top: int, least: int, span: str) -> None:
        self.strands, self.database, self.coding, self.top, self.least, self.span = strands, database, coding, top, least, span
        self.worths = [worth(strand, coding) for strand in strands] if span == "local" else []
        self.likeliest = words.likeliest(top)

    def counted(self) -> npt.NDArray[np.bool_]:
        """Tell for which queries to count words."""
        cells = self.strands[0].lengths * float(self.database.lengths.sum()) * len(self.strands)
        possible = words.possible(len(self.database), self.coding, self.top, self.span)
        return np.asarray((cells >= WORDS_CELLS) & bool(possible))


class _Queries:
    """Search queries [start, stop). kept: their best hits so far; bound: of each the score that another hit must have."""

    def __init__(self, work: _Search, start: int, stop: int) -> None:
        self._work, self._start, self._stop = work, start, stop
        self.bound = np.full(stop - start, work.least, np.int64)
        self.kept = NO_HITS

    def in_calls(self, targets: Integers) -> None:
        """Take in these sequences, so many a call."""
        for first in range(0, len(targets), CALL_PAIRS):
            for strand in range(len(self._work.strands)):
                self._take(strand, targets[first : first + CALL_PAIRS])

    def likeliest_first(self, order: Integers) -> None:
        """Take in, for one query, the sequences that share most words with it, and then all others that share enough; where much is to be given up, those that
        are alike go together, as all lanes of a vector give up at once."""
        work, query = self._work, self._start
        shared, alike = shared_words(work.strands, query, work.database.at(order))
        first = np.zeros(shared.shape, np.bool_)
        first.ravel()[np.argpartition(alike.ravel(), -work.likeliest)[-work.likeliest :]] = True
        for number, places in enumerate(first):
            self._take(number, order[places])
        start, length = (int(each[query]) for each in (work.strands[0].starts, work.strands[0].lengths))
        promising = PROMISING * self.bound[0] >= work.worths[0][start + length] - work.worths[0][start]
        calls = LIKE_PAIRS if promising else CALL_PAIRS
        enough = shared >= words.fewest(np.array([length]), self.bound, work.coding)
        for number, places in enumerate(enough & ~first):
            rest = np.flatnonzero(places)
            if promising:
                rest = rest[np.argsort(-alike[number, rest], kind="stable")]
            for begin in range(0, len(rest), calls):
                self._take(number, order[rest[begin : begin + calls]])

    def _take(self, strand: int, targets: Integers) -> None:
        """Score all queries, on one strand, with some sequences."""
        if not len(targets):
            return
        work, count, width = self._work, self._stop - self._start, len(targets)
        i, j = np.repeat(np.arange(self._start, self._stop), width), np.tile(targets, count)
        bars = Bars(np.repeat(self.bound, width), work.worths[strand]) if work.worths else None
        sides = work.strands[strand].at(i), work.database.at(j)
        found = pairs.align_coded(*sides, work.coding, span=work.span, report="score", bars=bars).score
        assert found is not None
        scores = found.reshape(count, width)
        if width > work.top:  # no more of a query can be among its best
            self.bound = np.maximum(self.bound, np.partition(scores, -work.top, axis=1)[:, -work.top])
        query, place = np.nonzero(scores >= self.bound[:, None])
        more = Hits(query + self._start, targets[place], np.full(len(query), strand), scores[query, place])
        self.kept = best(joined([self.kept, more]), work.top)
        full = np.bincount(self.kept.query - self._start, minlength=count) == work.top
        last = np.searchsorted(self.kept.query, np.arange(self._start, self._stop), side="right") - 1
        self.bound[full] = np.maximum(self.bound[full], self.kept.score[last[full]])
