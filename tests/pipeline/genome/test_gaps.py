"""Where `--inner` looks, in cases that LASTZ 1.04.22 was asked about: alignments of several sequences of a side, that overlap."""

import numpy as np

from tidalign.pipeline.genome.walk.gaps import rectangles
from tidalign.pipeline.genome.walk.inner import _apart

FLY = [[16681, 16739, 37234, 37303], [20745, 20862, 18593, 18722], [23392, 26280, 20624, 22925], [24458, 24639, 41111, 41295], [24913, 26058, 41287, 42041]]
"""The last begins before the fourth ends, and goes beyond it; it does not go beyond the third, which is near it too."""

YEAST = [
    *([32925, 33358, 33665, 34073], [32929, 33258, 34858, 35174], [33358, 33687, 33665, 34006], [33363, 33687, 34862, 35173]),
    *([38982, 40004, 33665, 35016], [38985, 39315, 34857, 35174], [39840, 39987, 33665, 33813]),
]
"""The fifth goes beyond the first, but not beyond the fourth, which comes later."""

TIE = [[1000, 1207, 12_000, 12_207], [11_500, 11_707, 1500, 1707], [11_799, 12_000, 12_299, 12_500]]
"""The third is as far from the first as from the second, neither of which is near the other."""

EDGE = [[1000, 1200, 1000, 1200], [1199, 1401, 21_199, 21_401]]
"""The second begins with the last letter of the first, and 20,000 letters on in the query."""


def begins(ends: list[list[int]]) -> set[tuple[int, int]]:
    """Find where the rectangles after alignments begin: at their last letters."""
    return {(t, q) for t, _, q, _ in rectangles(np.array(ends), 60_000, 60_000).tolist()}


def test_nothing_is_searched_after_what_the_next_goes_beyond() -> None:
    assert (24638, 41294) not in begins(FLY) and (26057, 42040) not in begins(FLY)


def test_what_lies_before_one_that_is_not_gone_beyond_stays_open() -> None:
    assert (33357, 34072) in begins(YEAST) and (40003, 35015) not in begins(YEAST)


def test_of_neighbours_equally_far_the_last_is_taken() -> None:
    assert (11_706, 1706) in begins(TIE) and (1206, 12_206) not in begins(TIE)


def test_one_that_shares_a_letter_is_near_a_letter_further() -> None:
    assert begins(EDGE) == {(0, 0), (1400, 21_400)}
    assert begins([EDGE[0], [1199, 1401, 21_200, 21_402]]) >= {(0, 11_200), (1199, 1199)}


def test_the_last_letter_of_a_sequence_is_no_piece() -> None:
    """An alignment ends with the first target sequence; what follows is searched with both of the query. One letter more, and each has its own."""
    query = np.array([[1, 12_803], [12_804, 20_052]])
    for end, begins in ((5696, [5697, 5695]), (5697, [5695, 5698])):  # with the last it is left before what is searched, and a separator
        target = np.array([[1, end], [end + 1, 15_696]])
        found = _apart([5695, 15_696, 10_051, 20_052], (target, query))
        assert [(t, q) for (t, *_), (q, *_) in found] == list(zip(begins, [10_051, 12_804], strict=True))


def test_of_several_pieces_the_first_the_last_and_those_between_are_searched_together() -> None:
    """Search the one between with the first, of three pieces and of two."""
    three, two, one = (np.array(each) for each in ([[1, 9], [10, 19], [20, 29]], [[1, 9], [10, 29]], [[1, 29]]))
    for target, query, begins in (
        (three, three, [(1, 1), (20, 20), (10, 10)]),
        (three, two, [(1, 1), (20, 10), (10, 1)]),
        (two, three, [(1, 1), (10, 20), (1, 10)]),
        (one, three, [(1, 1), (1, 20), (1, 10)]),
        (two, one, [(1, 1), (10, 1)]),
        (one, one, [(1, 1)]),
        (three[:0], three, []),
    ):
        assert [(t, q) for (t, *_), (q, *_) in _apart([1, 29, 1, 29], (target, query))] == begins
