"""Rows of tables that are packed as they are decoded hold what reading and packing one after the other give, errors among them."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.pairs.input import index, table_index, tables
from tidalign.pipeline.pairs.input.packed import packed_block
from tidalign.pipeline.pairs.input.read import inspect, plan, read_block
from tidalign.pipeline.pairs.pack import pack_pairs

LENGTHS = st.sampled_from([0, 1, 3, 4, 5, 31, 32, 33, 64, 150, 400])
PLAIN, CASES, MASKED, UNUSUAL = "ACGT", "ACGTacgt", "ACGTacgtNn", "ACGTacgtNnRYKM"


@st.composite
def sequences(draw: st.DrawFn) -> str:
    letters, chance = draw(st.sampled_from([PLAIN, PLAIN, CASES, MASKED, UNUSUAL])), draw(st.randoms(use_true_random=False))
    return "".join(chance.choices(letters, k=draw(LENGTHS)))


KINDS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), pa.binary_view(), pa.dictionary(pa.int32(), pa.string())]


def written(path: Path, table: Any, group: int, *, dictionary: bool = True, version: str = "1.0") -> str:
    """Write a table in row groups or record batches of so many rows, pages of Parquet of four."""
    if path.suffix == ".arrow":
        with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(unify_dictionaries=True)) as file:
            file.write_table(table, max_chunksize=group)
    else:
        sizes = {"data_page_size": 1, "write_batch_size": 4, "dictionary_pagesize_limit": 100}
        pq.write_table(table, path, row_group_size=group, use_dictionary=dictionary, data_page_version=version, **sizes)
    return str(path)


@settings(max_examples=150, deadline=None)
@given(
    pairs=st.lists(st.tuples(sequences(), sequences()), min_size=1, max_size=30),
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
    suffix=st.sampled_from([".parquet", ".parquet", ".arrow"]),
    group=st.integers(1, 40),
    sizes=st.tuples(st.sampled_from([1, 100, 2000, 10**6]), st.sampled_from([1, 300, 10**9])),
    named=st.sampled_from(["", "whole", "words", "numbers", "places"]),
    pages=st.tuples(st.booleans(), st.sampled_from(["1.0", "2.0"])),
    ambiguous=st.sampled_from(["mismatch", "match"]),
)
def test_columns_are_those_of_reading_and_packing(
    tmp_path_factory: pytest.TempPathFactory,
    pairs: list[tuple[str, str]],
    kinds: tuple[Any, Any],
    suffix: str,
    group: int,
    sizes: tuple[int, int],
    named: str,
    pages: tuple[bool, str],
    ambiguous: str,
) -> None:
    columns = {side: pa.array([pair[place] for pair in pairs]).cast(kinds[place]) for place, side in enumerate(("query", "target"))}
    numbers = range(len(pairs))
    if named:
        columns["target_name"] = pa.array(numbers if named == "numbers" else [f"chr{i % 3}" + " more" * (named == "words" and i > 2) for i in numbers])
    if named == "places":
        columns["target_start"] = pa.array(numbers)
    path = written(tmp_path_factory.mktemp("packed") / f"pairs{suffix}", pa.table(columns), group, dictionary=pages[0], version=pages[1])
    with patch.object(table_index, "CELL_BYTES", sizes[0]), patch.object(tables, "BATCH_BYTES", sizes[0]):
        source = inspect(path)
        blocks = plan(source, block_bases=sizes[1]) or []
        assert [row for block in blocks for row in range(block.first, block.first + block.pairs)] == [*numbers]
        for block in blocks:
            found = packed_block(source, block, ambiguous=ambiguous)
            assert found.equals(pack_pairs(read_block(source, block), ambiguous=ambiguous))
            assert all(column.num_chunks == 1 for column in found.columns)


GOOD = ["ACGT" * 10] * 6
INVALID = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\4\0\0\0"), pa.py_buffer(b"AC\xff\xfe")])
WRONG: dict[str, dict[str, Any]] = {
    "a protein": {"query": [*GOOD[:5], "ACGL"]},
    "RNA": {"target": ["ACGU", *GOOD[1:]]},
    "an end of line within the last": {"target": [*GOOD[:5], "AC\nGT"]},
    "an end of line within the first": {"query": ["AC\r\nGT", *GOOD[1:]]},
    "an end of line before others": {"query": [*GOOD[:4], "ACG\n", "ACGT"]},
    "a blank": {"query": [*GOOD[:5], "A CG"]},
    "nothing": {"query": [*GOOD[:2], None, *GOOD[3:]]},
    "no name": {"query_name": ["a", "b", "", "d", "e", "f"]},
    "a name that is null": {"target_name": ["a", "b", None, "d", "e", "f"]},
    "a control character in a name": {"query_name": ["a", "b", "c", "d\x01", "e", "f"]},
    "a name of a blank": {"query_name": ["a", "b", " c", "d", "e", "f"]},
    "a long name": {"query_name": ["a", "b" * 70_000, "c", "d", "e", "f"]},
    "a name in Latin-1": {"query_name": pa.array([b"a", b"b", b"\xe9", b"d", b"e", b"f"])},
    "no UTF-8 in letters": {"query": pa.concat_arrays([pa.array(GOOD[:5]), INVALID])},
    "no UTF-8 in a name": {"target_name": pa.concat_arrays([INVALID, pa.array(GOOD[:5])])},
    "a place before all": {"target_name": list("abcdef"), "target_start": [0, 1, 2, -3, 4, 5]},
    "another end": {"target_name": list("abcdef"), "target_start": [0] * 6, "target_end": [40, 40, 40, 40, 41, 40]},
}


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_alike(tmp_path: Path, what: str, suffix: str) -> None:
    source = inspect(written(tmp_path / f"pairs{suffix}", pa.table({"query": GOOD, "target": GOOD} | WRONG[what]), 100))

    def said(read: Any) -> str:
        with pytest.raises(InputError) as caught:
            for block in plan(source) or []:
                read(block)
        return str(caught.value)

    expected = said(lambda block: pack_pairs(read_block(source, block)))
    assert said(lambda block: packed_block(source, block, ambiguous="mismatch")) == expected
    with patch.object(tables, "BATCH_BYTES", 1):
        assert "UTF8 sequence at string index" in expected or said(lambda block: packed_block(source, block, ambiguous="mismatch")) == expected


def test_letters_that_are_refused(tmp_path: Path) -> None:
    source = inspect(written(tmp_path / "pairs.parquet", pa.table({"query": GOOD, "target": [*GOOD[:3], "ACNT", *GOOD[4:]]}), 100))
    (block,) = plan(source) or []
    with pytest.raises(InputError, match=r"record 4: expected only A, C, G and T, found 'N' at position 3 of target '3'"):
        packed_block(source, block, ambiguous="error")
    assert packed_block(source, block, ambiguous="match")["target_ambiguous"].null_count == 5


def test_a_table_that_is_gone(tmp_path: Path) -> None:
    path = written(tmp_path / "pairs.parquet", pa.table({"query": GOOD, "target": GOOD}), 100)
    source = inspect(path)
    (block,) = plan(source) or []
    Path(path).unlink()
    with pytest.raises(MissingInput, match="every worker must see the inputs"):
        packed_block(source, block, ambiguous="mismatch")


def test_letters_are_not_held_once_packed(tmp_path: Path) -> None:
    """A block is decoded two megabytes at a time; of the letters before them a quarter is kept, packed, and no more in Arrow's memory."""
    letters = ["ACGTTGCA" * 1250 for _ in range(3000)]
    source = inspect(written(tmp_path / "pairs.parquet", pa.table({"query": letters, "target": letters}), 3000, dictionary=False))
    with patch.object(index, "MIN_BASES", 10**9):
        (block,) = plan(source, block_bases=10**9) or []
    before, most = pa.total_allocated_bytes(), 0

    def noted(*arguments: Any) -> Any:
        nonlocal most
        most = max(most, pa.total_allocated_bytes() - before)
        return known(*arguments)

    known = tables.names
    with patch.object(tables, "names", noted):
        assert len(packed_block(source, block, ambiguous="mismatch")) == 3000
    assert 0 < most < 20_000_000 < 60_000_000
