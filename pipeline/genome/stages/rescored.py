"""Score segments again by the sums of their columns: those that LASTZ finds with a score by another rule, or takes for unscored (LASTZ.md 9, 25, 26)."""

from dataclasses import replace

import numpy as np

from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.seed.index import Positions
from tidalign.kernels.ungapped.hsps import Segments
from tidalign.pipeline.genome.parameters import GenomeParameters


def without_entropy(target: Codes, query: Codes, segments: Segments, parameters: GenomeParameters) -> Segments:
    """Score HSPs by the sums of their columns (LASTZ.md 9); others than those up to three times the threshold are so already."""
    if not parameters.entropy:
        return segments
    return summed(target, query, segments, parameters, np.flatnonzero(segments.score <= 3 * parameters.hspthresh))


def scored(target: Codes, query: Codes, segments: Segments, parameters: GenomeParameters) -> Segments:
    """Score segments: stretches of few mismatches, whose score is their length, by the sums of their columns where these are asked for."""
    if parameters.matching is None or not (parameters.gapped or parameters.chain is not None):
        return segments
    return summed(target, query, segments, parameters, np.arange(len(segments)))


def summed(target: Codes, query: Codes, segments: Segments, parameters: GenomeParameters, rows: Positions) -> Segments:
    """Score some segments, by place, by the sums of their columns."""
    table, score = parameters.scoring.masked(), segments.score.copy()
    for row in rows:
        t, q, length = segments.target[row], segments.query[row], segments.length[row]
        score[row] = table[target[t : t + length], query[q : q + length]].sum(dtype=np.int64)
    return replace(segments, score=score)
