"""A file appears when it is whole, and what a killed export left beside it goes with the next one to the same output."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidalign.pipeline.formats.export import destination

KILLED = """
import os, signal, sys
from tidalign.pipeline.formats.export import destination
with destination(sys.argv[1]) as sink:
    sink.write(b"half" * 1_000_000)
    sink.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_killed_exports_left_goes(tmp_path: Path) -> None:
    output = tmp_path / "out.sam"
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", KILLED, str(output)]).returncode == -9
        assert not output.exists() and len(names(tmp_path)) == 1
    with destination(str(output)) as sink:
        sink.write(b"whole")
    assert names(tmp_path) == ["out.sam"] and output.read_bytes() == b"whole"
    with pytest.raises(ValueError, match="^wrong$"), destination(str(output)) as sink:
        sink.write(b"other")
        raise ValueError("wrong")
    assert names(tmp_path) == ["out.sam"] and output.read_bytes() == b"whole"


def test_exports_to_one_output_at_a_time_do_not_mix(tmp_path: Path) -> None:
    output = tmp_path / "out.sam"
    with destination(str(output)) as first:
        first.write(b"first")
        with destination(str(output)) as second:
            second.write(b"second, longer")
        assert output.read_bytes() == b"second, longer"
    assert names(tmp_path) == ["out.sam"] and output.read_bytes() == b"first"


def test_an_export_that_ends_while_another_begins_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other has opened the first one's file, and locks it when that has its name already."""
    output, known = tmp_path / "out.sam", fcntl.flock
    first = destination(str(output))
    first.__enter__().write(b"first")

    def ended(handle: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", known)
        first.__exit__(None, None, None)
        known(handle, operation)

    monkeypatch.setattr(fcntl, "flock", ended)
    with destination(str(output)) as second:
        assert output.read_bytes() == b"first"
        second.write(b"second")
    assert names(tmp_path) == ["out.sam"] and output.read_bytes() == b"second"


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    output = tmp_path / "out.sam"
    subprocess.run([sys.executable, "-c", KILLED, str(output)])
    [left] = tmp_path.iterdir()
    left.unlink()
    (tmp_path / "mine").write_bytes(b"mine")
    left.symlink_to(tmp_path / "mine")
    with destination(str(output)) as sink:
        sink.write(b"whole")
    assert (tmp_path / "mine").read_bytes() == b"mine" and output.read_bytes() == b"whole" and left.is_symlink()


def test_a_file_with_a_second_name_is_left_alone(tmp_path: Path) -> None:
    """Keeps what somebody has linked to the place of what a killed export leaves."""
    output = tmp_path / "out.sam"
    subprocess.run([sys.executable, "-c", KILLED, str(output)])
    [left] = tmp_path.iterdir()
    left.unlink()
    (tmp_path / "mine").write_bytes(b"mine")
    left.hardlink_to(tmp_path / "mine")
    with destination(str(output)) as sink:
        sink.write(b"whole")
    assert (tmp_path / "mine").read_bytes() == b"mine" and output.read_bytes() == b"whole" and names(tmp_path) == sorted(["mine", "out.sam", left.name])


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a file of another user")
def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    output = tmp_path / "out.sam"
    subprocess.run([sys.executable, "-c", KILLED, str(output)])
    [left] = tmp_path.iterdir()
    left.write_bytes(b"theirs")
    os.chown(left, 12345, 12345)
    with destination(str(output)) as sink:
        sink.write(b"whole")
    assert left.read_bytes() == b"theirs" and output.read_bytes() == b"whole" and output.stat().st_uid == 0
