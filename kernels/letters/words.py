"""Words of DNA that two sequences share: how much of one must be paid for in an alignment with the other.

An alignment of few mismatches and gaps has long runs of equal letters, whose words both sequences have (the q-gram lemma: Jokinen and Ukkonen 1991, MFCS,
10.1007/3-540-54345-7_67). Between two runs lies a mismatch or a gap, and a run of r letters has r - LETTERS + 1 words: so n letters of a query with C shared
words are not aligned for less than what breaks in n - C - (LETTERS - 1) of them cost.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

LETTERS = 8
"""Letters of a word, of two bits each; other letters than four are taken for one of these, which can only add words that are shared."""

WORDS = 4**LETTERS

PARTS = 64
"""Parts of a unit of penalty that `shares` counts in."""

DEAREST = 1 << 15
"""A share counts for no more, so that on a GPU the sum of all has 31 bits."""

Integers = npt.NDArray[np.int64]


def letter_costs(mismatch: int, gap: int, more: int, match: int = 0) -> Fraction:
    """Give the least that a letter of the query costs which no run has words of.

    mismatch: what is lost by one. gap, more: costs of a gap's first letter, and of any other of the query's in one, or out of the alignment.
    match: what a letter of the query in a gap loses beside that.
    A run of equal letters has seven words fewer than letters: so a mismatch, or the first letter of a gap in the query, pays for eight letters, itself among
    them, and that of a gap in the other sequence for seven.
    """
    return min(Fraction(mismatch, LETTERS), Fraction(gap, LETTERS - 1), Fraction(match + gap, LETTERS), Fraction(more))


def least_penalty(lengths: Integers, shared: Integers, mismatch: int, gap: int, more: int) -> Integers:
    """Bound the penalties of alignments of so many letters of queries, of which so many words are shared, from below; costs as `letter_costs` has them."""
    costs = letter_costs(mismatch, gap, more)
    return np.asarray(np.maximum(lengths - shared - (LETTERS - 1), 0) * costs.numerator // costs.denominator)


def shares(mismatch: int, gaps: tuple[tuple[int, int], ...]) -> tuple[int, int, int]:
    """Share what a path costs between missing words and letters of gaps: units a word, parts a letter of a gap in the query, and in the target.

    gaps: (open + extend, extend) of each piece, in units. Of words of the query that do not overlap, each that the target does not have needs a mismatch, a gap
    in the query that touches it, or a gap in the target inside it: the seed heuristic of A*PA (Groot Koerkamp and Ivanov 2024,
    10.1093/bioinformatics/btae032, section 3), here with the prices of gaps. A mismatch touches one word, a gap of l letters in the query
    1 + ceil((l - 1) / LETTERS) at most, one in the target lies within one, and none of them costs less than the words that it touches and its letters. What is
    left of a gap, whose opening is paid, may cost a word less.
    """
    word = mismatch
    for start, extension in gaps:
        word = min(word, start, (start + extension) // 2, LETTERS * extension)
    inserted = deleted = DEAREST
    for start, extension in gaps:
        # Gaps of one or two letters, or long ones, have least left for a letter.
        inserted = min(inserted, PARTS * (start - word), PARTS * (start + extension - 2 * word) // 2, PARTS * extension - PARTS * word // LETTERS)
        deleted = min(deleted, PARTS * (start - word), PARTS * extension)
    return word, inserted, deleted
