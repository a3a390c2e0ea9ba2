"""Seeds to anchors: the stages before gapped extension, for one query sequence on one strand against a whole target."""

from collections.abc import Callable, Generator, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from tidalign.kernels.anchors.chain import best_chain
from tidalign.kernels.anchors.points import anchor_points, lastz_order
from tidalign.kernels.letters.nucleotides import Codes, reverse_complement
from tidalign.kernels.runtime.card import CARD, SEEDING
from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.seed.index import Index, Positions, hits
from tidalign.kernels.ungapped.hsps import HitFilter, Segments
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.schema import ANCHORS, HITS, HSPS

if TYPE_CHECKING:
    from tidalign.kernels.seed.device import DeviceIndex

T = TypeVar("T")

PIECE = 1 << 16
"""Segments whose anchors are found together."""


def find_hits(index: "Index | DeviceIndex", query: Codes, parameters: GenomeParameters, tile: int = 1 << 20) -> Iterator[Any]:
    """All seed hits in LASTZ's order of arrival: batches (HITS) of at most `tile` rows."""
    for targets, queries in _hits(index, query, parameters, tile=tile):
        yield pa.record_batch([pa.array(targets.copy()), pa.array(queries.copy())], schema=HITS)


def find_hsps(index: "Index | DeviceIndex", query: Codes, parameters: GenomeParameters) -> Iterator[Any]:
    """The gap-free segments of used hits as they are found: HSPs, or bare seeds without gap-free extension; batches (HSPS).

    Exact mode has LASTZ's 65,536 records of diagonals, independent mode one for each diagonal.
    """
    for segments in _segments(index, query, parameters):
        if len(segments):
            yield pa.record_batch(_columns(segments), schema=HSPS)


def find_anchors(
    target: Genome,
    query: Codes,
    strand: str,
    index: "Index | DeviceIndex",
    parameters: GenomeParameters,
    beat: Callable[[], None] = lambda: None,
    passing: Callable[[Any], Any] = lambda hsps: hsps,
) -> Generator[Any, None, None]:
    """The anchors (ANCHORS) of a query strand in order of arrival, in tables of at most PIECE; the HSPs they come from (HSPS) where these are the result.
    `index`: of the target. `beat` is called after every few thousand hits. `passing`: leaves out HSPs that are not to be chained.

    A tile of hits is in memory at a time. Chains, and limits over both strands of a query (`query_hsp_best`, `query_hsp_limit`), need all HSPs; the latter
    those of the other strand as well, which are then found here, too.
    """
    limited = parameters.query_hsp_limit is not None or (parameters.query_hsp_best is not None and parameters.strand == "both")
    if limited or parameters.chain is not None:
        tiles = iter([_chosen(target, query, strand, index, parameters, beat, passing)])
    else:
        tiles = (pa.table(_columns(segments), schema=HSPS) for segments in _segments(index, query, parameters, beat))
    for hsps in tiles:
        for first in range(0, len(hsps), PIECE):
            piece = hsps.slice(first, PIECE)
            yield anchors(index.target, query, piece, parameters) if parameters.gapped else piece


def _chosen(
    target: Genome,
    query: Codes,
    strand: str,
    index: "Index | DeviceIndex",
    parameters: GenomeParameters,
    beat: Callable[[], None],
    passing: Callable[[Any], Any],
) -> Any:
    """The HSPs (HSPS) of a query strand that are left by what looks at all of them."""
    if parameters.query_hsp_limit is not None:
        segments = _within(parameters.query_hsp_limit, index, query, strand, parameters, beat)
    else:
        segments = _searched(index, query, parameters, beat)
    if parameters.query_hsp_best is not None and parameters.strand == "both":
        segments = _best(parameters.query_hsp_best, segments, _searched(index, reverse_complement(query), parameters, beat))
    hsps = passing(pa.table(_columns(segments), schema=HSPS))
    return hsps if parameters.chain is None else pa.table(_columns(_chained(target, _of(hsps), parameters, parameters.chain)), schema=HSPS)


def anchors(target: Codes, query: Codes, hsps: Any, parameters: GenomeParameters) -> Any:
    """The anchor (ANCHORS) of each segment (HSPS): one place of it, with its score."""
    segments = _of(hsps)
    t, q = anchor_points(target, query, segments, _plain(parameters.scoring))
    return pa.table([t, q, segments.score], schema=ANCHORS)


@lru_cache(maxsize=1)
def _plain(scoring: Scoring) -> Any:
    """Asked for by every tile."""
    return scoring.plain()


def _hits(index: "Index | DeviceIndex", query: Codes, parameters: GenomeParameters, **tile: int) -> Iterator[tuple[Positions, Positions]]:
    if isinstance(index, Index):
        return hits(index, query, parameters.transitions, parameters.seed_filter, **tile)
    from tidalign.kernels.seed import device as seed_device

    return _one_at_a_time(seed_device.hits(index, query, parameters.transitions, parameters.seed_filter, **tile))


def _one_at_a_time(tiles: Iterator[T]) -> Iterator[T]:
    """What a card makes, with the card held while it makes each."""
    with SEEDING:
        while True:
            with CARD:
                tile = next(tiles, None)
            if tile is None:
                return
            yield tile


