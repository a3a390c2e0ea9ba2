"""Many files that are forced to disk together: each is whole or not there."""

import os
from pathlib import Path

import pytest

from tidalign.pipeline.errors import CannotWrite
from tidalign.pipeline.formats import together
from tidalign.pipeline.formats.together import Together


def write(files: Together, path: Path, text: bytes) -> None:
    with files.destination(str(path)) as sink:
        sink.write(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".tmp"))


@pytest.mark.parametrize("synced", [True, False])
def test_names_come_when_the_bytes_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synced: bool) -> None:
    monkeypatch.setattr(together, "FILES", 3)
    forced: list[list[str]] = []
    force = together._force
    if not synced:
        monkeypatch.setattr(together.ctypes, "CDLL", lambda *_, **__: object())  # a system without it
    monkeypatch.setattr(together, "_force", lambda folder: (forced.append(names(tmp_path)), force(folder))[1])
    (tmp_path / "f4").write_bytes(b"before")
    with Together(tmp_path) as files:
        for number in range(5):
            write(files, tmp_path / f"f{number}", b"%d" % number)
            assert names(tmp_path) == ["f4"] if number < 2 else ["f0", "f1", "f2", "f4"]
            assert (tmp_path / "f4").read_bytes() == b"before"
    assert forced == [["f4"], ["f0", "f1", "f2", "f4"]]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {f"f{number}": b"%d" % number for number in range(5)}


def test_after_an_error_nothing_is_left_of_what_has_no_name(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Together(tmp_path / "new") as files:
        write(files, tmp_path / "new" / "a", b"a")
        with files.destination(str(tmp_path / "new" / "b")) as sink:
            sink.write(b"%d" % (1 // 0))
    assert list((tmp_path / "new").iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite, match="file"), Together(tmp_path / "file"):
        pass


def test_links_devices_and_other_folders(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "linked").write_bytes(b"")
    (tmp_path / "out" / "link").symlink_to(tmp_path / "linked")
    (tmp_path / "out" / "null").symlink_to(os.devnull)
    (tmp_path / "out" / "taken").mkdir()
    with Together(tmp_path / "out") as files:
        for name in ("plain", "link", "null"):
            write(files, tmp_path / "out" / name, b"x")
        with pytest.raises(CannotWrite, match="found a directory"):
            write(files, tmp_path / "out" / "taken", b"x")
    assert (tmp_path / "out" / "link").is_symlink() and (tmp_path / "linked").read_bytes() == (tmp_path / "out" / "plain").read_bytes() == b"x"
