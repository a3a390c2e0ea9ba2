"""Seeds to anchors: the stages before gapped extension, for one query sequence on one strand against a whole target."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.kernels.anchors import anchor_points, lastz_order
from tidalign.kernels.chain import best_chain
from tidalign.kernels.nucleotides import Codes, reverse_complement
from tidalign.kernels.seed import Index, hits
from tidalign.kernels.ungapped import HitFilter, Segments
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.sequences import Genome
from tidalign.pipeline.schema import ANCHORS, HITS, HSPS


def find_hits(index: Index, query: Codes, parameters: GenomeParameters, tile: int = 1 << 20) -> Iterator[Any]:
    """All seed hits in LASTZ's order of arrival: batches (HITS) of at most `tile` rows."""
    for targets, queries in hits(index, query, parameters.transitions, parameters.seed_filter, tile):
        yield pa.record_batch([pa.array(targets.copy()), pa.array(queries.copy())], schema=HITS)


def find_hsps(index: Index, query: Codes, parameters: GenomeParameters) -> Iterator[Any]:
    """The gap-free segments of used hits as they are found: HSPs, or bare seeds without gap-free extension; batches (HSPS).

    Exact mode has LASTZ's 65,536 records of diagonals, independent mode one for each diagonal.
    """
    for segments in _segments(index, query, parameters):
        if len(segments):
            yield pa.record_batch(_columns(segments), schema=HSPS)


def find_anchors(target: Genome, query: Codes, strand: str, index: Index, parameters: GenomeParameters, beat: Callable[[], None] = lambda: None) -> Any:
    """The anchors (ANCHORS) of a query strand in order of arrival; the HSPs they come from (HSPS) where these are the result. `index`: of the target.
    `beat` is called after every few thousand hits.

    Limits over both strands of a query (`query_hsp_best`, `query_hsp_limit`) need the HSPs of the other strand as well, which are then found here, too.
    """
    segments = Segments.concat(list(_segments(index, query, parameters, beat)))
    if parameters.query_hsp_best is not None or parameters.query_hsp_limit is not None:
        both = [segments]
        if parameters.strand == "both":
            other = Segments.concat(list(_segments(index, reverse_complement(query), parameters, beat)))
            both = [segments, other] if strand == "+" else [other, segments]
        segments = _limited(both, parameters)[strand == "-" and len(both) == 2]
    if parameters.chain is not None:
        segments = _chained(target, segments, parameters, parameters.chain)
    hsps = pa.table(_columns(segments), schema=HSPS)
    return anchors(index.target, query, hsps, parameters) if parameters.gapped else hsps


def anchors(target: Codes, query: Codes, hsps: Any, parameters: GenomeParameters) -> Any:
    """The anchor (ANCHORS) of each segment (HSPS): one place of it, with its score."""
    segments = Segments(*(hsps[name].to_numpy() for name in HSPS.names))
    t, q = anchor_points(target, query, segments, parameters.scoring.plain())
    return pa.table([t, q, segments.score], schema=ANCHORS)


def _segments(index: Index, query: Codes, parameters: GenomeParameters, beat: Callable[[], None] = lambda: None) -> Iterator[Segments]:
    used = HitFilter(index.target, query, index.pattern.span, parameters.scoring, exact=parameters.mode == "exact")
    for targets, queries in hits(index, query, parameters.transitions, parameters.seed_filter):
        if parameters.gfextend:
            yield used.hsps(targets, queries, parameters.xdrop, parameters.hspthresh, parameters.entropy)
        elif not parameters.gapped:
            yield _every_hit(index, query, targets, queries, parameters)
        else:
            yield used.seeds(targets, queries)
        beat()


def _every_hit(index: Index, query: Codes, targets: Any, queries: Any, parameters: GenomeParameters) -> Segments:
    """Hits as LASTZ shows them if nothing comes after, whether used before on their diagonal or not; they have a score only where they are chained."""
    span = index.pattern.span
    score = np.zeros(len(targets), np.int64)
    if parameters.chain is not None:
        table = parameters.scoring.masked()
        for column in range(span):
            score += table[index.target[targets + column], query[queries + column]]
    return Segments(targets.copy(), queries.copy(), np.full(len(targets), span), score)


def _limited(both: list[Segments], parameters: GenomeParameters) -> list[Segments]:
    """What the limits leave of the HSPs of a query's strands.

    LASTZ 1.04.22, by experiment: the n best come by falling score, but of one strand alone all; with `query_hsp_keep` the - strand adds HSPs until there
    are more than n (two, where the + strand has n or more), is listed first, and only then the list is cut to n.
    """
    counts = [len(segments) for segments in both]
    best, limit = parameters.query_hsp_best, parameters.query_hsp_limit
    if best is not None and len(both) == 2 and sum(counts) > best:
        least = np.sort(np.concatenate([segments.score for segments in both]))[-best]
        left = [segments.take(segments.score >= least) for segments in both]
        return [segments.take(lastz_order(segments.target, segments.query, segments.score)) for segments in left]
    if limit is None or sum(counts) <= limit:
        return both
    if not parameters.query_hsp_keep:
        keep = [0 for _ in both]
    elif len(both) == 1:
        keep = [limit]
    else:
        minus = min(counts[1], limit, max(2, limit + 1 - counts[0]))
        keep = [min(counts[0], limit - minus), minus]
    return [segments.take(np.arange(min(n, len(segments)))) for segments, n in zip(both, keep, strict=True)]


def _chained(target: Genome, segments: Segments, parameters: GenomeParameters, penalties: tuple[int, int]) -> Segments:
    """The best chain in each piece of the target (LASTZ does not chain from one sequence of a target to the next)."""
    piece = np.searchsorted(target.bounds()[:, 0], segments.target, "right")
    chains = []
    for each in np.unique(piece):
        inside = segments.take(piece == each)
        chains.append(inside.take(best_chain(inside, parameters.scoring.matrix[0][0], *penalties)))
    return Segments.concat(chains)


def _columns(segments: Segments) -> list[Any]:
    return [segments.target, segments.query, segments.length, segments.score]
