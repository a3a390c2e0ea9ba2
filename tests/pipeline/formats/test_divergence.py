"""The tag de against the words of minimap2's manual, in Python's own numbers."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidalign.pipeline.formats.divergence import divergence, kind

COUNTS = st.tuples(*[st.integers(0, 50) | st.integers(0, 10**9)] * 3)


@given(st.lists(COUNTS, min_size=1, max_size=8))
def test_de(rows: list[tuple[int, int, int]]) -> None:
    matches, unlike, openings = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    for text, (same, other, gaps) in zip(divergence(matches, unlike, openings).to_pylist(), rows, strict=True):
        share = Fraction(other + gaps, max(1, same + other + gaps))
        if not share:
            assert text == "0"
        else:
            assert len(text) == 6 and abs(Fraction(text) - share) <= Fraction(1, 20_000)
            assert abs(float(text) - float(f"{float(share):.4f}")) < 1.1e-4


def test_tp() -> None:
    assert kind(np.array([True, False])).to_pylist() == ["P", "S"]
