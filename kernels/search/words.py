"""Words of DNA that two sequences share: what they say of the score that a local alignment of both can have.

An alignment of few mismatches and gaps has long runs of equal letters, whose words both sequences have (the q-gram lemma: Jokinen and Ukkonen 1991, MFCS,
10.1007/3-540-54345-7_67). Between two runs lies a mismatch or a gap, and a run of r letters has r - LETTERS + 1 words: so n letters of a query with C shared
words are not aligned for less than what breaks in n - C - (LETTERS - 1) of them cost.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tidalign.kernels.local.coding import Coding

LETTERS = 8
"""Letters of a word, of two bits each; other letters than four are taken for one of these, which can only add words that are shared."""

WORDS = 4**LETTERS

Integers = npt.NDArray[np.int64]


def fewest(lengths: Integers, bars: Integers, coding: Coding) -> Integers:
    """Say how many words of a sequence a query must have, too, for a local alignment of both to come to its bar. lengths: of the queries.

    No number is asked for where letters score more than as equal or unequal.
    """
    if len(coding.scores) != 2:
        return np.zeros(len(lengths), np.int64)
    match, mismatch = (int(score) for score in coding.scores)
    gap = int(min(coding.costs[::2]))
    # Of a letter that no run has: a mismatch ends LETTERS of them, a gap in the query one less, one in the sequence as many; or the letter is left out.
    loss = min(Fraction(match - mismatch, LETTERS), Fraction(gap, LETTERS - 1), Fraction(match + gap, LETTERS), Fraction(match))
    most = (loss.denominator * (match * lengths - bars + 1) - 1) // loss.numerator
    return np.asarray(lengths - (LETTERS - 1) - most)
