"""Memory that a pair takes on its way on one core, and how many letters it may have."""

from typing import Any

from tidalign.kernels.local.coding import Coding

MAX_LETTERS = (1 << 28) - 1
"""Letters of a side at most: what the length of an operation holds in its 28 bits."""

BLOCK_BYTES = 1 << 23
"""Direction bytes of a group of pairs that are made at once, where one row's are not more: they should stay in a core's cache."""

ROUND_ROWS = 256
"""Rows of all lanes together, of the widest vectors, where they have strips of one pair."""


def window(letters: Coding, query: Any) -> Any:
    """Bound the letters of a target that a local alignment spans, by those of its query: with more, gaps cost more than all letters score."""
    extended = int(min(letters.costs[1::2]))
    return query + int(letters.matrix.max()) * query // extended if extended else query * 0 + MAX_LETTERS


def memory(letters: Coding, query: int, target: int, *, traced: bool, local: bool) -> int:
    """Estimate the bytes that a pair of so many letters takes on its way; traced: with its places."""
    kept = 8 * (1 + len(letters.costs) // 2)
    if not traced:
        return (kept + 1) * (target + 1)
    if local and window(letters, query) < target:
        return memory(letters, query, target, traced=False, local=True) + memory(letters, query, window(letters, query), traced=True, local=True)
    rows = (max(BLOCK_BYTES // (target + 1), int((kept * query) ** 0.5)) // ROUND_ROWS + 1) * ROUND_ROWS
    return (target + 1) * (min(rows, query + ROUND_ROWS) + (query // rows + 2) * kept) + 4 * (query + target)
