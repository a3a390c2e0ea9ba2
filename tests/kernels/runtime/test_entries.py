"""What is kept of compiled kernels: given out as it was written, by nobody else, and made anew where it is damaged."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidalign.kernels.runtime import bases, entries
from tidalign.kernels.runtime.closed import make

NAME = "kernels.letters.packing-0123456789abcdef/pack_codes-1.kernel"
CONTENT = bytes(range(256)) * 40
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Configure the one base; nothing has been said of it."""
    monkeypatch.setattr(entries, "_said", set())
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "shared" / "tidalign"


@pytest.fixture
def path(base: Path) -> Path:
    """Write an entry, and give its file."""
    entries.save(NAME, CONTENT)
    assert entries.load(NAME) == CONTENT
    return base / NAME


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]


DAMAGES = {
    "cut": lambda content: content[:-1],
    "halved": lambda content: content[: len(content) // 2],
    "digest alone": lambda content: content[:32],
    "empty": lambda content: b"",
    "longer": lambda content: content + b"\0",
    "bit of the digest": lambda content: flipped(content, 3),
    "first bit": lambda content: flipped(content, 32),
    "last bit": lambda content: flipped(content, len(content) - 1),
    "garbage": lambda content: b"garbage" * 1000,
    "zeros": lambda content: bytes(len(content)),
    "no digest": lambda content: CONTENT,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_none_until_it_is_made_again(path: Path, damage: str) -> None:
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[damage](whole))
    assert entries.load(NAME) is None
    entries.save(NAME, CONTENT)
    assert entries.load(NAME) == CONTENT
    assert path.read_bytes() == whole and [file.name for file in path.parent.iterdir()] == [path.name]


def test_every_bit_counts(path: Path) -> None:
    whole = path.read_bytes()
    for place in range(0, len(whole), 97):
        path.write_bytes(flipped(whole, place))
        assert entries.load(NAME) is None


def test_an_entry_in_another_ones_place_is_none(path: Path) -> None:
    other = f"{NAME}x"
    path.rename(path.with_name(f"{path.name}x"))
    assert entries.load(other) is None


@pytest.mark.parametrize("mode", [0o666, 0o602])
def test_a_file_that_others_can_write_to_is_none(path: Path, mode: int) -> None:
    path.chmod(mode)
    assert entries.load(NAME) is None
    entries.save(NAME, CONTENT)
    assert entries.load(NAME) == CONTENT and path.stat().st_mode & 0o777 == 0o600


@as_root
def test_a_file_of_another_user_is_none(path: Path) -> None:
    os.chown(path, 65534, -1)
    assert entries.load(NAME) is None
    entries.save(NAME, CONTENT)
    assert entries.load(NAME) == CONTENT and path.stat().st_uid == 0


def test_a_link_in_an_entrys_place_is_none(path: Path, tmp_path: Path) -> None:
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert entries.load(NAME) is None
    entries.save(NAME, b"new")
    assert entries.load(NAME) == b"new" and not path.is_symlink()
    assert (tmp_path / "elsewhere").read_bytes()[32:] == CONTENT


@pytest.mark.timeout(60)
def test_a_pipe_in_an_entrys_place_is_not_waited_for(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)
    assert entries.load(NAME) is None
    entries.save(NAME, CONTENT)
    assert entries.load(NAME) == CONTENT


def test_a_folder_in_an_entrys_place_is_left(path: Path) -> None:
    path.unlink()
    path.mkdir()
    entries.save(NAME, CONTENT)
    assert entries.load(NAME) is None and [file.name for file in path.parent.iterdir()] == [path.name]


def test_another_base_is_used_where_others_can_write(base: Path, path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Neither is read from it, though the digest is right, nor written to it; and this is said once."""
    before = {file: file.read_bytes() for file in base.rglob("*") if file.is_file()}
    base.parent.chmod(0o777)
    bases._chosen.cache_clear()
    home = tmp_path / "home" / ".cache" / "tidalign"
    with caplog.at_level(logging.WARNING, "tidalign"):
        assert entries.load(NAME) is None
        entries.save(NAME, b"other")
        assert entries.load(NAME) == b"other" == (home / NAME).read_bytes()[32:]
    reason = f"{base.parent} can be written to by other users"
    (record,) = caplog.records
    assert record.getMessage().startswith(f"compiled kernels are kept in {home}, not in {base}: {reason}; ")
    assert {file: file.read_bytes() for file in base.rglob("*") if file.is_file()} == before
    assert bases.bases().refused == ((base, reason),)


def test_a_folder_below_the_base_that_others_can_write_to_is_not_used(base: Path, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.parent.chmod(0o777)
    with caplog.at_level(logging.WARNING, "tidalign"):
        assert entries.load(NAME) is None
        entries.save(NAME, b"other")
        assert entries.load(NAME) is None
    (record,) = caplog.records
    assert record.getMessage() == f"not all kernels in {base} are used, as {path.parent} can be written to by other users; remove it, and it is made again"
    assert path.read_bytes()[32:] == CONTENT


def test_a_temporary_folder_is_used_where_no_other_is_safe(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (tmp_path / "shared", tmp_path / "home"):
        folder.mkdir()
        folder.chmod(0o777)
    bases._chosen.cache_clear()
    bases._temporary.cache_clear()
    kept = bases.bases().kept
    assert kept is not None and kept.name.startswith("tidalign-") and kept.stat().st_mode & 0o777 == 0o700
    entries.save(NAME, CONTENT)
    assert entries.load(NAME) == CONTENT
    assert not list((tmp_path / "home").iterdir()) and not list((tmp_path / "shared").iterdir())
    monkeypatch.setattr(bases, "_temporary", lambda: None)
    bases._chosen.cache_clear()
    assert bases.bases().kept is None
    entries.save("other", CONTENT)
    assert entries.load("other") is None


def test_a_temporary_folder_that_others_can_replace_is_not_used(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bases.tempfile, "tempdir", str(tmp_path))
    bases._temporary.cache_clear()
    assert bases._temporary() is not None
    bases._temporary.cache_clear()
    tmp_path.chmod(0o777)
    assert bases._temporary() is None
    bases._temporary.cache_clear()


def test_what_cannot_be_written_to_is_loaded_from(base: Path, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an image with compiled kernels; what it lacks is kept in the next folder."""
    writable = bases._writable
    monkeypatch.setattr(bases, "_writable", lambda place: place != base and writable(place))
    bases._chosen.cache_clear()
    home = tmp_path / "home" / ".cache" / "tidalign"
    assert bases.bases() == bases.Bases((base, home), home, ())
    assert entries.load(NAME) == CONTENT
    entries.save("kernels.new/one", b"new")
    assert entries.load("kernels.new/one") == b"new" and (home / "kernels.new" / "one").exists()
    bases._chosen.cache_clear()


WRITER = f"""
from tidalign.kernels.runtime import entries
for turn in range(300):
    entries.save({NAME!r}, [b"a" * 400_000, b"b" * 300_000][turn % 2])
"""


def test_a_reader_sees_whole_entries_while_others_write(base: Path, path: Path) -> None:
    contents = {b"a" * 400_000, b"b" * 300_000}
    entries.save(NAME, min(contents))
    writers = [subprocess.Popen([sys.executable, "-c", WRITER]) for _ in range(2)]
    looked = 0
    while any(writer.poll() is None for writer in writers):
        assert entries.load(NAME) in contents
        looked += 1
    assert [writer.returncode for writer in writers] == [0, 0] and looked > 50
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_full_disk_keeps_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    entries.save(NAME, b"new")
    assert entries.load(NAME) == CONTENT and [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("given", ["CUPY_CACHE_DIR", "HOME"])
def test_cupys_own_folder_is_held_to_the_same(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    own = tmp_path / "cupy" if given == "CUPY_CACHE_DIR" else tmp_path / "home" / ".cupy" / "kernel_cache"
    make(own)
    monkeypatch.delenv("CUPY_CACHE_DIR", raising=False)
    if given == "CUPY_CACHE_DIR":
        monkeypatch.setenv(given, str(own))
    before = dict(os.environ)
    assert bases.move_cupys() is None and dict(os.environ) == before
    own.chmod(0o777)
    monkeypatch.setenv("CUPY_CACHE_DIR", str(own))  # so that it is as before afterwards
    assert bases.move_cupys() == f"{own}: {own} can be written to by other users"
    assert os.environ["CUPY_CACHE_DIR"] == str(base / "cupy")
