"""Where the bidirectional algorithm cuts, in plain Python from the words of kernels/bidirectional/breakpoint.py.

Every wavefront is kept and everything in range is looked at. A twin on another device must cut where this does.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tidalign.kernels.scoring.penalties import Penalties

States = dict[str, dict[int, int]]
"""By state (M, I1, D1, I2, D2) the offsets by diagonal."""


@dataclass(frozen=True)
class Breakpoint:
    reduced: int  # penalty in units, without the opening of the end's gap
    forward: int  # the forward part's share
    state: str
    query: int
    target: int


def wavefronts(query: bytes, target: bytes, mismatch: int, gaps: dict[str, tuple[int, int]], one_state: bool, begin: str, steps: int) -> list[States]:
    """Make wavefronts 0 to `steps`. `gaps`: opening and extension of I1, D1, ..."""
    n, m = len(query), len(target)

    def extended(cells: dict[int, int]) -> dict[int, int]:
        kept = {}
        for k, h in cells.items():
            if h <= m and h - k <= n:
                while h < m and h - k < n and query[h - k] == target[h]:
                    h += 1
                kept[k] = h
        return kept

    first: States = {"M": extended({0: 0})}
    if begin != "M":
        first[begin] = {0: 0}
    rows = [first]
    for s in range(1, steps + 1):
        row: States = {}
        for state, (opening, extension) in gaps.items():
            sources = [rows[s - opening - extension]["M"]] if s >= opening + extension else []
            if s >= extension and not one_state:
                sources.append(rows[s - extension].get(state, {}))
            move, gain = (-1, 0) if state[0] == "I" else (1, 1)
            cells: dict[int, int] = {}
            for source in sources:
                for k, h in source.items():
                    cells[k + move] = max(cells.get(k + move, 0), h + gain)
            row[state] = cells
        best: dict[int, int] = {k: h + 1 for k, h in rows[s - mismatch]["M"].items()} if s >= mismatch else {}
        for cells in row.values():
            for k, h in cells.items():
                best[k] = max(best.get(k, 0), h)
        rows.append({"M": extended(best)} | ({} if one_state else row))
    return rows


def examined(steps: int) -> Iterator[tuple[int, int]]:
    """List pairs of penalties (forward, backward) in order: each new wavefront against the other direction's from its newest to the oldest."""
    yield 0, 0
    for s in range(1, steps + 1):
        yield from ((s, r) for r in range(s - 1, -1, -1))
        yield from ((r, s) for r in range(s, -1, -1))


def breakpoint_of(query: bytes, target: bytes, penalties: Penalties, begin: str, end: str, steps: int) -> Breakpoint:
    """Find the first of the best meetings. `steps`: wavefronts of each direction, more than half of the penalty."""
    n, m, unit = len(query), len(target), penalties.unit()
    one_state = penalties.model in ("edit", "linear")
    gaps = {f"{letter}{i}": (o // unit, e // unit) for i, (o, e) in enumerate(penalties.pieces, 1) for letter in "ID"}
    mismatch = penalties.mismatch // unit
    widest = max(mismatch, *(opening + extension for opening, extension in gaps.values()))
    forward = wavefronts(query, target, mismatch, gaps, one_state, begin, steps)
    backward = wavefronts(query[::-1], target[::-1], mismatch, gaps, one_state, end, steps)
    best: Breakpoint | None = None
    for f, b in examined(steps):
        if abs(f - b) > widest:
            continue
        for state in ("M", *gaps) if not one_state else ("M",):
            opening, extension = gaps[state] if state != "M" else (0, widest)
            total = f + b - opening
            if abs(f - b) > extension or (best is not None and total >= best.reduced):
                continue
            ahead, behind = forward[f].get(state, {}), backward[b].get(state, {})
            for k in sorted(ahead):
                h, back_k = ahead[k], m - n - k
                back = behind.get(back_k)
                if back is None or h > m or h - k > n or back > m or back - back_k > n or h + back < m:
                    continue
                best = Breakpoint(total, f, state, h - k, h)
                break
    assert best is not None and best.reduced + widest + max(opening for opening, _ in gaps.values()) <= 2 * steps, "too few steps"
    return best