def _tiles(index: "Index | DeviceIndex", query: Codes, parameters: GenomeParameters) -> Iterator[tuple[Segments, Positions, int]]:
    """Segments of used hits tile by tile, the query place of each one's hit, and one up to which all are found."""
    exact = parameters.mode == "exact"
    if not parameters.gfextend and not parameters.gapped:
        for targets, queries in _hits(index, query, parameters):
            segments = _every_hit(index, query, targets, queries, parameters)
            yield segments, segments.query, int(queries[-1])
    elif isinstance(index, Index):
        used = HitFilter(index.target, query, index.pattern.span, parameters.scoring, exact=exact)
        for targets, queries in _hits(index, query, parameters):
            if parameters.gfextend:
                segments, places = used.hsps_of_hits(targets, queries, parameters.xdrop, parameters.hspthresh, parameters.entropy)
            else:
                segments = used.seeds(targets, queries)
                places = segments.query
            yield segments, places, int(queries[-1])
    else:
        from tidalign.kernels.ungapped import device as ungapped_device

        gapfree = (parameters.xdrop, parameters.hspthresh, parameters.entropy) if parameters.gfextend else None
        found = ungapped_device.segments(
            *(index, query),
            transitions=parameters.transitions,
            seed_filter=parameters.seed_filter,
            scoring=parameters.scoring,
            exact=exact,
            gapfree=gapfree,
        )
        for segments, places in _one_at_a_time(found):
            yield segments, places, int(places[-1]) if len(places) else -1


def _segments(
    index: "Index | DeviceIndex", query: Codes, parameters: GenomeParameters, beat: Callable[[], None] = lambda: None, limit: int | None = None
) -> Iterator[Segments]:
    """Segments as they are found; to the end of the query place where there are more than `limit` of them."""
    count, last = 0, None
    for segments, places, reached in _tiles(index, query, parameters):
        if limit is not None and last is None and count + len(segments) > limit:
            last = places[limit - count]
        count += len(segments)
        yield segments if last is None else segments.take(places <= last)
        if last is not None and reached > last:
            return
        beat()


def _searched(index: "Index | DeviceIndex", query: Codes, parameters: GenomeParameters, beat: Callable[[], None], limit: int | None = None) -> Segments:
    return Segments.concat(list(_segments(index, query, parameters, beat, limit)))


def _every_hit(index: "Index | DeviceIndex", query: Codes, targets: Any, queries: Any, parameters: GenomeParameters) -> Segments:
    """Hits as LASTZ shows them if nothing comes after, whether used before on their diagonal or not; they have a score only where they are chained."""
    span = index.pattern.span
    score = np.zeros(len(targets), np.int64)
    if parameters.chain is not None:
        table = parameters.scoring.masked()
        for column in range(span):
            score += table[index.target[targets + column], query[queries + column]]
    return Segments(targets.copy(), queries.copy(), np.full(len(targets), span), score)


def given_up(index: "Index | DeviceIndex", query: Codes, parameters: GenomeParameters) -> bool:
    """Whether a query (its strand +) has too many HSPs to be aligned at all."""
    limit = parameters.query_hsp_limit
    return limit is not None and not parameters.query_hsp_keep and _counted(limit, index, query, "+", parameters, lambda: None)[1] > limit


def _within(limit: int, index: "Index | DeviceIndex", query: Codes, strand: str, parameters: GenomeParameters, beat: Callable[[], None]) -> Segments:
    """The HSPs of a strand if the query has at most `limit` of them, else none; with `query_hsp_keep` those that were found before that was known."""
    segments, total = _counted(limit, index, query, strand, parameters, beat)
    return segments if parameters.query_hsp_keep or total <= limit else Segments.concat([])


def _counted(
    limit: int, index: "Index | DeviceIndex", query: Codes, strand: str, parameters: GenomeParameters, beat: Callable[[], None]
) -> tuple[Segments, int]:
    """The HSPs that are found of a strand, and how many there are of its query, as far as they have to be counted.

    LASTZ (1.04.22) searches + until it has more than the limit, and then - until it has more than what is left of it, or than one.
    """
    keep, both = parameters.query_hsp_keep, parameters.strand == "both"
    before = len(_searched(index, reverse_complement(query), parameters, beat, limit)) if both and strand == "-" else 0
    if before > limit and not keep:
        return Segments.concat([]), before
    segments = _searched(index, query, parameters, beat, max(1, limit - before))
    total = before + len(segments)
    if both and strand == "+" and not keep and total <= limit:
        total += len(_searched(index, reverse_complement(query), parameters, beat, max(1, limit - total)))
    return segments, total


def _best(best: int, segments: Segments, other: Segments) -> Segments:
    """Those of a strand's HSPs that are among the best of it and the other strand, and those that tie, by falling score; all where there are no more."""
    if len(segments) + len(other) <= best:
        return segments
    left = segments.take(segments.score >= np.sort(np.concatenate([segments.score, other.score]))[-best])
    return left.take(lastz_order(left.target, left.query, left.score))


def _chained(target: Genome, segments: Segments, parameters: GenomeParameters, penalties: tuple[int, int]) -> Segments:
    """The best chain in each piece of the target (LASTZ does not chain from one sequence of a target to the next)."""
    piece = np.searchsorted(target.bounds()[:, 0], segments.target, "right")
    chains = []
    for each in np.unique(piece):
        inside = segments.take(piece == each)
        chains.append(inside.take(best_chain(inside, parameters.scoring.matrix[0][0], *penalties)))
    return Segments.concat(chains)


def _of(hsps: Any) -> Segments:
    return Segments(*(hsps[name].to_numpy() for name in HSPS.names))


def _columns(segments: Segments) -> list[Any]:
    return [segments.target, segments.query, segments.length, segments.score]
