"""Seeds to anchors: the stages before gapped extension, for one query sequence on one strand against a whole target."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.kernels.anchors.chain import best_chain
from tidalign.kernels.anchors.points import anchor_points, lastz_order
from tidalign.kernels.letters.nucleotides import SEPARATOR, Codes
from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.seed.index import Positions
from tidalign.kernels.ungapped.hsps import Segments
from tidalign.pipeline.genome.input.sequences import Genome, Queries, turned
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages.covering import Covering, every_hsp, limit
from tidalign.pipeline.genome.stages.guards import Heartbeat
from tidalign.pipeline.genome.stages.itself import SelfWords
from tidalign.pipeline.genome.stages.rescored import scored, summed, without_entropy
from tidalign.pipeline.genome.stages.seeded import Seeded
from tidalign.pipeline.genome.stages.unit import Words
from tidalign.pipeline.schema import ANCHORS, HITS, HSPS

PIECE = 1 << 16
"""Segments whose anchors are found together."""


def find_hits(words: Words, query: Codes, parameters: GenomeParameters, tile: int = 1 << 20) -> Iterator[Any]:
    """Find all seed hits in LASTZ's order of arrival: batches (HITS) of at most `tile` rows."""
    for targets, queries in words.hits(query, parameters, tile=tile):
        yield pa.record_batch([pa.array(targets.copy()), pa.array(queries.copy())], schema=HITS)


def find_hsps(words: Words, query: Codes, parameters: GenomeParameters) -> Iterator[Any]:
    """Find the gap-free segments of used hits: HSPs, or bare seeds without gap-free extension; batches (HSPS) as they are found.

    Exact mode has LASTZ's 65,536 records of diagonals, independent mode one for each diagonal.
    """
    for segments in _segments(words, query, parameters):
        if len(segments):
            yield pa.record_batch(_columns(segments), schema=HSPS)


def find_anchors(
    target: Genome,
    query: Codes,
    strand: str,
    words: Words,
    parameters: GenomeParameters,
    beat: Heartbeat = lambda _: None,
    passing: Callable[[Any], Any] = lambda hsps: hsps,
    seeded: Callable[[str], Seeded] | None = None,
    lowest: Callable[[int], None] = lambda _: None,
    origin: int = 0,
    left_out: Callable[[], None] = lambda: None,
) -> Generator[Any, None, None]:
    """Find the anchors (ANCHORS) of a query strand in order of arrival, in tables of at most PIECE; the HSPs they come from (HSPS) where these are the result.
    `words`: the target's. `beat` is called after every few thousand hits, with the query place that was reached. `passing`: leaves out HSPs that are not to be
    chained. `seeded`: where what is found of a strand (+ or -) is written down from time to time, and was before. `lowest`: is told the least score of an
    alignment where the HSPs say it (`hsp_cover`). `origin`: where the query begins in LASTZ's memory. `left_out`: is told that the query has too many HSPs.

    A tile of hits is in memory at a time. Chains, and limits over both strands of a query (`query_hsp_best`, `query_hsp_limit`), need all HSPs; the latter
    those of the other strand as well, which are then found here, too.
    """
    of_all = parameters.query_hsp_limit, parameters.hsp_cover, parameters.chain
    if any(each is not None for each in of_all) or _best_are_chosen(parameters):
        tiles = iter([_chosen(target, query, strand, words, parameters, beat, passing, seeded, lowest, origin, left_out)])
    else:
        found = _segments(words, query, parameters, beat, seeded=seeded and seeded(strand))
        tiles = (pa.table(_columns(scored(words.target, query, segments, parameters)), schema=HSPS) for segments in found)
    for hsps in tiles:
        for first in range(0, len(hsps), PIECE):
            piece = hsps.slice(first, PIECE)
            yield anchors(words.target, query, piece, parameters) if parameters.gapped else piece


def find_of_many(words: Words, queries: Queries, parameters: GenomeParameters, beat: Heartbeat) -> Iterator[tuple[int, Segments]]:
    """Find the segments of used hits of many query strands, which are sought in their array at once: up to which strand all are found, and those of the strands
    since the one that was told before. `beat` is called with the first strand of which not all is told.

    What no separator is crossed by is the same as of each strand alone: hits come by query place, windows and extensions end at a separator, and where a scan
    to the right stopped is within its strand, so that no record of a diagonal reaches into the next one.
    """
    held: list[Segments] = []
    told = 0
    for segments, _, reached in _tiles(words, queries.codes, parameters):
        beat(told)
        strand = int(queries.at(np.array([reached]))[0])
        held.append(scored(words.target, queries.codes, segments, parameters))
        if strand > told:
            together = Segments.concat(held)
            before = together.query < queries.starts[strand]
            yield strand, together.take(before)
            held, told = [together.take(~before)], strand
    yield len(queries), Segments.concat(held)


