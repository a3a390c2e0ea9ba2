"""`--log` has all that a command said and did, `-v` shows it, `--threads` bounds what works."""

import logging
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tidalign.cluster import task
from tidalign.pipeline import device
from tidalign.pipeline.in_turn import WRITERS
from tidalign.pipeline.pairs.results import Results
from tidalign.workflows import progress
from tidalign.workflows.progress import LONGEST_MESSAGE
from tidalign.workflows.run.pairs import run

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    for name, letters in (("q", "ACGTACGTACGTTTGA"), ("t", "ACGTACCTACGTTTGA")):
        (tmp_path / f"{name}.fa").write_text(f">{name}\n{letters}\n")
    return tmp_path / "q.fa", tmp_path / "t.fa"


LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} \d+ (.*)")


def test_a_log_has_the_command_what_was_done_and_the_last_line(command: Command, inputs: tuple[Path, Path], tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    for name in ("one", "two"):
        done = command("pairs", *inputs, "-o", tmp_path / name, "--log", log, "--device", "cpu")
        assert done.returncode == 0 and "1 pair: 1 exact" in done.stderr
        assert "journal" not in done.stderr and done.stderr.count("\n") == 1  # it is not shown
    said = [found[1] for line in log.read_text().splitlines() if (found := LINE.fullmatch(line))]
    assert len(said) == len(log.read_text().splitlines())
    assert [line for line in said if line.startswith("begin in ")] == [
        f"begin in {Path.cwd()}: tidalign pairs {inputs[0]} {inputs[1]} -o {tmp_path / name} --log {log} --device cpu" for name in ("one", "two")
    ]
    for event in ("start ", "device ", "end ", "1 pair: 1 exact"):
        assert sum(line.startswith(event) for line in said) == 2, event
    assert not progress.LISTENERS and logging.getLogger("tidalign").level == logging.NOTSET


def test_a_log_has_the_traceback_of_an_error(command: Command, tmp_path: Path) -> None:
    done = command("pairs", tmp_path / "none.fq", tmp_path / "t.fa", "-o", tmp_path / "run", "--log", tmp_path / "log.txt")
    text = (tmp_path / "log.txt").read_text()
    assert done.returncode == 66 and "Traceback" not in done.stderr
    assert "Traceback (most recent call last)" in text and "MissingInput" in text and text.rstrip().endswith(done.stderr.strip().removeprefix("tidalign: "))


def test_names_that_are_no_utf8(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    """An input is read, and told of; a run directory is refused before anything is made. In processes of their own: what this one logs, pytest-xdist sends on,
    and such names it cannot."""
    odd = inputs[0].rename(tmp_path / "q\udce9.fa")

    def command(*words: object) -> "subprocess.CompletedProcess[str]":
        line = [sys.executable, "-m", "tidalign", *map(str, words)]
        return subprocess.run(line, capture_output=True, text=True, errors="backslashreplace", timeout=300)

    done = command("search", odd, inputs[1], "-o", tmp_path / "run", "--device", "cpu", "--log", tmp_path / "log.txt")
    assert done.returncode == 0 and "Logging error" not in done.stderr
    assert "q\\udce9.fa" in (tmp_path / "log.txt").read_text() and "q\\udce9.fa" in (tmp_path / "run" / "report.html").read_text()
    done = command("search", odd, inputs[1], "-o", tmp_path / "caf\udce9", "--device", "cpu")
    assert done.returncode == 73 and "expected a path in UTF-8, found other bytes; choose another place with -o" in done.stderr
    assert not (tmp_path / "caf\udce9").exists()


def test_a_log_that_cannot_be(command: Command, inputs: tuple[Path, Path], tmp_path: Path) -> None:
    done = command("pairs", *inputs, "-o", tmp_path / "run", "--log", tmp_path)
    assert done.returncode == 73 and "the log cannot be written: Is a directory; name another with --log" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_log_without_room_does_the_run_no_harm(command: Command, inputs: tuple[Path, Path], tmp_path: Path) -> None:
    done = command("pairs", *inputs, "-o", tmp_path / "run", "--log", "/dev/full")
    assert done.returncode == 0 and "1 pair: 1 exact" in done.stderr, done.stderr
    assert done.stderr.count("the log cannot be written any more: ") == 1 and "Traceback" not in done.stderr and "Logging error" not in done.stderr


def test_verbose_shows_what_is_done(command: Command, inputs: tuple[Path, Path], tmp_path: Path) -> None:
    done = command("pairs", *inputs, "-o", tmp_path / "run", "-v", "--device", "cpu")
    assert done.returncode == 0 and "tidalign: device {'device': 'cpu', 'why': '--device cpu'}" in done.stderr
    assert all(len(line) <= LONGEST_MESSAGE for line in done.stderr.splitlines())
    assert "device {" not in command("pairs", *inputs, "-o", tmp_path / "again", "--device", "cpu").stderr


def test_a_log_has_each_line_once_however_much_is_shown(command: Command, inputs: tuple[Path, Path], tmp_path: Path) -> None:
    said = []
    for name, more in (("quiet", []), ("shown", ["-v"])):
        done = command("pairs", *inputs, "-o", tmp_path / name, "--log", tmp_path / f"{name}.txt", "--device", "cpu", *more)
        lines = (tmp_path / f"{name}.txt").read_text().splitlines()
        said.append([found[1].partition(" ")[0] for line in lines if (found := LINE.fullmatch(line))])
        assert done.returncode == 0 and len(set(lines)) == len(lines) == len(said[-1])
    assert said[0] == said[1] and "device {" in done.stderr


def test_threads_bound_exports(command: Command, inputs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used, known = [], Results.export
    monkeypatch.setattr(device, "ROOT", tmp_path)  # whose container may have less
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(16)), raising=False)
    monkeypatch.setattr(Results, "export", lambda self, *words, **options: used.append(self.threads) or known(self, *words, **options))
    assert command("pairs", *inputs, "-o", tmp_path / "run", "--device", "cpu").returncode == 0
    for option in ((), ("--threads", "1")):
        assert command("export", tmp_path / "run", "-o", tmp_path / f"{len(option)}.sam", *option).returncode == 0
    assert used == [WRITERS, 1]


def test_threads_bound_cores(command: Command, inputs: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    known = run.Pairs.threads

    def noted(self: run.Pairs, *arguments: object) -> tuple[int, int]:
        used.append((task.cores(), known(self, *arguments)))  # type: ignore[arg-type]
        return used[-1][1]

    monkeypatch.setattr(task, "ROOT", tmp_path)  # whose container may have less
    monkeypatch.setattr(run.Pairs, "threads", noted)
    monkeypatch.setattr(task.os, "sched_getaffinity", lambda process: set(range(16)), raising=False)
    for option, wanted in (([], 16), (["--threads", "3"], 3)):
        assert command("pairs", *inputs, "-o", tmp_path / str(wanted), "--device", "cpu", *option).returncode == 0
        cores, (working, reading) = used[-1]
        assert (cores, working) == (wanted, wanted) and reading <= wanted
