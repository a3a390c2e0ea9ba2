"""What an output is written to before it has its name takes nobody else's file over."""

import os
from pathlib import Path
from zlib import crc32

import pytest

from tidalign.pipeline.formats.export import destination


def shared(output: Path) -> Path:
    """Name the file that all exports to an output on this host write first."""
    return output.with_name(f".{output.name}.{crc32(os.uname().nodename.encode()):08x}.tmp")


def written(output: Path) -> None:
    with destination(str(output)) as sink:
        sink.write(b"rows\n")
    assert output.read_bytes() == b"rows\n"


def test_a_file_with_a_second_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"kept\n")
    shared(tmp_path / "out.sam").hardlink_to(tmp_path / "kept")
    written(tmp_path / "out.sam")
    assert (tmp_path / "kept").read_bytes() == b"kept\n"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"kept\n")
    shared(tmp_path / "out.sam").symlink_to(tmp_path / "kept")
    written(tmp_path / "out.sam")
    assert (tmp_path / "kept").read_bytes() == b"kept\n" and not (tmp_path / "out.sam").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a file of another user")
def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    temporary = shared(tmp_path / "out.sam")
    temporary.write_bytes(b"theirs\n")
    os.chown(temporary, 12345, 12345)
    written(tmp_path / "out.sam")
    assert temporary.read_bytes() == b"theirs\n" and (tmp_path / "out.sam").stat().st_uid == 0


def test_what_a_killed_export_left_is_taken_over(tmp_path: Path) -> None:
    shared(tmp_path / "out.sam").write_bytes(b"half of the rows")
    written(tmp_path / "out.sam")
    assert [path.name for path in tmp_path.iterdir()] == ["out.sam"]
