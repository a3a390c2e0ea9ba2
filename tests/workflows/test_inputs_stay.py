"""No output takes the place of what was read."""

from pathlib import Path
from typing import Any

import pytest

from tidalign.workflows.status import Exit

LETTERS = "GATTACACCTGAGTCATTGCCA" * 8


@pytest.mark.parametrize(
    "words",
    [
        ("pairs", "a.fa", "b.fa", "-o", "a.fa", "--format", "sam"),
        ("genome", "a.fa", "b.fa", "-o", "./b.fa", "--format", "maf"),
        ("search", "a.fa", "b.fa", "-o", "b.fa", "--format", "m8"),
        ("search", "a.fa", "b.fa", "-o", "link.m8"),
        ("genome", "a.fa", "b.fa", "-o", "run", "--rdotplot=a.fa"),
        ("index", "a.fa", "-o", "a.fa"),
    ],
    ids=lambda words: " ".join(words[0:1] + words[-3:]),
)
def test_an_output_that_was_read(words: tuple[str, ...], tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.fa", "b.fa"):
        Path(name).write_text(f">{name}\n{LETTERS}\n")
    Path("link.m8").hardlink_to("a.fa")
    answer = command(*words, *([] if words[0] == "index" else ["--device", "cpu", "--quiet"]))
    assert (answer.returncode, "expected another name than those of what was read" in answer.stderr) == (Exit.CANNOT_WRITE, True), answer.stderr
    assert [Path(name).read_text() for name in ("a.fa", "b.fa")] == [f">a.fa\n{LETTERS}\n", f">b.fa\n{LETTERS}\n"]
