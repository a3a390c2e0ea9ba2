"""MissingInput is a FileNotFoundError, and what looks for errors of the system, on the way up, leaves its message alone."""

import errno
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidalign
from tidalign.pipeline.errors import CannotWrite
from tidalign.pipeline.files.sniff import sniff
from tidalign.pipeline.formats.export import export
from tidalign.pipeline.store.files import durably


def test_it_is_a_file_that_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no run directory|not there|No such file|found") as caught:
        tidalign.Results(tmp_path / "none")
    assert isinstance(caught.value, tidalign.MissingInput)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is tidalign.MissingInput and str(again) == str(caught.value)


def test_a_directory_for_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(tidalign.MissingInput, match="a directory; name the files in it"):
        sniff(str(tmp_path))


def test_rows_that_are_missing_are_no_error_of_writing(tmp_path: Path, make_run: Any, row: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    results = make_run([row()])

    def gone(columns: list[str]) -> Iterator[Any]:
        raise tidalign.MissingInput("reads.fq: gone; put it back")
        yield

    monkeypatch.setattr(results, "_readers", gone)
    for name in ("out.tsv", "out.parquet"):
        with pytest.raises(tidalign.MissingInput, match="^reads.fq: gone; put it back$"):
            export(results, str(tmp_path / name))

    def write(path: str) -> None:
        raise tidalign.MissingInput("reads.fq: gone")

    with pytest.raises(tidalign.MissingInput, match="^reads.fq: gone$"):
        durably(str(tmp_path / "file"), write)


def test_a_file_system_that_is_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses to remove the temporary file, too, which is not there."""

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(CannotWrite, match="file: cannot be written: Read-only file system"):
        durably(str(tmp_path / "file"), refuse)
