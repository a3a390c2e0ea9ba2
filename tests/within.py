"""Pairs and limits for tests of penalties up to a limit."""

from typing import Any

import numpy as np
import simulate

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.pairwise import wavefront
from tidalign.kernels.scoring.penalties import Penalties

MODELS = ("edit", "linear:3,5", "affine:4,6,2", "affine2p:4,6,2,24,1")
WAYS: list[dict[str, Any]] = [{}, {"ends_free": (5, 0, 20, 9)}, {"ends_free": (0, 40, 300, 0), "ambiguous": "match"}]


def sides(letters: int, count: int = 3) -> tuple[Sequences, Sequences]:
    """Draw pairs that are alike, less alike, of other lengths and of none, with N among them."""
    random = np.random.default_rng(letters)
    pairs = [simulate.pair(random, int(random.integers(0, letters)), rate, kind) for kind in simulate.KINDS for rate in (0.03, 0.25) for _ in range(count)]
    pairs += [(b"", b""), (b"", b"ACGT" * 9), (b"ACGT" * 30, b"ACG"), (b"ACNT" * 9, b"ACGT" * 9)]
    queries, targets = zip(*pairs, strict=True)
    return Sequences.from_strings(queries), Sequences.from_strings(targets)


def check(within: Any, both: Any, penalties: Penalties, **way: Any) -> None:
    whole = wavefront.align(*both, penalties, cigar=False, **way).penalty
    for limits in (whole, whole - 1, whole + 1, whole // 2, whole * 2, np.full_like(whole, -1), np.zeros_like(whole), np.full_like(whole, np.median(whole))):
        found = within(*both, penalties, limits, **way)
        assert np.array_equal(found, np.where(whole <= limits, whole, -1))
