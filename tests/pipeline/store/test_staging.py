"""Copies of what a run directory holds, on a node: whole or not used, made once, gone at the end."""

import errno
import os
import shutil
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tidalign.pipeline.errors import Damaged
from tidalign.pipeline.store import staging
from tidalign.pipeline.store.files import nearest, open_table, write_table
from tidalign.pipeline.store.layout import GENOMES, PAIRS, SEARCH

TEXT = b"GATTACA" * 1000


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Make a directory with a file and a folder of files in it, copies of which are kept in `scratch`."""
    (tmp_path / "run" / "chunks").mkdir(parents=True)
    (tmp_path / "run" / "chunks" / "a").write_bytes(TEXT)
    (tmp_path / "run" / "sides" / "s0000").mkdir(parents=True)
    for name in ("letters", "codes"):
        (tmp_path / "run" / "sides" / "s0000" / name).write_bytes(name.encode())
    (tmp_path / "scratch").mkdir()
    staging.begin(str(tmp_path / "run"), str(tmp_path / "scratch"))
    return tmp_path / "run"


def place(path: str) -> str:
    """Name which of the folders of a test a path lies in."""
    return "scratch" if "/scratch/" in path else "run"


def read(path: str) -> tuple[str, bytes]:
    return place(path), Path(path).read_bytes()


def end(run: Path) -> dict[str, Any]:
    return staging.end(str(run), str(run.parent / "scratch"))


def test_a_file_and_a_folder_are_copied_once(run: Path) -> None:
    for _ in range(3):
        assert nearest(str(run), "chunks/a", read) == ("scratch", TEXT)
        found = nearest(str(run), "sides/s0000", lambda path: (place(path), {each.name: each.read_bytes() for each in Path(path).iterdir()}))
        assert found == ("scratch", {"letters": b"letters", "codes": b"codes"})
    said = end(run)
    assert (said["copies"], said["bytes"], said["trouble"]) == (2, len(TEXT) + 12, None)
    assert list((run.parent / "scratch").iterdir()) == []
    (run / staging.MARK).unlink()
    assert nearest(str(run), "chunks/a", read) == ("run", TEXT)


def test_what_is_written_anew_is_copied_anew(run: Path) -> None:
    assert nearest(str(run), "chunks/a", read)[1] == TEXT
    (run / "chunks" / "a").write_bytes(TEXT[::-1])
    os.utime(run / "chunks" / "a", ns=(0, 0))  # of the same size
    assert nearest(str(run), "chunks/a", read) == ("scratch", TEXT[::-1])


def test_a_copy_that_is_cut_short_is_made_again(run: Path) -> None:
    nearest(str(run), "chunks/a", read)
    (copy,) = (path for path in run.parent.glob("scratch/*/chunks/a.*") if path.suffix != ".lock")
    copy.write_bytes(TEXT[:-1])
    assert nearest(str(run), "chunks/a", read) == ("scratch", TEXT)


def test_who_comes_while_a_copy_is_made_waits_for_it(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    real = shutil.copyfile

    def slow(source: Any, target: Any) -> Any:
        made.append(str(source))
        time.sleep(0.3)
        return real(source, target)

    monkeypatch.setattr(shutil, "copyfile", slow)
    found: list[tuple[str, bytes]] = []
    threads = [threading.Thread(target=lambda: found.append(nearest(str(run), "chunks/a", read))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [("scratch", TEXT)] * 4 and len(made) == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_scratch_folder_that_takes_nothing_is_left_alone(run: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    asked: list[Any] = []

    def full(source: Any, target: Any) -> None:
        asked.append(source)
        Path(target).write_bytes(b"half")
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(shutil, "copyfile", full)
    for _ in range(3):
        assert nearest(str(run), "chunks/a", read) == ("run", TEXT)
    assert len(asked) == 1
    assert [path for path in run.parent.glob("scratch/*/chunks/*") if path.suffix != ".lock"] == []
    assert os.strerror(number) in end(run)["trouble"]


def test_no_copy_is_begun_that_has_no_room(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 10))  # type: ignore[attr-defined]
    monkeypatch.setattr(shutil, "copyfile", None)
    assert nearest(str(run), "chunks/a", read) == ("run", TEXT)
    assert "no room for 7,000 bytes" in end(run)["trouble"]


def test_a_scratch_folder_that_vanishes_costs_nothing(run: Path) -> None:
    nearest(str(run), "chunks/a", read)
    shutil.rmtree(run.parent / "scratch")
    assert nearest(str(run), "chunks/a", read) == ("run", TEXT)
    assert nearest(str(run), "sides/s0000", place) == "run"
    assert not (run.parent / "scratch").exists(), "what is not mounted any more is not made"
    assert end(run)["trouble"]


def test_a_copy_that_vanishes_as_it_is_read(run: Path) -> None:
    def late(path: str) -> tuple[str, bytes]:
        if place(path) == "scratch":
            Path(path).unlink()
        return read(path)

    assert nearest(str(run), "chunks/a", late) == ("run", TEXT)


def test_a_damaged_copy_is_not_used(run: Path) -> None:
    import pyarrow as pa

    write_table(str(run / "chunks" / "t"), pa.table({"a": list(range(1000))}))
    assert len(nearest(str(run), "chunks/t", open_table).read()) == 1000
    (copy,) = (path for path in run.parent.glob("scratch/*/chunks/t.*") if path.suffix != ".lock")
    data = bytearray(copy.read_bytes())
    data[len(data) // 2] ^= 1
    copy.write_bytes(data)
    assert len(nearest(str(run), "chunks/t", open_table).read()) == 1000
    assert "checksum" in end(run)["trouble"]
    with pytest.raises(Damaged):
        (run / "chunks" / "t").write_bytes(data)
        nearest(str(run), "chunks/t", open_table)


def test_a_folder_of_somebody_elses_is_not_used(run: Path) -> None:
    folder = staging.folder_of(str(run), str(run.parent / "scratch"))
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    assert nearest(str(run), "chunks/a", read) == ("run", TEXT)
    folder.rmdir()
    folder.symlink_to(run.parent)
    assert staging.Stage(str(run), str(run.parent / "scratch")).trouble


def test_what_does_not_exist_is_told_by_who_reads_it(run: Path) -> None:
    with pytest.raises(FileNotFoundError):
        nearest(str(run), "chunks/none", read)
    assert nearest(str(run), "chunks/a", read)[0] == "scratch"


def test_where_copies_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    base = {"TMPDIR": "/of/node", "SLURM_TMPDIR": "/of/job"}
    assert staging.folder_of("/run", "auto", base).parent == Path("/of/job")
    assert staging.folder_of("/run", "auto", {"TMPDIR": "/of/node"}).parent == Path("/of/node")
    monkeypatch.setenv("WHERE", "/local")
    assert staging.folder_of("/run", "$WHERE/me").parent == Path("/local/me")
    with pytest.raises(ValueError, match="not set"):
        staging.folder_of("/run", "$NOWHERE_AT_ALL")
    folders = [staging.folder_of(run, "/local") for run in ("/run", "/run", "/run2")]
    assert Counter(folders).most_common(1)[0][1] == 2 and len(set(folders)) == 2


@pytest.mark.parametrize("layout", [PAIRS, GENOMES, SEARCH], ids=lambda layout: layout.kind)
def test_the_file_that_names_it_may_be_left_behind(tmp_path: Path, layout: Any) -> None:
    staging.begin(str(tmp_path), "auto")
    assert [path.name for path in layout.entries(str(tmp_path))] == [staging.MARK]
