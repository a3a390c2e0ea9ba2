"""Lines put together of columns, against Python's own text, row by row."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidalign.pipeline.text import joined

KINDS = {
    "string": (pa.string(), st.text(max_size=20)),
    "large_string": (pa.large_string(), st.text(max_size=20)),
    "int64": (pa.int64(), st.integers(-(2**63) + 1, 2**63 - 1)),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "double": (pa.float64(), st.just(0.5)),
}


@st.composite
def columns(draw: st.DrawFn) -> list[Any]:
    """Draw a constant text, or a column: a slice of a longer one, some of its values null, in one chunk or in two."""
    rows = draw(st.integers(0, 5))
    made: list[Any] = []
    for kind in ["int64", *draw(st.lists(st.sampled_from([*KINDS, "constant"]), max_size=5))]:
        if kind == "constant":
            made.append(draw(st.text(max_size=20)))
            continue
        type_, values = KINDS[kind]
        before = draw(st.integers(0, 9))
        array = pa.array(draw(st.lists(st.none() | values, min_size=rows + before, max_size=rows + before)), type_).slice(before)
        cut = draw(st.integers(0, rows))
        made.append(pa.chunked_array([array[:cut], array[cut:]], type_) if draw(st.booleans()) else array)
    return made


@given(columns())
def test_joined(pieces: list[Any]) -> None:
    lists = [[piece] * len(pieces[0]) if isinstance(piece, str) else piece.to_pylist() for piece in pieces]
    expected = ["".join("" if value is None else str(value) for value in row) for row in zip(*lists, strict=True)]
    assert joined(*pieces).to_pylist() == expected


def test_arrays_of_numpy_and_nothing() -> None:
    assert joined(np.array([1, -20], np.int32), "x").to_pylist() == ["1x", "-20x"]
    assert joined(pa.nulls(2, pa.int64()), pa.array(["", "a"])).to_pylist() == ["", "a"]
    assert joined(pa.array([], pa.string()), "x").to_pylist() == []
    with pytest.raises(ValueError, match="column"):
        joined("x")
