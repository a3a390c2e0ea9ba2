"""CIGAR columns against Python's own loops, row by row."""

from itertools import groupby

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidalign.pipeline.text import Operations

RUNS = st.lists(st.tuples(st.integers(1, 12) | st.integers(1, 10**9), st.sampled_from("=XID")), max_size=12)


def written(runs: list[tuple[int, str]]) -> str:
    return "".join(f"{length}{letter}" for length, letter in runs)


@given(st.lists(RUNS, max_size=6), st.integers(0, 3))
def test_text(rows: list[list[tuple[int, str]]], skipped: int) -> None:
    column = pa.array([written(runs) for runs in rows], pa.string()).slice(skipped)
    assert Operations.parse(column).text().to_pylist() == column.to_pylist()


@given(st.lists(RUNS, max_size=6))
def test_merged(rows: list[list[tuple[int, str]]]) -> None:
    merged = Operations.parse(pa.array([written(runs) for runs in rows], pa.string())).merged().text().to_pylist()
    for text, runs in zip(merged, rows, strict=True):
        named = [(length, "M" if letter in "=X" else letter) for length, letter in runs]
        expected = "".join(f"{sum(length for length, _ in group)}{letter}" for letter, group in groupby(named, key=lambda run: run[1]))
        assert text == (expected or "0M")  # as LASTZ has it


@pytest.mark.parametrize(("cigar", "merged"), [("3=1X2=1I4=", "6M1I4M"), ("2I", "2I"), ("", "0M"), ("1X", "1M"), ("5=2I2D1X", "5M2I2D1M")])
def test_merged_by_hand(cigar: str, merged: str) -> None:
    assert Operations.parse(pa.array([cigar, "1=", cigar])).merged().text().to_pylist() == [merged, "1M", merged]


def test_a_null_has_no_operations() -> None:
    assert Operations.parse(pa.array(["3=", None, "1X"])).offsets.tolist() == [0, 1, 1, 2]
