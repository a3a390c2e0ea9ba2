"""Arithmetic of row ranges [a, b): what is done, what is left, what is suspect."""

from bisect import bisect_right
from collections.abc import Iterable

Range = tuple[int, int]


def cover(ranges: Iterable[Range]) -> list[Range]:
    """Disjoint ranges out of the given ones that hold the most rows, in order; among equals the fewest and longest.

    Weighted interval scheduling. Two writers can leave overlapping ranges only when a task was started again while its first worker,
    thought dead, finished after all; a whole cover is found whenever there is one.
    """
    ordered = sorted(set(ranges), key=lambda r: (r[1], r[0]))
    stops = [stop for _, stop in ordered]
    best: list[tuple[int, int, int]] = [(0, 0, -1)]  # (rows, -ranges, place of the last range) over the first i ranges
    before: list[int] = []
    for i, (start, stop) in enumerate(ordered):
        j = bisect_right(stops, start, 0, i)
        before.append(j)
        taken = (best[j][0] + stop - start, best[j][1] - 1, i)
        best.append(taken if taken[:2] > best[i][:2] else best[i])
    chosen = []
    place = best[-1][2]
    while place >= 0:
        chosen.append(ordered[place])
        place = best[before[place]][2]
    return chosen[::-1]


def gaps(start: int, stop: int, done: Iterable[Range]) -> list[Range]:
    """What of [start, stop) no range of `done` holds, in order."""
    left = []
    position = start
    for a, b in sorted(done):
        if a > position:
            left.append((position, min(a, stop)))
        position = max(position, b)
        if position >= stop:
            break
    if position < stop:
        left.append((position, stop))
    return [(a, b) for a, b in left if a < b]


def suspects(start: int, stop: int, claims: Iterable[Range]) -> list[Range]:
    """Parts of [start, stop) that lie in two or more claims: two workers died while they ran these rows, so one of the rows may be at fault."""
    edges = sorted(edge for a, b in claims for edge in ((max(a, start), 1), (min(b, stop), -1)) if max(a, start) < min(b, stop))
    found: list[Range] = []
    depth, since = 0, start
    for position, step in edges:
        if depth >= 2 and position > since:
            if found and found[-1][1] == since:
                found[-1] = (found[-1][0], position)
            else:
                found.append((since, position))
        depth, since = depth + step, position
    return found
