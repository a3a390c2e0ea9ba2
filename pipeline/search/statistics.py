"""Say how good a score is beside chance: bit scores and E-values, as BLAST gives them, where a matrix and its gap have known statistics.

S' = (lambda S - ln K) / ln 2 bits (Karlin & Altschul 1990, Proc. Natl Acad. Sci. 87:2264). E is the number of alignments of that score that a database of
as many letters would give by chance. Proteins have the finite size correction of Park, Sheetlin, Ma, Madden & Spouge 2012 (BMC Res. Notes 5:286), as blastp
has it; DNA that of Altschul & Gish 1996 (Methods Enzymol. 266:460), as blastn has it: an alignment by chance does not begin where it has no room. The
numbers and their sources are in kernels/scoring/matrices/karlin_altschul*.tsv. They are of sequences of usual composition, not corrected for others.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tidalign.kernels.scoring.substitution import Substitution, statistics

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class DatabaseSize(NamedTuple):
    """How large a database is."""

    letters: int
    sequences: int


@dataclass(frozen=True, slots=True)
class Statistics(ABC):
    """Tells how good scores are, by parameters of the distribution of the scores of local alignments."""

    decay: float
    """lambda"""
    scale: float
    """K"""

    def bits(self, score: Integers) -> Floats:
        """Give the bit score of each score."""
        return np.asarray((self.decay * score - math.log(self.scale)) / math.log(2))

    @abstractmethod
    def evalues(self, score: Integers, query: Integers, target: Integers, database: DatabaseSize) -> Floats:
        """Give the E-value of each score of a query and a target of so many letters."""


@dataclass(frozen=True, slots=True)
class Proteins(Statistics):
    """Those of one matrix and gap; slope, variance and covariance of the lengths that alignments take up."""

    slope: float
    variance: float
    covariance: float
    offset: float
    variance_offset: float
    covariance_offset: float

    def evalues(self, score: Integers, query: Integers, target: Integers, database: DatabaseSize) -> Floats:
        spread = np.sqrt(np.maximum(2 * self.variance / self.decay, self.variance * score + self.variance_offset))
        area, inside = np.ones(len(score)), np.ones(len(score))
        for length in (query, target):  # what is left of it beside the alignment
            left = length - (self.slope * score + self.offset)
            share = np.array([0.5 * math.erfc(-each / math.sqrt(2)) for each in left / spread])
            area *= left * share + spread / math.sqrt(2 * math.pi) * np.exp(-0.5 * (left / spread) ** 2)
            inside *= share
        area += np.maximum(2 * self.covariance / self.decay, self.covariance * score + self.covariance_offset) * inside
        return np.asarray(area * self.scale * np.exp(-self.decay * score) * database.letters / target)


@dataclass(frozen=True, slots=True)
class Bases(Statistics):
    """Those of DNA of one match, mismatch and gap, and of the lengths that alignments take up."""

    step: float
    """Scores are rounded down to a multiple of it for the E-value, not for bits."""
    slope: float
    """alpha"""
    offset: float
    """beta"""

    def evalues(self, score: Integers, query: Integers, target: Integers, database: DatabaseSize) -> Floats:
        """Give the E-value of each score of a query of so many letters; of the target's it does not depend."""
        lengths, which = np.unique(query, return_inverse=True)
        space = np.array([self._space(length, database) for length in lengths.tolist()], np.float64)
        return np.asarray(space[which] * self.scale * np.exp(-self.decay * (self.step * (score // self.step))))

    def _space(self, query: int, database: DatabaseSize) -> float:
        """Count the pairs of letters at which an alignment can begin: none lies closer to an end than what one by chance takes up."""
        room = (query - 1, (database.letters - 1) // max(1, database.sequences))
        least, most = 0, max(0, min(room))  # the largest length that is not above what an alignment by chance takes up in what it leaves
        while least < most:
            length = (least + most + 1) // 2
            left = (query - length) * (database.letters - database.sequences * length)
            enough = self.scale * left > max(query, database.letters)
            if enough and self.slope / self.decay * math.log(self.scale * left) + self.offset >= length:
                least = length
            else:
                most = length - 1
        return float((query - least) * max(1, database.letters - database.sequences * least))


@cache
def of(scoring: str, alphabet: str, span: str) -> Statistics | None:
    """Find the statistics of a scoring as `Substitution.parse` reads it; None where it has none, as what is not local."""
    found = Substitution.parse(scoring, alphabet)
    if span != "local" or len(found.pieces) != 1:
        return None
    return _of_proteins(found) if found.name else _of_bases(found)


def _of_proteins(scoring: Substitution) -> Proteins | None:
    numbers = statistics("", scoring.name, *map(str, scoring.pieces[0]))
    if numbers is None:
        return None
    decay, scale, slope, variance, covariance, slope_ungapped, variance_ungapped = numbers
    twice = 2 * sum(scoring.pieces[0])
    offsets = (twice * (slope_ungapped - slope), twice * (variance_ungapped - variance), twice * (variance_ungapped - covariance))
    return Proteins(decay, scale, slope, variance, covariance, *offsets)


def _of_bases(scoring: Substitution) -> Bases | None:
    """Find the statistics of a match and a mismatch: as many times those of scores without a common factor as that factor is."""
    match, mismatch = scoring.lower[:2]
    if max(match, mismatch) <= 0 or scoring != Substitution.plain(match, mismatch, scoring.pieces):
        return None
    factor = math.gcd(match, mismatch)
    costs = (match, mismatch, *scoring.pieces[0])
    if any(cost % factor for cost in costs):
        return None
    numbers = _of_gaps(*(cost // factor for cost in costs))
    if numbers is None:
        return None
    step, decay, scale, slope, offset = numbers
    return Bases(decay / factor, scale, step, slope / factor, offset)


def _of_gaps(match: int, mismatch: int, opening: int, extension: int) -> tuple[float, ...] | None:
    """Find the numbers of DNA: those of its gap, or, where that is dearer than all that have some, those of alignments without gaps."""
    numbers = statistics("_dna", *map(str, (match, mismatch, opening, extension)))
    dear = None if numbers else statistics("_dna_dear", str(match), str(mismatch))
    return dear[2:] if dear and opening >= dear[0] and extension >= dear[1] else numbers
