"""Say how good a score is beside chance: bit scores and E-values, as BLAST gives them, where a matrix and its gap have known statistics.

S' = (lambda S - ln K) / ln 2 bits (Karlin & Altschul 1990, Proc. Natl Acad. Sci. 87:2264). E is the number of alignments of that score that a database of
as many letters would give by chance, with the finite size correction of Park, Sheetlin, Ma, Madden & Spouge 2012 (BMC Res. Notes 5:286), as blastp has it;
the numbers and their source are in kernels/scoring/matrices/karlin_altschul.tsv. They are of proteins of usual composition, not corrected for others.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from tidalign.kernels.scoring.substitution import Substitution, statistics

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Parameters of the distribution of the scores of local alignments of one matrix and gap; slope, variance and covariance of the lengths they take up."""

    decay: float
    """lambda"""
    scale: float
    """K"""
    slope: float
    variance: float
    covariance: float
    offset: float
    variance_offset: float
    covariance_offset: float

    def bits(self, score: Integers) -> Floats:
        """Give the bit score of each score."""
        return np.asarray((self.decay * score - math.log(self.scale)) / math.log(2))

    def evalues(self, score: Integers, query: Integers, target: Integers, letters: int) -> Floats:
        """Give the E-value of each score of a query and a target of so many letters, of a database of `letters` in all."""
        spread = np.sqrt(np.maximum(2 * self.variance / self.decay, self.variance * score + self.variance_offset))
        area, inside = np.ones(len(score)), np.ones(len(score))
        for length in (query, target):  # what is left of it beside the alignment
            left = length - (self.slope * score + self.offset)
            share = np.array([0.5 * math.erfc(-each / math.sqrt(2)) for each in left / spread])
            area *= left * share + spread / math.sqrt(2 * math.pi) * np.exp(-0.5 * (left / spread) ** 2)
            inside *= share
        area += np.maximum(2 * self.covariance / self.decay, self.covariance * score + self.covariance_offset) * inside
        return np.asarray(area * self.scale * np.exp(-self.decay * score) * letters / target)


@cache
def of(scoring: str, alphabet: str, span: str) -> Statistics | None:
    """Find the statistics of a scoring as `Substitution.parse` reads it; None where it has none, as what is not local."""
    found = Substitution.parse(scoring, alphabet)
    if span != "local" or len(found.pieces) != 1 or not found.name:
        return None
    numbers = statistics(found.name, found.pieces[0])
    if numbers is None:
        return None
    decay, scale, slope, variance, covariance, slope_ungapped, variance_ungapped = numbers
    twice = 2 * sum(found.pieces[0])
    offsets = (twice * (slope_ungapped - slope), twice * (variance_ungapped - variance), twice * (variance_ungapped - covariance))
    return Statistics(decay, scale, slope, variance, covariance, *offsets)
