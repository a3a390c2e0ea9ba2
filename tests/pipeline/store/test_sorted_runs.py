"""Sorting more rows than fit: the rows of a sort in memory, with few files and little room, however many runs there are."""

import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pytest

from tidalign.pipeline import text
from tidalign.pipeline.errors import CannotWrite, DiskFull
from tidalign.pipeline.store import sorted_runs

SCHEMA = pa.schema([("first", pa.int64()), ("second", pa.int64()), ("letters", pa.large_string())])


def rows(count: int) -> Any:
    rng = np.random.default_rng(count)
    letters = ["".join(chr(code) for code in rng.integers(40, 120, size)) for size in rng.integers(0, 200, count)]
    return pa.table([rng.integers(0, 50, count), rng.permutation(count), letters], schema=SCHEMA)


def keys(table: Any) -> Any:
    return np.stack([table["first"].to_numpy(), table["second"].to_numpy()], axis=1)


def in_memory(table: Any) -> Any:
    return table.sort_by([("first", "ascending"), ("second", "ascending")]).combine_chunks()


def gathered(tables: Iterator[Any]) -> Any:
    return pa.concat_tables(tables).combine_chunks()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BATCH_BYTES", 1200)
    monkeypatch.setattr(text, "PIECE_BYTES", 500)
    monkeypatch.setattr(sorted_runs, "MERGED_RUNS", 4)


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> list[IO[bytes]]:
    """List the temporary files, as they are opened."""
    opened: list[IO[bytes]] = []
    real = tempfile.TemporaryFile

    def recorded(**named: Any) -> IO[bytes]:
        opened.append(real(**named))
        return opened[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", recorded)
    return opened


@contextmanager
def few_files(more: int) -> Iterator[None]:
    """Let this process open few more files than it has."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(int(path.name) for path in Path("/dev/fd").iterdir()) + 1 + more, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize("threads", [1, 3])
def test_few_files_are_open_however_many_runs(tmp_path: Path, threads: int) -> None:
    given = rows(4000)
    assert text.row_bytes(given).sum() > 300 * text.BATCH_BYTES
    with few_files(12):
        found = gathered(sorted_runs.in_order(iter([given]), keys, str(tmp_path), threads))
    assert found == in_memory(given)


@pytest.mark.parametrize("count", [*range(0, 200, 9), 400, 777, 1500])
def test_rows_are_sorted_whatever_runs_are_left(tmp_path: Path, files: list[IO[bytes]], count: int) -> None:
    """Runs of every level, and none, are left when all rows have come."""
    given = rows(count)
    found = gathered(iter([SCHEMA.empty_table(), *sorted_runs.in_order(iter([given]), keys, str(tmp_path))]))
    assert found == in_memory(given)
    assert all(file.closed for file in files)


def test_what_is_merged_takes_no_room(tmp_path: Path, files: list[IO[bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    given, held = rows(3000), []
    for most in (1_000_000, 4):
        monkeypatch.setattr(sorted_runs, "MERGED_RUNS", most)
        with closing(sorted_runs.in_order(iter([given]), keys, str(tmp_path))) as tables:
            next(tables)
            held.append(sum(os.fstat(file.fileno()).st_size for file in files if not file.closed))
        assert all(file.closed for file in files)  # also of who stops early
    assert held[1] < 1.2 * held[0] and len(files) > 50


def test_of_rows_that_stop_coming_no_file_stays(tmp_path: Path, files: list[IO[bytes]]) -> None:
    def failing() -> Iterator[Any]:
        yield rows(500)
        raise FileNotFoundError("an input")

    for threads in (1, 3):
        with pytest.raises(FileNotFoundError, match="an input"):
            list(sorted_runs.in_order(failing(), keys, str(tmp_path), threads))
    assert files and all(file.closed for file in files)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_folder_that_takes_no_more_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    with pytest.raises(CannotWrite, match=f"{tmp_path}/none: "):
        list(sorted_runs.in_order(iter([rows(500)]), keys, f"{tmp_path}/none", threads))
    if Path("/dev/full").exists():
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda dir: Path("/dev/full").open("r+b"))  # noqa: SIM115
        with pytest.raises(DiskFull, match=f"{tmp_path}: no space left"):
            list(sorted_runs.in_order(iter([rows(500)]), keys, str(tmp_path), threads))
