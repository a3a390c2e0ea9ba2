"""Range arithmetic against sets of rows."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tidalign.pipeline.store.parts import cover, gaps, suspects

RANGES = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda r: (r[0], r[0] + r[1])), max_size=7)


def rows(ranges: list[tuple[int, int]]) -> list[int]:
    return [row for a, b in ranges for row in range(a, b)]


@given(RANGES)
def test_cover_is_disjoint_and_holds_the_most_rows(ranges: list[tuple[int, int]]) -> None:
    chosen = cover(ranges)
    assert chosen == sorted(chosen)
    assert set(chosen) <= set(ranges)
    assert len(rows(chosen)) == len(set(rows(chosen)))
    subsets = (subset for size in range(len(set(ranges)) + 1) for subset in combinations(sorted(set(ranges)), size))
    disjoint = [subset for subset in subsets if len(rows(list(subset))) == len(set(rows(list(subset))))]
    best = max(len(rows(list(subset))) for subset in disjoint)
    assert len(rows(chosen)) == best
    assert len(chosen) == min(len(subset) for subset in disjoint if len(rows(list(subset))) == best)


@given(st.lists(st.integers(1, 99), max_size=8, unique=True), RANGES)
def test_a_whole_cover_is_found_among_strays(borders: list[int], strays: list[tuple[int, int]]) -> None:
    edges = [0, *sorted(borders), 100]
    whole = list(zip(edges, edges[1:], strict=False))
    assert rows(cover([*strays, *whole])) == list(range(100))


@given(st.integers(0, 10), st.integers(0, 12), RANGES)
def test_gaps_are_the_rows_that_are_not_done(start: int, length: int, done: list[tuple[int, int]]) -> None:
    left = gaps(start, start + length, done)
    assert rows(left) == sorted(set(range(start, start + length)) - set(rows(done)))
    assert all(b < c for (_, b), (c, _) in zip(left, left[1:], strict=False))


@given(st.integers(0, 10), st.integers(0, 12), RANGES)
def test_suspects_are_the_rows_claimed_twice(start: int, length: int, claimed: list[tuple[int, int]]) -> None:
    found = suspects(start, start + length, claimed)
    assert rows(found) == [row for row in range(start, start + length) if rows(claimed).count(row) >= 2]