def _chosen(
    target: Genome,
    query: Codes,
    strand: str,
    words: Words,
    parameters: GenomeParameters,
    beat: Heartbeat,
    passing: Callable[[Any], Any],
    seeded: Callable[[str], Seeded] | None,
    lowest: Callable[[int], None],
    origin: int,
    left_out: Callable[[], None],
) -> Any:
    """Choose the HSPs (HSPS) of a query strand that are left by what looks at all of them."""

    def searched(words: Words, codes: Codes, name: str) -> Segments:
        return Segments.concat(list(_segments(words, codes, parameters, beat, seeded=seeded and seeded(name))))

    if parameters.query_hsp_limit is not None:
        segments, within = _within(parameters.query_hsp_limit, words, query, strand, parameters, beat)
        if not within:
            left_out()
    elif parameters.hsp_cover is not None:
        segments, score = _covering(words, query, strand, parameters, beat)
        lowest(score)
    else:
        segments = searched(words, query, strand)
    if parameters.query_hsp_best is not None and _best_are_chosen(parameters):
        segments = _best(parameters.query_hsp_best, segments, searched(_other_strand(words), turned(query), "-" if strand == "+" else "+"))
        if strand == "+" and parameters.mode == "exact" and parameters.matching is None and (parameters.gapped or parameters.chain is not None):
            segments = without_entropy(words.target, query, segments, parameters)
    segments = scored(words.target, query, segments, parameters)
    hsps = passing(pa.table(_columns(segments), schema=HSPS))
    if parameters.chain is None:
        return hsps
    return pa.table(_columns(chained(target.bounds(), query, _of(hsps), parameters, parameters.chain, origin)), schema=HSPS)


def _covering(words: Words, query: Codes, strand: str, parameters: GenomeParameters, beat: Heartbeat) -> tuple[Segments, int]:
    """Find the best HSPs of both strands of a query that cover so many letters: those of this strand, and the least score of an alignment."""
    best = Covering(limit(parameters, len(words.target)), entropy=parameters.entropy)
    for name in {"both": "+-", "plus": "+", "minus": "-"}[parameters.strand]:
        sought, codes = (words, query) if name == strand else (_other_strand(words), turned(query))
        for segments, _, reached in _tiles(sought, codes, every_hsp(parameters)):
            best.add(words.target, codes, segments, minus=name == "-", images=sought.images(segments) if isinstance(sought, SelfWords) else None)
            beat(reached)
    segments = best.strand(minus=strand == "-")
    if strand == "+" and parameters.strand == "both" and (parameters.gapped or parameters.chain is not None):
        segments = summed(words.target, query, segments, parameters, np.arange(len(segments)))
    return segments, best.lowest()


def anchors(target: Codes, query: Codes, hsps: Any, parameters: GenomeParameters) -> Any:
    """Choose the anchor (ANCHORS) of each segment (HSPS): one place of it, with its score."""
    segments = _of(hsps)
    t, q = anchor_points(target, query, segments, _plain(parameters.scoring))
    return pa.table([t, q, segments.score], schema=ANCHORS)


def anchors_of_many(target: Codes, queries: Queries, segments: Segments, parameters: GenomeParameters) -> tuple[Positions, Positions, Positions]:
    """Choose places of the segments' anchors on the target and in the array of the queries, and tell which strand each is of: int64[n] each.

    By strand; of one strand in LASTZ's order (exact mode), or as they are found.
    """
    t, q = anchor_points(target, queries.codes, segments, _plain(parameters.scoring))
    strand = queries.at(q)
    order = np.lexsort((t, q, -segments.score, strand)) if parameters.mode == "exact" else np.argsort(strand, kind="stable")
    return t[order], q[order], strand[order]


@lru_cache(maxsize=1)
def _plain(scoring: Scoring) -> Any:
    """Keep the scores that every tile asks for."""
    return scoring.plain()


def _tiles(words: Words, query: Codes, parameters: GenomeParameters, **since: Any) -> Iterator[tuple[Segments, Positions, int]]:
    """Find segments of used hits tile by tile, the query place of each one's hit, and one up to which all are found; of every hit where these are the
    result. since: the place where hits begin, and what is known of diagonals there."""
    if _used_alone(parameters):
        found = words.segments(query, parameters, **since)
    else:
        found = ((_every_hit(words, query, t, q, parameters), q.copy(), int(q[-1])) for t, q in words.hits(query, parameters, **since))
    for segments, places, reached in found:
        yield (*words.mirrored(segments, places), reached) if isinstance(words, SelfWords) else (segments, places, reached)


def _other_strand(words: Words) -> Words:
    """Give the words as they are sought on the other strand."""
    return words.other_strand() if isinstance(words, SelfWords) else words


def _used_alone(parameters: GenomeParameters) -> bool:
    """Tell whether hits that were used before on their diagonal are passed over."""
    return parameters.gfextend or parameters.gapped


