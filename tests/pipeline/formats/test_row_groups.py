"""Row groups that were encoded one by one are one Parquet file, whose pages lie where its footer says."""

import io
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.formats import parquet
from tidalign.pipeline.formats.row_groups import File, encoded, moved
from tidalign.pipeline.schema import ALIGNMENTS


def rows(count: int) -> Any:
    """Draw columns of every type that tables have, with nulls; many values, few, and none."""
    generator = np.random.default_rng(count)
    texts = [None if number % 7 == 3 else "x" * int(size) + str(number) for number, size in enumerate(generator.integers(0, 300, count))]
    columns: dict[str, Any] = {
        "number": pa.array(generator.integers(-(1 << 62), 1 << 62, count)),
        "small": pa.array([None if value == 0 else value for value in generator.integers(0, 5, count).tolist()], pa.int64()),
        "share": pa.array(generator.random(count)),
        "text": pa.array(texts, pa.string()),
        "same": pa.array(["exact"] * count, pa.string()),
        "nothing": pa.nulls(count, pa.string()),
    }
    fields = [pa.field(name, column.type, nullable=bool(column.null_count)) for name, column in columns.items()]
    return pa.table(list(columns.values()), pa.schema(fields, {"a": "b"}))


def joined(tables: list[Any]) -> bytes:
    sink = io.BytesIO()
    file = File(sink)
    assert [file.append(encoded(table)) for table in tables] == [len(table) for table in tables]
    file.close()
    return sink.getvalue()


@pytest.mark.parametrize("sizes", [[0], [1], [5000, 1], [3, 4000, 20_000, 7, 900], [40] * 300])
def test_all_rows_are_there(tmp_path: Path, sizes: list[int]) -> None:
    whole = rows(sum(sizes))
    edges = [0, *itertools.accumulate(sizes)]
    tables = [whole.slice(start, stop - start) for start, stop in itertools.pairwise(edges)]
    (tmp_path / "x.parquet").write_bytes(joined(tables))
    file = pq.ParquetFile(tmp_path / "x.parquet")
    assert file.schema_arrow.equals(whole.schema, check_metadata=True) and file.metadata.num_rows == len(whole)
    assert file.read().equals(whole)
    for number in reversed(range(file.num_row_groups)):  # each by itself
        assert file.read_row_group(number).equals(tables[number])
        column = file.metadata.row_group(number).column(0)
        assert not sizes[number] or column.statistics.max == max(tables[number]["number"].to_pylist())
    if len(whole):
        wanted = whole["number"][len(whole) // 2].as_py()
        found = ds.dataset(tmp_path / "x.parquet").to_table(filter=ds.field("number") == wanted)  # by statistics
        assert found["text"].to_pylist() == [whole["text"][len(whole) // 2].as_py()]


def test_nothing_but_places_is_moved() -> None:
    data = bytes(encoded(rows(500)))
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    assert moved(footer, 0) == footer
    assert moved(moved(footer, 1 << 40), -(1 << 40)) == footer  # beyond 32 bits


def test_where_a_table_was_cut_changes_no_byte() -> None:
    whole = rows(9000)
    pieces = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 5000), whole.slice(5001)])
    assert bytes(encoded(whole)) == bytes(encoded(pieces))


def test_a_run_in_many_groups(make_run: Any, row: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = make_run([row(f"q{number}", penalty=number) for number in range(40)], block=16)
    monkeypatch.setattr(parquet, "GROUP_BYTES", 1000)
    assert results.export(tmp_path / "out.parquet") == 40
    assert pq.read_table(tmp_path / "out.parquet") == results.to_table()
    assert pq.read_metadata(tmp_path / "out.parquet").num_row_groups > 8
    assert make_run([], block=1).export(tmp_path / "none.parquet") == 0
    assert pq.read_schema(tmp_path / "none.parquet").equals(ALIGNMENTS) and pq.read_table(tmp_path / "none.parquet").num_rows == 0


def test_errors_of_threads_are_raised(make_run: Any, row: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = make_run([row(f"q{number}") for number in range(40)])

    def wrong(table: Any) -> Any:
        raise InputError("x", "y", "z", "w")

    monkeypatch.setattr(parquet, "encoded", wrong)
    with pytest.raises(InputError):
        results.export(tmp_path / "out.parquet")
    assert not list(tmp_path.glob("*out*"))
