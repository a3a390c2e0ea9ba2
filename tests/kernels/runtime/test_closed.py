"""Which folders only this user and root can put files into."""

import grp
import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import pytest

from tidalign.kernels.runtime import closed
from tidalign.kernels.runtime.closed import make, objection

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
OTHER = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "a" / "b" / "c"
    make(made)
    return made


def test_own_folders_are_closed(folder: Path) -> None:
    assert objection(folder) is None
    assert objection(folder / "not" / "there") is None
    assert objection(Path("/")) is None


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o770, 0o720, 0o1777])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_nobody_else_can_write_to_any_level(folder: Path, level: int, mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed, "_own_group", lambda number: False)
    where = [folder, *folder.parents][level]
    where.chmod(mode)
    if mode == 0o1777 and level:
        assert objection(folder) is None  # as /tmp: what is in it is its owner's
    else:
        assert objection(folder) == f"{where} can be written to by other users"


@pytest.mark.parametrize(("name", "members", "own"), [("ann", [], True), ("ann", ["ann"], True), ("ann", ["ann", "bob"], False), ("staff", [], False)])
def test_a_group_of_this_user_alone_may_write(folder: Path, name: str, members: list[str], own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed, "_own_group", closed._own_group.__wrapped__)
    monkeypatch.setattr(pwd, "getpwuid", lambda number: SimpleNamespace(pw_name="ann"))
    monkeypatch.setattr(grp, "getgrgid", lambda number: SimpleNamespace(gr_name=name, gr_mem=members))
    folder.chmod(0o775)
    assert (objection(folder) is None) == own
    folder.chmod(0o777)
    assert objection(folder) is not None


@as_root
@pytest.mark.parametrize("level", [0, 1, 2])
def test_every_level_is_owned_by_this_user_or_root(folder: Path, level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    where = [folder, *folder.parents][level]
    os.chown(where, OTHER, -1)
    assert objection(folder) == f"{where} belongs to another user ({OTHER})"
    monkeypatch.setattr(os, "geteuid", lambda: OTHER)
    assert objection(folder) is None  # the levels above are root's


def test_links_are_followed_to_where_they_lead(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    make(other / "below")
    (folder / "link").symlink_to("../../../other")
    assert objection(folder / "link" / "below") is None
    other.chmod(0o777)
    assert objection(folder / "link" / "below") == f"{folder}/../../../other can be written to by other users"
    (folder / "whole").symlink_to(other)
    assert objection(folder / "whole" / "below") == f"{other} can be written to by other users"


def test_a_link_that_others_could_have_made_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "link").symlink_to(tmp_path)
    folder.chmod(0o1777)
    assert objection(folder / "link") == f"{folder}/link is a link where other users can make files"


@as_root
def test_a_link_of_another_user_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "link").symlink_to(tmp_path)
    os.chown(folder / "link", OTHER, -1, follow_symlinks=False)
    assert objection(folder / "link") == f"{folder}/link belongs to another user ({OTHER})"


def test_a_link_on_the_way_to_another_is_seen(folder: Path, tmp_path: Path) -> None:
    """Both ends of the chain are closed, what stands between is not."""
    between = tmp_path / "between"
    make(between)
    between.chmod(0o1777)
    (between / "second").symlink_to(tmp_path)
    (folder / "first").symlink_to(between / "second")
    assert objection(folder / "first") == f"{between}/second is a link where other users can make files"


def test_links_in_a_circle_end(folder: Path) -> None:
    (folder / "link").symlink_to("link")
    assert objection(folder / "link") == f"{folder}/link is a link in a circle"


def test_what_is_made_is_for_this_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make(tmp_path / "x" / "y")
        make(tmp_path / "x" / "y")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "x", tmp_path / "x" / "y")] == [0o700] * 2
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        make(tmp_path / "file" / "below")
