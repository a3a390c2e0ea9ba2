"""Words of the query that the target does not have: what the letters that a path has still to align cost at least (WAVEFRONT.md 8).

Of words of the query that do not overlap, each that the target does not have needs a mismatch, a gap in the query that touches it, or a gap in the target
inside it: the seed heuristic of A*PA (Groot Koerkamp and Ivanov 2024, 10.1093/bioinformatics/btae032, section 3), here with the prices of gaps.
"""

from tidalign.kernels.letters.words import LETTERS

PARTS = 64
"""Parts of a unit that shares are counted in."""

DEAREST = 1 << 15
"""A share counts for no more, so that on a GPU the sum of all has 31 bits."""


def shares(mismatch: int, gaps: list[tuple[int, int]]) -> tuple[int, int, int]:
    """Share what a path costs between missing words and letters of gaps: units a word, parts a letter of a gap in the query, and in the target.

    gaps: (open + extend, extend) of each piece, in units. A path costs no less than the sum of these: a mismatch touches one word, a gap of l letters in the
    query 1 + ceil((l - 1) / LETTERS) at most, one in the target lies within one, and none of them costs less than the words that it touches and its letters.
    What is left of a gap, whose opening is paid, may cost a word less.
    """
    word = min(mismatch, *(min(start, (start + extension) // 2, LETTERS * extension) for start, extension in gaps))
    # Least a letter are gaps of one or two letters, or long ones.
    inserted = min(
        min(PARTS * (start - word), PARTS * (start + extension - 2 * word) // 2, PARTS * extension - PARTS * word // LETTERS) for start, extension in gaps
    )
    deleted = min(PARTS * min(start - word, extension) for start, extension in gaps)
    return word, min(inserted, DEAREST), min(deleted, DEAREST)
