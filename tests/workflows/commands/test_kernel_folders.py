"""What a command says and does where compiled kernels are to be kept in a folder that other users can write to."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def shared(short_path: Path) -> Path:
    folder = short_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


def call(shared: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command with this folder for caches; the one at home is as it is."""
    command = [sys.executable, "-m", "tidalign.workflows", *map(str, words)]
    return subprocess.run(command, env={**os.environ, "XDG_CACHE_HOME": str(shared)}, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("workers", [0, 2])
def test_it_is_said_once_in_one_line(tmp_path: Path, shared: Path, workers: int) -> None:
    """By the command, not by its workers too."""
    letters = "GATTACACCTGAGTCATTGCCA" * 4
    for name in ("q.fa", "t.fa"):
        (tmp_path / name).write_text("".join(f">{number}\n{letters}\n" for number in range(100)))
    more = [f"--workers={workers}"] if workers else []
    words = ["pairs", tmp_path / "q.fa", tmp_path / "t.fa", "-o", tmp_path / "out.sam", "--device=cpu", *more]
    (line,) = (each for each in call(shared, *words).stderr.splitlines() if each.startswith("tidalign: compiled kernels "))
    assert line.startswith("tidalign: compiled kernels are kept in ")
    assert f", not in {shared}/tidalign: {shared} can be written to by other users; " in line
    assert not list(shared.iterdir())
    assert call(shared, *words, "--quiet", "--new").stderr == ""


def test_check_shows_it(shared: Path) -> None:
    said = call(shared, "check").stdout
    assert (
        f"no folder for compiled kernels: {shared}/tidalign: {shared} can be written to by other users; set NUMBA_CACHE_DIR to a folder that only you" in said
    )
