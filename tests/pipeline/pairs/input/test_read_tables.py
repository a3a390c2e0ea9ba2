"""Pairs from Parquet and Arrow files: every type of string, row groups of every size, and what is refused."""

import random
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.pairs.input import table_index, tables
from tidalign.pipeline.pairs.input.read import inspect, plan, read_block, stream_blocks
from tidalign.pipeline.schema import PAIRS

LETTERS = st.text("ACGTNacgtnRYKM", max_size=30)


def write(path: Path, table: Any, group: int) -> str:
    """Write a table by the file's suffix; `group` rows in a row group or record batch."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=group)
    else:
        options = pa.ipc.IpcWriteOptions(compression="zstd" if path.suffix == ".zstd" else None, unify_dictionaries=True)
        with pa.ipc.new_file(path, table.schema, options=options) as file:
            file.write_table(table, max_chunksize=group)
    return str(path)


def rows(path: str, **options: Any) -> list[tuple[Any, ...]]:
    blocks = plan(inspect(path, **options), block_bases=50)
    assert blocks is not None
    read = [read_block(inspect(path, **options), block) for block in reversed(blocks)][::-1]
    assert [table.schema for table in read] == [PAIRS] * len(read)
    assert [(block.first, block.pairs) for block in blocks] == [(table["ordinal"][0].as_py(), len(table)) for table in read]
    streamed = [table for _, table in stream_blocks(inspect(path, **options), block_bases=50)]
    assert streamed == read
    return [tuple(row.values()) for row in chain.from_iterable(table.to_pylist() for table in read)]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(LETTERS, LETTERS), min_size=1, max_size=25),
    st.sampled_from(["parquet", "arrow", "zstd"]),
    st.integers(1, 8),
    st.sampled_from([1, 30, 1000]),
    st.booleans(),
)
def test_row_groups(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], suffix: str, group: int, cell: int, named: bool) -> None:
    columns: dict[str, Any] = {side: pa.array([pair[place] for pair in pairs], pa.string()) for place, side in enumerate(("query", "target"))}
    columns["else"] = pa.array([1] * len(pairs))
    if named:
        columns["target_name"] = [f"chr{i} some words" for i in range(len(pairs))]
    path = write(tmp_path_factory.mktemp("tables") / f"pairs.{suffix}", pa.table(columns), group)
    with patch.object(table_index, "CELL_BYTES", cell), patch.object(tables, "BATCH_BYTES", cell):
        expected = [(i, str(i), f"chr{i}" if named else str(i), query.encode(), target.encode()) for i, (query, target) in enumerate(pairs)]
        assert rows(path) == expected


def dictionary(kind: Any) -> Callable[[list[bytes]], Any]:
    return lambda letters: pa.array(letters, kind).dictionary_encode()


TYPES: dict[str, Callable[[list[bytes]], Any]] = {
    "string": lambda letters: pa.array(letters, pa.string()),
    "large_string": lambda letters: pa.array(letters, pa.large_string()),
    "binary": lambda letters: pa.array(letters, pa.binary()),
    "large_binary": lambda letters: pa.array(letters, pa.large_binary()),
    "string_view": lambda letters: pa.array(letters, pa.string_view()),
    "binary_view": lambda letters: pa.array(letters, pa.binary_view()),
    "dictionary": dictionary(pa.string()),
    "dictionary of large_binary": dictionary(pa.large_binary()),
}


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("kind", sorted(TYPES))
def test_types(tmp_path: Path, kind: str, suffix: str) -> None:
    letters = [b"ACGT", b"", b"GATTACAGATTACAGATTACA", b"ACGT"]
    table = pa.table({"left": TYPES[kind](letters), "right": TYPES[kind](letters[::-1])})
    path = write(tmp_path / f"pairs.{suffix}", table, 3)
    found = rows(path, query_column="left", target_column="right")
    assert [row[3:] for row in found] == list(zip(letters, letters[::-1], strict=True))
    assert [row[:3] for row in found] == [(i, str(i), str(i)) for i in range(4)]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_refused(tmp_path: Path, suffix: str) -> None:
    def refused(columns: dict[str, Any], error: type[Exception] = InputError, **options: Any) -> str:
        path = write(tmp_path / f"pairs.{suffix}", pa.table(columns), 2)
        with pytest.raises(error) as caught:
            list(stream_blocks(inspect(path, **options)))
        assert str(caught.value).startswith(path)
        return str(caught.value)

    good = ["ACGT", "AC", "GG"]
    assert "expected one column 'target', found columns query, right; name the column with --target-column" in refused({"query": good, "right": good})
    assert "expected one column 'q'" in refused({"query": good, "target": good}, query_column="q")
    assert "expected column 'query' as string or binary, found int64" in refused({"query": [1, 2, 3], "target": good})
    assert "record 3: expected a value in column 'target', found null" in refused({"query": good, "target": ["A", "C", None]})
    assert "record 3: " in (message := refused({"query": ["A", "C", "GX"], "target": good})) and "'X' at position 2" in message
    assert "record 2: expected a name" in refused({"query": good, "target": good, "query_name": ["a", "", "c"]})
    assert "record 2: expected a value in column 'query_name', found null" in refused({"query": good, "target": good, "query_name": ["a", None, "c"]})
    if suffix == "arrow":  # Parquet has no null among the values of a dictionary
        among = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), pa.array(["ACGT", None]))
        assert "record 2: expected a value in column 'query', found null" in refused({"query": among, "target": good})
    empty = pa.array([], pa.string())
    assert "no rows" in refused({"query": empty, "target": empty}, MissingInput)
    path = write(tmp_path / f"none.{suffix}", pa.table({"query": empty, "target": empty}), 2)
    assert plan(inspect(path, allow_empty=True)) == []


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_damaged(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"pairs.{suffix}"
    write(path, pa.table({"query": ["ACGT"] * 50, "target": ["ACGT"] * 50}), 20)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="damaged or truncated"):
        inspect(str(path))


@pytest.mark.parametrize("form", ["zstd", "snappy", "none", "lz4 arrow", "plain arrow"])
def test_damage_within_is_bad_input(tmp_path: Path, form: str) -> None:
    """Whatever pyarrow makes of a bit: rows, or an error that names the file; of pages with checksums never other rows."""
    path, numbers = tmp_path / "pairs", random.Random(form)
    letters = ["".join(numbers.choices("ACGT", k=30)) for _ in range(300)]
    table = pa.table({"query": letters, "target": letters[::-1], "query_name": [f"q{i}" for i in range(300)]})
    if form.endswith("arrow"):
        feather.write_feather(table, path, compression="lz4" if form.startswith("lz4") else "uncompressed", chunksize=100)
    else:
        pq.write_table(table, path, compression=form, write_page_checksum=True, row_group_size=100)
    whole = path.read_bytes()

    def read() -> Any:
        source = inspect(str(path))
        return pa.concat_tables([read_block(source, block) for block in plan(source) or []])

    right, seen = read(), 0
    for _ in range(60):
        data = bytearray(whole)
        data[numbers.randrange(200, len(data) - 1500)] ^= 1 << numbers.randrange(8)  # below the footer
        path.write_bytes(data)
        try:
            assert read().equals(right) or form.endswith("arrow")
        except InputError as error:
            assert str(error).startswith(f"{path}: ")
            seen += 1
    assert seen


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_column_that_is_there_twice(tmp_path: Path, suffix: str) -> None:
    names = ["query", "target", "query_name", "target_name", "else"]

    def made(twice: str) -> str:
        columns = [*names, twice]
        return write(tmp_path / f"{twice}.{suffix}", pa.Table.from_arrays([pa.array(["ACGT"])] * len(columns), names=columns), 1)

    for twice in names[:-1]:
        with pytest.raises(InputError, match=rf"one column '{twice}', found columns {', '.join(names)}, {twice}; rename or drop one of them"):
            inspect(made(twice))
    assert rows(made("else")) == [(0, "ACGT", "ACGT", b"ACGT", b"ACGT")]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_column_that_is_named_for_two_things(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"pairs.{suffix}", pa.table({"query_name": ["ACGT", "GAT"], "target": ["A", "C"]}), 2)
    assert rows(path, query_column="query_name") == [(0, "ACGT", "0", b"ACGT", b"A"), (1, "GAT", "1", b"GAT", b"C")]
    assert rows(path, query_column="target") == [(0, "ACGT", "0", b"A", b"A"), (1, "GAT", "1", b"C", b"C")]


def test_two_tables_are_one_too_many(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.parquet", pa.table({"query": ["A"], "target": ["C"]}), 2)
    with pytest.raises(InputError, match="which holds both sides of every pair"):
        inspect(path, path)


def test_a_repeated_sequence_counts_as_often_as_it_occurs(tmp_path: Path) -> None:
    """Blocks are bounded by letters, not by the bytes a dictionary needs for them."""
    path = write(tmp_path / "pairs.parquet", pa.table({"query": ["ACGT" * 25_000] * 300, "target": ["A" * 10] * 300}), 300)
    assert Path(path).stat().st_size < 1_000_000
    blocks = plan(inspect(path), block_bases=3_000_000)
    assert blocks and max(block.pairs for block in blocks) <= 33
    assert sum(block.pairs for block in blocks) == 300


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_long_names_count(suffix: str, tmp_path: Path) -> None:
    """A dictionary needs bytes for one alone; those of usual length change no blocks."""
    columns = {"query": ["ACGT"] * 300, "target": ["ACGA"] * 300}
    names = pa.array(["n" * 60_000] * 300).dictionary_encode()
    table = pa.table(columns | {"query_name": names, "target_name": pa.array(range(300))})
    blocks = plan(inspect(write(tmp_path / f"long{suffix}", table, 300)), block_bases=3_000_000)
    assert blocks and max(block.pairs for block in blocks) <= 55
    assert sum(block.pairs for block in blocks) == 300
    usual = pa.table(columns | {"query_name": pa.array(["n" * 100, None] * 150)})
    assert len(plan(inspect(write(tmp_path / f"usual{suffix}", usual, 300)), block_bases=3000) or ()) == 1


def test_names_of_one_side_are_not_the_same(tmp_path: Path) -> None:
    columns = {"query": ["ACGT"], "target": ["ACGA"]}
    for side, other in (("query", "target"), ("target", "query")):
        path = write(tmp_path / f"{side}.parquet", pa.table(columns | {f"{side}_name": ["a"]}), 1)
        with pytest.raises(InputError, match=f"expected names of both sides, found none of the {other} sequences; add a column {other}_name"):
            rows(path, same_names=True)
    assert len(rows(write(tmp_path / "none.parquet", pa.table(columns), 1), same_names=True)) == 1


PLACED: dict[str, Any] = {"query": ["ACGT"] * 3, "target": ["ACGTACGT", "", "AC"], "target_name": ["chr1", "chr1", "chr2 x"], "target_start": [10, 0, 5]}


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_places_of_targets_are_in_their_names(tmp_path: Path, suffix: str) -> None:
    """Name targets as `samtools faidx` names what it cuts out, of which --lift takes places."""
    path = write(tmp_path / f"pairs.{suffix}", pa.table(PLACED), 2)
    assert [row[2] for row in rows(path)] == ["chr1:11-18", "chr1:1-0", "chr2:6-7"]
    path = write(tmp_path / f"ends.{suffix}", pa.table(PLACED | {"target_end": pa.array([18, 0, 7], pa.int32())}), 2)
    assert [row[2] for row in rows(path)] == ["chr1:11-18", "chr1:1-0", "chr2:6-7"]
    path = write(tmp_path / f"bare.{suffix}", pa.table(PLACED).drop(["target_name"]), 2)
    assert [row[2] for row in rows(path)] == ["0", "1", "2"], "nothing says what they are places of"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"target_start": [10, -1, 5]}, r"record 2: expected a place from 0 in column 'target_start', found -1; correct it"),
        ({"target_start": [10, None, 5]}, r"record 2: expected a value in column 'target_start', found null"),
        ({"target_start": ["10", "x", "5"]}, r"expected column 'target_start' as int64"),
        ({"target_end": [18, 0, 8]}, r"record 3: expected 7 in column 'target_end', 2 letters behind 'target_start', found 8; give both from 0"),
    ],
)
def test_places_that_cannot_be(tmp_path: Path, columns: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        rows(write(tmp_path / "pairs.parquet", pa.table(PLACED | columns), 9))
