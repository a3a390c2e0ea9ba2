"""Hold what pages of Parquet tell of their letters against the letters; what they do not tell is decoded."""

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs.input import pages as page_headers
from tidalign.pipeline.pairs.input import table_index, tables
from tidalign.pipeline.pairs.input.packed import packed_block
from tidalign.pipeline.pairs.input.pages import column_chunks, pages
from tidalign.pipeline.pairs.input.read import inspect, plan

ROWS = 3000
CHANCE = random.Random(3)
LONG_LATER = ["".join(CHANCE.choices("ACGT", k=CHANCE.randint(0, 50 if row < 2000 else 900))) for row in range(ROWS)]


def written(path: Path, letters: list[str], **options: Any) -> str:
    small = {"data_page_size": 4000, "write_batch_size": 16, "dictionary_pagesize_limit": 20_000}
    pq.write_table(pa.table({"query": letters, "target": letters[::-1]}), path, **(small | options))
    return str(path)


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}, {"compression": "zstd"}, {"compression": "none"}], ids=str)
def test_letters_before_each_page(tmp_path: Path, options: dict[str, Any]) -> None:
    path = written(tmp_path / "x.parquet", LONG_LATER, **options)
    (chunks,) = column_chunks(path)
    assert chunks.keys() == {"query", "target"}
    told = pages(path, *chunks["query"])
    assert told is not None and len(told.rows) > 50 and told.rows[-1] == ROWS and told.known == 0
    for row, letters in zip(told.rows, told.letters, strict=True):
        # Levels, which tell nulls, are a few bytes of a page; within the pages of the dictionary letters are even.
        assert abs(letters - sum(map(len, LONG_LATER[:row]))) <= 20 * len(told.rows) + (1000 if row < 2000 else 0)
    assert told.before(told.rows, free=10**6)[-1] == 0


def test_column_chunks_are_those_that_arrow_finds(tmp_path: Path) -> None:
    """Among columns of every kind and row groups of every size, with all that a footer may hold."""
    table = pa.table({"query": LONG_LATER, "n": range(ROWS), "b": [True, None, False] * 1000, "s": [{"query": "A", "x": 0.5}] * ROWS, "l": [["A"]] * ROWS})
    options: dict[str, Any] = {"write_page_index": True, "write_page_checksum": True, "sorting_columns": [pq.SortingColumn(0)]}
    for rows in (1, 70, ROWS):
        pq.write_table(table, path := tmp_path / f"{rows}.parquet", row_group_size=rows, **options)
        metadata, chunks = pq.read_metadata(path), column_chunks(str(path))
        assert len(chunks) == metadata.num_row_groups
        for place, found in enumerate(chunks):
            column = metadata.row_group(place).column(0)
            assert found == {"query": (column.dictionary_page_offset or column.data_page_offset, column.num_values)}
            told = pages(str(path), *found["query"])
            assert told and told.rows[-1] == column.num_values


@pytest.mark.parametrize("options", [{"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}, {"column_encoding": "DELTA_LENGTH_BYTE_ARRAY"}], ids=str)
def test_other_forms(tmp_path: Path, options: dict[str, Any]) -> None:
    """Shared beginnings are written once: such pages do not tell their letters."""
    letters = ["ACGT" * 100] * ROWS
    path = written(tmp_path / "x.parquet", letters, **{"use_dictionary": False, **options})
    blocks = plan(inspect(path), block_bases=80_000) or []
    assert sum(block.pairs for block in blocks) == ROWS and max(block.pairs for block in blocks) < 2 * 262_144 // 800


@pytest.mark.parametrize(
    "letters", [LONG_LATER, sorted(LONG_LATER, key=len), sorted(LONG_LATER, key=len)[:100] * 30], ids=["as they come", "sorted", "repeated"]
)
@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"row_group_size": 700}], ids=str)
def test_blocks_have_about_as_many_letters_as_they_should(tmp_path: Path, options: dict[str, Any], letters: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.parquet", letters, **options)
    monkeypatch.setattr(table_index, "CELL_BYTES", 2000)
    blocks = plan(inspect(path), block_bases=40_000) or []
    assert sum(block.pairs for block in blocks) == ROWS
    sizes = [sum(len(letters[row]) + len(letters[-1 - row]) for row in range(block.first, block.first + block.pairs)) for block in blocks]
    assert max(sizes) < 65_000, "a page or so more"
    assert sum(size < 20_000 for size in sizes) <= 1


def test_only_what_pages_do_not_tell_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded, known = list[list[str]](), tables.batches

    def noted(source: Any, unit: int, columns: list[str], **checked: Any) -> Iterator[Any]:
        decoded.append(columns)
        return known(source, unit, columns, **checked)

    monkeypatch.setattr(tables, "batches", noted)
    others, repeated = ["".join(CHANCE.choices("ACGT", k=500)) for _ in range(ROWS)], ["ACGT" * 5000] * ROWS
    for name, query, expected in (("others", others, []), ("repeated", repeated, [["query"]])):
        columns = {"query": query, "target": others, "query_name": ["chr1"] * ROWS}
        pq.write_table(pa.table(columns), path := tmp_path / f"{name}.parquet")
        assert sum(block.pairs for block in plan(inspect(str(path))) or []) == ROWS
        assert decoded == expected


@pytest.mark.parametrize("part", ["pages", "footer"])
def test_what_is_damaged_tells_nothing_or_something(tmp_path: Path, part: str) -> None:
    """Whatever a bit makes of headers and footer: reading then says what is wrong, and the process goes on."""
    path = Path(written(tmp_path / "x.parquet", LONG_LATER[:100], compression="none", data_page_size=1, write_batch_size=2))
    whole, nothing = path.read_bytes(), 0
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for _ in range(300):
        data = bytearray(whole)
        data[CHANCE.randrange(4, footer) if part == "pages" else CHANCE.randrange(footer, len(whole))] ^= 1 << CHANCE.randrange(8)
        path.write_bytes(data)
        told = [pages(str(path), *place) for chunks in column_chunks(str(path)) for place in chunks.values()]
        nothing += None in told or not told
        with suppress(InputError):
            source = inspect(str(path))
            for block in plan(source) or []:
                packed_block(source, block, ambiguous="mismatch")
    assert nothing
    path.write_bytes(whole[: footer // 2])
    assert column_chunks(str(path)) == []


def test_no_more_is_read_of_a_header_than_one_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look no further than a header may reach: where none lies, what looks like one may be as long as the file."""
    read, known = list[int](), page_headers._read

    def noted(file: Any, at: int, size: int) -> bytes:
        read.append(size)
        return known(file, at, size)

    monkeypatch.setattr(page_headers, "_LONGEST", 1 << 16)
    monkeypatch.setattr(page_headers, "_read", noted)
    path = tmp_path / "x.parquet"
    path.write_bytes(b"\x18" + b"\xff" * 6 + b"\x01" + bytes([0x15]) * (1 << 20))  # a text of 2^48 bytes
    assert pages(str(path), 0, 1) is None and read == [1 << 12, 1 << 16]