def _segments(
    words: Words, query: Codes, parameters: GenomeParameters, beat: Heartbeat = lambda _: None, limit: int | None = None, seeded: Seeded | None = None
) -> Iterator[Segments]:
    """Find segments, as they come; to the end of the query place where there are more than `limit` of them."""
    if seeded is not None:
        since = {"records": words.records(query, parameters)} if _used_alone(parameters) else {}

        def tiles(start: int) -> Iterator[tuple[Segments, int]]:
            return ((segments, reached) for segments, _, reached in _tiles(words, query, parameters, start=start, **since))

        yield from seeded.segments(since.get("records"), tiles, beat)
        return
    count, last = 0, None
    for segments, places, reached in _tiles(words, query, parameters):
        if limit is not None and last is None and count + len(segments) > limit:
            last = places[limit - count]
        count += len(segments)
        yield segments if last is None else segments.take(places <= last)
        if last is not None and reached > last:
            return
        beat(reached)


def _searched(words: Words, query: Codes, parameters: GenomeParameters, beat: Heartbeat, limit: int | None = None) -> Segments:
    return Segments.concat(list(_segments(words, query, parameters, beat, limit)))


def _every_hit(words: Words, query: Codes, targets: Any, queries: Any, parameters: GenomeParameters) -> Segments:
    """Make segments of hits as LASTZ shows them if nothing comes after, whether used before on their diagonal or not; they have a score only where they are
    chained."""
    span = words.pattern.span
    score = np.zeros(len(targets), np.int64)
    if parameters.chain is not None:
        table = parameters.scoring.masked()
        for column in range(span):
            score += table[words.target[targets + column], query[queries + column]]
    return Segments(targets.copy(), queries.copy(), np.full(len(targets), span), score)


def given_up(words: Words, query: Codes, parameters: GenomeParameters) -> bool:
    """Tell whether a query (its strand +) has too many HSPs to be aligned at all."""
    limit = parameters.query_hsp_limit
    return limit is not None and not parameters.query_hsp_keep and _counted(limit, words, query, "+", parameters, lambda _: None)[1] > limit


def _within(limit: int, words: Words, query: Codes, strand: str, parameters: GenomeParameters, beat: Heartbeat) -> tuple[Segments, bool]:
    """Find the HSPs of a strand if the query has at most `limit` of them, else none; with `query_hsp_keep` those that were found before that was known. Tell,
    too, whether there may be any."""
    segments, total = _counted(limit, words, query, strand, parameters, beat)
    within = parameters.query_hsp_keep or total <= limit
    return (segments if within else Segments.concat([])), within


def _counted(limit: int, words: Words, query: Codes, strand: str, parameters: GenomeParameters, beat: Heartbeat) -> tuple[Segments, int]:
    """Find the HSPs of a strand, and count those of its query, as far as they have to be counted.

    LASTZ (1.04.22) searches + until it has more than the limit, and then - until it has more than what is left of it, or than one.
    """
    keep, both = parameters.query_hsp_keep, parameters.strand == "both"
    before = len(_searched(_other_strand(words), turned(query), parameters, beat, limit)) if both and strand == "-" else 0
    if before > limit and not keep:
        return Segments.concat([]), before
    segments = _searched(words, query, parameters, beat, max(1, limit - before))
    total = before + len(segments)
    if both and strand == "+" and not keep and total <= limit:
        total += len(_searched(_other_strand(words), turned(query), parameters, beat, max(1, limit - total)))
    return segments, total


def _best_are_chosen(parameters: GenomeParameters) -> bool:
    """Tell whether `query_hsp_best` leaves anything out or changes the order. To LASTZ bare seeds are all worth the same when it chooses, and so they stay."""
    scored_later = parameters.mode == "exact" and not parameters.gfextend and (parameters.gapped or parameters.chain is not None)
    return parameters.query_hsp_best is not None and parameters.strand == "both" and not scored_later


def _best(best: int, segments: Segments, other: Segments) -> Segments:
    """Choose those of a strand's HSPs that are among the best of it and the other strand, and those that tie, by falling score; all where there are no more."""
    if len(segments) + len(other) <= best:
        return segments
    left = segments.take(segments.score >= np.sort(np.concatenate([segments.score, other.score]))[-best])
    return left.take(lastz_order(left.target, left.query, left.score))


def chained(bounds: Positions, query: Codes, segments: Segments, parameters: GenomeParameters, penalties: tuple[int, int], origin: int = 0) -> Segments:
    """Find the best chain of each piece of the target, int64[m, 2], with each sequence of a query that is several (LASTZ does not chain from one to the
    next). origin: as of `find_anchors`; exact mode's chain depends on it where there are penalties."""
    piece, sequence = np.searchsorted(bounds[:, 0], segments.target, "right"), np.searchsorted(np.flatnonzero(query == SEPARATOR), segments.query)
    pairs, which = np.unique(np.stack([piece, sequence]), axis=1, return_inverse=True)
    chains = []
    for each in range(pairs.shape[1]):
        inside = segments.take(which.ravel() == each)
        there = replace(inside, query=inside.query + origin)
        chains.append(inside.take(best_chain(there, parameters.overlap, *penalties, lastz=parameters.mode == "exact")))
    together = Segments.concat(chains)
    return together.take(np.lexsort((together.score, together.query, together.length, together.target)))


def _of(hsps: Any) -> Segments:
    return Segments(*(hsps[name].to_numpy() for name in HSPS.names))


def _columns(segments: Segments) -> list[Any]:
    return [segments.target, segments.query, segments.length, segments.score]
