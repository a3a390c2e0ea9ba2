"""Row groups are decoded once where blocks follow each other, and any rows are what they are in whichever order they are asked for."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidalign.pipeline.pairs.input import table_index, tables
from tidalign.pipeline.pairs.input.decoding import Decoding
from tidalign.pipeline.pairs.input.read import inspect, plan, read_block

ROWS = 100


def whole(begun: list[int], size: int = 7) -> Iterator[Any]:
    """Decode ROWS rows, each its own number, so many at a time; notes that it was begun."""
    begun.append(1)
    for first in range(0, ROWS, size):
        yield pa.record_batch({"row": pa.array(range(first, min(first + size, ROWS)))})


def numbers(batches: list[Any]) -> list[int]:
    return [row for batch in batches for row in batch.column(0).to_pylist()]


@given(st.integers(1, 120), st.lists(st.tuples(st.integers(0, ROWS + 5), st.integers(0, 40)), max_size=12))
def test_any_rows_in_any_order(size: int, asked: list[tuple[int, int]]) -> None:
    decoding = Decoding(lambda: whole([], size))
    for first, count in asked:
        assert numbers(decoding.rows(first, count)) == list(range(ROWS))[first : first + count]


def test_ranges_that_follow_each_other_are_decoded_once_for_all_threads() -> None:
    """They come to their turn in any order: the first holds it until all have asked, the last of them before the others."""
    begun, come = list[int](), threading.Event()

    def batches() -> Iterator[Any]:
        for batch in whole(begun):
            come.wait(60)
            yield batch

    decoding = Decoding(batches)
    with ThreadPoolExecutor(10) as threads:
        first = threads.submit(decoding.rows, 0, 10)
        while not decoding._asked:
            pass
        others = [threads.submit(decoding.rows, start, 10) for start in range(90, 0, -10)]
        while len(decoding._asked) < 10:
            pass
        come.set()
        assert numbers(first.result()) == list(range(10))
        assert [numbers(other.result()) for other in others] == [list(range(start, start + 10)) for start in range(90, 0, -10)]
    assert len(begun) == 1


def test_what_goes_wrong_is_told_to_who_asked_and_the_next_begins_anew() -> None:
    begun = list[int]()

    def batches() -> Iterator[Any]:
        known = whole(begun)
        yield next(known)
        if len(begun) == 1:
            raise OSError("gone")
        yield from known

    decoding = Decoding(batches)
    assert numbers(decoding.rows(0, 5)) == [*range(5)]
    with pytest.raises(OSError, match="gone"):
        decoding.rows(5, 20)
    assert numbers(decoding.rows(5, 20)) == [*range(5, 25)]


@pytest.mark.parametrize("group", [64, 1000])
def test_a_row_group_is_decoded_once_for_its_blocks(group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = ["ACGT" * (1 + row % 5) for row in range(1000)]
    pq.write_table(pa.table({"query": letters, "target": letters[::-1]}), tmp_path / "pairs.parquet", row_group_size=group)
    source, units, known = inspect(str(tmp_path / "pairs.parquet")), list[int](), tables.batches

    def noted(source: Any, unit: int, columns: list[str], *, checked: bool) -> Iterator[Any]:
        units.append(unit)
        return known(source, unit, columns, checked=checked)

    monkeypatch.setattr(table_index, "CELL_BYTES", 100)
    blocks = plan(source, block_bases=1000) or []
    monkeypatch.setattr(tables, "batches", noted)
    found = pa.concat_tables(read_block(source, block) for block in blocks)
    assert len(blocks) > 10 and sorted(units) == list(range(-(-1000 // group)))
    assert [row.decode() for row in found["query"].to_pylist()] == letters and [row.decode() for row in found["target"].to_pylist()] == letters[::-1]
