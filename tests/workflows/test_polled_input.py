"""Standard input that does not block, as a parent leaves it that polls its own end: what is read of it waits for what comes."""

import io
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

Command = Callable[..., Any]
LETTERS = "GATTACACCTGAGTCATTGCCA" * 8


class Polled(io.FileIO):
    """The end of a pipe that is read, and says when it was found empty."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.empty, self.times = threading.Event(), 0

    def readinto(self, buffer: Any) -> Any:
        count = super().readinto(buffer)
        if count is None:
            self.times += 1
            self.empty.set()
        return count


@pytest.mark.parametrize("words", ["pairs - b.fa --format paf", "pairs b.fa - --format paf", "genome b.fa - --format maf", "search - b.fa --format m8"])
def test_commands_wait(words: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer goes on when the pipe was found empty: amid the first line, which tells the format, and amid letters."""
    text = f">a\n{LETTERS}\n"
    for name in ("a", "b"):
        (tmp_path / f"{name}.fa").write_text(text)
    monkeypatch.chdir(tmp_path)
    whole = command(*words.replace(" - ", " a.fa ").split(), "--device", "cpu", "--quiet")
    assert (whole.returncode, whole.stderr) == (0, "") and whole.stdout
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    polled = Polled(ours)

    def write() -> None:
        with os.fdopen(theirs, "wb", buffering=0) as pipe:
            for piece in (text[:1], text[1:90], text[90:]):
                polled.empty.wait(20)
                polled.empty.clear()
                pipe.write(piece.encode())

    writer = threading.Thread(target=write)
    writer.start()
    with io.BufferedReader(polled) as reader:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=reader, isatty=lambda: False))
        done = command(*words.split(), "--device", "cpu", "--quiet")
        writer.join()
    assert (done.returncode, done.stdout, done.stderr) == (0, whole.stdout, "")
    assert polled.times >= 3
