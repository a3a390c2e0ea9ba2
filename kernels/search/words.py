"""Words of DNA that two sequences share (kernels/letters/words.py): what they say of the score that a local alignment of both can have."""

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.words import LETTERS, letter_costs
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.scoring.substitution import DNA

LIKELIEST = 32
"""Sequences that share most words with a query go first, so many of them; twice as many as are kept, if that is more."""

Integers = npt.NDArray[np.int64]


def likeliest(top: int) -> int:
    """Count the sequences that go first where `top` are kept."""
    return max(LIKELIEST, 2 * top)


def possible(sequences: int, coding: Coding, top: int, span: str) -> bool:
    """Tell whether words of queries can leave out any of so many sequences."""
    return span == "local" and coding.scoring.alphabet == DNA and 4 * likeliest(top) <= sequences


def fewest(lengths: Integers, bars: Integers, coding: Coding) -> Integers:
    """Say how many words of a sequence a query must have, too, for a local alignment of both to come to its bar. lengths: of the queries.

    No number is asked for where letters score more than as equal or unequal.
    """
    if len(coding.scores) != 2:
        return np.zeros(len(lengths), np.int64)
    match, mismatch = (int(score) for score in coding.scores)
    loss = letter_costs(match - mismatch, int(min(coding.costs[::2])), match, match)
    most = (loss.denominator * (match * lengths - bars + 1) - 1) // loss.numerator
    return np.asarray(lengths - (LETTERS - 1) - most)
