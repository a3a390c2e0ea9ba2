"""No message is longer than 600 letters, whatever names and paths are in it, and every one is one line."""

import logging
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidalign.cluster.errors import Stopped
from tidalign.pipeline.errors import Damaged, InputError, OutputClosed
from tidalign.pipeline.formats import table
from tidalign.pipeline.genome.formats import general
from tidalign.workflows import cli
from tidalign.workflows.progress import LONGEST_MESSAGE, brief, say

NAME = "chr1_" + "n" * 5000 + "_end"
PATH = "/data/" + "d" * 250 + ("/" + "e" * 250) * 15 + "/reads.fq"
WORDS = "expected this and " * 100

SAID = [kind for kind in cli.EXITS if kind not in (InputError, OutputClosed)]
"""Those that are made of a text; nothing is said of an output that was closed."""

ERRORS = [
    *(kind(f"{PATH}: cannot be: {NAME}; do that instead") for kind in SAID),
    *(kind(f"{WORDS}; do that instead") for kind in SAID),
    InputError(PATH, "a name of SAM's", repr(NAME), "do that instead", record=7),
    InputError(PATH, WORDS, WORDS, "do that instead"),
    Damaged(PATH, NAME, "do that instead"),
    RuntimeError(f"{PATH}\n{NAME}"),
    MemoryError(WORDS),
    Stopped(signal.SIGTERM),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_every_kind_of_error(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    cli.fail(error, debug=False)
    said = capsys.readouterr().err
    assert said.startswith("tidalign: ") and said.count("\n") == 1 and len(said) <= LONGEST_MESSAGE + 1
    if PATH in str(error) and not isinstance(error, RuntimeError):
        assert said.startswith("tidalign: /data/d") and said.endswith("; do that instead\n") and "/reads.fq" in said
        assert len(said) > 250  # no more is left out than must be
    if not isinstance(error, MemoryError | RuntimeError) and str(error).endswith("instead"):
        assert said.endswith("; do that instead\n")


def test_what_fits_is_whole() -> None:
    path = "/data/" + "d" * 180 + "/reads.fq"
    assert brief(f"tidalign: {path}: no such file") == f"tidalign: {path}: no such file"
    assert brief("one\n two   three") == "one two three"
    for length in (199, 200, 201, 700):
        assert len(brief("x" * length)) == min(length, 200)
        assert len(brief("xx " * length)) == min(3 * length - 1, LONGEST_MESSAGE)


def test_warnings_and_last_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    say(f"{PATH} {NAME}")
    handlers = list(logging.getLogger("tidalign").handlers)
    logging.getLogger("tidalign").handlers.clear()
    warned = SimpleNamespace(command=lambda args: logging.getLogger("tidalign").warning("worker %s, which has just joined, %s", PATH, WORDS) or 0)
    monkeypatch.setattr(cli, "import_module", lambda name: warned)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        assert cli.main(["check"]) == 0
    finally:
        logging.getLogger("tidalign").handlers[:] = handlers
        signal.signal(signal.SIGTERM, handler)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and all(line.startswith("tidalign: ") and len(line) <= LONGEST_MESSAGE for line in said)


@pytest.mark.parametrize(
    "words", [[f"--{NAME}"], ["--penalties", NAME], ["--ends-free", NAME], ["--device", NAME], ["--workers", NAME], [NAME, *WORDS.split()], ["--format", NAME]]
)
@pytest.mark.parametrize("command", ["pairs", "genome"])
def test_usage(command: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([command, "a.fa", "b.fa", "-o", "out.x", *words])
    said = capsys.readouterr().err
    assert len(said) <= LONGEST_MESSAGE + 1 and said.endswith(f"\nsee: tidalign {command} --help\n") and said.count("\n") == 2
    assert not any(len(word) > 200 for word in said.split())


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (("genome", "a.fa", "b.fa", "-o", "x", "--format", "foo"), [each.name for each in table.formats(table.GENOME)]),
        (("genome", "a.fa", "b.fa", "-o", "x", "--format", NAME), [each.name for each in table.formats(table.GENOME)]),
        (("genome", "a.fa", "b.fa", "--format=general:foo"), [*general.FIELDS]),
    ],
)
def test_lists_of_what_is_right_are_whole(words: tuple[str, ...], known: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(list(words))
    said = capsys.readouterr().err
    listed = said.partition("use ")[2].partition("\n")[0]
    assert {each.partition(":")[0] for each in known} <= {
        each.removeprefix("one of ").removeprefix("some of ").partition(":")[0] for each in listed.split(", ")
    }


def test_a_run_with_a_huge_name(tmp_path: Path, command: Any) -> None:
    (tmp_path / "q.fa").write_text(f">@{NAME}\nACGT\n")
    (tmp_path / "t.fa").write_text(f">{NAME}\nACGT\n")
    answer = command("pairs", tmp_path / "q.fa", tmp_path / "t.fa", "-o", tmp_path / "out.sam", "--device", "cpu")
    assert answer.returncode == 65 and len(answer.stderr) <= LONGEST_MESSAGE + 1 and answer.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("pairs", "a.fa", "b.fa", "-o", ""), 2, "-o: expected a name, found an empty one"),
        (("pairs", "a.fa", "b.fa", "-o", "x", "--quiet", "-v"), 2, "--quiet says errors alone, --verbose each thing"),
        (("plot", "x.psl", "-o", "x.svg"), 66, "x.psl: expected a run directory of `tidalign genome` or `genomes`, or a file .paf, .maf or .chain"),
    ],
)
def test_what_no_command_takes_is_said(
    words: tuple[str, ...], status: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.psl").touch()
    try:
        found = cli.main(words)
    except SystemExit as ended:
        found = int(ended.code or 0)
    assert (found, said in capsys.readouterr().err) == (status, True) and [path.name for path in tmp_path.iterdir()] == ["x.psl"]
